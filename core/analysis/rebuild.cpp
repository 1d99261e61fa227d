// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/rebuild.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/edit/group_pass.h"
#include "core/edit/recompute.h"

namespace kvlab {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One layer's residency map with scratch records for slots.
struct ScratchView {
  std::vector<std::int32_t> records;  // [map rows]
  GroupPass pass;
  std::vector<std::int32_t> self;  // [rows] record of a row that the map lacks, -1 = it has it; or empty
};

class RebuildPass {
 public:
  explicit RebuildPass(const RebuildInput& input) : m_in(input), m_state(input.state) {
    for (std::int32_t p = 0; p < m_state.length(); ++p)
      if (m_state.ledger[m_state.context[at(p)]].state == RowState::Live) {
        m_rows.push_back(targetAt(m_state, p));
        m_positions.push_back(p);
        m_tags.push_back(static_cast<std::uint64_t>(m_rows.back().id.value()));
      }
    m_writes.resize(m_rows.size());
    std::iota(m_writes.begin(), m_writes.end(), 0);
    for (const LayerGroup& group : m_state.groups) m_views.push_back(view(group));
  }

  Result<std::vector<float>> run(const std::function<Status(const RebuiltLayer&)>& sink,
                                 const kernels::RowFormat& format, const Progress& progress) {
    std::vector<float> logits;
    if (m_rows.empty()) return logits;
    Transformer& t = m_in.transformer;
    Result<RowPool> scratch = RowPool::create(format, static_cast<std::int32_t>(m_rows.size()));
    if (!scratch) return scratch.error();
    std::vector<TokenId> tokens;
    for (const RowTarget& row : m_rows) tokens.push_back(row.token);
    m_x.resize(m_rows.size() * at(t.hidden()));
    for (const ScratchView& view : m_views) t.rotary().index(Phase(view.pass.phase.back()));
    t.embed(tokens, m_x.data());
    const int layers = t.model().config().layers;
    for (int layer = 0; layer < layers; ++layer) {
      if (progress && !progress("rebuilding layers", layer, layers))
        return Error{"cancelled", "the rebuild was cancelled", "layers 0 to " + std::to_string(layer - 1) + " were done",
                     "run it again to rebuild the rest"};
      if (Status done = runLayer(layer, *scratch); !done) return done.error();
      if (Status done = sink({layer, *scratch, m_positions}); !done) return done.error();
    }
    logits.resize(at(t.model().config().vocab));
    t.logits(m_x.data() + (m_rows.size() - 1) * at(t.hidden()), 1, logits.data());
    return logits;
  }

 private:
  ScratchView view(const LayerGroup& group) const {
    ScratchView out{{}, groupPass(m_state.context, group, m_rows, m_in.cachePhases), {}};
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      if (out.pass.resident[i]) out.records.push_back(static_cast<std::int32_t>(i));
      if (!out.pass.allResident) out.self.push_back(out.pass.resident[i] ? -1 : static_cast<std::int32_t>(i));
    }
    return out;
  }

  Status runLayer(int layer, RowPool& scratch) {
    const LayerGroup& group = m_state.group(layer);
    const ScratchView& view = m_views[at(m_state.groupOf[at(layer)])];
    const std::int64_t chunk = m_in.transformer.maxRows();
    const auto total = static_cast<std::int64_t>(m_rows.size());
    for (std::int64_t begin = 0; begin < total; begin += chunk) {
      if (Status passed = m_in.faults.pass(FaultPoint::Kernel, "a rebuild"); !passed) return passed;
      const std::int64_t n = std::min(chunk, total - begin);
      LayerPass pass;
      pass.pool = scratch.data();
      pass.format = scratch.format();
      pass.slots = view.records;
      pass.phases = group.map->phases.span();
      pass.phase = view.pass.phase.data() + begin;
      pass.rowBegin = view.pass.rowBegin.data() + begin;
      pass.rowEnd = view.pass.rowEnd.data() + begin;
      pass.write = m_writes.data() + begin;
      pass.tags = m_tags.data() + begin;
      if (!view.self.empty()) pass.selfSlot = view.self.data() + begin;
      m_in.transformer.layer(layer, pass, n, m_x.data() + at(begin) * at(m_in.transformer.hidden()));
    }
    return ok();
  }

  const RebuildInput& m_in;
  const CacheState& m_state;
  std::vector<RowTarget> m_rows;
  std::vector<std::int32_t> m_positions, m_writes;  // [rows]
  std::vector<std::uint64_t> m_tags;                // [rows]
  std::vector<ScratchView> m_views;                 // [groups]
  std::vector<float> m_x;                           // [rows, hidden]
};

/// Pairs (scratch record, live slot) of the rows that are resident in a layer.
struct Pairs {
  std::vector<std::int32_t> records, slots, positions;
};

Pairs residentPairs(const CacheState& state, const RebuiltLayer& layer) {
  Pairs pairs;
  const ResidencyView& map = state.map(layer.layer);
  std::size_t index = 0;
  for (std::size_t i = 0; i < layer.positions.size() && index < map.size(); ++i) {
    if (map.ledger[index] != state.context[at(layer.positions[i])]) continue;
    pairs.records.push_back(static_cast<std::int32_t>(i));
    pairs.slots.push_back(map.slotOf[index++].value());
    pairs.positions.push_back(layer.positions[i]);
  }
  return pairs;
}

}  // namespace

Result<std::vector<float>> rebuildPass(const RebuildInput& input,
                                       const std::function<Status(const RebuiltLayer&)>& sink,
                                       const kernels::RowFormat& format, const Progress& progress) {
  return RebuildPass(input).run(sink, format, progress);
}

Result<RebuildOutcome> rebuild(const RebuildInput& input, CacheStore& store, const Progress& progress) {
  RebuildOutcome outcome;
  const auto copy = [&](const RebuiltLayer& layer) -> Status {
    if (Status passed = input.faults.pass(FaultPoint::Copy, "copying rebuilt rows"); !passed) return passed;
    const Pairs pairs = residentPairs(input.state, layer);
    std::vector<kernels::RowMove> moves;
    for (std::size_t i = 0; i < pairs.slots.size(); ++i) moves.push_back({pairs.records[i], pairs.slots[i], 1});
    RowPool& pool = store.pool(layer.layer);
    input.transformer.ops().moveRows(
        input.transformer.context(),
        {layer.rows.data(), pool.data(), pool.format(), moves.data(), static_cast<std::int64_t>(moves.size())});
    ++outcome.layersDone;
    return ok();
  };
  Result<std::vector<float>> logits = rebuildPass(input, copy, store.pool(0).format(), progress);
  if (logits) {
    outcome.logits = logits.take();
    return outcome;
  }
  if (logits.error().code != "cancelled") return logits.error();
  outcome.cancelled = true;
  return outcome;
}

Result<Drift> drift(const RebuildInput& input, const CacheStore& store, std::span<const float> logits,
                    const Progress& progress) {
  Drift out;
  const kernels::RowFormat format = store.pool(0).format();
  const std::int64_t width = std::int64_t{format.kvHeads} * format.headDim;
  double worst = 0;
  const auto compare = [&](const RebuiltLayer& layer) -> Status {
    const Pairs pairs = residentPairs(input.state, layer);
    const auto n = static_cast<std::int64_t>(pairs.slots.size());
    std::vector<float> live[2], rebuilt[2];
    for (int side = 0; side < 2; ++side) {
      live[side].resize(at(n * width));
      rebuilt[side].resize(at(n * width));
    }
    const kernels::OpTable& ops = input.transformer.ops();
    const kernels::Context& context = input.transformer.context();
    ops.gatherRows(context, {store.pool(layer.layer).data(), format, pairs.slots.data(), n, live[0].data(), live[1].data()});
    ops.gatherRows(context, {layer.rows.data(), format, pairs.records.data(), n, rebuilt[0].data(), rebuilt[1].data()});
    for (int side = 0; side < 2; ++side) {
      std::vector<double> relative(at(n)), cosine(at(n));
      ops.diffRows(context, {live[side].data(), rebuilt[side].data(), n, width, relative.data(), cosine.data(), nullptr});
      std::vector<float> rows(at(input.state.length()), std::numeric_limits<float>::quiet_NaN());
      double largest = 0, smallest = 1;
      for (std::size_t i = 0; i < at(n); ++i) {
        // Rows that are no numbers are as far apart as can be.
        const double apart = std::isnan(relative[i]) ? std::numeric_limits<double>::infinity() : relative[i];
        rows[at(pairs.positions[i])] = static_cast<float>(apart);
        largest = std::max(largest, apart);
        smallest = std::min(smallest, std::isnan(cosine[i]) ? -1 : cosine[i]);
        if (apart > worst) {
          worst = apart;
          out.worstLayer = layer.layer;
          out.worstPosition = pairs.positions[i];
        }
      }
      (side == 0 ? out.k : out.v).push_back(largest);
      (side == 0 ? out.kCosine : out.vCosine).push_back(smallest);
      (side == 0 ? out.kRows : out.vRows).push_back(std::move(rows));
    }
    return ok();
  };
  Result<std::vector<float>> rebuilt = rebuildPass(input, compare, format, progress);
  if (!rebuilt) return rebuilt.error();
  if (!rebuilt->empty() && rebuilt->size() == logits.size()) out.kl = klDivergence(*rebuilt, logits);
  return out;
}

double klDivergence(std::span<const float> p, std::span<const float> q) {
  const auto logSum = [](std::span<const float> x) {
    const double top = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (float value : x) sum += std::exp(value - top);
    return top + std::log(sum);
  };
  if (p.empty() || p.size() != q.size()) return std::numeric_limits<double>::quiet_NaN();
  if (std::equal(p.begin(), p.end(), q.begin())) return 0;
  const double lp = logSum(p), lq = logSum(q);
  if (!std::isfinite(lp) || !std::isfinite(lq)) return std::numeric_limits<double>::quiet_NaN();
  double kl = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (const double log = p[i] - lp; std::isfinite(log)) kl += std::exp(log) * (log - (q[i] - lq));
  return std::max(0.0, kl);
}

}  // namespace kvlab
