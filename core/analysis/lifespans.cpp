// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/lifespans.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "core/api/json_values.h"
#include "core/model/decoder/backend_status.h"
#include "core/model/files/safetensors.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

constexpr std::int64_t kMostKeyBytes = std::int64_t{4} << 30;

/// Arrays of the back end that the attention of one layer fills, and the lifespans that follow from the arrays.
class Recorder {
 public:
  Recorder(const RebuildInput& input, const LifespanRules& rules, kernels::Staging& staging)
      : m_backend(input.transformer.backend()), m_config(input.transformer.model().config()) {
    m_out.rows = input.state.length();
    m_out.kvHeads = m_config.kvHeads;
    m_out.headDim = m_config.headDim;
    m_out.rules = rules;
    m_out.layers.resize(at(m_config.layers));
    for (const LedgerId id : input.state.context) m_out.tokens.push_back(input.state.ledger[id].token.value());
    m_positions.resize(at(m_out.rows));
    std::iota(m_positions.begin(), m_positions.end(), 0);
    m_none.assign(at(list() * m_config.kvHeads), -1);
    m_heads.resize(at(list() * m_config.heads));
    m_index = staging.in(m_positions);
    m_last = staging.temporary<std::int32_t>(m_none.size());
    m_received = staging.temporary<float>(m_heads.size());
    if (rules.keys) m_keys = staging.temporary<float>(at(m_out.rows * width()));
  }

  void aim(std::int64_t begin, LayerPass& pass) {
    if (begin == 0) {
      m_backend.upload(m_last, m_none.data(), static_cast<std::int64_t>(m_none.size() * 4));
      m_backend.clear(m_received, static_cast<std::int64_t>(m_heads.size() * 4));
    }
    pass.mass.lastAbove = m_last;
    pass.queryIndex = m_index + begin;
    pass.aboveThreshold = m_out.rules.threshold;
    if (begin > m_out.rules.after) pass.mass.receivedPerHead = m_received;
    if (m_keys) pass.gateKeys = m_keys + begin * width();
  }

  Status take(CacheLayer layer) {
    LayerLifespans& out = m_out.layers[at(layer)];
    std::vector<std::int32_t> last(m_none.size());
    if (m_keys) out.keys.resize(at(m_out.rows * width()));
    std::vector<kernels::Copy> copies{{last.data(), m_last, static_cast<std::int64_t>(last.size() * 4)},
                                      {m_heads.data(), m_received, static_cast<std::int64_t>(m_heads.size() * 4)}};
    if (m_keys) copies.push_back({out.keys.data(), m_keys, m_out.rows * width() * 4});
    m_backend.download(copies);
    KV_TRY(backendStatus(m_backend, "recording lifespans"));
    for (std::int64_t head = 0; head < m_config.kvHeads; ++head)
      for (std::int64_t row = 0; row < m_out.rows; ++row) add(out, head, row, last[at(head * list() + row)]);
    return ok();
  }

  void takeLast(const float* x) {
    m_out.hidden.resize(at(std::int64_t{m_out.rows} * m_config.hidden));
    const kernels::Copy copy{m_out.hidden.data(), x, std::ssize(m_out.hidden) * 4};
    m_backend.download({&copy, 1});
  }

  Lifespans finish() { return std::move(m_out); }

 private:
  std::int64_t list() const { return std::int64_t{m_out.rows} + 1; }  // with the entry of a row beside the map
  std::int64_t width() const { return std::int64_t{m_config.kvHeads} * m_config.headDim; }

  void add(LayerLifespans& out, std::int64_t head, std::int64_t row, std::int32_t last) const {
    const LifespanRules& rules = m_out.rules;
    const auto position = static_cast<std::int32_t>(row), lifespan = std::max(1, last - position);
    out.lastUse.push_back(last);
    out.lifespan.push_back(lifespan);
    out.label.push_back(std::min(static_cast<float>(std::log2(static_cast<double>(lifespan)) / 2), rules.cap));
    out.censored.push_back(std::max(last, position) > m_out.rows - 1 - rules.stretch);
    const std::int64_t group = m_config.heads / m_config.kvHeads;
    float sum = 0;
    for (std::int64_t h = head * group; h < (head + 1) * group; ++h) sum += m_heads[at(h * list() + row)];
    out.mass.push_back(sum / static_cast<float>(group));
  }

  kernels::Backend& m_backend;
  const ModelConfig& m_config;
  Lifespans m_out;
  std::vector<std::int32_t> m_positions, m_none;   // [rows]; [kvHeads, rows + 1], all -1
  std::vector<float> m_heads;                      // [heads, rows + 1]
  const std::int32_t* m_index = nullptr;           // [rows]
  std::int32_t* m_last = nullptr;                  // [kvHeads, rows + 1]
  float *m_received = nullptr, *m_keys = nullptr;  // [heads, rows + 1]; [rows, kvHeads*headDim] or null
};

Status possible(const RebuildInput& input, const LifespanRules& rules) {
  const ModelConfig& c = input.transformer.model().config();
  if (input.state.length() == 0)
    return Error("empty", "no lifespans were recorded", "the context holds no token",
                 "give the session a prompt first");
  const std::int64_t bytes = 4ll * c.layers * input.state.length() * c.kvHeads * c.headDim;
  if (rules.keys && bytes > kMostKeyBytes)
    return Error("too_large", "no lifespans were recorded",
                 "the keys take " + std::to_string(bytes) + " bytes, the limit is " + std::to_string(kMostKeyBytes),
                 "record a shorter context, or without keys", "keys");
  return ok();
}

std::string nameOf(std::size_t layer, const char* what) { return "layers." + std::to_string(layer) + "." + what; }

class LifespanReader {
 public:
  LifespanReader(const Safetensors& file, const std::string& path) : m_file(file), m_path(path) {}

  Result<Lifespans> read(bool keys) {
    if (const auto kind = m_file.metadata().find("kvlab");
        kind == m_file.metadata().end() || kind->second != "lifespans")
      return bad("kvlab", "does not say lifespans in the metadata");
    if (const auto model = m_file.metadata().find("model"); model != m_file.metadata().end())
      m_out.model = model->second;
    KV_TRY(numbers());
    KV_TRY(tensor("tokens", Element::I32, {m_out.rows}, m_out.tokens));
    while (m_file.find(nameOf(m_out.layers.size(), "last_use"))) KV_TRY(layer(keys));
    if (m_out.layers.empty()) return bad("layers.0.last_use", "is missing");
    return std::move(m_out);
  }

 private:
  Error bad(const std::string& field, const std::string& why) const {
    return Error("bad_lifespans", "the lifespans were refused", m_path + ": " + field + " " + why,
                 "record them again with recordLifespans", field);
  }

  Status number(const char* key, double low, double high, double& out) const {
    const auto found = m_file.metadata().find(key);
    if (found == m_file.metadata().end()) return bad(key, "is missing in the metadata");
    char* end = nullptr;
    out = std::strtod(found->second.c_str(), &end);
    if (found->second.empty() || *end || !(out >= low && out <= high)) return bad(key, "is \"" + found->second + "\"");
    return ok();
  }

  Status numbers() {
    constexpr double kMost = 1 << 30;
    double rows = 0, after = 0, stretch = 0, threshold = 0, cap = 0;
    KV_TRY(number("rows", 1, kMost, rows));
    KV_TRY(number("after", -1, rows - 1, after));
    KV_TRY(number("stretch", 0, kMost, stretch));
    KV_TRY(number("threshold", 0, 1, threshold));
    KV_TRY(number("cap", 0, 64, cap));
    m_out.rows = static_cast<std::int32_t>(rows);
    m_out.rules = {static_cast<std::int32_t>(after),
                   static_cast<float>(threshold),
                   static_cast<float>(cap),
                   static_cast<std::int32_t>(stretch),
                   false,
                   false};
    return ok();
  }

  template <class T>
  Status tensor(const std::string& name, Element element, const std::vector<std::int64_t>& shape,
                std::vector<T>& out) const {
    const FileTensor* found = m_file.find(name);
    if (!found) return bad(name, "is missing");
    if (found->element != element || found->shape != shape)
      return bad(name,
                 "is " + std::string(kvlab::name(found->element)) + " " + shapeText(found->shape) + ", wanted " +
                     std::string(kvlab::name(element)) + " " + shapeText(shape));
    out.resize(found->bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), found->bytes.data(), found->bytes.size());
    return ok();
  }

  Status layer(bool keys) {
    const std::size_t l = m_out.layers.size();
    if (l == 0) {
      const FileTensor* first = m_file.find(nameOf(0, "last_use"));
      const std::int64_t heads = first->shape.size() == 2 ? first->shape[0] : 0;
      if (heads < 1 || heads > 65536)
        return bad(first->name, "is " + shapeText(first->shape) + ", wanted [KV heads, rows]");
      m_out.kvHeads = static_cast<std::int32_t>(heads);
    }
    LayerLifespans& out = m_out.layers.emplace_back();
    const std::vector<std::int64_t> lists{m_out.kvHeads, m_out.rows};
    KV_TRY(tensor(nameOf(l, "last_use"), Element::I32, lists, out.lastUse));
    KV_TRY(tensor(nameOf(l, "lifespan"), Element::I32, lists, out.lifespan));
    KV_TRY(tensor(nameOf(l, "label"), Element::F32, lists, out.label));
    KV_TRY(tensor(nameOf(l, "mass"), Element::F32, lists, out.mass));
    KV_TRY(tensor(nameOf(l, "censored"), Element::U8, lists, out.censored));
    for (std::size_t i = 0; i < out.mass.size(); ++i) {
      const auto place = [&] {
        return "holds at KV head " + std::to_string(i / at(m_out.rows)) + ", row " +
            std::to_string(i % at(m_out.rows)) + " ";
      };
      if (out.lastUse[i] < -1 || out.lastUse[i] >= m_out.rows)
        return bad(nameOf(l, "last_use"), place() + std::to_string(out.lastUse[i]));
      if (out.lifespan[i] < 1 || out.lifespan[i] > m_out.rows)
        return bad(nameOf(l, "lifespan"), place() + std::to_string(out.lifespan[i]));
      if (!(out.mass[i] >= 0) || !std::isfinite(out.mass[i]))
        return bad(nameOf(l, "mass"), place() + numberWords(static_cast<double>(out.mass[i])));
      if (!std::isfinite(out.label[i]))
        return bad(nameOf(l, "label"), place() + numberWords(static_cast<double>(out.label[i])));
      if (out.censored[i] > 1) return bad(nameOf(l, "censored"), place() + std::to_string(out.censored[i]));
    }
    return keys ? readKeys(l, out) : ok();
  }

  Status readKeys(std::size_t l, LayerLifespans& out) {
    const FileTensor* found = m_file.find(nameOf(l, "keys"));
    if (!found) return ok();
    if (l == 0 && found->shape.size() == 3 && found->shape[2] <= 65536)
      m_out.headDim = static_cast<std::int32_t>(found->shape[2]);
    m_out.rules.keys = true;
    return tensor(nameOf(l, "keys"), Element::F32, {m_out.rows, m_out.kvHeads, m_out.headDim}, out.keys);
  }

  const Safetensors& m_file;
  const std::string& m_path;
  Lifespans m_out;
};

template <class T>
std::span<const std::byte> bytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// As short as it reads back: 0.05, not all digits of the nearest float.
std::string textOf(float value) {
  char text[32];
  snprintf(text, sizeof text, "%.7g", static_cast<double>(value));
  return text;
}

}  // namespace

std::int32_t endOfPrompt(const CacheState& state) {
  for (std::int32_t p = state.length() - 1; p >= 0; --p)
    if (state.ledger[state.context[at(p)]].source == Source::Prompt) return p;
  return -1;
}

Result<Lifespans> recordLifespans(const RebuildInput& input, const CacheStore& store, const LifespanRules& rules,
                                  const Progress& progress) {
  KV_TRY(possible(input, rules));
  const CacheState all = withAllRows(input.state);
  kernels::Staging staging(input.transformer.backend());
  Recorder recorder({all, input.transformer, input.faults}, rules, staging);
  RebuildInput pass{all, input.transformer, input.faults, false, std::int64_t{rules.after} + 1, {}};
  pass.aim = [&](std::int64_t begin, LayerPass& one) { recorder.aim(begin, one); };
  if (rules.hidden) pass.last = [&](const float* x) { recorder.takeLast(x); };
  KV_TRY(rebuildPass(
      pass, [&](const RebuiltLayer& layer) { return recorder.take(layer.layer); }, store, progress));
  return recorder.finish();
}

Result<Lifespans> Lifespans::load(const std::string& path, bool keys) {
  const Safetensors file = KV_TRY(Safetensors::open(path));
  return LifespanReader(file, path).read(keys);
}

Status Lifespans::write(const std::string& path) const {
  SafetensorsWriter writer;
  const std::vector<std::int64_t> lists{kvHeads, rows};
  writer.add("tokens", Element::I32, {rows}, bytesOf(tokens));
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerLifespans& one = layers[l];
    writer.add(nameOf(l, "last_use"), Element::I32, lists, bytesOf(one.lastUse));
    writer.add(nameOf(l, "lifespan"), Element::I32, lists, bytesOf(one.lifespan));
    writer.add(nameOf(l, "label"), Element::F32, lists, bytesOf(one.label));
    writer.add(nameOf(l, "mass"), Element::F32, lists, bytesOf(one.mass));
    writer.add(nameOf(l, "censored"), Element::U8, lists, bytesOf(one.censored));
    if (!one.keys.empty()) writer.add(nameOf(l, "keys"), Element::F32, {rows, kvHeads, headDim}, bytesOf(one.keys));
  }
  if (!hidden.empty()) writer.add("hidden", Element::F32, {rows, std::ssize(hidden) / rows}, bytesOf(hidden));
  writer.metadata("kvlab", "lifespans");
  writer.metadata("model", model);
  writer.metadata("rows", std::to_string(rows));
  writer.metadata("after", std::to_string(rules.after));
  writer.metadata("stretch", std::to_string(rules.stretch));
  writer.metadata("threshold", textOf(rules.threshold));
  writer.metadata("cap", textOf(rules.cap));
  return writer.write(path);
}

}  // namespace kvlab
