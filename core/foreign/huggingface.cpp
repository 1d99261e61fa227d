// SPDX-License-Identifier: Apache-2.0
// Caches of Hugging Face transformers: a pair of arrays [batch, heads, rows, head size] for each layer, as safetensors
// or as torch.save wrote the cache. Layers may differ in length.
#include <algorithm>
#include <limits>
#include <optional>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

struct PairNames {
  std::string_view keys, values;
};

/// Names that caches have in files, in the order in which they are looked for.
constexpr PairNames kPairNames[] = {
    {"past_key_values.{layer}.key", "past_key_values.{layer}.value"},
    {"past_key_values.{layer}.keys", "past_key_values.{layer}.values"},
    {"layers.{layer}.keys", "layers.{layer}.values"},  // DynamicCache of transformers 5
    {"layers.{layer}.key", "layers.{layer}.value"},
    {"layers.{layer}.k", "layers.{layer}.v"},
    {"key_cache.{layer}", "value_cache.{layer}"},  // DynamicCache of transformers 4
    {"keys.{layer}", "values.{layer}"},
    {"k.{layer}", "v.{layer}"},
    {"present.{layer}.key", "present.{layer}.value"},  // ONNX
    {"layer_{layer}.key", "layer_{layer}.value"},
    {"layer_{layer}_key", "layer_{layer}_value"},
    {"{layer}.key", "{layer}.value"},
    {"{layer}.0", "{layer}.1"},  // a tuple of pairs
};

/// Names that tell how many tokens a layer of transformers 5 has seen.
constexpr std::string_view kSeenNames[] = {"layers.{layer}.cumulative_length", "layers.{layer}.cumulative_length_int"};

/// By layer; where nothing tells, there is no entry.
Result<std::map<std::int32_t, std::int64_t>> seenTokens(const ArrayFile& file) {
  std::map<std::int32_t, std::int64_t> out;
  for (const std::string_view pattern : kSeenNames) {
    for (const auto& [name, fact] : file.facts)
      if (const auto layer = layerNumber(name, pattern); layer && fact.is_number_integer())
        out[*layer] = fact.get<std::int64_t>();
    for (const auto& [name, array] : file.arrays)
      if (const auto layer = layerNumber(name, pattern); layer && array.values() == 1)
        out[*layer] = KV_TRY(foreignNumbers(array, file.path, name)).front();
  }
  return out;
}

std::optional<PairNames> pairNamesOf(const ArrayFile& file) {
  for (const PairNames& names : kPairNames)
    for (const auto& [name, array] : file.arrays)
      if (layerNumber(name, names.keys)) return names;
  return {};
}

/// What kvlab writes beside the rows.
struct OwnManifest {
  std::vector<std::int32_t> ids, positions;
  std::vector<std::vector<std::int32_t>> rows;  // [layers] places in positions; empty = all
};

Result<std::vector<std::int32_t>> numbersIn(const nlohmann::json& list, const std::string& path, const char* name) {
  std::vector<std::int32_t> out;
  for (const nlohmann::json& one : list) {
    if (!list.is_array() || !one.is_number_integer() || one.get<std::int64_t>() < 0 ||
        one.get<std::int64_t>() > std::numeric_limits<std::int32_t>::max())
      return badForeign(path, "the kvlab manifest", std::string(name) + " is no list of whole numbers");
    out.push_back(one.get<std::int32_t>());
  }
  return out;
}

Result<OwnManifest> ownManifest(const ArrayFile& file) {
  OwnManifest out;
  const auto text = file.facts.find("kvlab");
  if (text == file.facts.end() || !text->second.is_string()) return out;
  const auto manifest = KV_TRY(parseJson(text->second.get_ref<const std::string&>(), file.path, "bad_file"));
  if (!manifest.is_object()) return badForeign(file.path, "the kvlab manifest", "is no object");
  const auto list = [&](const char* name) { return manifest.value(name, nlohmann::json::array()); };
  out.ids = KV_TRY(numbersIn(list("input_ids"), file.path, "input_ids"));
  out.positions = KV_TRY(numbersIn(list("position_ids"), file.path, "position_ids"));
  for (const nlohmann::json& one : list("rows")) out.rows.push_back(KV_TRY(numbersIn(one, file.path, "rows")));
  return out;
}

class PairReader {
 public:
  PairReader(const ArrayFile& file, const ForeignAsk& ask) : m_file(file), m_ask(ask) {}

  Result<ForeignCache> read(const PairNames& names) {
    const auto keys = KV_TRY(arraysLike(m_file, names.keys));
    const auto values = KV_TRY(arraysLike(m_file, names.values));
    m_seen = KV_TRY(seenTokens(m_file));
    for (const auto& [number, array] : keys) {
      const auto pair = values.find(number);
      const std::string name = "layer " + std::to_string(number);
      if (pair == values.end()) return badForeign(m_file.path, name, "keys without values");
      if (std::ranges::count(array->shape, 0) > 0) {
        m_out.notes.push_back(name + " has no rows");
        continue;
      }
      const ForeignArray ownKeys = usedRows(KV_TRY(rowsFirst(*array, name)), number);
      const ForeignArray ownValues = usedRows(KV_TRY(rowsFirst(*pair->second, name)), number);
      ForeignLayer layer = KV_TRY(foreignLayer(number, {ownKeys}, {ownValues}, m_file.path, name));
      if (array->axes() != 4 || array->shape[0] == 1) addSeenPositions(layer);
      layer.inPart = static_cast<std::int32_t>(m_out.layers.size());
      m_out.layers.push_back(std::move(layer));
    }
    if (m_out.layers.empty())
      return unreadForeign(m_file.path, "no layer has rows", "save a cache that has seen tokens");
    KV_TRY(addTokens());
    return std::move(m_out);
  }

 private:
  /// [batch, heads, rows, head size] or [heads, rows, head size] as [rows, heads, head size].
  Result<ForeignArray> rowsFirst(ForeignArray array, const std::string& name) {
    if (array.axes() == 4) {
      const std::int64_t sequence = KV_TRY(foreignSequence(array.shape[0], m_ask, m_file.path));
      array = array.place(0, sequence);
    }
    if (array.axes() != 3)
      return badForeign(m_file.path, name,
                        "shape " + shapeText(array.shape) + ", expected [batch, heads, rows, head size]",
                        "describe the arrays in a mapping file");
    if (m_out.heads == 0 && array.shape[0] < 1 << 20) m_out.heads = static_cast<std::int32_t>(array.shape[0]);
    return array.reordered({1, 0, 2});
  }

  /// A static layer has room behind its rows.
  ForeignArray usedRows(const ForeignArray& rows, std::int32_t number) const {
    const auto seen = m_seen.find(number);
    const bool room = seen != m_seen.end() && seen->second > 0 && seen->second < rows.shape[0];
    return room ? rows.part(0, 0, seen->second) : rows;
  }

  /// The rows are those of the newest tokens, in their order; a layer that has all of them need not say so.
  void addSeenPositions(ForeignLayer& layer) const {
    const auto own = m_seen.find(layer.layer);
    std::int64_t seen = 0;
    for (const auto& [number, tokens] : m_seen) seen = std::max(seen, tokens);
    if (own != m_seen.end()) seen = own->second;
    else if (seen != layer.rows) return;
    if (seen < layer.rows || seen > std::numeric_limits<std::int32_t>::max()) return;
    for (std::int64_t row = 0; row < layer.rows; ++row)
      layer.positions.push_back(static_cast<std::int32_t>(seen - layer.rows + row));
  }

  Status addTokens() {
    const OwnManifest own = KV_TRY(ownManifest(m_file));
    for (const std::int32_t id : own.ids) m_out.ids.emplace_back(id);
    if (m_out.ids.empty()) m_out.ids = KV_TRY(usualIds(m_file));
    const auto positions = own.positions.empty() ? KV_TRY(usualPositions(m_file)) : own.positions;
    for (ForeignLayer& layer : m_out.layers) {
      const auto number = at(layer.layer);
      if (!layer.positions.empty()) continue;
      if (number < own.rows.size()) {
        for (const std::int32_t row : own.rows[number]) {
          if (at(row) >= positions.size())
            return badForeign(m_file.path, "the kvlab manifest", "a row without position");
          layer.positions.push_back(positions[at(row)]);
        }
      } else {
        layer.positions = positions;
      }
      if (layer.positions.size() != at(layer.rows)) layer.positions.clear();
    }
    return ok();
  }

  const ArrayFile& m_file;
  const ForeignAsk& m_ask;
  std::map<std::int32_t, std::int64_t> m_seen;
  ForeignCache m_out;
};

bool recognisesPairs(const std::string& path) {
  if (!isArrayFile(path)) return false;
  const auto file = openArrayFile(path);
  return file && pairNamesOf(*file);
}

Result<ForeignCache> openPairs(const std::string& path, const ForeignAsk& ask) {
  const ArrayFile file = KV_TRY(openArrayFile(path));
  const auto names = pairNamesOf(file);
  if (!names)
    return unreadForeign(path, "no array has a name like layers.0.keys, key_cache.0 or past_key_values.0.key",
                         "describe the arrays in a mapping file");
  return PairReader(file, ask).read(*names);
}

}  // namespace

ForeignImporter huggingFaceImporter() {
  return ForeignImporter{
      "huggingface",
      "caches of transformers as safetensors, .npz, or as torch.save wrote them: past_key_values.0.key, "
      "layers.0.keys, key_cache.0 and their like",
      recognisesPairs, openPairs};
}

}  // namespace kvlab
