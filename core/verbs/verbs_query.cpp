// SPDX-License-Identifier: Apache-2.0
// Verbs that only look.
#include <algorithm>

#include "core/api/members.h"
#include "core/session/observe.h"
#include "core/session/policies.h"
#include "core/session/truth.h"
#include "core/verbs/hex_text.h"
#include "core/verbs/ledger_list.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr const char* kCommittedPlusPending = "committed_plus_pending";

Result<json> tokenise(const Session& session, VerbArgs& in) {
  std::vector<TokenId> ids = KV_TRY(session.model().tokenizer().encode(in.text("text"), false));
  json out = json::array();
  for (TokenId id : ids) out.push_back(id.value());
  return out;
}

Result<json> detokenise(const Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = in.tokens("ids", session.model().config().vocab);
  if (in.error()) return *in.error();
  return json(session.model().tokenizer().decode(ids));
}

std::vector<TokenId> liveTokens(const Session& session) {
  std::vector<TokenId> out;
  for (LedgerId id : session.state().context) out.push_back(session.state().ledger[id].token);
  return out;
}

Result<json> tick(const Session& session, VerbArgs&) { return json(session.state().tick.value()); }
Result<json> length(const Session& session, VerbArgs&) { return json(session.state().length()); }
Result<json> remaining(const Session& session, VerbArgs&) {
  return json(session.kind().remaining(session.parts(), session.state()));
}
Result<json> isFull(const Session& session, VerbArgs&) {
  return json(session.kind().remaining(session.parts(), session.state()) <= 0);
}
Result<json> stateHashVerb(const Session& session, VerbArgs&) { return json(stateHash(session)); }
Result<json> text(const Session& session, VerbArgs&) {
  return json(session.model().tokenizer().decode(liveTokens(session)));
}
Result<json> tokens(const Session& session, VerbArgs&) {
  json out = json::array();
  for (TokenId id : liveTokens(session)) out.push_back(id.value());
  return out;
}

Result<json> pos2ledger(const Session& session, VerbArgs& in) {
  const bool layered = in.has("layer") || in.has("kvHead");
  const CacheLayer layer = layered ? layerOf(in, session) : CacheLayer(0);
  if (in.error()) return *in.error();
  const CacheState& state = session.state();
  json out = json::array();
  for (LedgerId id :
       layered ? state.map(layer).ledger.span().subspan(at(state.map(layer).first)) : state.context.span())
    out.push_back(id.value());
  return out;
}

json rotationsOf(const CacheState& state, CacheLayer layer, LedgerId id) {
  const RowPast past = state.pastOf(layer, id);
  return {{"count", past.turns}, {"phases", past.phases}, {"error", past.error}};
}

/// Rows of a plan have none yet.
bool hasSlot(const ResidencyView& map, std::size_t i) { return map.slotOf[i].value() >= 0; }

/// [rows] what the stored records say of themselves; 0 for rows without a slot.
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

Result<json> rows(const Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  const bool pending = in.text("view") == kCommittedPlusPending;
  const CacheState& state = pending ? session.withPending() : session.state();
  const ResidencyView& map = state.map(layer);
  const auto size = static_cast<std::int64_t>(map.size());
  const std::int64_t end = in.within("end", 0, size, size), begin = in.within("begin", 0, end, 0);
  if (in.error()) return *in.error();
  const bool open = &state != &session.state();
  const ExactnessMap waiting = open ? session.kind().exactness(session.parts(), state) : ExactnessMap();
  const ExactnessMap& exact = open ? waiting : exactnessMap(session);
  const std::vector<float> scores = scoresOf(state, layer);
  const StoredWords words = storedWords(session.store().pool(layer), map);
  json out = json::array();
  std::size_t position = 0;
  for (std::int64_t i = 0; i < end; ++i) {
    const auto begins = state.context.begin();
    auto place = std::find(begins + position, state.context.end(), map.ledger[at(i)]);
    if (place == state.context.end()) place = std::find(begins, state.context.end(), map.ledger[at(i)]);
    if (place == state.context.end()) continue;  // a damaged map; invariants report it
    position = static_cast<std::size_t>(place - begins);
    if (i < begin || !map.has(at(i))) continue;
    const LedgerRow& row = state.ledger[map.ledger[at(i)]];
    out.push_back({{"index", i},
                   {"slot", hasSlot(map, at(i)) ? json(map.slotOf[at(i)].value()) : json()},
                   {"phase", map.phase(at(i)).value()},
                   {"sigma", state.kind->blurAt(Position(static_cast<std::int32_t>(position)))},
                   {"ledger", map.ledger[at(i)].value()},
                   {"tag", hasSlot(map, at(i)) ? json(words.tags[at(i)]) : json()},
                   {"position", position},
                   {"tokenId", row.token.value()},
                   {"brightness", state.brightness[position]},
                   {"score", finite(scores[at(i)])},
                   {"exactness", hasSlot(map, at(i)) ? json(name(exact.layers[at(layer)][position])) : json()},
                   {"bornTick", row.born.value()},
                   {"checksum", hasSlot(map, at(i)) ? json(hexText(words.checksums[at(i)])) : json()}});
    if (session.transformer().keysRotated()) out.back()["rotations"] = rotationsOf(state, layer, map.ledger[at(i)]);
  }
  return out;
}

Result<json> ledger(const Session& session, VerbArgs& in) {
  const LedgerId id = KV_TRY(knownRow(in, session, "id"));
  const CacheState& state = session.state();
  const LedgerRow& row = state.ledger[id];
  const auto place = std::find(state.context.begin(), state.context.end(), id);
  const bool present = place != state.context.end();
  const auto position = static_cast<std::size_t>(place - state.context.begin());
  return json{{"id", id.value()},
              {"kind", name(row.kind)},
              {"tokenId", row.token.value()},
              {"text", textOf(session, id)},
              {"source", name(row.source)},
              {"state", name(row.state)},
              {"pinned", row.pinned},
              {"brightness", present ? state.brightness[position] : row.brightness},
              {"bornTick", row.born.value()},
              {"changedTick", row.changed.value()},
              {"position", present ? json(position) : json(nullptr)},
              {"parents", ledgerList(row.parents)},
              {"children", ledgerList(row.children)}};
}

bool names(const Evict& left, LedgerId id) {
  return std::find(left.ledger.begin(), left.ledger.end(), id) != left.ledger.end();
}

json leftLine(const Timeline::Entry& entry, const char* event, const Evict& left) {
  const std::string head = left.kvHead ? "KV head " + std::to_string(left.kvHead->value()) : "";
  return {{"tick", entry.tick.value()}, {"event", event}, {"layer", left.layer.value()}, {"detail", head}};
}

/// Appends what one commit did to a row.
void rowEvents(const Timeline::Entry& entry, const Timeline::Entry* before, LedgerId id, json& out) {
  if (entry.report)
    for (const Action& action : entry.report->actions)
      if (const auto* evict = std::get_if<Evict>(&action))
        if (names(*evict, id)) out.push_back(leftLine(entry, "left_layer", *evict));
  if (entry.verb == "rebuild")
    out.push_back({{"tick", entry.tick.value()}, {"event", "rebuilt"}, {"layer", nullptr}, {"detail", ""}});
  if (!before || !before->kept || !entry.kept) return;
  const auto placeIn = [&](const CacheState& state) {
    const auto found = std::find(state.context.begin(), state.context.end(), id);
    return found == state.context.end() ? -1 : static_cast<int>(found - state.context.begin());
  };
  const int from = placeIn(*before->state()), to = placeIn(*entry.state());
  if (from >= 0 && to >= 0 && from != to)
    out.push_back({{"tick", entry.tick.value()},
                   {"event", "moved"},
                   {"layer", nullptr},
                   {"detail", "position " + std::to_string(from) + " to " + std::to_string(to)}});
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
    out.push_back({{"tick", verified->value()},
                   {"event", "verified"},
                   {"layer", nullptr},
                   {"detail", "row_checksums: the last check of the stored bytes that found nothing"}});
  for (const Finding& one : findings)
    if (one.violation.ledger == id)
      out.push_back(
          {{"tick", one.since().found.value()},
           {"event", "damage_found"},
           {"layer",
            one.violation.layer ? json(state.cacheLayers().layerOf(*one.violation.layer).value()) : json(nullptr)},
           {"detail", one.violation.invariant + ": broken " + intervalText(one.since())}});
}

Result<json> history(const Session& session, VerbArgs& in) {
  const LedgerId id = KV_TRY(knownRow(in, session, "ledger"));
  const LedgerRow& row = session.state().ledger[id];
  json out = json::array();
  std::string from;
  for (LedgerId parent : row.parents) from += (from.empty() ? "in place of " : ", ") + textOf(session, parent);
  out.push_back({{"tick", row.born.value()},
                 {"event", "born"},
                 {"layer", nullptr},
                 {"detail", std::string(name(row.source)) + (from.empty() ? "" : " " + from)}});
  const Timeline& timeline = session.timeline();
  const Timeline::Entry* before = nullptr;
  for (int entry : timeline.path(timeline.currentId())) {
    for (const Evict& left : timeline.entry(entry).left)
      if (names(left, id)) out.push_back(leftLine(timeline.entry(entry), "left_window", left));
    if (timeline.entry(entry).tick > row.born) rowEvents(timeline.entry(entry), before, id, out);
    before = &timeline.entry(entry);
  }
  if (row.state != RowState::Live) {
    std::string by;
    for (LedgerId child : row.children) by += (by.empty() ? "by " : ", ") + textOf(session, child);
    out.push_back({{"tick", row.changed.value()}, {"event", name(row.state)}, {"layer", nullptr}, {"detail", by}});
  }
  checkEvents(session, id, out);
  if (row.pinned)
    out.push_back({{"tick", session.state().tick.value()}, {"event", "pinned"}, {"layer", nullptr}, {"detail", ""}});
  std::stable_sort(out.begin(), out.end(), [](const json& a, const json& b) {
    return a["tick"].get<std::int64_t>() < b["tick"].get<std::int64_t>();
  });
  return out;
}

Result<json> logits(Session& session, VerbArgs&) {
  KV_TRY(refreshLogits(session));
  if (!session.state().logits) return json::array();
  return json(*session.state().logits);
}

Result<json> topk(Session& session, VerbArgs& in) {
  const std::int64_t k = in.within("k", 1, session.model().config().vocab, in.integer("k"));
  if (in.error()) return *in.error();
  KV_TRY(refreshLogits(session));
  json out = json::array();
  if (session.state().logits)
    for (const Candidate& c : topCandidates(*session.state().logits, static_cast<int>(k)))
      out.push_back({{"id", c.id.value()}, {"text", session.model().tokenizer().tokenText(c.id)}, {"p", c.p}});
  return out;
}

Result<json> invariantsVerb(Session& session, VerbArgs&) {
  json out = json::array();
  for (const InvariantState& i : session.check(true)) {
    json line = KV_MEMBERS(i, id, title, ok, detail);
    line["lastPass"] = i.lastPass.value() < 0 ? json() : json(i.lastPass.value());
    line["allPassed"] = i.allPassed.value() < 0 ? json() : json(i.allPassed.value());
    if (i.since) line["since"] = toJson(*i.since);
    out.push_back(std::move(line));
  }
  return out;
}

json numbers(const std::vector<float>& values) {
  json out = json::array();
  for (float value : values) out.push_back(finite(value));
  return out;
}

Result<json> driftVerb(Session& session, VerbArgs& in) {
  const bool rows = in.flag("rows");
  Drift drift = KV_TRY(measureDrift(session));
  json k = json::array(), v = json::array();
  for (double value : drift.k) k.push_back(finite(value));
  for (double value : drift.v) v.push_back(finite(value));
  json worst = nullptr;
  if (drift.worstLayer)
    worst = {{"layer", session.cacheLayers().layerOf(*drift.worstLayer).value()}, {"index", drift.worstPosition}};
  json out{{"k", k}, {"v", v}, {"kl", finite(drift.kl)}, {"worst", worst}};
  if (rows)
    for (std::size_t layer = 0; layer < drift.kRows.size(); ++layer) {
      out["kRows"].push_back(numbers(drift.kRows[layer]));
      out["vRows"].push_back(numbers(drift.vRows[layer]));
    }
  return out;
}

Result<json> valueVerb(Session& session, VerbArgs& in) {
  const Expression expression = KV_TRY(readExpression(session, in.text("expression"), false));
  const WatchValue value = valueNow(session, expression);
  if (const double* number = std::get_if<double>(&value)) return finite(*number);
  if (const bool* flag = std::get_if<bool>(&value)) return json(*flag);
  return json(std::get<std::string>(value));
}

Result<json> rowsWhereVerb(Session& session, VerbArgs& in) {
  const Expression condition = KV_TRY(readExpression(session, in.text("condition"), true));
  return ledgerList(rowsWhere(session, condition));
}

}  // namespace

std::span<const Verb> queryVerbs() {
  static const Verb kVerbs[] = {
      {{"tokenise", {arg::text("text")}, "Token ids of a text.", Effect::Reads}, tokenise},
      {{"detokenise", {arg::tokens("ids", 0)}, "The text of token ids.", Effect::Reads}, detokenise},
      {{"tick", {}, "Ticks so far.", Effect::Reads}, tick},
      {{"length", {}, "Tokens in the context.", Effect::Reads}, length},
      {{"position", {}, "Tokens written: where the next one goes.", Effect::Reads}, length},
      {{"remaining", {}, "Tokens that still fit: free rows of the fullest cache layer.", Effect::Reads}, remaining},
      {{"isFull", {}, "True if remaining is 0.", Effect::Reads}, isFull},
      {{"text", {}, "The live context as text.", Effect::Reads}, text},
      {{"tokens", {}, "The live context as token ids.", Effect::Reads}, tokens},
      {{"stateHash", {}, "One number for everything the session remembers.", Effect::Reads}, stateHashVerb},
      {{"pos2ledger",
        {layerArg().orNone(), headArg()},
        "Ledger ids in context order, of the mirror or of a layer's rows; of a KV head where residency is by head.",
        Effect::Reads},
       pos2ledger},
      {{"rows",
        {layerArg(), arg::integer("begin", 0, kMostId).orNone(), arg::integer("end", 0, kMostId).orNone(), headArg(),
         arg::text("view", {"committed", kCommittedPlusPending}).orElse("committed")},
        "The resident rows of a layer, or also those of an open tick that wait for its commit.",
        Effect::Reads},
       rows},
      {{"ledger", {arg::integer("id", 0, kMostId)}, "One row of the ledger.", Effect::Reads}, ledger},
      {{"history", {arg::integer("ledger", 0, kMostId)}, "What happened to one token.", Effect::Reads}, history},
      {{"logits", {}, "Logits of the next token.", Effect::Measures}, logits},
      {{"topk", {arg::integer("k", 1, kMostId).orElse(10)}, "The likeliest next tokens.", Effect::Measures}, topk},
      {{"invariants", {}, "Checks every invariant in full.", Effect::Measures}, invariantsVerb},
      {{"value",
        {arg::text("expression")},
        "The value of an expression now: a number, true or false, or a text; null where it is not known.",
        Effect::Measures},
       valueVerb},
      {{"rowsWhere",
        {arg::text("condition")},
        "Ledger ids of the tokens of the context for which a condition holds: facts of rows speak of the token's row.",
        Effect::Measures},
       rowsWhereVerb},
      {{"drift", {arg::flag("rows", false)}, "Live rows against a rebuild.", Effect::Measures}, driftVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
