// SPDX-License-Identifier: Apache-2.0
// Tables of rows: those of a layer, and those of the ledger.
#include <algorithm>

#include "core/session/truth.h"
#include "core/tables/tables.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_layers.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr const char* kCommittedPlusPending = "committed_plus_pending";

json rotationsOf(const CacheState& state, CacheLayer layer, LedgerId id) {
  const RowPast past = state.pastOf(layer, id);
  return {{"count", past.turns}, {"phases", past.phases}, {"error", past.error}};
}

/// Rows of a plan have none yet.
bool hasSlot(const ResidencyView& map, std::size_t i) { return map.slotOf[i].value() >= 0; }

/// [rows] tags or checksums of the stored records; 0 for rows without a slot.
struct StoredWords {
  std::vector<std::uint64_t> tags, checksums;
};

StoredWords storedWords(const RowPool& pool, const ResidencyView& map) {
  StoredWords out{std::vector<std::uint64_t>(map.size()), std::vector<std::uint64_t>(map.size())};
  for (std::size_t begin = 0; begin < map.size();) {
    std::size_t end = begin;
    while (end < map.size() && hasSlot(map, end)) ++end;
    pool.readTags(plain(map.slotOf.span().subspan(begin, end - begin)), out.tags.data() + begin,
                  out.checksums.data() + begin);
    begin = end + 1;
  }
  return out;
}

Status layerRows(const Session& session, VerbArgs& of, TableRows& out) {
  const CacheLayer layer = layerOf(of, session);
  const bool pending = of.text("view") == kCommittedPlusPending;
  const CacheState& state = pending ? session.withPending() : session.state();
  const ResidencyView& map = state.map(layer);
  const auto size = static_cast<std::int64_t>(map.size());
  const std::int64_t end = of.within("end", 0, size, size), begin = of.within("begin", 0, end, 0);
  if (of.error()) return *of.error();
  const bool open = &state != &session.state();
  const ExactnessMap waiting = open ? session.kind().exactness(session.parts(), state) : ExactnessMap();
  const ExactnessMap* exact = open ? &waiting : out.wants("exactness") ? &exactnessMap(session) : nullptr;
  const std::vector<float> scores = out.wants("score") ? scoresOf(state, layer) : std::vector<float>(map.size());
  StoredWords words{std::vector<std::uint64_t>(map.size()), std::vector<std::uint64_t>(map.size())};
  const bool checksums = out.wants("checksum"), turned = session.transformer().keysRotated() && out.wants("rotations");
  if (checksums || out.wants("tag")) words = storedWords(session.store().pool(layer), map);
  std::size_t position = 0;
  for (std::int64_t i = 0; i < end && !out.full(); ++i) {
    const auto begins = state.context.begin();
    auto place = std::find(begins + position, state.context.end(), map.ledger[at(i)]);
    if (place == state.context.end()) place = std::find(begins, state.context.end(), map.ledger[at(i)]);
    if (place == state.context.end()) continue;  // a damaged map; invariants report it
    position = static_cast<std::size_t>(place - begins);
    if (i < begin || !map.has(at(i))) continue;
    const LedgerId id = map.ledger[at(i)];
    const LedgerRow& row = state.ledger[id];
    const bool stored = hasSlot(map, at(i));
    const std::string checksum = stored && checksums ? hexText(words.checksums[at(i)]) : std::string();
    out.add(
        {i, stored ? TableCell(map.slotOf[at(i)].value()) : TableCell(), map.phase(at(i)).value(),
         state.kind->blurAt(Position(static_cast<std::int32_t>(position))), id.value(),
         stored ? TableCell(words.tags[at(i)]) : TableCell(), position, row.token.value(), state.brightness[position],
         scores[at(i)], stored && exact ? TableCell(name(exact->layers[at(layer)][position])) : TableCell(),
         row.born.value(), stored ? TableCell(checksum) : TableCell(), turned ? rotationsOf(state, layer, id) : json()},
        id, session.cacheLayers().layerOf(layer));
  }
  return ok();
}

Status ledgerRow(const Session& session, LedgerId id, std::optional<std::size_t> position, TableRows& out) {
  const CacheState& state = session.state();
  const LedgerRow& row = state.ledger[id];
  std::optional<std::string> text;
  if (out.wants("text")) text = textOf(session, id);
  out.add({id.value(), name(row.kind), row.token.value(), text, name(row.source), name(row.state), row.pinned,
           position ? state.brightness[*position] : row.brightness, row.born.value(), row.changed.value(), position,
           row.surprise, ledgerList(row.parents), ledgerList(row.children)},
          id);
  return ok();
}

/// One row, the rows of the context in its order, or all that ever were, by id.
Status ledgerRows(const Session& session, VerbArgs& of, TableRows& out) {
  const CacheState& state = session.state();
  if (of.has("id")) {
    const LedgerId id = KV_TRY(knownRow(of, session, "id"));
    const auto place = std::find(state.context.begin(), state.context.end(), id);
    const bool there = place != state.context.end();
    return ledgerRow(session, id, there ? std::optional(at(place - state.context.begin())) : std::nullopt, out);
  }
  std::vector<std::optional<std::size_t>> positions(state.ledger.size());
  for (std::size_t p = 0; p < state.context.size() && !out.full(); ++p) {
    positions[at(state.context[p].value())] = p;
    if (of.flag("live")) KV_TRY(ledgerRow(session, state.context[p], p, out));
  }
  for (std::size_t i = 0; i < positions.size() && !of.flag("live") && !out.full(); ++i)
    KV_TRY(ledgerRow(session, LedgerId(static_cast<std::int32_t>(i)), positions[i], out));
  return ok();
}

}  // namespace

std::span<const TableSource> rowTables() {
  using enum ColumnType;
  static const TableSource kTables[] = {
      {{"rows",
        {layerArg(), arg::integer("begin", 0, kMostId).orNone(), arg::integer("end", 0, kMostId).orNone(), headArg(),
         arg::text("view", {"committed", kCommittedPlusPending}).orElse("committed")},
        {{"index", Integer, "place in the layer's residency map"},
         {"slot", Integer, "physical row of the layer's pool; null for a row of an open tick"},
         {"phase", Number, "rotary phase of the key"},
         {"sigma", Number, "blur of a gist's phase; 0 for a token"},
         {"ledger", Integer, "id in the ledger"},
         {"tag", Integer, "ledger id that the stored record carries; another one than ledger means damage"},
         {"position", Integer, "place in the context"},
         {"tokenId", Integer, "the token"},
         {"brightness", Number, "brightness of the token"},
         {"score", Number, "the policy's score; null without one"},
         {"exactness", Text,
          "how the row stands to a rebuild: exact, context-evicted, context-edited, phase-shifted, "
          "inherited or loaded"},
         {"bornTick", Integer, "tick in which the token came"},
         {"checksum", Text, "of the stored bytes, 16 hexadecimal digits"},
         {"rotations", Value, "with key_phase at_write: count of turns, phases in all, bound of the relative error"}},
        "The resident rows of a layer, or also those of an open tick that wait for its commit.",
        Effect::Reads,
        FactsIn::Rows},
       layerRows},
      {{"ledger",
        {arg::integer("id", 0, kMostId).orNone(), arg::flag("live", false)},
        {{"id", Integer, "number of the row"},
         {"kind", Text, "token or gist"},
         {"tokenId", Integer, "the token"},
         {"text", Text, "its text"},
         {"source", Text, "where it came from"},
         {"state", Text, "live, replaced, deleted, evicted, left_window, collapsed or aborted"},
         {"pinned", Flag, "no policy may take it"},
         {"brightness", Number, "brightness, the last one where it is not live"},
         {"bornTick", Integer, "tick in which it came"},
         {"changedTick", Integer, "tick in which its state changed last"},
         {"position", Integer, "place in the context; null where it is not in it"},
         {"surprise", Number, "negative log-likelihood of a scored token when it came, nats"},
         {"parents", Value, "ids in whose place it stands"},
         {"children", Value, "ids that stand in its place"}},
        "The tokens that the session has had: all, one, or those of the context in its order.",
        Effect::Reads,
        FactsIn::Tokens},
       ledgerRows},
  };
  return kTables;
}

}  // namespace kvlab
