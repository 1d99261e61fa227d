// SPDX-License-Identifier: Apache-2.0
// GGUF files made in memory, sound and damaged ones.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kvlab::test {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string ggufText(const std::string& text) { return raw<std::uint64_t>(text.size()) + text; }

/// Pieces of the file, each of which a test may damage.
struct GgufBytes {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::string keyBytes, tensorBytes, data;
  std::uint64_t keys = 0, tensors = 0, alignment = 32;

  GgufBytes& key(const std::string& name, std::uint32_t kind, const std::string& value) {
    keyBytes += ggufText(name) + raw(kind) + value;
    ++keys;
    return *this;
  }
  GgufBytes& u32(const std::string& name, std::uint32_t value) { return key(name, 4, raw(value)); }
  GgufBytes& f32(const std::string& name, float value) { return key(name, 6, raw(value)); }
  GgufBytes& text(const std::string& name, const std::string& value) { return key(name, 8, ggufText(value)); }
  GgufBytes& array(const std::string& name, std::uint32_t kind, std::uint64_t count, const std::string& items) {
    return key(name, 9, raw(kind) + raw(count) + items);
  }

  /// Dimensions fastest first, as the format has them.
  GgufBytes& claim(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                   std::uint64_t offset) {
    tensorBytes += ggufText(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t d : dims) tensorBytes += raw(d);
    tensorBytes += raw(type) + raw(offset);
    ++tensors;
    return *this;
  }
  /// A tensor of its own bytes behind the others.
  GgufBytes& tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                    const std::string& bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    claim(name, dims, type, data.size());
    data += bytes;
    return *this;
  }
  GgufBytes& f32s(const std::string& name, const std::vector<std::uint64_t>& dims, float value = 0.5f) {
    std::uint64_t n = 1;
    for (const std::uint64_t d : dims) n *= d;
    std::string bytes;
    for (std::uint64_t i = 0; i < n; ++i) bytes += raw(value);
    return tensor(name, dims, 0, bytes);
  }

  std::string head() const { return magic + raw(version) + raw(tensors) + raw(keys) + keyBytes + tensorBytes; }
  std::string bytes() const {
    std::string out = head();
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data;
  }
};

/// One layer of Llama: 8 tokens, hidden 8, 2 heads of 4.
inline GgufBytes littleLlama(const std::string& arch = "llama") {
  GgufBytes out;
  out.text("general.architecture", arch);
  for (const auto& [name, value] : {std::pair{"block_count", 1},
                                    {"context_length", 32},
                                    {"embedding_length", 8},
                                    {"feed_forward_length", 8},
                                    {"attention.head_count", 2},
                                    {"attention.head_count_kv", 2}})
    out.u32(arch + "." + name, static_cast<std::uint32_t>(value));
  out.f32(arch + ".attention.layer_norm_rms_epsilon", 1e-5f);
  out.f32s("token_embd.weight", {8, 8}).f32s("output_norm.weight", {8}).f32s("blk.0.attn_norm.weight", {8});
  out.f32s("blk.0.ffn_norm.weight", {8});
  for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    out.f32s("blk.0." + std::string(part) + ".weight", {8, 8});
  return out;
}

}  // namespace kvlab::test
