// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/files/cache_wlod.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

using nlohmann::json;

std::string levelOf(int level, const char* part) { return "tree." + std::to_string(level) + "." + part; }

std::vector<std::int32_t> numbersOf(const Column<LedgerId>& ids) {
  std::vector<std::int32_t> out;
  for (const LedgerId id : ids) out.push_back(id.value());
  return out;
}

class WlodReader {
 public:
  WlodReader(ColumnsIn& in, const json& wlod, const std::string& path, const CacheTarget& target,
             const std::vector<LedgerRow>& ledger, const WlodRules& rules)
      : m_in(in), m_json(wlod), m_path(path), m_target(target), m_ledger(ledger), m_taken(ledger.size()) {
    m_out.rules = rules;
  }

  Result<std::shared_ptr<const KindState>> read() {
    KV_TRY(readTree());
    KV_TRY(readEntries());
    KV_TRY(readValues(
        "entries.mass", [](double mass) { return mass >= 0 && std::isfinite(mass); }, m_out.mass));
    KV_TRY(readValues(
        "entries.scores", [](double score) { return score > -1 && score < 1; }, m_out.scores));
    KV_TRY(readArrivals());
    return std::shared_ptr<const KindState>(std::make_shared<const WlodState>(std::move(m_out)));
  }

 private:
  Status readTree() {
    const std::int64_t moments = m_in.extent("tree.tokens");
    if (moments >= m_target.maxPhases)
      return Error("no_phase_room", "cannot use " + m_path,
                   "its time line is " + std::to_string(moments) + " moments long, and the session has room for " +
                       std::to_string(m_target.maxPhases - 1),
                   "open the session with larger wlod.moments", "moments", moments);
    std::vector<LedgerId> tokens;
    KV_TRY(readNames("tree.tokens", moments, RowKind::Token, tokens));
    std::array<MegaContext::Level, kTopLevel> levels;
    for (int n = 1; n <= kTopLevel; ++n) {
      const std::int64_t nodes = moments / spanOf(n);
      std::vector<LedgerId> names;
      KV_TRY(readNames(levelOf(n, "names"), nodes, RowKind::Gist, names));
      std::vector<float> gists;
      KV_TRY(m_in.take(levelOf(n, "gists"), Element::F32, {nodes, m_target.config.hidden}, gists));
      for (std::size_t i = 0; i < gists.size(); ++i)
        if (!std::isfinite(gists[i])) return m_in.badAt(levelOf(n, "gists"), i, "is not finite");
      MegaContext::Level& level = levels[at(n - 1)];
      level.rows.assign(names);
      level.gists.assign(gists);
    }
    m_out.tree = MegaContext(m_target.config.hidden, tokens, std::move(levels));
    return ok();
  }

  /// Ledger rows of a kind, each named once; only gists may have none.
  Status readNames(const std::string& tensor, std::int64_t n, RowKind kind, std::vector<LedgerId>& out) {
    std::vector<std::int32_t> ids;
    KV_TRY(m_in.take(tensor, Element::I32, {n}, ids));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      out.emplace_back(ids[i]);
      if (ids[i] == -1 && kind == RowKind::Gist) continue;
      if (ids[i] < 0 || at(ids[i]) >= m_ledger.size() || m_ledger[at(ids[i])].kind != kind)
        return m_in.badAt(tensor, i, "is no ledger row of a " + std::string(name(kind)));
      if (m_taken[at(ids[i])]) return m_in.badAt(tensor, i, "stands in the tree twice");
      m_taken[at(ids[i])] = true;
    }
    return ok();
  }

  Status readEntries() {
    const std::int64_t n = m_in.extent("entries.nodes");
    KV_TRY(checkCapacity(n, m_target, m_path));
    std::vector<std::int64_t> ids;
    std::vector<std::int32_t> changed;
    KV_TRY(m_in.take("entries.nodes", Element::I64, {n}, ids));
    KV_TRY(m_in.take("entries.changed", Element::I32, {n}, changed));
    const std::int32_t round = KV_TRY(number("round"));
    m_out.sinceRound = KV_TRY(number("since_round"));
    std::vector<TreeNode> entries;
    std::int32_t moment = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const TreeNode& node = entries.emplace_back(TreeNode::of(NodeId(ids[i])));
      if (!node.aligned() || node.start != moment || !m_out.tree.has(node))
        return m_in.badAt("entries.nodes", i, "is no node that begins at moment " + std::to_string(moment));
      if (changed[i] < WorkingContext::kNever || changed[i] > round)
        return m_in.badAt("entries.changed", i, "is no round");
      moment = node.end();
    }
    if (moment != m_out.tree.length())
      return badCache(m_path,
                      "tensor \"entries.nodes\": the entries end at moment " + std::to_string(moment) +
                          ", the time line at " + std::to_string(m_out.tree.length()),
                      "entries.nodes");
    m_out.context = WorkingContext::of(entries, changed, round);
    return ok();
  }

  Result<std::int32_t> number(const char* key) const {
    const json value = m_json.value(key, json());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() < static_cast<std::uint64_t>(kNumbersEnd))
      return value.get<std::int32_t>();
    return badCache(m_path, "wlod." + std::string(key) + " is no number of rounds or tokens", "wlod");
  }

  /// One value for each entry.
  Status readValues(const char* tensor, bool (*good)(double), std::vector<double>& out) {
    if (!m_in.has(tensor)) return ok();
    KV_TRY(m_in.take(tensor, Element::F64, {m_out.context.cost()}, out));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!good(out[i])) return m_in.badAt(tensor, i, "is out of range");
    return ok();
  }

  Status readArrivals() {
    const std::vector<WlodRow> rows = wlodRows(m_out.context, m_out.rules.attention);
    std::vector<LedgerId> names;
    for (const WlodRow& row : rows) {
      names.push_back(m_out.tree.row(row.node));
      if (names.back().value() < 0)
        return m_in.badAt(levelOf(row.node.level, "names"), at(row.node.start / row.node.span()), "names no row");
    }
    m_out.rows.assign(rows);
    m_out.ledger.assign(names);
    if (!m_in.has("arrivals.stale")) return ok();
    std::vector<std::uint8_t> stale;
    KV_TRY(m_in.take("arrivals.stale", Element::U8, {count(rows.size())}, stale));
    m_out.stale.assign(stale.begin(), stale.end());
    return ok();
  }

  ColumnsIn& m_in;
  const json& m_json;
  const std::string& m_path;
  const CacheTarget& m_target;
  const std::vector<LedgerRow>& m_ledger;
  std::vector<bool> m_taken;  // [ledger] stands in the tree
  WlodState m_out;
};

}  // namespace

json WlodFile::describe(const CacheState& state) const {
  return {
      {"settings", m_settings}, {"round", wlodIn(state).context.round()}, {"since_round", wlodIn(state).sinceRound}};
}

void WlodFile::add(ColumnsOut& out, const CacheState& cache) const {
  const WlodState& state = wlodIn(cache);
  const MegaContext& tree = state.tree;
  out.add("tree.tokens", Element::I32, {tree.length()}, numbersOf(tree.tokens()));
  for (int n = 1; n <= kTopLevel; ++n) {
    const MegaContext::Level& level = tree.level(n);
    const std::int64_t nodes = tree.nodes(n);
    out.add(levelOf(n, "names"), Element::I32, {nodes}, numbersOf(level.rows));
    out.add(levelOf(n, "gists"), Element::F32, {nodes, tree.hidden()},
            std::vector<float>(level.gists.begin(), level.gists.end()));
  }
  const std::int64_t entries = state.context.cost();
  std::vector<std::int64_t> nodes;
  for (const TreeNode entry : state.context.entries()) nodes.push_back(entry.id().value());
  out.add("entries.nodes", Element::I64, {entries}, nodes);
  out.add("entries.changed", Element::I32, {entries},
          std::vector<std::int32_t>(state.context.changed().begin(), state.context.changed().end()));
  if (!state.mass.empty()) out.add("entries.mass", Element::F64, {entries}, state.mass);
  if (!state.scores.empty()) out.add("entries.scores", Element::F64, {entries}, state.scores);
  if (!state.stale.empty())
    out.add("arrivals.stale", Element::U8, {count(state.stale.size())},
            std::vector<std::uint8_t>(state.stale.begin(), state.stale.end()));
}

Result<std::shared_ptr<const KindState>> WlodFile::read(ColumnsIn& in, const json& own, const std::string& path,
                                                        const CacheTarget& target,
                                                        const std::vector<LedgerRow>& ledger) const {
  return WlodReader(in, own, path, target, ledger, m_rules).read();
}

Status WlodFile::checkContext(const KindState& kind, const CacheImport& rows, const ColumnsIn& in) const {
  const auto& state = static_cast<const WlodState&>(kind);
  if (const std::size_t cost = at(state.context.cost()); rows.context.size() != cost)
    return in.bad("context.ledger has " + std::to_string(rows.context.size()) + " rows, the working context has " +
                      std::to_string(cost),
                  "context.ledger");
  for (std::size_t i = 0; i < rows.context.size(); ++i) {
    const TreeNode entry = state.context.entries()[i];
    if (rows.context[i] != state.tree.row(entry))
      return in.badAt("context.ledger", i, "is not the row of " + entry.text());
    if (rows.phases[i] != entry.phase()) return in.badAt("context.phases", i, "is not that of " + entry.text());
  }
  return ok();
}

/// A layer has rows that the working context asks for, in order of arrival. It may lack entries that have left it.
Status WlodFile::checkGroup(const KindState& kind, const std::string& prefix, std::span<const std::int32_t> ids,
                            std::span<const std::int32_t> phases, const ColumnsIn& in) const {
  const auto& state = static_cast<const WlodState&>(kind);
  std::size_t row = 0;
  for (std::size_t i = 0; i < ids.size(); ++i, ++row) {
    while (row < state.rows.size() && state.rows[row].entry && ids[i] != state.ledger[row].value()) ++row;
    if (row == state.rows.size() || ids[i] != state.ledger[row].value())
      return in.badAt(prefix + "ledger", i, "is not a row of the working context in order of arrival");
    const TreeNode node = state.rows[row].node;
    if (phases[i] != node.phase()) return in.badAt(prefix + "phases", i, "is not that of " + node.text());
  }
  for (; row < state.rows.size(); ++row)
    if (!state.rows[row].entry)
      return in.bad(prefix + "ledger lacks " + state.rows[row].node.text(), prefix + "ledger");
  return ok();
}

}  // namespace kvlab
