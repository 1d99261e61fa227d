// SPDX-License-Identifier: Apache-2.0
#include "core/explain/kept_tokens.h"

#include <algorithm>
#include <cmath>

#include "core/explain/row_places.h"

namespace kvlab {
namespace {

constexpr double kWorstRatio = 4;                 // figure / bound; beyond it a head is wrong and no more
constexpr double kNearest = 1.2, kLittle = 0.02;  // a row is that of its nearest token, and of others about as near

/// Values of a layer as the model lays them out and the file has them, by token.
class LayerValues {
 public:
  LayerValues(const HypothesisRoom& room, const ExplainedLayer& layer)
      : m_layer(layer),
        m_exact(room.exact.values[at(layer.own)]),
        m_heads(at(room.session.model().config().kvHeads)),
        m_dim(at(room.session.model().config().headDim)),
        m_rows(room.ids.size(), -1) {
    for (std::size_t row = 0; row < layer.tokens.size(); ++row)
      if (layer.tokens[row] >= 0) m_rows[at(layer.tokens[row])] = static_cast<std::int32_t>(row);
  }

  /// The file's rows are compared with the model's as they stand: no head of another place, no factor.
  bool plain() const {
    for (std::size_t token = 0; token < m_rows.size(); ++token) {
      if (m_rows[token] < 0) continue;
      const float* ours = m_layer.exactValues.data() + at(m_rows[token]) * width();
      return std::equal(ours, ours + width(), m_exact.data() + token * width());
    }
    return false;
  }

  /// Adds figure / bound of each head of a token's row against a row of the model.
  void add(std::size_t token, const float* ours, double& sum, std::size_t& count) const {
    const std::int32_t row = m_rows[token];
    if (row < 0) return;
    const std::vector<float> errors = relativeErrors(std::span(m_layer.theirValues).subspan(at(row) * width(), width()),
                                                     {ours, width()}, static_cast<int>(m_dim));
    for (std::size_t head = 0; head < m_heads; ++head, ++count) {
      const double ratio = double{errors[head]} / m_layer.valueBounds[at(row) * m_heads + head];
      sum += std::isfinite(ratio) ? std::min(ratio, kWorstRatio) : kWorstRatio;
    }
  }
  std::size_t width() const { return m_heads * m_dim; }

 private:
  const ExplainedLayer& m_layer;
  const std::vector<float>& m_exact;
  std::size_t m_heads, m_dim;
  std::vector<std::int32_t> m_rows;  // [tokens] -1 = the layer has none
};

}  // namespace

std::vector<std::int32_t> keptTokens(const HypothesisRoom& room, const TokenRows& before) {
  std::vector<std::pair<int, LayerValues>> layers;
  for (const ExplainedLayer& layer : room.theirs)
    if (layer.own >= room.left.firstLayer && at(layer.own) < before.values.size())
      if (LayerValues values(room, layer); values.plain()) layers.emplace_back(layer.own, std::move(values));
  if (layers.empty()) return {};
  std::vector<std::vector<std::int32_t>> alike(room.ids.size());  // ascending
  for (std::size_t token = 0; token < alike.size(); ++token) {
    std::vector<std::pair<double, std::int32_t>> ratios;
    double least = 1;
    for (std::size_t old = 0; old < room.before.size(); ++old) {
      if (room.before[old] != room.ids[token]) continue;
      double sum = 0;
      std::size_t count = 0;
      for (const auto& [own, values] : layers)
        values.add(token, before.values[at(own)].data() + old * values.width(), sum, count);
      ratios.emplace_back(count > 0 ? sum / static_cast<double>(count) : 0, static_cast<std::int32_t>(old));
      least = std::min(least, ratios.back().first);
    }
    for (const auto& [ratio, old] : ratios)
      if (ratio <= 1 && ratio <= kNearest * least + kLittle) alike[token].push_back(old);
  }
  return commonTokens(room.ids.size(), room.before.size(), [&](std::size_t now, std::size_t old) {
    return std::ranges::binary_search(alike[now], static_cast<std::int32_t>(old));
  });
}

EditBetween editBetween(const std::vector<std::int32_t>& kept, std::span<const TokenId> now,
                        std::span<const TokenId> before) {
  EditBetween out;
  std::vector<bool> stays(before.size());
  std::size_t next = 0;  // of the text before
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0) {
      out.fresh.push_back(static_cast<std::int32_t>(i));
      if (next < before.size() && before[next] == now[i]) stays[next++] = true;
    } else {
      stays[at(kept[i])] = true;
      next = at(kept[i]) + 1;
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!stays[i]) out.gone.push_back(static_cast<std::int32_t>(i));
  while (at(out.first) < kept.size() && kept[at(out.first)] == out.first) ++out.first;
  return out;
}

}  // namespace kvlab
