// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_config.h"

#include <array>
#include <charconv>

namespace kvlab {
namespace {

struct NameRow {
  std::string_view config, file;
};

constexpr std::array kWholeNames{NameRow{"model.embed_tokens.weight", "token_embd.weight"},
                                 NameRow{"model.norm.weight", "output_norm.weight"},
                                 NameRow{"lm_head.weight", "output.weight"}};

/// Without ".weight" or ".bias", behind the number of the layer.
constexpr std::array kLayerNames{NameRow{"input_layernorm", "attn_norm"},
                                 NameRow{"self_attn.q_proj", "attn_q"},
                                 NameRow{"self_attn.k_proj", "attn_k"},
                                 NameRow{"self_attn.v_proj", "attn_v"},
                                 NameRow{"self_attn.qkv_proj", "attn_qkv"},
                                 NameRow{"self_attn.o_proj", "attn_output"},
                                 NameRow{"self_attn.q_norm", "attn_q_norm"},
                                 NameRow{"self_attn.k_norm", "attn_k_norm"},
                                 NameRow{"self_attn.sinks", "attn_sinks"},
                                 NameRow{"pre_feedforward_layernorm", "ffn_norm"},
                                 NameRow{"post_feedforward_layernorm", "post_ffw_norm"},
                                 NameRow{"mlp.gate_proj", "ffn_gate"},
                                 NameRow{"mlp.up_proj", "ffn_up"},
                                 NameRow{"mlp.gate_up_proj", "ffn_up"},
                                 NameRow{"mlp.down_proj", "ffn_down"},
                                 NameRow{"mlp.gate", "ffn_gate_inp"},
                                 NameRow{"mlp.router", "ffn_gate_inp"},
                                 NameRow{"block_sparse_moe.gate", "ffn_gate_inp"},
                                 NameRow{"mlp.experts.gate_proj", "ffn_gate_exps"},
                                 NameRow{"mlp.experts.up_proj", "ffn_up_exps"},
                                 NameRow{"mlp.experts.down_proj", "ffn_down_exps"}};

constexpr std::array kExpertNames{NameRow{"gate_proj", "ffn_gate_exps"}, NameRow{"up_proj", "ffn_up_exps"},
                                  NameRow{"down_proj", "ffn_down_exps"}, NameRow{"w1", "ffn_gate_exps"},
                                  NameRow{"w3", "ffn_up_exps"},          NameRow{"w2", "ffn_down_exps"}};

/// Families that put a norm behind attention call it as others call the norm before the feed-forward network.
bool normBehindAttention(const std::string& type) {
  for (const char* one : {"gemma2", "gemma3", "gemma3_text", "olmo2", "olmo3", "gpt_oss", "gpt-oss"})
    if (type == one) return true;
  return false;
}

template <std::size_t n>
std::string_view rowOf(const std::array<NameRow, n>& rows, std::string_view name) {
  for (const NameRow& row : rows)
    if (row.config == name) return row.file;
  return {};
}

/// Takes a number and the dot behind it off the front.
std::optional<std::int64_t> takeNumber(std::string_view& text) {
  std::int64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr == text.data() + text.size() || *read.ptr != '.' || out < 0) return {};
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return out;
}

bool takeFront(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

/// "experts.3.gate_proj" behind "mlp." or "block_sparse_moe."
std::optional<GgufPlace> expertPlace(std::string_view name) {
  if (!takeFront(name, "mlp.experts.") && !takeFront(name, "block_sparse_moe.experts.")) return {};
  const auto expert = takeNumber(name);
  const std::string_view place = rowOf(kExpertNames, name);
  if (!expert || place.empty()) return {};
  return GgufPlace{std::string(place), expert};
}

/// Rows [begin, begin + count) of a tensor.
TensorView rowsOf(const GgufTensor& tensor, std::int64_t begin, std::int64_t count) {
  TensorView view = tensor.view();
  std::int64_t row = kernels::dtypeRowBytes(view.dtype, view.shape.size() > 1 ? view.shape.back() : 1);
  for (std::size_t i = 1; i + 1 < view.shape.size(); ++i) row *= view.shape[i];
  view.data = static_cast<const std::byte*>(view.data) + begin * row;
  view.shape.front() = count;
  return view;
}

/// Some files keep q, k and v of any family in one tensor.
std::optional<TensorView> partOfQkv(const Gguf& file, const ModelConfig& c, std::string name) {
  const std::int64_t q = std::int64_t{c.heads} * c.headDim, kv = std::int64_t{c.kvHeads} * c.headDim;
  const auto at = name.find(".attn_");
  if (at == std::string::npos || at + 7 >= name.size() || name[at + 7] != '.') return {};
  const char which = name[at + 6];
  name.replace(at + 6, 1, "qkv");
  const GgufTensor* all = file.find(name);
  if (!all || all->shape.front() != q + 2 * kv) return {};
  if (which == 'q') return rowsOf(*all, 0, q);
  return rowsOf(*all, which == 'k' ? q : q + kv, kv);
}

}  // namespace

std::optional<GgufPlace> ggufPlace(const ModelConfig& config, const std::string& name) {
  if (const std::string_view whole = rowOf(kWholeNames, name); !whole.empty()) return GgufPlace{std::string(whole)};
  std::string_view rest = name;
  if (!takeFront(rest, "model.layers.")) return {};
  const auto layer = takeNumber(rest);
  if (!layer) return {};
  std::string_view ending;
  for (const std::string_view one : {".weight", ".bias"})
    if (rest.ends_with(one)) ending = one;
  rest.remove_suffix(ending.size());
  const std::string front = "blk." + std::to_string(*layer) + ".";
  const std::string back(ending.empty() ? ".weight" : ending);  // sinks have no ending
  if (const auto expert = expertPlace(rest)) return GgufPlace{front + expert->name + back, expert->item};
  std::string_view place = rowOf(kLayerNames, rest);
  if (rest == "post_attention_layernorm") place = normBehindAttention(config.type) ? "post_attention_norm" : "ffn_norm";
  if (place.empty()) return {};
  return GgufPlace{front + std::string(place) + back};
}

std::optional<TensorView> findInGguf(const Gguf& file, const ModelConfig& config, const std::string& name) {
  const auto place = ggufPlace(config, name);
  const GgufTensor* tensor = place ? file.find(place->name) : nullptr;
  if (!tensor) return place ? partOfQkv(file, config, place->name) : std::nullopt;
  if (!place->item) return tensor->view();
  if (tensor->shape.size() < 2 || *place->item >= tensor->shape.front()) return {};
  TensorView one = rowsOf(*tensor, *place->item, 1);
  one.shape.erase(one.shape.begin());
  return one;
}

}  // namespace kvlab
