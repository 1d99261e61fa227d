// SPDX-License-Identifier: Apache-2.0
// The table of the decisions that policies made about rows.
#include "core/session/decisions.h"
#include "core/tables/tables.h"
#include "core/verbs/verb_layers.h"

namespace kvlab {
namespace {

using nlohmann::json;

TableCell ledgerCell(LedgerId row) { return row.value() >= 0 ? TableCell(row.value()) : TableCell(); }

/// True while the table takes more rows.
bool addDecision(const Session& session, const RowDecision& one, TableRows& out) {
  const bool chose = one.ground != Ground::None, ranked = one.rank > 0;
  const auto competed = [&](auto value) { return chose && one.of > 0 ? TableCell(value) : TableCell(); };
  json parameters;
  if (one.policy && out.wants("parameters")) parameters = one.policy->toJson();
  std::string detail;
  if (chose && out.wants("detail")) detail = decisionWords(one);
  const std::optional<Head> head = session.cacheLayers().headOf(one.layer);
  const Tick tick = one.entry < 0 ? Tick(session.state().tick.value() + 1) : session.timeline().entry(one.entry).tick;
  out.add({tick.value(), session.cacheLayers().layerOf(one.layer).value(),
           head ? TableCell(head->value()) : TableCell(), one.row.value(), name(one.verdict),
           chose ? TableCell(name(one.ground)) : TableCell(), one.score, ranked ? TableCell(one.rank) : TableCell(),
           competed(one.of), competed(one.stayed), one.threshold, ledgerCell(one.lowest), ledgerCell(one.replacedBy),
           one.policy ? TableCell(one.policy->name) : TableCell(), parameters,
           chose ? TableCell(one.atPromptEnd ? "prompt" : "tick") : TableCell(), detail});
  return !out.full();
}

Status decisionRows(Session& session, VerbArgs& of, TableRows& out) {
  const CacheLayers& all = session.cacheLayers();
  DecisionsAsked asked;
  if (of.has("layer")) asked.layer = Layer(static_cast<std::int32_t>(of.within("layer", 0, all.last().value())));
  if (of.has("kvHead")) asked.head = Head(static_cast<std::int32_t>(of.within("kvHead", 0, all.perLayer - 1)));
  if (of.error()) return *of.error();
  if (of.has("ledger")) asked.row = KV_TRY(knownRow(of, session, "ledger"));
  if (of.has("tick")) asked.tick = Tick(of.integer("tick"));
  return decisions(session, asked, [&](const RowDecision& one) { return addDecision(session, one, out); });
}

}  // namespace

std::span<const TableSource> decisionTables() {
  using enum ColumnType;
  static const TableSource kTables[] = {
      {{"decisions",
        {arg::integer("ledger", 0, kMostId).orNone(), arg::integer("layer", 0, kMostLayer).orNone(), headArg(),
         arg::integer("tick", 0, kMostTickAsked).orNone()},
        {{"tick", Integer, "tick of the commit"},
         {"layer", Integer, "layer of the model"},
         {"kvHead", Integer, "KV head, where each has rows of its own; else null"},
         {"ledger", Integer, "the row"},
         {"event", Text, "computed; kept or dropped where a policy chose among the layer's rows"},
         {"ground", Text,
          "sink, window or pinned: it stays whatever its score; rank: its place among the others; threshold: its score "
          "is below the policy's; repeated: by an added policy, whose scores history does not have"},
         {"score", Number, "the policy's score; null without one"},
         {"rank", Integer, "1 = the best of the rows that competed; null where it did not compete"},
         {"of", Integer, "rows that competed"},
         {"stayed", Integer, "rows of these that stayed"},
         {"threshold", Number, "the lowest score of those that stayed; null where none did"},
         {"lowest", Integer, "the row with this score"},
         {"replacedBy", Integer,
          "of a dropped row: the row that left the window for its place; else lowest. Null where none stayed"},
         {"policy", Text, "name of the policy"},
         {"parameters", Value, "all keys of the policy"},
         {"when", Text, "prompt: at its end; tick"},
         {"detail", Text, "the same in words"}},
        "What policies decided about rows: which they kept and dropped, at which score, rank and threshold. Of the "
        "present tick or of another one; with a row of all ticks since it came. Dropped ticks are executed again. "
        "A tick that is open behind the stage prune has the number after the present one.",
        Effect::Measures},
       nullptr,
       decisionRows},
  };
  return kTables;
}

}  // namespace kvlab
