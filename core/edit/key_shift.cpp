// SPDX-License-Identifier: Apache-2.0
#include "core/edit/key_shift.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr std::int64_t kRowsAtATime = 256;  // rows rewritten at a time

/// Rows of one layer whose keys must be rotated.
struct Turns {
  std::vector<std::int32_t> slots, shift;
  std::vector<LedgerId> ids;
};

Turns turnsOf(const ResidencyView& map, const WrittenPhases& written) {
  Turns turns;
  for (auto i = at(map.first); i < map.size(); ++i) {
    const std::size_t id = at(map.ledger[i].value());
    if (id >= written.size() || written[id] < 0 || written[id] == map.phases[i]) continue;
    turns.slots.push_back(map.slotOf[i].value());
    turns.shift.push_back(map.phases[i] - written[id]);
    turns.ids.push_back(map.ledger[i]);
  }
  return turns;
}

/// A rotation table for the shifts that occur, in the form that kernels read, without YaRN's attention factor.
class ShiftTable {
 public:
  ShiftTable(const std::vector<std::int32_t>& shifts, const std::vector<double>& frequencies)
      : m_frequencies(frequencies), m_shifts(shifts) {
    std::sort(m_shifts.begin(), m_shifts.end());
    m_shifts.erase(std::unique(m_shifts.begin(), m_shifts.end()), m_shifts.end());
    for (std::int32_t shift : m_shifts) {
      for (double w : frequencies) m_table.push_back(static_cast<float>(std::cos(shift * w)));
      for (double w : frequencies) m_table.push_back(static_cast<float>(std::sin(shift * w)));
    }
  }
  const std::vector<float>& values() const { return m_table; }
  std::int32_t row(std::int32_t shift) const {
    return static_cast<std::int32_t>(std::lower_bound(m_shifts.begin(), m_shifts.end(), shift) - m_shifts.begin());
  }

  /// |stored - rotated| / |rotated| of one row; `rotated` is `old` rotated in double. Vectors are [heads*headDim].
  double error(std::int32_t shift, const float* old, const float* stored, std::size_t width, std::size_t dim) const {
    const std::size_t half = m_frequencies.size();
    double off = 0, all = 0;
    for (std::size_t head = 0; head < width; head += dim)
      for (std::size_t i = head; i < head + half; ++i) {
        const double c = std::cos(shift * m_frequencies[i - head]), s = std::sin(shift * m_frequencies[i - head]);
        const double x = old[i] * c - old[i + half] * s, y = old[i + half] * c + old[i] * s;
        off += (stored[i] - x) * (stored[i] - x) + (stored[i + half] - y) * (stored[i + half] - y);
        all += x * x + y * y;
      }
    return all > 0 ? std::sqrt(off / all) : 0;
  }

 private:
  const std::vector<double>& m_frequencies;  // [headDim/2]
  std::vector<std::int32_t> m_shifts;        // ascending
  std::vector<float> m_table;                // [shifts, rotaryWidth(headDim)]
};

/// Rotates rows [begin, begin+n) of a layer. Returns their errors, [n], or nothing if they are not measured.
std::vector<double> turn(const Turns& turns, std::int64_t begin, std::int64_t n, const ShiftTable& table,
                         kernels::Backend& backend, RowPool& pool, bool measure) {
  const kernels::RowFormat& format = pool.format();
  const kernels::OpTable& ops = backend.ops();
  const std::size_t width = at(pool.width());
  std::vector<float> old(measure ? at(n) * width : 0), stored(old.size());
  std::vector<std::int32_t> rows;
  std::vector<std::uint64_t> tags;
  for (std::int64_t i = begin; i < begin + n; ++i) {
    rows.push_back(table.row(turns.shift[at(i)]));
    tags.push_back(static_cast<std::uint64_t>(turns.ids[at(i)].value()));
  }
  const std::span<const std::int32_t> slots(turns.slots.data() + begin, at(n));
  if (measure) pool.gather(slots, old.data(), nullptr);
  kernels::Staging staging(backend);
  float *k = staging.temporary<float>(at(n) * width), *v = staging.temporary<float>(at(n) * width);
  const std::int32_t* placed = staging.in(slots);
  ops.gatherRows(backend.context(), {pool.data(), format, placed, n, k, v});
  ops.rope(backend.context(), {k, staging.in(rows), staging.in(table.values()), n, format.kvHeads, format.headDim, 0});
  kernels::WriteRowsStats counted;
  ops.writeRows(backend.context(),
                {.pool = pool.data(),
                 .fmt = format,
                 .k = k,
                 .v = v,
                 .tags = staging.in(tags),
                 .slots = placed,
                 .n = n,
                 .stats = pool.stats() ? staging.inOut(&counted, 1) : nullptr});
  staging.finish();
  pool.settleCounts(n, counted);
  std::vector<double> errors;
  if (!measure) return errors;
  pool.gather(slots, stored.data(), nullptr);
  for (std::size_t i = 0; i < at(n); ++i)
    errors.push_back(table.error(turns.shift[at(begin) + i], old.data() + i * width, stored.data() + i * width, width,
                                 at(format.headDim)));
  return errors;
}

/// Notes turns of keys that are stored in a type: each rounds a key again.
void count(Column<RowPast>& column, kernels::DType type, const Turns& turns, const std::vector<double>& errors) {
  constexpr Rounding kTurning{0, 1e-6f};  // error of the rotation's arithmetic
  const Rounding step = roundingOf(type, true);
  std::vector<RowPast> all(column.begin(), column.end());
  for (std::size_t i = 0; i < turns.ids.size(); ++i) {
    const std::size_t id = at(turns.ids[i].value());
    if (all.size() <= id) all.resize(id + 1);
    RowPast& past = all[id];
    ++past.turns;
    past.phases += static_cast<float>(std::abs(turns.shift[i]));
    if (!errors.empty()) past.error = past.error + static_cast<float>(errors[i]);
    past.k = (past.k.any() ? past.k : step).then(step).then(kTurning);
  }
  column.assign(all);
}

}  // namespace

std::vector<WrittenPhases> writtenPhases(const CacheState& before) {
  std::vector<WrittenPhases> out(before.groupOf.size());
  for (const CacheLayer layer : before.layers()) {
    const ResidencyView& map = before.map(layer);
    out[at(layer)].assign(before.ledger.size(), -1);
    for (std::size_t i = 0; i < map.size(); ++i) out[at(layer)][at(map.ledger[i].value())] = map.phases[i];
  }
  return out;
}

std::int64_t shiftKeys(CacheState& after, const std::vector<WrittenPhases>& written, Transformer& transformer,
                       CacheStore& store, bool measure) {
  std::int64_t bytes = 0;
  after.pasts.resize(after.groupOf.size());
  for (const CacheLayer layer : after.layers()) {
    const Turns turns = turnsOf(after.map(layer), written[at(layer)]);
    if (turns.slots.empty()) continue;
    store.overwrites(layer, turns.slots);
    store.deeds().turn(layer);
    const ShiftTable table(turns.shift, transformer.rotary().frequencies(after.cacheLayers().layerOf(layer)));
    const auto n = static_cast<std::int64_t>(turns.slots.size());
    std::vector<double> errors;
    for (std::int64_t begin = 0; begin < n; begin += kRowsAtATime) {
      const std::vector<double> some =
          turn(turns, begin, std::min(kRowsAtATime, n - begin), table, store.backend(), store.pool(layer), measure);
      errors.insert(errors.end(), some.begin(), some.end());
    }
    count(after.pasts[at(layer)], store.pool(layer).format().k, turns, errors);
    bytes += 2 * n * store.pool(layer).stride();
  }
  return bytes;
}

std::vector<std::int32_t> rotaryRowsOf(const CacheState& state, const ResidencyView& map, Rotary& rotary) {
  std::vector<std::int32_t> out(map.size());
  std::size_t position = 0;
  for (std::size_t i = 0; i < out.size(); ++i, ++position) {
    while (position < state.context.size() && state.context[position] != map.ledger[i]) ++position;
    const bool there = position < state.context.size();  // also where a map is damaged
    out[i] = rotary.index(map.phase(i), there ? state.kind->blurAt(Position(static_cast<int>(position))) : 0);
  }
  return out;
}

}  // namespace kvlab
