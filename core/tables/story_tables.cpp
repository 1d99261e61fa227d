// SPDX-License-Identifier: Apache-2.0
// Tables about one row: its story, its written values, and the queries that read it.
#include <algorithm>

#include "core/api/json_values.h"
#include "core/session/decisions.h"
#include "core/session/row_story.h"
#include "core/session/truth.h"
#include "core/tables/tables.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_layers.h"

namespace kvlab {
namespace {

using nlohmann::json;

bool names(const Evict& left, LedgerId id) {
  return std::find(left.ledger.begin(), left.ledger.end(), id) != left.ledger.end();
}

/// A row of the table `history`; layer: none = it is about the token.
json eventLine(Tick tick, std::string_view event, const std::string& detail, std::optional<Layer> layer = {}) {
  return {{"tick", tick}, {"event", event}, {"layer", orNull(layer)}, {"detail", detail}};
}

json leftLine(const Timeline::Entry& entry, const char* event, const Evict& left, const std::string& why = {}) {
  std::string detail = left.kvHead ? "KV head " + std::to_string(left.kvHead->value()) : "";
  if (!why.empty()) detail += (detail.empty() ? "" : "; ") + why;
  json line = eventLine(entry.tick, event, detail, left.layer);
  if (left.kvHead) line["kvHead"] = left.kvHead->value();
  return line;
}

/// The policy's choice by which a row left, in words; empty where no policy chose, or the state is not kept.
std::string whyLeft(const Timeline::Entry& entry, const Timeline::Entry* before, const Evict& left, LedgerId id) {
  if (!entry.state()) return {};
  const CacheState& now = *entry.state();
  const auto own = now.cacheLayers().of(left.layer);
  const CacheLayer layer = own[left.kvHead ? at(left.kvHead->value()) : 0];
  std::optional<LayerDecision> made = LayerDecision::of(before ? before->state() : nullptr, now, layer);
  const std::optional<RowDecision> one = made ? made->about(id) : std::nullopt;
  return one && one->verdict == Verdict::Dropped ? decisionWords(*one) : "";
}

/// Appends the effects of one commit on a row.
void rowEvents(const Timeline::Entry& entry, const Timeline::Entry* before, LedgerId id, json& out) {
  if (entry.report)
    for (const Action& action : entry.report->actions)
      if (const auto* evict = std::get_if<Evict>(&action))
        if (names(*evict, id)) out.push_back(leftLine(entry, "left_layer", *evict, whyLeft(entry, before, *evict, id)));
  if (entry.verb == "rebuild") out.push_back(eventLine(entry.tick, "rebuilt", ""));
  if (!before || !before->kept || !entry.kept) return;
  const auto placeIn = [&](const CacheState& state) {
    const auto found = std::find(state.context.begin(), state.context.end(), id);
    return found == state.context.end() ? -1 : static_cast<int>(found - state.context.begin());
  };
  const int from = placeIn(*before->state()), to = placeIn(*entry.state());
  if (from >= 0 && to >= 0 && from != to)
    out.push_back(eventLine(entry.tick, "moved", "position " + std::to_string(from) + " to " + std::to_string(to)));
}

/// Appends the findings of the checks about a row; for a row without damage, when its stored bytes last passed a check.
void checkEvents(const Session& session, LedgerId id, json& out) {
  const CacheState& state = session.state();
  const auto holds = [&](const LayerGroup& group) {
    const std::span<const LedgerId> rows = group.stored().ledger.span();
    return std::ranges::find(rows, id) != rows.end();
  };
  const std::vector<Finding>& findings = session.health().alignment.findings();
  const bool damaged = std::ranges::any_of(findings, [id](const Finding& one) { return one.violation.ledger == id; });
  const std::optional<Tick> verified = session.health().alignment.verified(state.ledger[id], id);
  if (verified && !damaged && std::ranges::any_of(state.groups, holds))
    out.push_back(
        eventLine(*verified, "verified", "row_checksums: the last check of the stored bytes that found nothing"));
  for (const Finding& one : findings) {
    if (one.violation.ledger != id) continue;
    std::optional<Layer> layer;
    if (one.violation.layer) layer = state.cacheLayers().layerOf(*one.violation.layer);
    out.push_back(eventLine(one.since().found, "damage_found",
                            one.violation.invariant + ": broken " + intervalText(one.since()), layer));
  }
}

/// The story of one token, as far as history keeps it.
Status tokenHistory(const Session& session, VerbArgs& of, TableRows& out) {
  const LedgerId id = KV_TRY(knownRow(of, session, "ledger"));
  const LedgerRow& row = session.state().ledger[id];
  json events = json::array();
  std::string from;
  for (LedgerId parent : row.parents) from += (from.empty() ? "in place of " : ", ") + textOf(session, parent);
  events.push_back(eventLine(row.born, "born", std::string(name(row.source)) + (from.empty() ? "" : " " + from)));
  const Timeline& timeline = session.timeline();
  const Timeline::Entry* before = nullptr;
  for (int entry : timeline.path(timeline.currentId())) {
    for (const Evict& left : timeline.entry(entry).left)
      if (names(left, id)) events.push_back(leftLine(timeline.entry(entry), "left_window", left));
    if (timeline.entry(entry).tick >= row.born) rowEvents(timeline.entry(entry), before, id, events);
    before = &timeline.entry(entry);
  }
  if (row.state != RowState::Live) {
    std::string by;
    for (LedgerId child : row.children) by += (by.empty() ? "by " : ", ") + textOf(session, child);
    events.push_back(eventLine(row.changed, name(row.state), by));
  }
  checkEvents(session, id, events);
  if (row.pinned) events.push_back(eventLine(session.state().tick, "pinned", ""));
  std::stable_sort(events.begin(), events.end(), [](const json& a, const json& b) {
    return a["tick"].get<std::int64_t>() < b["tick"].get<std::int64_t>();
  });
  for (const json& event : events) out.addRecord(event);
  return ok();
}

/// Checksum of a row's stored bytes, as rows() tells it; null where the layer does not hold the row.
json checksumOf(const Session& session, CacheLayer layer, LedgerId row) {
  const ResidencyView& map = session.state().map(layer);
  for (std::size_t i = at(map.first); i < map.size(); ++i) {
    if (map.ledger[i] != row) continue;
    std::uint64_t checksum = 0;
    const std::int32_t slot = map.slotOf[i].value();
    session.store().pool(layer).readTags({&slot, 1}, nullptr, &checksum);
    return hexText(checksum);
  }
  return nullptr;
}

Status layerStory(Session& session, VerbArgs& of, TableRows& out) {
  const CacheLayer layer = layerOf(of, session);
  if (of.error()) return *of.error();
  const LedgerId row = KV_TRY(knownRow(of, session, "ledger"));
  const std::vector<RowChapter> story = KV_TRY(rowStory(session, layer, row));
  const auto wrote = std::find_if(story.rbegin(), story.rend(), [](const RowChapter& one) { return one.wrote; });
  for (const RowChapter& one : story) {
    json line = commandJson(session.timeline(), one.entry);
    const bool there = one.slot.value() >= 0;
    line.update({{"event", name(one.event)},
                 {"wrote", one.wrote},
                 {"slot", there ? json(one.slot.value()) : json()},
                 {"phase", there ? json(one.phase) : json()},
                 {"exactness", name(one.exactness)},
                 {"detail", one.detail}});
    if (wrote != story.rend() && &*wrote == &one) line["checksum"] = checksumOf(session, layer, row);
    out.addRecord(line);
  }
  return ok();
}

Status layerReads(Session& session, VerbArgs& of, TableRows& out) {
  const auto layer = Layer(static_cast<std::int32_t>(of.within("layer", 0, session.cacheLayers().layers - 1)));
  if (of.error()) return *of.error();
  const LedgerId row = KV_TRY(knownRow(of, session, "ledger"));
  for (const RowRead& one : KV_TRY(rowReads(session, layer, row))) {
    json line = commandJson(session.timeline(), one.entry);
    line["mass"] = finite(one.mass);
    out.addRecord(line);
  }
  return ok();
}

}  // namespace

std::span<const TableSource> storyTables() {
  using enum ColumnType;
  const ArgInfo row = arg::integer("ledger", 0, kMostId);
  const ColumnInfo tick{"tick", Integer, "tick of the commit"}, verb{"verb", Text, "the command that made it"},
      args{"args", Value, "and its arguments"};
  static const TableSource kTables[] = {
      {{"history",
        {row},
        {tick,
         {"event", Text, "born, moved, left_layer, left_window, rebuilt, verified, damage_found, pinned, or a state"},
         {"layer", Integer, "null where it is about the token"},
         {"kvHead", Integer, "where each has rows of its own; else null"},
         {"detail", Text, "more, in words"}},
        "The events of one token, as far as history keeps them."},
       tokenHistory},
      {{"story",
        {row, layerArg(), headArg()},
        {tick,
         verb,
         args,
         {"event", Text,
          "loaded, computed, rebuilt, turned, copied, converted, damaged, left, became_stale or "
          "became_exact"},
         {"wrote", Flag, "the stored bytes are new, or stand in another slot"},
         {"slot", Integer, "behind the event; null where the row has left"},
         {"phase", Number, "behind the event; null where the row has left"},
         {"exactness", Text, "behind the event"},
         {"detail", Text, "more, in words"},
         {"checksum", Text, "of the last write, as the row has it now"}},
        "Everything that happened to a row in a layer: written, turned, moved, left, made inexact, and by which "
        "command; dropped ticks are executed again.",
        Effect::Measures},
       nullptr,
       layerStory},
      {{"reads",
        {row, arg::integer("layer", 0, kMostLayer)},
        {tick, verb, args, {"mass", Number, "share of the attention, mean over query heads"}},
        "How much attention the newest query of each tick paid to a row in a layer; dropped ticks are executed again.",
        Effect::Measures},
       nullptr,
       layerReads},
  };
  return kTables;
}

}  // namespace kvlab
