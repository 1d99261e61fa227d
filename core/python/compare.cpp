// SPDX-License-Identifier: Apache-2.0
#include "core/python/compare.h"

#include <cstring>

#include "core/api/guarded.h"
#include "core/verbs/explain_cache.h"
#include "kernels/scalar_convert.h"

namespace kvlab::python {
namespace {

/// How values of a type lie in memory, and what each is as f32.
struct ValueType {
  std::string_view name;
  std::size_t bytes;
  float (*widened)(const std::byte* at);
};

template <class Stored, auto convert>
float widenedAs(const std::byte* at) {
  Stored value;
  std::memcpy(&value, at, sizeof value);
  return convert(value);
}

constexpr ValueType kValueTypes[] = {
    {"f32", 4, widenedAs<float, [](float value) { return value; }>},
    {"f64", 8, widenedAs<double, [](double value) { return static_cast<float>(value); }>},
    {"f16", 2, widenedAs<std::uint16_t, kernels::halfToFloat>},
    {"bf16", 2, widenedAs<std::uint16_t, kernels::bf16ToFloat>},
    {"fp8-e4m3", 1, widenedAs<std::uint8_t, kernels::fp8ToFloat>},
};

std::size_t sizeOf(const GivenRows& rows, std::size_t dimension) { return rows.shape(dimension); }

/// [rows, heads * head size]
std::vector<float> gathered(const GivenRows& given, const ValueType& type) {
  const std::size_t heads = sizeOf(given, 0), rows = sizeOf(given, 1), dim = sizeOf(given, 2);
  const auto step = [&](std::size_t dimension) {
    return given.stride(dimension) * static_cast<std::ptrdiff_t>(type.bytes);
  };
  const auto* const begin = static_cast<const std::byte*>(given.data());
  const bool whole = type.name == "f32" && given.stride(2) == 1;
  std::vector<float> out(rows * heads * dim);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t head = 0; head < heads; ++head) {
      const std::byte* at =
          begin + static_cast<std::ptrdiff_t>(head) * step(0) + static_cast<std::ptrdiff_t>(row) * step(1);
      float* const to = out.data() + (row * heads + head) * dim;
      if (whole) {
        std::memcpy(to, at, dim * sizeof(float));
        continue;
      }
      for (std::size_t i = 0; i < dim; ++i, at += step(2)) to[i] = type.widened(at);
    }
  return out;
}

Error refusedLayer(const GivenLayer& layer, const std::string& why, const std::string& remedy) {
  return {"bad_argument", "the cache was not compared", "layer " + std::to_string(layer.layer) + " " + why, remedy,
          "cache"};
}

std::string shapeText(const GivenRows& rows) {
  std::string out = "[";
  for (std::size_t i = 0; i < 3; ++i) out += (i ? ", " : "") + std::to_string(sizeOf(rows, i));
  return out + "]";
}

Result<const ValueType*> typeOf(const GivenLayer& layer) {
  for (const ValueType& type : kValueTypes)
    if (type.name == layer.type && layer.keys.itemsize() == type.bytes && layer.values.itemsize() == type.bytes)
      return &type;
  return refusedLayer(layer, "has values of type " + layer.type + ", which are no rows",
                      "give float32, float16, bfloat16, float8_e4m3fn or float64; undo codes and their scales first");
}

ForeignRows rowsOf(const GivenRows& given, const ValueType& type) {
  return {std::string(type.name), static_cast<std::int64_t>(sizeOf(given, 0) * sizeOf(given, 2)),
          [given, &type]() -> Result<std::vector<float>> {
            return guarded("the rows were not read",
                           [&]() -> Result<std::vector<float>> { return gathered(given, type); });
          }};
}

}  // namespace

Result<ForeignCache> cacheOfArrays(std::vector<GivenLayer> layers, bool headsKnown, std::vector<std::string> notes) {
  ForeignCache out;
  out.importer = "arrays";
  out.notes = std::move(notes);
  for (GivenLayer& layer : layers) {
    const ValueType* const type = KV_TRY(typeOf(layer));
    if (sizeOf(layer.keys, 0) != sizeOf(layer.values, 0) || sizeOf(layer.keys, 1) != sizeOf(layer.values, 1))
      return refusedLayer(layer, "has keys " + shapeText(layer.keys) + " and values " + shapeText(layer.values),
                          "give as many heads and rows of both; `axes` names the order of the dimensions");
    const std::size_t rows = sizeOf(layer.keys, 1);
    if (!layer.positions.empty() && layer.positions.size() != rows)
      return refusedLayer(
          layer, "has " + std::to_string(rows) + " rows and " + std::to_string(layer.positions.size()) + " positions",
          "give a position for each row");
    if (headsKnown) out.heads = static_cast<std::int32_t>(sizeOf(layer.keys, 0));
    out.layers.push_back({.layer = layer.layer,
                          .rows = static_cast<std::int64_t>(rows),
                          .keys = rowsOf(layer.keys, *type),
                          .values = rowsOf(layer.values, *type),
                          .positions = std::move(layer.positions)});
  }
  return out;
}

Result<std::shared_ptr<Explanation>> compare(const ForeignCache& cache, nlohmann::json manifest,
                                             const std::string& resources, ExplainAsk ask, Interrupts& interrupts) {
  ask.progress = [&](const std::string& what, std::int64_t done, std::int64_t total) {
    return interrupts.goOn(what, done, total);
  };
  return guarded("the cache was not compared", [&]() -> Result<std::shared_ptr<Explanation>> {
    return std::make_shared<Explanation>(KV_TRY(explainCache(cache, std::move(manifest), resources, ask)));
  });
}

TableAnswer leftTable(const Explanation& explanation) {
  using enum ColumnType;
  TableAnswer out;
  out.table = "left";
  for (const char* name : {"layer", "row", "head", "token", "id", "position"}) out.columns.emplace_back(name, Integer);
  for (const char* name : {"key", "key_bound", "value", "value_bound"}) out.columns.emplace_back(name, Number);
  const auto add = [&](std::initializer_list<TableCell> cells) {
    for (std::size_t i = 0; const TableCell& cell : cells) out.columns[i++].add(cell);
    ++out.rows;
  };
  const auto known = [](std::int32_t value) { return value < 0 ? TableCell() : TableCell(value); };
  for (const ExplainedLayer& layer : explanation.layers) {
    const std::size_t heads = layer.tokens.empty() ? 0 : layer.keys.size() / layer.tokens.size();
    for (std::size_t at = 0; at < layer.tokens.size() * heads; ++at) {
      const std::int32_t token = layer.tokens[at / heads];
      const auto id = token < 0 ? TableCell() : TableCell(explanation.ids[static_cast<std::size_t>(token)].value());
      add({layer.layer, at / heads, at % heads, known(token), id, known(layer.positions[at / heads]), layer.keys[at],
           layer.keyBounds[at], layer.values[at], layer.valueBounds[at]});
    }
  }
  return out;
}

}  // namespace kvlab::python
