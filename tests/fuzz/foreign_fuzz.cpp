// SPDX-License-Identifier: Apache-2.0
// Input: a byte that chooses an importer of other programs' caches, then a file of its format, which for some importers
// stands in a folder. An accepted file has all the rows that it says it has.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/foreign/foreign_cache.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

constexpr std::int64_t kMostBytes = 1 << 24;
constexpr std::string_view kMapping =
    R"({"dtype": "f32", "shape": [2, 3, 4], "keys": {"name": "layers.{layer}.keys", "axes": "heads rows dim"},)"
    R"( "values": {"name": "layers.{layer}.values", "axes": "heads rows dim"}, "ids": "input_ids"})";

class ForeignFolder {
 public:
  ForeignFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kvlab-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr, "no folder");
    m_path = name;
    std::filesystem::create_directory(m_path + "/files");
    write("mapping.json", kMapping);
  }
  ~ForeignFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  std::string path(const std::string& name) const { return m_path + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  }

 private:
  std::string m_path;
};

/// The name of the only file in the folder that an importer reads; empty = it reads a file.
std::string nameInFolder(std::string_view importer) {
  return importer == "vllm" ? "files/model.layers.0.attn.safetensors" : importer == "sglang" ? "files/dump.pt" : "";
}

void readRows(const ForeignCache& cache) {
  for (const ForeignLayer& layer : cache.layers) {
    for (const ForeignRows* rows : {&layer.keys, &layer.values}) {
      const auto values = rows->read();
      fuzz::require(values && values->size() == static_cast<std::size_t>(layer.rows * rows->width), "rows are missing");
    }
    fuzz::require(layer.positions.empty() || layer.positions.size() == static_cast<std::size_t>(layer.rows),
                  "other numbers of rows and of positions");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ForeignFolder folder;
  if (size == 0) return 0;
  const ForeignImporter& importer = importers()[data[0] % importers().size()];
  const std::string inside = nameInFolder(importer.name), file = inside.empty() ? "file" : inside;
  folder.write(file, fuzz::text(data, size).substr(1));
  const std::string path = folder.path(inside.empty() ? file : "files");
  ForeignAsk ask{.importer = std::string(importer.name), .mostBytes = kMostBytes};
  if (importer.name == "arrays") ask.mapping = folder.path("mapping.json");
  for (const ForeignImporter& one : importers()) one.recognises(path);
  if (const auto cache = openForeign(path, ask)) readRows(*cache);
  else fuzz::checkError(cache.error());
  std::filesystem::remove(folder.path(file));
  return 0;
}
