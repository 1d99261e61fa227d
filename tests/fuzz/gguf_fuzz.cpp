// SPDX-License-Identifier: Apache-2.0
// Input: a GGUF file. The data of an accepted file lies inside the file and apart, tensor by tensor; its keys make a
// configuration with sane numbers, its tokens a tokenizer, or an error.
#include "core/model/files/gguf.h"

#include <algorithm>
#include <cmath>

#include "core/model/files/gguf_config.h"
#include "core/model/gguf_model.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

std::int64_t touchTensors(const Gguf& file, std::span<const std::byte> bytes) {
  std::int64_t sum = 0;
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const auto& [name, tensor] : file.tensors()) {
    const std::byte *begin = tensor.bytes.data(), *end = begin + tensor.bytes.size();
    fuzz::require(begin >= bytes.data() && end <= bytes.data() + bytes.size(), "a tensor outside the file");
    fuzz::require(tensor.view().bytes() == static_cast<std::int64_t>(tensor.bytes.size()), "wrong size");
    fuzz::require(file.find(name) == &tensor, "a tensor that is not found");
    ranges.emplace_back(begin, end);
    for (const std::byte b : tensor.bytes) sum += std::to_integer<int>(b);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    fuzz::require(ranges[i].first >= ranges[i - 1].second, "two tensors in one place");
  return sum;
}

void readTokenizer(const Gguf& file, std::int64_t rows) {
  const auto keys = tokenizerKeysOf(file, rows);
  if (!keys) return fuzz::checkError(keys.error());
  if (keys->tokens.empty()) return;
  const auto tokenizer = tokenizerFromGguf(*keys, "f");
  if (!tokenizer) return fuzz::checkError(tokenizer.error());
  const auto ids = (*tokenizer)->encode("ab a \xc3\xa9<s>", true);
  if (!ids) return fuzz::checkError(ids.error());
  for (const TokenId id : *ids) fuzz::require(id.value() >= 0 && id.value() < (*tokenizer)->size(), "an id outside");
  (*tokenizer)->decode(*ids);
}

void readModel(const Gguf& file) {
  const auto config = configOf(file);
  if (!config) return fuzz::checkError(config.error());
  fuzz::require(config->heads % config->kvHeads == 0, "heads do not fit");
  fuzz::require(config->headDim % 2 == 0 || config->ropes.front().dims != 0, "a value turns without a partner");
  fuzz::require(config->windowPerLayer.size() == static_cast<std::size_t>(config->layers), "windows");
  for (const std::int32_t id : config->eos) fuzz::require(id >= 0 && id < config->vocab, "an id outside");
  for (const char* name : {"model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.bias",
                           "model.layers.0.mlp.experts.1.up_proj.weight", "lm_head.weight"})
    if (const auto view = findInGguf(file, *config, name))
      fuzz::require(view->bytes() >= 0 && view->bytes() <= file.bytes(), "a part bigger than the file");
  readTokenizer(file, config->vocab);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto file = Gguf::parse(bytes, "f");
  if (!file) {
    fuzz::checkError(file.error());
    return 0;
  }
  fuzz::require(touchTensors(*file, bytes) >= 0 && file->bytes() <= static_cast<std::int64_t>(size), "too many bytes");
  readModel(*file);
  return 0;
}
