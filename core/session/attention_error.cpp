// SPDX-License-Identifier: Apache-2.0
#include "core/session/attention_error.h"

#include <cmath>
#include <functional>

#include "core/check/scalar_decoder.h"
#include "core/check/stored_heads.h"
#include "core/edit/recompute.h"
#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

/// The rows that the newest query sees in a cache layer: map rows [begin, end), and its own row where that is not
/// resident.
struct SeenPart {
  std::vector<Slot> slots;     // of the map rows
  std::vector<double> phases;  // of the same, that keys are still to be turned by
  double phase = 0;            // of the query
  bool ownLeft = false;        // the map lacks the query's own row
};

SeenPart seenPart(const CacheState& state, const LayerGroup& group, bool cachePhases, LeftRows left, bool keysTurned) {
  const RowTarget newest = targetAt(state, state.length() - 1);
  const GroupPass pass = groupPass(state.context, group, {&newest, 1}, cachePhases, left);
  SeenPart out;
  out.phase = pass.phase[0];
  out.ownLeft = !pass.resident[0];
  for (std::size_t i = at(pass.rowBegin[0]); i < at(pass.rowEnd[0]); ++i) {
    out.slots.push_back(group.map->slotOf[i]);
    out.phases.push_back(keysTurned ? 0 : group.map->phase(i).value());
  }
  return out;
}

float relativeError(std::span<const double> o, std::span<const double> full) {
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < o.size(); ++i) {
    apart += (o[i] - full[i]) * (o[i] - full[i]);
    length += full[i] * full[i];
  }
  return apart == 0 ? 0.0f : static_cast<float>(std::sqrt(apart) / std::sqrt(length));
}

class OutputMeter {
 public:
  OutputMeter(const RebuildInput& live, const CacheStore& store, const CacheState& all)
      : m_state(live.state),
        m_all(all),
        m_store(store),
        m_config(live.transformer.model().config()),
        m_turned(live.transformer.keysRotated()),
        m_cachePhases(live.cachePhases),
        m_decoder(live.transformer.model(), live.state.length()) {}

  Status add(const RebuiltLayer& layer) {
    const Layer own(layer.layer.value());
    const std::vector<double> query = KV_TRY(queryOf(layer));
    SeenPart full = seenPart(m_all, m_all.group(layer.layer), false, LeftRows::Present, m_turned);
    // Record i of the pass is the row at position i.
    for (std::size_t i = 0; i < full.slots.size(); ++i)
      full.slots[i] = Slot(m_all.length() - static_cast<std::int32_t>(full.slots.size() - i));
    std::vector<float>& errors = m_out.emplace_back();
    const CacheLayers layers = m_state.cacheLayers();
    const int group = m_config.heads / m_config.kvHeads, each = m_config.kvHeads / layers.perLayer;
    for (int kv = 0; kv < m_config.kvHeads; ++kv) {
      const CacheLayer part = layers.of(own)[kv / each];
      const SeenPart live = seenPart(m_state, m_state.group(part), m_cachePhases, LeftRows::Gone, m_turned);
      const HeadReader fullRows(layer.rows, full.slots, kv), liveRows(m_store.pool(part), live.slots, kv % each);
      for (int head = kv * group; head < (kv + 1) * group; ++head) {
        const auto asked = std::span(query).subspan(at(head) * at(m_config.headDim), at(m_config.headDim));
        const std::vector<double> whole = output(own, head, asked, full.phase, {std::cref(fullRows), full.phases});
        errors.push_back(relativeError(kept(own, head, asked, live, liveRows, full, fullRows), whole));
      }
    }
    return ok();
  }

  AttentionErrors take() { return std::move(m_out); }

 private:
  /// [heads*headDim], not turned.
  Result<std::vector<double>> queryOf(const RebuiltLayer& layer) const {
    std::vector<float> query(at(m_config.heads) * at(m_config.headDim));
    kernels::Staging staging(m_store.backend());
    staging.bring(query.data(), layer.query, query.size());
    staging.finish();
    KV_TRY(backendStatus(m_store.backend(), "measuring attention"));
    return std::vector<double>(query.begin(), query.end());
  }

  std::vector<double> output(Layer layer, int head, std::span<const double> query, double phase,
                             const ScalarSeen& seen) const {
    std::vector<double> turned(query.begin(), query.end());
    m_decoder.turn(layer, turned, phase, true);
    return m_decoder.attend(layer, head, turned, seen, m_turned);
  }

  /// The output over the rows that the layer keeps. The query's own row always counts: a pass computes it.
  std::vector<double> kept(Layer layer, int head, std::span<const double> query, const SeenPart& live,
                           const HeadReader& liveRows, const SeenPart& full, const HeadReader& fullRows) const {
    ScalarSeen seen{std::cref(liveRows), live.phases};
    if (live.ownLeft) {
      const std::size_t own = live.slots.size(), last = full.slots.size() - 1;
      seen.read = [&liveRows, &fullRows, own, last](std::size_t row, bool value, std::span<double> out) {
        row == own ? fullRows(last, value, out) : liveRows(row, value, out);
      };
      seen.phases.push_back(m_turned ? live.phase - full.phase : live.phase);
    }
    return output(layer, head, query, live.phase, seen);
  }

  const CacheState &m_state, &m_all;
  const CacheStore& m_store;
  const ModelConfig& m_config;
  bool m_turned, m_cachePhases;
  ScalarDecoder m_decoder;
  AttentionErrors m_out;
};

}  // namespace

Result<AttentionErrors> attentionErrors(const RebuildInput& input, const CacheStore& store, const Progress& progress) {
  if (input.state.length() == 0) return AttentionErrors();
  const CacheState all = withAllRows(input.state);
  RebuildInput whole{all, input.transformer, input.faults};
  whole.types = {kernels::DType::f32, kernels::DType::f32};
  OutputMeter meter(input, store, all);
  KV_TRY(rebuildPass(
      whole, [&](const RebuiltLayer& layer) { return meter.add(layer); }, store, progress, true));
  return meter.take();
}

}  // namespace kvlab
