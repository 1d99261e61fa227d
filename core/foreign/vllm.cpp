// SPDX-License-Identifier: Apache-2.0
// Folders of vLLM's ExampleConnector, and of the connector kvlab.vllm, which adds ids, positions and the block size: a
// safetensors file for each layer, with the slots of a request one behind another.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/foreign/array_file.h"
#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"

namespace kvlab {
namespace {

constexpr std::string_view kSlots = "kv_cache", kSlotFile = ".safetensors";

/// Files of layers by the layer's number: model.layers.3.self_attn.attn.safetensors.
std::map<std::int32_t, std::vector<std::string>> slotFiles(const std::string& folder) {
  std::map<std::int32_t, std::vector<std::string>> out;
  std::error_code none;
  for (std::filesystem::directory_iterator it(folder, none), end; !none && it != end; it.increment(none)) {
    const std::string name = it->path().filename().string();
    if (!name.ends_with(kSlotFile)) continue;
    const auto place = name.find("layers.");
    if (place == std::string::npos) continue;
    const std::string_view rest = std::string_view(name).substr(place);
    if (const auto layer = layerNumber(rest.substr(0, rest.find('.', 7)), "layers.{layer}"))
      out[*layer].push_back(it->path().string());
  }
  return out;
}

/// Rows of a block, which kvlab's own connector writes beside the slots; 0 = unknown.
std::int32_t blockOf(const ArrayFile& file) {
  const auto found = file.facts.find("block_size");
  if (found == file.facts.end() || !found->second.is_string()) return 0;
  const std::string text = found->second.get<std::string>();
  std::int32_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return std::max(0, out);
}

struct SlotPair {
  ForeignArray keys, values;
};

class SlotReader {
 public:
  explicit SlotReader(const std::string& folder) : m_folder(folder) {}

  Result<ForeignCache> read() {
    for (const auto& [number, files] : slotFiles(m_folder)) {
      if (files.size() > 1)
        return badForeign(m_folder, "layer " + std::to_string(number),
                          "has " + std::to_string(files.size()) + " files");
      KV_TRY(addLayer(number, files.front()));
    }
    if (m_out.layers.empty())
      return unreadForeign(m_folder, "no file like model.layers.0.self_attn.attn.safetensors",
                           "give the folder of one request, which the connector names by a hash");
    m_out.notes.push_back("positions are not in the files: slots stand in the order of tokens");
    return std::move(m_out);
  }

 private:
  Status addLayer(std::int32_t number, const std::string& path) {
    const ArrayFile file = KV_TRY(openArrayFile(path));
    const ForeignArray* slots = file.find(kSlots);
    if (!slots) return badForeign(path, "header", "there is no tensor kv_cache");
    const SlotPair pair = KV_TRY(pairOf(*slots, path));
    ForeignLayer layer = KV_TRY(foreignLayer(number, {pair.keys}, {pair.values}, path, std::string(kSlots)));
    layer.inPart = static_cast<std::int32_t>(m_out.layers.size());
    if (m_out.ids.empty()) m_out.ids = KV_TRY(usualIds(file));
    layer.positions = KV_TRY(usualPositions(file));
    if (layer.positions.size() != at(layer.rows)) layer.positions.clear();
    m_out.block = blockOf(file);
    m_out.layers.push_back(std::move(layer));
    return ok();
  }

  /// [slots, heads, keys then values], since 2026; before [2, slots, heads, head size] or [2, slots, row].
  Result<SlotPair> pairOf(const ForeignArray& slots, const std::string& path) {
    if (std::ranges::count(slots.shape, 0) > 0) return badForeign(path, "tensor \"kv_cache\"", "has no slots");
    if (slots.axes() == 4 && slots.shape[0] == 2) {
      setHeads(slots.shape[2]);
      return SlotPair{slots.place(0, 0), slots.place(0, 1)};
    }
    if (slots.axes() == 3 && slots.shape[0] == 2) {
      m_out.notes.push_back("a row is not divided into heads");
      const ForeignArray rows = slots.split(1, 1);
      return SlotPair{rows.place(0, 0), rows.place(0, 1)};
    }
    if (slots.axes() == 3 && slots.shape[2] % 2 == 0) {
      setHeads(slots.shape[1]);
      const std::int64_t half = slots.shape[2] / 2;
      return SlotPair{slots.part(2, 0, half), slots.part(2, half, half)};
    }
    return badForeign(path, "tensor \"kv_cache\"",
                      "shape " + shapeText(slots.shape) + ", expected [slots, heads, 2 * head size]",
                      slots.axes() == 2 ? "latent rows of MLA are not read" : "describe the arrays in a mapping file");
  }

  void setHeads(std::int64_t heads) {
    if (heads < 1 << 20) m_out.heads = static_cast<std::int32_t>(heads);
  }

  const std::string& m_folder;
  ForeignCache m_out;
};

bool recognisesSlots(const std::string& path) {
  for (const auto& [layer, files] : slotFiles(path)) {
    const auto file = openArrayFile(files.front());
    return file && file->find(kSlots);
  }
  return false;
}

Result<ForeignCache> openSlots(const std::string& path, const ForeignAsk&) { return SlotReader(path).read(); }

}  // namespace

ForeignImporter vllmImporter() {
  return ForeignImporter{
      "vllm",
      "a folder that the ExampleConnector of vLLM, or kvlab.vllm, wrote for a request, a safetensors file for each "
      "layer",
      recognisesSlots, openSlots};
}

}  // namespace kvlab
