// SPDX-License-Identifier: Apache-2.0
#include "core/edit/witness.h"

#include <algorithm>

namespace kvlab {

Witness::Witness(Transformer& transformer, kernels::Staging& staging, CommitDeeds& deeds, const CacheLayers& layers,
                 std::function<void(PassDeed&)> plan)
    : m_transformer(transformer), m_staging(staging), m_deeds(deeds), m_layers(layers), m_plan(std::move(plan)) {
  if (!sees()) return;
  transformer.setWitness(
      [this](Layer layer, std::size_t part, const LayerPass& one, std::int64_t n, const float* attended) {
        const ModelConfig& config = m_transformer.model().config();
        writeDown(CacheLayer(layer.value() * m_layers.perLayer + static_cast<int>(part)), one, n,
                  attended + (n - 1) * config.heads * config.headDim);
      });
}

Witness::~Witness() { m_transformer.setWitness({}); }

void Witness::see(const float* x, std::int64_t n) {
  const std::int64_t hidden = m_transformer.hidden();
  m_input.assign(x + (n - 1) * hidden, x + n * hidden);
}

/// Layers and chunks that read the same list share it.
template <class T>
const T* Witness::brought(const T* from, std::int64_t count) {
  if (!from || count == 0) return nullptr;
  const void*& known = m_hostLists[{from, count * static_cast<std::int64_t>(sizeof(T))}];
  if (!known) {
    std::vector<std::byte>& list = m_lists.emplace_back(static_cast<std::size_t>(count) * sizeof(T));
    m_staging.bring(reinterpret_cast<T*>(list.data()), from, static_cast<std::size_t>(count));
    known = list.data();
  }
  return static_cast<const T*>(known);
}

void Witness::keep(WholePass& whole) {
  if (sees() || !m_deeds.whole() || whole.embeddingOnly) return;
  const ModelConfig& config = m_transformer.model().config();
  const std::size_t layers = whole.passes.size() / static_cast<std::size_t>(whole.perLayer);
  m_inputs.resize(layers * static_cast<std::size_t>(m_transformer.hidden()));
  m_attended.resize(layers * static_cast<std::size_t>(config.heads * config.headDim));
  whole.inputs = m_staging.out(m_inputs.data(), m_inputs.size());
  whole.attended = m_staging.out(m_attended.data(), m_attended.size());
}

void Witness::told(const WholePass& whole, CacheLayer layer, std::int64_t rows) {
  if (sees() || whole.embeddingOnly) return;
  const LayerPass& one = whole.passes[static_cast<std::size_t>(layer.value())];
  const std::int64_t n = whole.n;
  Told& told = m_told.emplace_back(Told{layer, one, n, whole.inputs && whole.attended});
  told.one.tags = brought(one.tags, n);
  for (const std::int32_t* LayerPass::*list :
       {&LayerPass::phase, &LayerPass::rowBegin, &LayerPass::rowEnd, &LayerPass::write, &LayerPass::selfSlot})
    told.one.*list = brought(one.*list, n);
  for (const std::int32_t* LayerPass::*list : {&LayerPass::slots, &LayerPass::phases})
    told.one.*list = brought(one.*list, rows);
}

void Witness::finish() {
  const ModelConfig& config = m_transformer.model().config();
  const std::int64_t hidden = m_transformer.hidden(), heads = std::int64_t{config.heads} * config.headDim;
  for (const Told& told : m_told) {
    const std::int64_t layer = m_layers.layerOf(told.layer).value(), part = m_layers.partOf(told.layer);
    m_input.clear();
    if (told.kept) see(m_inputs.data() + layer * hidden, 1);
    writeDown(told.layer, told.one, told.n,
              told.kept ? m_attended.data() + layer * heads + part * (heads / m_layers.perLayer) : nullptr);
  }
}

void Witness::writeDown(CacheLayer layer, const LayerPass& one, std::int64_t n, const float* attended) {
  const auto list = [n](auto& to, const auto* from) {
    if (from) to.assign(from, from + n);
    else to.clear();
  };
  PassDeed& deed = m_deeds.next();
  deed.layer = layer;
  list(deed.tags, one.tags);
  list(deed.phase, one.phase);
  list(deed.begin, one.rowBegin);
  list(deed.end, one.rowEnd);
  list(deed.written, one.write);
  list(deed.self, one.selfSlot);
  deed.list = listOf(one, *std::ranges::min_element(deed.begin),
                     std::max(*std::ranges::max_element(deed.end), std::int32_t{0}));
  m_plan(deed);
  deed.input = m_input;
  const ModelConfig& config = m_transformer.model().config();
  deed.attended.clear();
  if (attended)
    deed.attended.assign(attended, attended + std::int64_t{config.heads} * config.headDim / m_layers.perLayer);
}

/// Layers that read the same list at the same addresses share its record.
std::shared_ptr<const ListDeed> Witness::listOf(const LayerPass& one, std::int32_t from, std::int32_t to) {
  const auto known = std::ranges::find_if(m_listed, [&](const Listed& other) {
    return other.slots == one.slots && other.phases == one.phases && other.from == from && other.to == to;
  });
  if (known != m_listed.end()) return known->deed;
  auto deed = std::make_shared<ListDeed>(ListDeed{from});
  if (from < to) {
    deed->slots.assign(one.slots + from, one.slots + to);
    deed->phases.assign(one.phases + from, one.phases + to);
  }
  return m_listed.emplace_back(Listed{one.slots, one.phases, from, to, std::move(deed)}).deed;
}

}  // namespace kvlab
