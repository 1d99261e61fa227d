// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/state/wlod_state.h"

#include <algorithm>

#include "core/state/state_bytes.h"
#include "core/state/state_hasher.h"

namespace kvlab {

std::shared_ptr<const KindState> WlodState::ownCopy() const {
  auto copy = std::make_shared<WlodState>(*this);
  copy->tree = tree.ownCopy();
  copy->context = context.ownCopy();
  copy->rows = rows.ownCopy();
  copy->ledger = ledger.ownCopy();
  if (draft) copy->draft->before = std::make_shared<const CacheState>(kvlab::ownCopy(*draft->before));
  return copy;
}

/// Hashes the time line, the tiling over it with the age of its entries, and the inputs of the focus allocator.
void WlodState::hash(StateHasher& hasher) const {
  hasher.column(tree.tokens());
  for (std::int32_t i = 0; i < context.cost(); ++i) {
    hasher.value(context.entries()[at(i)].id().value());
    hasher.value(context.age(i).value_or(-1));
  }
  for (const std::vector<double>* values : {&mass, &scores})
    hasher.bytes(values->data(), values->size() * sizeof(double));
  hasher.value(sinceRound);
  hasher.value(draft ? draft->begin : -1);
}

void WlodState::addTo(StateBuffers& buffers) const {
  buffers.add(this, sizeof *this);
  buffers.add(tree.tokens()), buffers.add(tree.dirty());
  for (int level = 1; level <= kTopLevel; ++level) {
    const MegaContext::Level& gists = tree.level(level);
    buffers.add(gists.gists), buffers.add(gists.rows);
  }
  buffers.add(context.entries()), buffers.add(context.changed());
  buffers.add(rows), buffers.add(ledger), buffers.add(stale), buffers.add(mass), buffers.add(scores);
  buffers.add(rounds);
  for (const auto& round : rounds) buffers.add(round->decisions);
}

TokenSpan WlodState::tokensAt(Position position) const {
  const TreeNode entry = context.entries()[at(position)];
  return {entry.start, entry.end()};
}

double WlodState::blurAt(Position position) const { return rules.blurOf(context.entries()[at(position)]); }

/// A pin keeps a token entry from collapsing.
Status WlodState::pinnable(const CacheState& state, LedgerId id) const {
  if (state.ledger[id].kind == RowKind::Gist)
    return Error("not_a_token", "the row was not pinned", "ledger row " + std::to_string(id.value()) + " is a gist",
                 "expand it, then pin its tokens", "ledger", id.value());
  const Column<LedgerId>& tokens = tree.tokens();
  const auto found = std::find(tokens.begin(), tokens.end(), id);
  if (found == tokens.end()) return ok();
  const auto moment = static_cast<std::int32_t>(found - tokens.begin());
  const TreeNode entry = context.entries()[at(context.entryAt(moment))];
  if (entry.level == 0) return ok();
  return Error("not_an_entry", "the row was not pinned",
               "token " + std::to_string(moment) + " stands in " + entry.text(), "expand " + entry.text() + " first",
               "ledger", id.value());
}

std::shared_ptr<const ResidencyView> WlodState::inContext(const CacheState& state, const ResidencyView& stored) const {
  if (rules.attention == WlodAttention::Flat) return nullptr;
  std::vector<LedgerId> ids;
  std::vector<std::int32_t> phases;
  auto map = std::make_shared<ResidencyView>();
  for (std::size_t row = 0, i = 0; i < stored.size(); ++row) {
    if (ledger[row] != stored.ledger[i]) continue;
    if (rows[row].entry) {
      ids.push_back(stored.ledger[i]);
      phases.push_back(stored.phases[i]);
      map->slotOf.push_back(stored.slotOf[i]);
      if (!stored.has(i)) ++map->first;
    }
    ++i;
  }
  map->ledger = state.context.following(ids);
  map->phases = state.phases.following(phases);
  return map;
}

std::optional<std::size_t> WlodState::rowOf(LedgerId id) const {
  for (std::size_t row = ledger.size(); row-- > 0;)
    if (ledger[row] == id) return row;
  return std::nullopt;
}

std::optional<std::vector<double>> WlodState::inputOf(const CacheState& state, LedgerId id,
                                                      const Embedding& embed) const {
  const std::optional<std::size_t> row = state.ledger[id].kind == RowKind::Gist ? rowOf(id) : std::nullopt;
  return row ? std::optional(gistOf(state, rows[*row].node, embed)) : std::nullopt;
}

std::vector<double> WlodState::gistOf(const CacheState& state, TreeNode node, const Embedding& embed) const {
  if (!rules.means) {
    const std::span<const float> gist = tree.gist(node);
    return {gist.begin(), gist.end()};
  }
  std::vector<double> out;
  for (std::int32_t t = node.start; t < node.end(); ++t) {
    const std::vector<double> token = embed(state.ledger[tree.token(Moment(t))].token);
    out.resize(token.size());
    std::ranges::transform(out, token, out.begin(), [&](double sum, double x) { return sum + x / node.span(); });
  }
  return out;
}

bool WlodState::leftAsItWas(LedgerId id) const {
  const std::optional<std::size_t> row = stale.empty() ? std::nullopt : rowOf(id);
  return row && stale[*row];
}

std::shared_ptr<WlodState> withPins(const CacheState& state) {
  auto out = std::make_shared<WlodState>(wlodIn(state));
  out->rules.working.pinned.clear();
  for (std::size_t i = 0; i < state.context.size(); ++i)
    if (const TreeNode entry = out->context.entries()[i]; entry.level == 0 && state.ledger[state.context[i]].pinned)
      out->rules.working.pinned.push_back(entry.start);
  return out;
}

}  // namespace kvlab
