// SPDX-License-Identifier: Apache-2.0
#include "planted/driver/look.h"

#include <bit>

#include "core/session/state_hash.h"
#include "kernels/row_checksum.h"

namespace kvlab::planted_faults {
namespace {

class Sum {
 public:
  void add(std::uint64_t word) { m_value = kernels::mix64(m_value * 31 + word + 0x9e3779b97f4a7c15ull); }
  void add(float value) { add(std::uint64_t{std::bit_cast<std::uint32_t>(value)}); }
  void add(const std::string& text) {
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t value() const { return m_value; }

 private:
  std::uint64_t m_value = 1;
};

std::uint64_t ledgerSum(const LedgerRow& row) {
  Sum sum;
  for (const int field : {row.token.value(), static_cast<int>(row.kind), static_cast<int>(row.state),
                          static_cast<int>(row.source), int{row.pinned}, static_cast<int>(row.born.value())})
    sum.add(static_cast<std::uint64_t>(field));
  for (const auto* list : {&row.parents, &row.children})
    for (const LedgerId id : *list) sum.add(static_cast<std::uint64_t>(id.value()));
  return sum.value();
}

void addValues(const RowValues& values, const std::map<std::int32_t, RowLook>& there,
               std::map<std::int32_t, Sum>& beside) {
  if (!values.map || values.map->size() == 0) return;
  for (std::size_t i = 0; i < values.values.size(); ++i) {
    const std::int32_t id = values.map->ledger[i % values.map->size()].value();
    if (there.contains(id)) beside[id].add(values.values[i]);
  }
}

std::map<std::int32_t, RowLook> rowsOf(const Session& session, CacheLayer layer) {
  const CacheState& state = session.state();
  const LayerGroup& group = state.group(layer);
  const ResidencyView& map = group.stored();
  const RowPool& pool = session.store().pool(layer);
  std::map<std::int32_t, RowLook> out;
  std::map<std::int32_t, Sum> beside;
  std::vector<std::uint8_t> record(at(pool.stride()));
  const std::size_t rows = std::min({map.ledger.size(), map.slotOf.size(), map.phases.size()});
  for (auto i = static_cast<std::size_t>(map.first); i < rows; ++i) {
    const LedgerId id = map.ledger[i];
    RowLook& row = out[id.value()];
    row.slot = map.slotOf[i].value();
    Sum sum;
    sum.add(static_cast<std::uint64_t>(map.phases[i]));
    if (row.slot >= 0 && row.slot < pool.slots()) {
      pool.readRecords({&map.slotOf[i], 1}, record.data());
      for (std::size_t at = 0; at + 8 <= record.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, record.data() + at, 8);
        sum.add(word);
      }
    }
    row.bits = sum.value();
    if (at(id.value()) < group.provenance.size()) {
      const Provenance& from = group.provenance[at(id.value())];
      for (const std::uint64_t word : {from.ids, from.phased, from.context}) beside[id.value()].add(word);
    }
  }
  if (state.policy && at(layer) < state.policy->layers.size()) {
    const LayerPolicyState& own = state.policy->layers[at(layer)];
    addValues(own.received, out, beside);
    addValues(own.observed, out, beside);
    addValues(own.scores, out, beside);
  }
  const auto of = at(state.cacheLayers().layerOf(layer));
  if (of < state.gateScores.size())
    for (auto& [id, row] : out) {
      const std::size_t heads = at(session.model().config().kvHeads), from = at(id) * heads;
      for (std::size_t head = 0; head < heads && from + head < state.gateScores[of].size(); ++head)
        beside[id].add(state.gateScores[of][from + head]);
    }
  for (auto& [id, row] : out) row.beside = beside[id].value();
  return out;
}

}  // namespace

Look lookAt(const Session& session, std::string error) {
  const CacheState& state = session.state();
  Look out;
  out.tick = state.tick.value();
  out.error = std::move(error);
  Sum tokens, logits, brightness, random;
  for (const LedgerId id : state.context.span())
    if (state.ledger.contains(id)) tokens.add(static_cast<std::uint64_t>(state.ledger[id].token.value()));
  logits.add(std::uint64_t{state.logitsStale});
  for (std::size_t i = 0; state.logits && !state.logitsStale && i < state.logits->size(); ++i)
    logits.add((*state.logits)[i]);
  for (const float value : state.brightness.span()) brightness.add(value);
  for (const std::uint64_t word : state.random) random.add(word);
  Sum all;
  all.add(stateHash(state, session.store(), session.pending()));
  out.parts = {{"tokens", tokens.value()},
               {"logits", logits.value()},
               {"brightness", brightness.value()},
               {"random", random.value()},
               {"other", all.value()}};
  for (std::size_t i = 0; i < state.ledger.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    out.ledger[id] = ledgerSum(state.ledger[LedgerId(id)]);
  }
  for (std::size_t p = 0; p < std::min(state.context.size(), state.brightness.size()); ++p) {
    Sum sum;
    sum.add(out.ledger[state.context[p].value()]);
    sum.add(state.brightness[p]);
    out.ledger[state.context[p].value()] = sum.value();
  }
  for (const CacheLayer layer : state.layers()) out.rows.push_back(rowsOf(session, layer));
  return out;
}

void Differences::add(const Look& a, const Look& b) {
  for (const auto& [name, value] : a.parts)
    if (!b.parts.contains(name) || b.parts.at(name) != value) parts.insert(name);
  if (a.error != b.error) parts.insert("error");
  const auto each = [](const auto& left, const auto& right, auto differs) {
    for (const auto& [id, value] : left)
      if (const auto other = right.find(id); other == right.end() || !(other->second == value)) differs(id, other);
    for (const auto& [id, value] : right)
      if (!left.contains(id)) differs(id, right.end());
  };
  each(a.ledger, b.ledger, [&](std::int32_t id, auto) { ledger.insert(id); });
  if (!ledger.empty()) parts.insert("ledger");
  for (std::size_t layer = 0; layer < std::max(a.rows.size(), b.rows.size()); ++layer) {
    static const std::map<std::int32_t, RowLook> none;
    const auto& left = layer < a.rows.size() ? a.rows[layer] : none;
    const auto& right = layer < b.rows.size() ? b.rows[layer] : none;
    each(left, right, [&](std::int32_t id, auto other) {
      rows.insert({static_cast<std::int32_t>(layer), id});
      const bool both = left.contains(id) && other != right.end();
      if (!both || left.at(id).bits != other->second.bits) parts.insert("rows");
      else if (left.at(id).beside != other->second.beside) parts.insert("labels");
    });
  }
}

}  // namespace kvlab::planted_faults
