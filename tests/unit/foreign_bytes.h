// SPDX-License-Identifier: Apache-2.0
// Small files of every importer, made in memory: two layers, three rows of two heads of four values. A row's values are
// foreignValue(); files whose rows stand in another order say so.
#pragma once
#include <QTemporaryDir>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/foreign/foreign_cache.h"
#include "unit/gguf_bytes.h"
#include "unit/model_bytes.h"

namespace kvlab::test {

constexpr int kForeignLayers = 2, kForeignRows = 3, kForeignHeads = 2, kForeignDim = 4;
constexpr int kForeignWidth = kForeignHeads * kForeignDim;

/// A whole number that a half has. Side 0 = keys.
inline float foreignValue(int side, int layer, int row, int x) {
  return static_cast<float>(1 + x + kForeignWidth * (row + kForeignRows * (layer + kForeignLayers * side)));
}

/// A file, or a folder with files.
struct ForeignSample {
  std::string importer;
  std::vector<std::pair<std::string, std::string>> files;  // path below the sample's folder, bytes
  std::string path;                                        // of what is opened, below that folder
  std::string mapping = {};                                // likewise
  std::vector<int> rows = {0, 1, 2};                       // in the order of the file
  std::string name = {};                                   // where an importer has several
  std::string type = "f32";                                // of the rows

  std::string label() const { return name.empty() ? importer : importer + ", " + name; }
};

/// Writes a sample and opens it.
inline Result<ForeignCache> openSample(const ForeignSample& sample, const std::string& folder, ForeignAsk ask = {}) {
  for (const auto& [path, bytes] : sample.files) {
    std::filesystem::create_directories(std::filesystem::path(folder + "/" + path).parent_path());
    writeFile(folder + "/" + path, bytes);
  }
  if (!sample.mapping.empty()) ask.mapping = folder + "/" + sample.mapping;
  return openForeign(folder + "/" + sample.path, ask);
}

using Shape = std::vector<std::int64_t>;
/// Values in f32: value(index of each axis).
inline std::string foreignArray(const Shape& shape, const std::function<float(const Shape&)>& value) {
  std::string out;
  Shape index(shape.size());
  for (;;) {
    out += raw(value(index));
    std::size_t axis = shape.size();
    while (axis-- > 0 && ++index[axis] == shape[axis]) index[axis] = 0;
    if (axis > shape.size()) return out;
  }
}

struct NamedBytes {
  std::string name, type;
  Shape shape;
  std::string bytes;
};

inline std::string safetensorsOf(const std::vector<NamedBytes>& tensors, const nlohmann::json& metadata = {}) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const NamedBytes& one : tensors) {
    header[one.name] = {
        {"dtype", one.type}, {"shape", one.shape}, {"data_offsets", {data.size(), data.size() + one.bytes.size()}}};
    data += one.bytes;
  }
  if (!metadata.is_null()) header["__metadata__"] = metadata;
  return safetensorsFile(header.dump(), data);
}

/// [1, heads, rows, dim], as transformers has it; `extra` empty rows at the end.
inline NamedBytes headsFirst(const std::string& name, int side, int layer, int extra = 0) {
  const Shape shape{1, kForeignHeads, kForeignRows + extra, kForeignDim};
  return {name, "F32", shape, foreignArray(shape, [&](const Shape& i) {
            return i[2] < kForeignRows
                ? foreignValue(side, layer, static_cast<int>(i[2]), static_cast<int>(i[1] * kForeignDim + i[3]))
                : 0.0f;
          })};
}

// llama.cpp

struct LlamaBytes {
  int type = 0;  // 0 = f32
  bool transposed = false;
  std::size_t extension = 0;  // bytes behind a cell
  std::vector<int> positions = {0, 2, 1};

  std::vector<std::vector<int>> owners = {};  // sequences of each cell, where they differ
  bool turns = false;                         // as of version 4

  std::string cells(const std::vector<int>& sequences = {0}) const {
    std::string out = raw<std::uint32_t>(static_cast<std::uint32_t>(positions.size()));
    for (std::size_t cell = 0; cell < positions.size(); ++cell) {
      const std::vector<int>& own = owners.empty() ? sequences : owners[cell];
      out += raw<std::int32_t>(positions[cell]) + raw<std::uint32_t>(static_cast<std::uint32_t>(own.size()));
      out += std::string(extension, '\7');
      for (const int sequence : own) out += raw<std::int32_t>(sequence);
    }
    return out;
  }
  std::string rows(int side, int layer) const {
    std::string out = raw<std::int32_t>(0);
    if (transposed && side == 1) {
      out += raw<std::uint32_t>(4) + raw<std::uint32_t>(kForeignWidth);
      for (int x = 0; x < kForeignWidth; ++x)
        for (const int row : positions) out += raw(foreignValue(side, layer, row, x));
      return out;
    }
    out += raw<std::uint64_t>(kForeignWidth * 4);
    for (const int row : positions)
      for (int x = 0; x < kForeignWidth; ++x) out += raw(foreignValue(side, layer, row, x));
    return out;
  }
  /// A part with layers `first` up to `end`.
  std::string part(int first, int end, const std::vector<int>& sequences = {0}) const {
    std::string out = raw<std::uint32_t>(1) + cells(sequences) + raw<std::uint32_t>(transposed) +
        raw<std::uint32_t>(static_cast<std::uint32_t>(end - first));
    if (turns) out += raw<std::uint32_t>(64) + raw<std::uint32_t>(0);
    for (const int side : {0, 1})
      for (int layer = first; layer < end; ++layer) out += rows(side, layer);
    return out;
  }
  static std::string recurrent(int tensors) {
    std::string out = raw<std::uint32_t>(1) + raw<std::int32_t>(2) + raw<std::uint32_t>(0) + raw<std::uint32_t>(0) +
        raw<std::uint32_t>(static_cast<std::uint32_t>(tensors));
    for (int i = 0; i < tensors; ++i)
      out += raw<std::int32_t>(0) + raw<std::uint64_t>(16) + std::string(16, static_cast<char>(i));
    return out;
  }
  static std::string front(std::uint32_t version = 3) {
    return "qsgg" + raw(version) + raw<std::uint32_t>(3) + raw<std::int32_t>(5) + raw<std::int32_t>(6) +
        raw<std::int32_t>(7);
  }
};

inline ForeignSample llamaSample(const std::string& name, const std::string& bytes) {
  return {"llama.cpp", {{"state.bin", bytes}}, "state.bin", {}, {0, 2, 1}, name};
}

inline std::vector<ForeignSample> llamaSamples() {
  const LlamaBytes plain, transposed{.transposed = true}, image{.extension = 12}, turned{.turns = true};
  const auto sessionOf = [](std::uint32_t version) {
    return "nsgg" + raw(version) + raw<std::uint32_t>(1) + raw<std::int32_t>(5) + raw<std::uint32_t>(5) + "llama";
  };
  const std::string session = sessionOf(9);
  return {llamaSample("one part", LlamaBytes::front() + plain.part(0, 2)),
          llamaSample("transposed values", LlamaBytes::front() + transposed.part(0, 2)),
          llamaSample("two parts", LlamaBytes::front() + plain.part(0, 1) + plain.part(1, 2)),
          llamaSample("places in an image", LlamaBytes::front() + image.part(0, 2)),
          llamaSample("recurrent", LlamaBytes::front() + plain.part(0, 2) + LlamaBytes::recurrent(3)),
          llamaSample("version 4", LlamaBytes::front(4) + turned.part(0, 2)),
          llamaSample("session, version 11", sessionOf(11) + turned.part(0, 2)),
          llamaSample("session", session + plain.part(0, 2, {0, 3})),
          llamaSample("session with outputs",
                      session + raw<std::uint32_t>(1) + raw<std::int32_t>(0) + raw<std::uint64_t>(2) +
                          std::string(8, '\1') + raw<std::uint64_t>(0) + plain.part(0, 2))};
}

// Archives and pickles

/// Stored entries.
inline std::string zipOf(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out, directory;
  for (const auto& [name, bytes] : entries) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    const auto length = static_cast<std::uint16_t>(name.size());
    const std::string common = raw<std::uint16_t>(0) + raw<std::uint16_t>(0) + raw<std::uint32_t>(0) +
        raw<std::uint32_t>(0) + raw(size) + raw(size) + raw(length) + raw<std::uint16_t>(0);
    directory += "PK\1\2" + raw<std::uint32_t>(20) + common + raw<std::uint16_t>(0) + raw<std::uint32_t>(0) +
        raw<std::uint32_t>(0) + raw(static_cast<std::uint32_t>(out.size())) + name;
    out += "PK\3\4" + raw<std::uint16_t>(20) + common + name + bytes;
  }
  const auto count = static_cast<std::uint16_t>(entries.size());
  return out + directory + "PK\5\6" + raw<std::uint32_t>(0) + raw(count) + raw(count) +
      raw(static_cast<std::uint32_t>(directory.size())) + raw(static_cast<std::uint32_t>(out.size())) +
      raw<std::uint16_t>(0);
}

inline std::string pickleText(const std::string& text) {
  return "X" + raw(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string pickleInt(std::int32_t n) { return "J" + raw(n); }
inline std::string pickleTuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& one : items) out += one;
  return out + "t";
}
inline std::string pickleDict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += pickleText(key) + value;
  return out + "u";
}

/// A file of torch.save.
struct TorchBytes {
  std::vector<std::pair<std::string, std::string>> storages;

  std::string tensor(const std::string& storage, const Shape& shape, const std::string& bytes) {
    const std::string key = std::to_string(storages.size());
    storages.emplace_back("a/data/" + key, bytes);
    std::vector<std::string> lengths, strides;
    std::int64_t stride = 1, values = 1;
    for (const std::int64_t d : shape) values *= d;
    for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i])
      strides.insert(strides.begin(), pickleInt(static_cast<std::int32_t>(stride)));
    for (const std::int64_t d : shape) lengths.push_back(pickleInt(static_cast<std::int32_t>(d)));
    const std::string place = pickleTuple({pickleText("storage"), "ctorch\n" + storage + "\n", pickleText(key),
                                           pickleText("cpu"), pickleInt(static_cast<std::int32_t>(values))}) +
        "Q";
    return "ctorch._utils\n_rebuild_tensor_v2\n" +
        pickleTuple({place, pickleInt(0), pickleTuple(lengths), pickleTuple(strides), "\x89",
                     std::string("ccollections\nOrderedDict\n)R")}) +
        "R";
  }
  std::string tensor(const NamedBytes& one) { return tensor("FloatStorage", one.shape, one.bytes); }
  std::string file(const std::string& pickle) const {
    std::vector<std::pair<std::string, std::string>> entries{{"a/data.pkl", "\x80\x02" + pickle + "."},
                                                             {"a/byteorder", "little"}};
    entries.insert(entries.end(), storages.begin(), storages.end());
    return zipOf(entries);
  }
};

inline std::string numpyBytes(const std::string& type, const Shape& shape, const std::string& bytes) {
  std::string lengths;
  for (const std::int64_t d : shape) lengths += std::to_string(d) + ",";
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + lengths + "), }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  return "\x93NUMPY" + std::string("\1\0", 2) + raw(static_cast<std::uint16_t>(header.size())) + header + bytes;
}

}  // namespace kvlab::test
