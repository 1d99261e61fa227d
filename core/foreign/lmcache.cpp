// SPDX-License-Identifier: Apache-2.0
// Chunks of LMCache's file-system store, written with save_chunk_meta: seven numbers of 32 bits (bytes of data, format,
// type, shape), then the data. A chunk does not say which tokens it has; chunks of a folder are taken by their time.
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/foreign/foreign_array.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"

namespace kvlab {
namespace {

constexpr std::size_t kChunkHeader = 28;
constexpr std::string_view kChunkFile = ".data";

/// Numbers that LMCache gives to types, from 1 on.
constexpr Element kChunkTypes[] = {Element::F16, Element::F16, Element::BF16,   Element::F32,
                                   Element::F64, Element::U8,  Element::F8E4M3, Element::F8E5M2};
/// Formats that hold keys and values, from 1 on: [2, layers, tokens, row], [tokens, 2, row], [2, tokens, row].
enum class ChunkForm : std::int32_t { AllLayers = 1, TokensFirst = 2, SidesFirst = 3 };

struct Chunk {
  std::string path;
  ChunkForm form = ChunkForm::AllLayers;
  std::int32_t layer = 0;  // of chunks of one layer
  ForeignArray data;       // [2, layers, tokens, row]
};

/// The layer at the end of a name like model@1@0@hash@dtype@3.data; 0 where there is none.
std::int32_t layerOfChunk(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  std::int32_t layer = 0;
  const auto point = name.rfind('@');
  if (point == std::string::npos || name.size() - point > 6) return 0;
  for (const char c : name.substr(point + 1)) {
    if (c < '0' || c > '9') return 0;
    layer = layer * 10 + (c - '0');
  }
  return layer;
}

Result<Chunk> readChunk(const std::string& path) {
  const auto file = KV_TRY(MappedFile::open(path));
  ForeignCursor in(file->bytes(), path);
  std::array<std::int32_t, 7> head{};
  for (std::int32_t& one : head) one = KV_TRY(in.number<std::int32_t>("the chunk's header"));
  const auto [length, form, type] = std::tuple(head[0], head[1], head[2]);
  if (length < 0 || at(length) != in.left())
    return badForeign(path, "byte 0",
                      "a chunk of " + std::to_string(length) + " bytes in a file with " + std::to_string(in.left()) +
                          " behind the header",
                      "write chunks with save_chunk_meta, or describe the file in a mapping file");
  if (form < 1 || form > 3)
    return badForeign(path, "byte 4", "format " + std::to_string(form) + " holds no keys and values",
                      "read are KV_2LTD, KV_T2D and KV_2TD");
  if (type < 1 || at(type) > std::size(kChunkTypes))
    return badForeign(path, "byte 8", "type " + std::to_string(type) + " is not known");
  Chunk out{path, static_cast<ChunkForm>(form), layerOfChunk(path), {}};
  std::vector<std::int64_t> shape(head.begin() + 3, head.end());
  if (out.form != ChunkForm::AllLayers) shape.pop_back();
  for (const std::int64_t d : shape)
    if (d <= 0) return badForeign(path, "byte 12", "a shape with " + std::to_string(d));
  out.data = denseArray(kChunkTypes[at(type) - 1], std::move(shape), in.take(in.left(), "the data").take(), file);
  KV_TRY(checkArray(out.data, path, "chunk"));
  if (out.form == ChunkForm::TokensFirst) out.data = out.data.reordered({1, 0, 2});
  if (out.form != ChunkForm::AllLayers) out.data = out.data.split(0, 1);
  if (out.data.shape[0] != 2) return badForeign(path, "byte 12", "a shape without keys and values");
  return out;
}

std::vector<std::string> chunkFiles(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_directory(path, none)) return {path};
  std::vector<std::pair<std::filesystem::file_time_type, std::string>> found;
  for (std::filesystem::directory_iterator it(path, none), stop; !none && it != stop; it.increment(none))
    if (it->path().string().ends_with(kChunkFile)) {
      std::error_code missing;
      found.emplace_back(std::filesystem::last_write_time(it->path(), missing), it->path().string());
    }
  std::ranges::sort(found);
  std::vector<std::string> out;
  for (auto& [time, name] : found) out.push_back(std::move(name));
  return out;
}

bool recognisesChunks(const std::string& path) {
  const auto files = chunkFiles(path);
  return !files.empty() && readChunk(files.front());
}

Result<ForeignCache> openChunks(const std::string& path, const ForeignAsk&) {
  std::map<std::int32_t, std::array<std::vector<ForeignArray>, 2>> layers;
  const auto files = chunkFiles(path);
  for (const std::string& name : files) {
    const Chunk chunk = KV_TRY(readChunk(name));
    for (std::int64_t i = 0; i < chunk.data.shape[1]; ++i) {
      const auto number = static_cast<std::int32_t>(chunk.form == ChunkForm::AllLayers ? i : chunk.layer);
      for (const std::size_t side : {0, 1})
        layers[number][side].push_back(chunk.data.place(0, static_cast<std::int64_t>(side)).place(0, i).split(0, 1));
    }
  }
  ForeignCache out;
  for (auto& [number, sides] : layers) {
    ForeignLayer layer =
        KV_TRY(foreignLayer(number, std::move(sides[0]), std::move(sides[1]), path, "layer " + std::to_string(number)));
    layer.inPart = static_cast<std::int32_t>(out.layers.size());
    out.layers.push_back(std::move(layer));
  }
  if (out.layers.empty()) return unreadForeign(path, "no chunk with the name *.data", "give the folder of the store");
  out.notes.push_back("a chunk does not say its tokens, nor how a row is divided into heads");
  if (files.size() > 1) out.notes.push_back("chunks stand in the order of their times");
  return out;
}

}  // namespace

ForeignImporter lmcacheImporter() {
  return ForeignImporter{"lmcache",
                         "chunks of LMCache's fs connector with save_chunk_meta: a file, or a folder of one text",
                         recognisesChunks, openChunks};
}

}  // namespace kvlab
