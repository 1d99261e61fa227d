// SPDX-License-Identifier: Apache-2.0
// Any arrays, with a mapping file that says what they are. README.md of this folder describes the file.
#include <algorithm>
#include <filesystem>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"
#include "core/model/files/json_fields.h"
#include "core/model/files/strict_json.h"

namespace kvlab {
namespace {

using nlohmann::json;

enum class Axis : std::uint8_t { Batch, Layers, Sides, One, Pages, Rows, Heads, Dim };
constexpr std::string_view kAxisNames[] = {"batch", "layers", "sides", "one", "pages", "rows", "heads", "dim"};

/// Where keys or values are.
struct SideMapping {
  std::string name;                 // of an array, perhaps with {layer}
  std::vector<Axis> axes;           // of the array
  std::int64_t first = 0, end = 0;  // part of the axis dim; end 0 = all of it

  std::size_t place(Axis axis) const { return static_cast<std::size_t>(std::ranges::find(axes, axis) - axes.begin()); }
  bool has(Axis axis) const { return place(axis) < axes.size(); }
};

struct ArrayMapping {
  SideMapping sides[2];
  std::optional<Element> element;   // instead of the file's; of raw files
  std::vector<std::int64_t> shape;  // of raw files
  json ids, positions;              // a name, or a list
  std::int32_t block = 0;
};

Result<std::vector<std::int64_t>> lengthsIn(const JsonFields& in, const char* key) {
  std::vector<std::int64_t> out;
  if (!in.has(key)) return out;
  const json& list = in.json().at(key);
  if (!list.is_array() || list.size() > 16) return in.bad(key, "is no list of lengths");
  for (const json& one : list) {
    if (!one.is_number_integer() || one.get<std::int64_t>() < 0) return in.bad(key, "is no list of lengths");
    out.push_back(one.get<std::int64_t>());
  }
  return out;
}

Result<std::vector<Axis>> axesIn(const JsonFields& in) {
  std::vector<Axis> out;
  std::string text = KV_TRY(in.text("axes"));
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string word = text.substr(0, space);
    text.erase(0, space == std::string::npos ? space : space + 1);
    if (word.empty()) continue;
    const auto name = std::ranges::find(kAxisNames, word);
    if (name == std::end(kAxisNames))
      return in.bad("axes",
                    "has \"" + word +
                        "\"; axes are batch, layers, sides (keys, "
                        "then values), pages, rows, heads, dim, and one of length 1");
    const auto axis = static_cast<Axis>(name - std::begin(kAxisNames));
    if (axis != Axis::One && std::ranges::count(out, axis) > 0) return in.bad("axes", "names an axis twice");
    out.push_back(axis);
  }
  if (std::ranges::count(out, Axis::Rows) == 0 || std::ranges::count(out, Axis::Dim) == 0)
    return in.bad("axes", "lacks rows or dim");
  return out;
}

Result<SideMapping> sideIn(const JsonFields& mapping, const char* key) {
  if (!mapping.has(key) || !mapping.json().at(key).is_object())
    return mapping.bad(key, "is no object with name and axes");
  const JsonFields in = mapping.inside(mapping.json().at(key));
  SideMapping out;
  out.name = KV_TRY(in.text("name"));
  out.axes = KV_TRY(axesIn(in));
  const auto dims = KV_TRY(lengthsIn(in, "dims"));
  if (!dims.empty() && (dims.size() != 2 || dims[0] >= dims[1])) return in.bad("dims", "is no range [begin, end)");
  if (!dims.empty()) std::tie(out.first, out.end) = std::pair(dims[0], dims[1]);
  return out;
}

Result<ArrayMapping> readMapping(const std::string& path) {
  const json whole = KV_TRY(readJsonFile(path, "bad_file", {.depth = 8, .bytes = 16 << 20, .uniqueKeys = true}));
  if (!whole.is_object()) return badForeign(path, "mapping", "is no object");
  const JsonFields in(whole, path, "bad_file");
  constexpr std::string_view kKeys[] = {"keys", "values", "dtype", "shape", "ids", "positions", "block"};
  for (const auto& [key, value] : whole.items())
    if (std::ranges::count(kKeys, key) == 0)
      return in.bad(key, "is no key of a mapping: keys, values, dtype, shape, ids, positions, block");
  ArrayMapping out;
  out.sides[0] = KV_TRY(sideIn(in, "keys"));
  out.sides[1] = KV_TRY(sideIn(in, "values"));
  std::string type = KV_TRY(in.text("dtype", ""));
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (!type.empty() && !(out.element = elementFromName(type)))
    return in.bad("dtype", "is none of f32, f16, bf16, f64, i8");
  out.shape = KV_TRY(lengthsIn(in, "shape"));
  if (in.has("ids")) out.ids = whole["ids"];
  if (in.has("positions")) out.positions = whole["positions"];
  KV_TRY(in.number("block", out.block, 0, 1 << 20, 0));
  return out;
}

class MappedReader {
 public:
  MappedReader(const std::string& path, const ForeignAsk& ask, const ArrayMapping& mapping)
      : m_path(path), m_ask(ask), m_mapping(mapping) {}

  Result<ForeignCache> read() {
    KV_TRY(gather());
    const auto keys = KV_TRY(sideByLayer(0)), values = KV_TRY(sideByLayer(1));
    for (const auto& [number, array] : keys) {
      const auto pair = values.find(number);
      const std::string where = "layer " + std::to_string(number);
      if (pair == values.end()) return badForeign(m_path, where, "keys without values");
      ForeignLayer layer = KV_TRY(foreignLayer(number, {array}, {pair->second}, m_path, where));
      layer.inPart = static_cast<std::int32_t>(m_out.layers.size());
      const std::int64_t heads = array.shape[array.axes() - 2];
      if (m_mapping.sides[0].has(Axis::Heads) && heads < 1 << 20) m_out.heads = static_cast<std::int32_t>(heads);
      m_out.layers.push_back(std::move(layer));
    }
    if (m_out.layers.empty())
      return unreadForeign(m_path, "no array has the name " + m_mapping.sides[0].name,
                           "correct the name in the mapping");
    KV_TRY(addTokens());
    m_out.block = m_mapping.block;
    return std::move(m_out);
  }

 private:
  /// The arrays of a file, or of all files in a folder.
  Status gather() {
    m_arrays.path = m_path;
    std::error_code none;
    if (!std::filesystem::is_directory(m_path, none)) return addFile(m_path);
    for (std::filesystem::directory_iterator it(m_path, none), stop; !none && it != stop; it.increment(none))
      if (it->is_regular_file(none)) KV_TRY(addFile(it->path().string()));
    return ok();
  }

  Status addFile(const std::string& path) {
    if (!isArrayFile(path)) return addRaw(path);
    ArrayFile file = KV_TRY(openArrayFile(path));
    for (auto& [name, array] : file.arrays)
      if (!m_arrays.arrays.emplace(name, std::move(array)).second)
        return badForeign(path, "array \"" + name + "\"", "stands in two files");
    return ok();
  }

  /// A file of nothing but numbers; its name is the array's.
  Status addRaw(const std::string& path) {
    if (!m_mapping.element || m_mapping.shape.empty()) return ok();
    const auto file = KV_TRY(MappedFile::open(path));
    ForeignArray array = denseArray(*m_mapping.element, m_mapping.shape, file->bytes(), file);
    if (const Status fits = checkArray(array, path, "raw"); !fits) return fits.error();
    m_arrays.arrays.emplace(std::filesystem::path(path).filename().string(), std::move(array));
    return ok();
  }

  Result<std::map<std::int32_t, ForeignArray>> sideByLayer(int side) const {
    const SideMapping& own = m_mapping.sides[side];
    std::map<std::int32_t, ForeignArray> out;
    if (own.name.find("{layer}") != std::string::npos) {
      for (const auto& [number, array] : KV_TRY(arraysLike(m_arrays, own.name)))
        out.emplace(number, KV_TRY(rowsOf(own, *array, side, 0)));
      return out;
    }
    const ForeignArray* array = m_arrays.find(own.name);
    if (!array) return out;
    const bool all = own.has(Axis::Layers) && own.place(Axis::Layers) < array->axes();
    const std::int64_t layers = all ? array->shape[own.place(Axis::Layers)] : 1;
    if (layers > 1 << 16) return badForeign(m_path, "array \"" + own.name + "\"", std::to_string(layers) + " layers");
    for (std::int64_t i = 0; i < layers; ++i)
      out.emplace(static_cast<std::int32_t>(i), KV_TRY(rowsOf(own, *array, side, i)));
    return out;
  }

  /// The array as [pages, rows, heads, dim], the first of them only where there are pages.
  Result<ForeignArray> rowsOf(const SideMapping& own, ForeignArray array, int side, std::int64_t layer) const {
    if (array.axes() != own.axes.size())
      return badForeign(m_path, "array \"" + own.name + "\"",
                        "shape " + shapeText(array.shape) + " for " + std::to_string(own.axes.size()) + " axes");
    if (m_mapping.element && elementBytes(*m_mapping.element) == elementBytes(array.element))
      array.element = *m_mapping.element;
    std::vector<Axis> axes = own.axes;
    for (std::size_t i = axes.size(); i-- > 0;) {
      std::int64_t index = 0;
      if (axes[i] == Axis::Batch) index = KV_TRY(foreignSequence(array.shape[i], m_ask, m_path));
      else if (axes[i] == Axis::Layers) index = layer;
      else if (axes[i] == Axis::Sides) index = side;
      else if (axes[i] != Axis::One) continue;
      if (index >= array.shape[i]) return badForeign(m_path, "array \"" + own.name + "\"", "an axis is too short");
      array = array.place(i, index);
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    SideMapping left{own.name, axes, own.first, own.end};
    if (own.end > 0) {
      const std::size_t dim = left.place(Axis::Dim);
      if (own.end > array.shape[dim]) return badForeign(m_path, "array \"" + own.name + "\"", "dims leave the axis");
      array = array.part(dim, own.first, own.end - own.first);
    }
    if (!left.has(Axis::Heads)) {
      array = array.split(left.place(Axis::Rows), 1);
      left.axes.insert(left.axes.begin() + static_cast<std::ptrdiff_t>(left.place(Axis::Rows)) + 1, Axis::Heads);
    }
    std::vector<std::size_t> order;
    for (const Axis axis : {Axis::Pages, Axis::Rows, Axis::Heads, Axis::Dim})
      if (left.has(axis)) order.push_back(left.place(axis));
    return array.reordered(order);
  }

  /// A list, or the array of a name.
  Result<std::vector<std::int32_t>> listOrArray(const json& what, const char* key) const {
    if (what.is_string()) {
      const ForeignArray* found = m_arrays.find(what.get_ref<const std::string&>());
      if (!found) return badForeign(m_path, std::string(key) + " of the mapping", "there is no such array");
      return foreignNumbers(*found, m_path, what.get<std::string>());
    }
    std::vector<std::int32_t> out;
    for (const json& one : what) {
      if (!what.is_array() || !one.is_number_integer() || one.get<std::int64_t>() < 0 ||
          one.get<std::int64_t>() > INT32_MAX)
        return badForeign(m_ask.mapping, std::string(key), "is neither a name nor a list of whole numbers");
      out.push_back(one.get<std::int32_t>());
    }
    return out;
  }

  Status addTokens() {
    for (const std::int32_t id : KV_TRY(listOrArray(m_mapping.ids, "ids"))) m_out.ids.emplace_back(id);
    if (m_mapping.ids.is_null()) m_out.ids = KV_TRY(usualIds(m_arrays));
    const auto positions = KV_TRY(listOrArray(m_mapping.positions, "positions"));
    for (ForeignLayer& layer : m_out.layers)
      if (positions.size() == at(layer.rows)) layer.positions = positions;
      else if (!positions.empty() && m_out.notes.empty())
        m_out.notes.push_back(std::to_string(positions.size()) + " positions do not belong to layers of other lengths");
    return ok();
  }

  const std::string& m_path;
  const ForeignAsk& m_ask;
  const ArrayMapping& m_mapping;
  ArrayFile m_arrays;
  ForeignCache m_out;
};

Result<ForeignCache> openMapped(const std::string& path, const ForeignAsk& ask) {
  if (ask.mapping.empty()) {
    KV_TRY(openArrayFile(path));  // what is wrong with a file comes before what nobody has said about it
    return Error("bad_argument", "cannot read " + path, "nothing says what its arrays are",
                 "give a mapping file: names and axes of keys and values", "mapping");
  }
  const ArrayMapping mapping = KV_TRY(readMapping(ask.mapping));
  return MappedReader(path, ask, mapping).read();
}

}  // namespace

ForeignImporter arraysImporter() {
  return ForeignImporter{"arrays", "safetensors, .npy, .npz, .pt or raw numbers, with a mapping file", isArrayFile,
                         openMapped};
}

}  // namespace kvlab
