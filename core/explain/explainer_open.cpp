// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/explain/explainer.h"
#include "core/explain/fault_trials.h"

namespace kvlab {
namespace {

/// A text of as many tokens as the cache has places.
bool hasLength(const std::vector<TokenId>& ids, const ForeignCache& cache) {
  std::int64_t places = 0;
  for (const ForeignLayer& layer : cache.layers)
    places = std::max(
        places, layer.positions.empty() ? layer.rows : std::int64_t{*std::ranges::max_element(layer.positions)} + 1);
  return static_cast<std::int64_t>(ids.size()) == places;
}

Error refused(std::string code, std::string why, std::string remedy) {
  return Error(std::move(code), "the cache was not explained", std::move(why), std::move(remedy));
}

}  // namespace

Status Explainer::open() {
  if (std::ranges::any_of(m_cache.layers, [](const ForeignLayer& one) { return one.layer < 0; }))
    KV_TRY(numberLayers(m_cache, config()));
  std::ranges::stable_sort(m_cache.layers, {}, &ForeignLayer::layer);
  KV_TRY(checkShapes());
  m_ids = m_ask.ids.empty() ? m_cache.ids : m_ask.ids;
  m_before = m_ask.before;
  if (m_before.empty() && !m_ask.ids.empty() && m_cache.ids != m_ask.ids) {
    m_before = m_cache.ids;
    // Two texts and no word which is the older one: rows are of the text that has their number.
    if (!m_before.empty() && hasLength(m_before, m_cache) && !hasLength(m_ids, m_cache)) std::swap(m_ids, m_before);
  }
  if (m_ids.empty())
    return refused("bad_argument", "the file has no token ids", "give the ids of the text whose cache it is: --ids");
  for (const std::vector<TokenId>* ids : {&m_ids, &m_before})
    for (const TokenId id : *ids)
      if (id.value() < 0 || id.value() >= config().vocab)
        return refused("bad_argument",
                       "id " + std::to_string(id.value()) + " lies outside the model's vocabulary of " +
                           std::to_string(config().vocab),
                       "give the ids of this model's tokenizer");
  KV_TRY(readRows());
  m_exact = KV_TRY(rowsOfText(m_ids, 0));
  return ok();
}

Status Explainer::checkShapes() const {
  const auto wide = static_cast<std::int64_t>(width());
  if (m_cache.layers.empty()) return refused("bad_argument", "the file has no rows", "give a cache that is not empty");
  for (const ForeignLayer& one : m_cache.layers) {
    const std::string layer = "layer " + std::to_string(one.layer);
    if (one.layer >= config().layers)
      return refused("other_model",
                     "the file has a " + layer + ", and the model has " + std::to_string(config().layers),
                     "give the model that the cache belongs to");
    if (one.keys.width != wide || one.values.width != wide)
      return refused("other_model",
                     layer + " has rows of " + std::to_string(one.keys.width) + " and " +
                         std::to_string(one.values.width) + " values, and the model's have " + std::to_string(wide),
                     "give the model that the cache belongs to");
    if (one.rows <= 0 || (!one.positions.empty() && static_cast<std::int64_t>(one.positions.size()) != one.rows))
      return refused("bad_file",
                     layer + " has " + std::to_string(one.rows) + " rows and " + std::to_string(one.positions.size()) +
                         " positions",
                     "give a cache whose layers have rows");
  }
  return ok();
}

Status Explainer::readRows() {
  std::int64_t bytes = 2 * tokenRowsBytes(config(), static_cast<std::int64_t>(m_ids.size()));
  for (const ForeignLayer& one : m_cache.layers)
    bytes += 4 * one.rows * static_cast<std::int64_t>(width() * 2 * sizeof(float));
  if (bytes > m_ask.mostBytes)
    return refused("too_large",
                   "the comparison needs " + std::to_string(bytes >> 20) + " MiB, and " +
                       std::to_string(m_ask.mostBytes >> 20) + " are allowed",
                   "compare the cache of a shorter text");
  for (const ForeignLayer& one : m_cache.layers) {
    if (!told("reading the file", static_cast<std::int64_t>(m_raw.size()),
              static_cast<std::int64_t>(m_cache.layers.size())))
      return refused("cancelled", "somebody stopped it", "start again");
    Sides sides = {KV_TRY(one.keys.read()), KV_TRY(one.values.read())};
    for (const std::vector<float>& side : sides)
      if (side.size() != at(one.rows) * width())
        return refused("bad_file",
                       "layer " + std::to_string(one.layer) + " gave " + std::to_string(side.size()) + " values",
                       "give a cache that is whole");
    m_raw.push_back(std::move(sides));
  }
  return ok();
}

TokenPass Explainer::passOver(const std::vector<TokenId>& ids) const {
  TokenPass out;
  out.weights = m_session->parts().weights;
  out.backend = m_session->parts().backend.get();
  out.ids = ids;
  out.windows = windowsOf(*m_session);
  out.progress = m_ask.progress;
  return out;
}

Result<TokenRows> Explainer::rowsOfText(const std::vector<TokenId>& ids, int layers) {
  TokenPass pass = passOver(ids);
  pass.layers = layers;
  return tokenRows(pass);
}

Result<Explanation> Explainer::run() {
  KV_TRY(open());
  KV_TRY(read());
  KV_TRY(bound());
  compare(m_exact);
  correctPhases();
  KV_TRY(findFaults(m_exact));
  KV_TRY(runEngine());
  return answer();
}

nlohmann::json explainingChanges() {
  return {
      {"capacity", 1024}, {"backend", "cpu"}, {"numerics", ""}, {"history_bytes", 0}, {"check", {{"level", "off"}}}};
}

Result<Explanation> explain(const ForeignCache& cache, std::unique_ptr<Session> session, const ExplainAsk& ask) {
  return Explainer(cache, std::move(session), ask).run();
}

}  // namespace kvlab
