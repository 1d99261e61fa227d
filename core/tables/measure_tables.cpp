// SPDX-License-Identifier: Apache-2.0
// Tables that compute something about the present state.
#include "core/session/truth.h"
#include "core/tables/tables.h"

namespace kvlab {
namespace {

using nlohmann::json;

Status invariantRows(Session& session, VerbArgs&, TableRows& out) {
  const auto tickOr = [](Tick tick) { return tick.value() < 0 ? TableCell() : TableCell(tick.value()); };
  for (const InvariantState& one : session.check(true))
    out.add({one.id, one.title, one.ok, one.detail, tickOr(one.lastPass), tickOr(one.allPassed),
             one.since ? toJson(*one.since) : json()});
  return ok();
}

Status nextTokens(Session& session, VerbArgs& of, TableRows& out) {
  const std::int64_t k = of.within("k", 1, session.model().config().vocab, of.integer("k"));
  if (of.error()) return *of.error();
  KV_TRY(refreshLogits(session));
  if (!session.state().logits) return ok();
  for (const Candidate& one : topCandidates(*session.state().logits, static_cast<int>(k)))
    out.add({one.id.value(), session.model().tokenizer().tokenText(one.id), one.p});
  return ok();
}

}  // namespace

std::span<const TableSource> measureTables() {
  using enum ColumnType;
  static const TableSource kTables[] = {
      {{"invariants",
        {},
        {{"id", Text, "of the invariant"},
         {"title", Text, "what holds"},
         {"ok", Flag, "nothing is broken"},
         {"detail", Text, "what is broken, or why it was not checked"},
         {"lastPass", Integer, "tick of the last check that passed; null = none"},
         {"allPassed", Integer, "tick of the last check of all rows that passed; null = none"},
         {"since", Value, "between which ticks it broke"}},
        "Checks every invariant in full.",
        Effect::Measures},
       nullptr,
       invariantRows},
      {{"topk",
        {arg::integer("k", 1, kMostId).orElse(10)},
        {{"id", Integer, "the token"}, {"text", Text, "its text"}, {"p", Number, "probability"}},
        "The likeliest next tokens.",
        Effect::Measures},
       nullptr,
       nextTokens},
  };
  return kTables;
}

}  // namespace kvlab
