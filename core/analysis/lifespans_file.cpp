// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/analysis/lifespans.h"
#include "core/api/json_values.h"
#include "core/model/files/safetensors.h"

namespace kvlab {
namespace {

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
