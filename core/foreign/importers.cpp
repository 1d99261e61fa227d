// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>

#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"
#include "core/model/files/safetensors.h"

namespace kvlab {
namespace {

std::string everythingRead() {
  std::string out;
  for (const ForeignImporter& one : importers())
    out += (out.empty() ? "" : "; ") + std::string(one.name) + ": " + std::string(one.files);
  return out;
}

Result<const ForeignImporter*> importerFor(const std::string& path, const ForeignAsk& ask) {
  const auto all = importers();
  const std::string& wanted = ask.importer.empty() && !ask.mapping.empty() ? "arrays" : ask.importer;
  const auto named = std::ranges::find(all, wanted, &ForeignImporter::name);
  if (named != all.end()) return &*named;
  if (!wanted.empty()) {
    std::string names;
    for (const ForeignImporter& one : all) names += (names.empty() ? "" : ", ") + std::string(one.name);
    return Error("bad_argument", "cannot read " + path, "there is no importer \"" + wanted + "\"",
                 "name one of " + names, "importer", wanted);
  }
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return badForeign(path, "path", "there is no such file or folder");
  const auto found = std::ranges::find_if(all, [&](const ForeignImporter& one) { return one.recognises(path); });
  if (found != all.end()) return &*found;
  return Error("unknown_format", "cannot read " + path, "no importer recognises it",
               "name the importer, or describe the arrays in a mapping file; these are read: " + everythingRead());
}

/// Bytes of all rows as f32; they fit, since each row has bytes in a file.
std::int64_t bytesOf(const ForeignCache& cache) {
  std::int64_t sum = 0;
  for (const ForeignLayer& layer : cache.layers) sum += 4 * layer.rows * (layer.keys.width + layer.values.width);
  return sum;
}

Error otherModel(const ForeignCache& cache, const std::string& why) {
  return {"other_model", "cannot number the layers of the cache", why,
          "open the model that wrote the cache of " + cache.importer};
}

}  // namespace

std::string plainForeign(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? out + "..." : out;
}

Error badForeign(const std::string& file, const std::string& where, const std::string& why, const std::string& remedy) {
  return {"bad_file", "cannot read " + file, plainForeign(where) + ": " + plainForeign(why, 400),
          remedy.empty() ? "use an undamaged copy of the file, of a version that is read" : remedy};
}

Error unreadForeign(const std::string& file, const std::string& what, const std::string& remedy) {
  return {"bad_file", "cannot read " + file, what, remedy};
}

std::span<const ForeignImporter> importers() {
  static const std::array all = {llamaImporter(),       vllmImporter(),   mlxImporter(),     edgeImporter(),
                                 huggingFaceImporter(), sglangImporter(), lmcacheImporter(), arraysImporter()};
  return all;
}

Result<ForeignCache> openForeign(const std::string& path, const ForeignAsk& ask) {
  const ForeignImporter* importer = KV_TRY(importerFor(path, ask));
  ForeignCache out = KV_TRY(importer->open(path, ask));
  out.importer = importer->name;
  const std::int64_t bytes = bytesOf(out);
  if (ask.mostBytes > 0 && bytes > ask.mostBytes)
    return Error(
        "too_large", "cannot read " + path,
        "its rows take " + std::to_string(bytes) + " bytes, " + std::to_string(ask.mostBytes) + " bytes are allowed",
        "give a shorter cache, or allow more memory");
  return out;
}

Status numberLayers(ForeignCache& cache, const ModelConfig& config) {
  std::vector<std::int32_t> windowed, whole;
  for (std::int32_t i = 0; i < config.layers; ++i) {
    const int window = config.windowPerLayer.empty() ? config.slidingWindow : config.windowPerLayer[at(i)];
    (window > 0 ? windowed : whole).push_back(i);
  }
  std::vector<ForeignLayer> layers = cache.layers;
  for (ForeignLayer& one : layers) {
    if (one.layer < 0) {
      const auto& own = one.part == 1 ? windowed : whole;
      if (one.part > 1 || at(one.inPart) >= own.size())
        return otherModel(cache,
                          "part " + std::to_string(one.part) + " has a layer " + std::to_string(one.inPart) +
                              ", the model has " + std::to_string(whole.size()) + " layers that see all rows and " +
                              std::to_string(windowed.size()) + " with a window");
      one.layer = own[at(one.inPart)];
    }
    if (one.layer >= config.layers)
      return otherModel(cache,
                        "it has a layer " + std::to_string(one.layer) + ", the model has " +
                            std::to_string(config.layers) + " layers");
  }
  std::ranges::sort(layers, {}, &ForeignLayer::layer);
  cache.layers = std::move(layers);
  return ok();
}

bool isForeignCache(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_regular_file(path, none))
    if (const Result<Safetensors> file = Safetensors::open(path); file && file->metadata().contains("kvlab"))
      return false;
  return std::ranges::any_of(importers(), [&](const ForeignImporter& one) { return one.recognises(path); });
}

}  // namespace kvlab
