// SPDX-License-Identifier: Apache-2.0
// Input: a byte that chooses model.safetensors.index.json, generation_config.json or
// tokenizer_config.json, then that file, read from a folder with two shards and a config.json.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "core/model/files/config.h"
#include "core/model/files/safetensors.h"
#include "core/model/tokens/tokenizer.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

constexpr std::array kNames = {"model.safetensors.index.json", "generation_config.json", "tokenizer_config.json"};

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kvlab-fuzz-XXXXXX").string();
    fuzz::require(::mkdtemp(name.data()) != nullptr, "no folder");
    m_path = name;
    const std::vector<std::byte> data(8);
    for (const char* tensor : {"a", "b"}) {
      SafetensorsWriter writer;
      writer.add(tensor, Element::F32, {2}, data);
      fuzz::require(static_cast<bool>(writer.write(m_path + "/" + tensor + ".safetensors")), "no shard");
    }
    write("config.json",
          R"({"model_type":"llama","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,)"
          R"("num_attention_heads":2,"vocab_size":300,"max_position_embeddings":64,)"
          R"("rms_norm_eps":1e-5,"eos_token_id":2,"bos_token_id":1})");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  const std::string& path() const { return m_path; }
  void write(const char* name, std::string_view text) const {
    std::ofstream(m_path + "/" + name, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void remove(const char* name) const { std::filesystem::remove(m_path + "/" + name); }

 private:
  std::string m_path;
};

void readIndex(const std::string& folder) {
  const auto tensors = Safetensors::openDirectory(folder);
  if (!tensors) return fuzz::checkError(tensors.error());
  for (const auto& [name, tensor] : tensors->tensors())
    fuzz::require(name == "a" || name == "b", "a tensor of nowhere");
}

void readConfigs(const std::string& folder) {
  const auto config = readConfig(folder);
  if (!config) return fuzz::checkError(config.error());
  for (const std::int32_t id : config->eos) fuzz::require(id >= 0 && id < config->vocab, "an id outside");
  const auto tokenizer = openTokenizer(folder, *config);
  if (!tokenizer) return fuzz::checkError(tokenizer.error());
  if (const auto ids = (*tokenizer)->encode("a b", true); !ids) fuzz::checkError(ids.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const Folder folder;
  const std::size_t which = data[0] % kNames.size();
  folder.write(kNames[which], fuzz::text(data, size).substr(1));
  if (which == 0) readIndex(folder.path());
  else readConfigs(folder.path());
  folder.remove(kNames[which]);
  return 0;
}
