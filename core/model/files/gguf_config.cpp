// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_config.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kvlab {
namespace {

using nlohmann::json;

/// A value of general.architecture. All layers slide except every `pattern`-th.
struct GgufArch {
  std::string_view name;
  const char* type;           // model_type
  bool neighbours = false;    // rotation pairs neighbours
  bool normsWithOne = false;  // norms have their 1 inside
  int pattern = 0;            // 0 = no layer slides
};
constexpr std::array kArchs{GgufArch{"gemma2", "gemma2", false, true, 2},
                            GgufArch{"gemma3", "gemma3_text", false, true, 6},
                            GgufArch{"gpt-oss", "gpt_oss", false, false, 2},
                            GgufArch{"llama", "llama", true},
                            GgufArch{"mistral3", "mistral", true},
                            GgufArch{"olmo2", "olmo2", false, false, 4},
                            GgufArch{"phi3", "phi3"},
                            GgufArch{"qwen2", "qwen2"},
                            GgufArch{"qwen3", "qwen3"},
                            GgufArch{"qwen3moe", "qwen3_moe"},
                            GgufArch{"smollm3", "smollm3", true}};

Result<const GgufArch*> archOf(const GgufKeys& keys) {
  const auto name = KV_TRY(keys.text("general.architecture"));
  if (!name) return keys.bad("general.architecture", "is missing", "use a file that a current converter wrote");
  for (const GgufArch& arch : kArchs)
    if (arch.name == *name) return &arch;
  std::string shown;
  for (const char c : name->substr(0, 40)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return keys.bad("general.architecture", "is \"" + shown + "\", which is not known here",
                  "use a model of " + ggufArchitectures());
}

bool biased(const Gguf& file) { return file.find("blk.0.attn_q.bias") || file.find("blk.0.attn_qkv.bias"); }

class GgufConfig {
 public:
  GgufConfig(const Gguf& file, const GgufArch& arch)
      : m_file(file), m_keys(file.keys()), m_arch(arch), m_prefix(std::string(arch.name) + ".") {}

  Result<json> read() {
    m_out["model_type"] = m_arch.type;
    KV_TRY(readSizes());
    KV_TRY(readHead());
    KV_TRY(readWindow());
    KV_TRY(readRopes());
    KV_TRY(readCaps());
    KV_TRY(readExperts());
    readTensorFacts();
    KV_TRY(readTokens());
    return std::move(m_out);
  }

 private:
  Status readSizes();
  Status readHead();
  Status readWindow();
  Status readSlidingLayers();
  Status readRopes();
  Status readCaps();
  Status readExperts();
  void readTensorFacts();
  Status readTokens();
  Status copyWhole(const char* key, const char* name, bool needed = false);
  std::int64_t number(const char* name) const { return m_out.at(name).get<std::int64_t>(); }
  bool is(std::string_view arch) const { return m_arch.name == arch; }

  const Gguf& m_file;
  const GgufKeys m_keys;
  const GgufArch& m_arch;
  const std::string m_prefix;
  std::vector<bool> m_sliding;  // [layers], empty = no layer slides
  json m_out;
};

Status GgufConfig::copyWhole(const char* key, const char* name, bool needed) {
  const auto value = KV_TRY(m_keys.whole(m_prefix + key));
  if (!value && needed) return m_keys.bad(m_prefix + key, "is missing", "use a complete file");
  if (value) m_out[name] = *value;
  if (value && (*value < 0 || *value > (std::int64_t{1} << 31)))
    return m_keys.bad(m_prefix + key, "is " + std::to_string(*value) + ", outside of 0 to 2^31");
  return ok();
}

Status GgufConfig::readSizes() {
  KV_TRY(copyWhole("embedding_length", "hidden_size", true));
  KV_TRY(copyWhole("block_count", "num_hidden_layers", true));
  KV_TRY(copyWhole("attention.head_count", "num_attention_heads", true));
  KV_TRY(copyWhole("attention.head_count_kv", "num_key_value_heads"));
  KV_TRY(copyWhole("feed_forward_length", "intermediate_size"));
  KV_TRY(copyWhole("context_length", "max_position_embeddings", true));
  if (const auto eps = KV_TRY(m_keys.real(m_prefix + "attention.layer_norm_rms_epsilon"))) m_out["rms_norm_eps"] = *eps;
  const GgufTensor* embedding = m_file.find("token_embd.weight");
  if (!embedding)
    return Error{"bad_model", "cannot read " + m_file.file(), "tensor \"token_embd.weight\": is missing",
                 "use a complete file: this one holds no model, or a part of one", "token_embd.weight"};
  m_out["vocab_size"] = embedding->shape.front();
  if (number("num_hidden_layers") < 1 || number("num_hidden_layers") > 4096)
    return m_keys.bad(m_prefix + "block_count",
                      "is " + std::to_string(number("num_hidden_layers")) + ", outside of 1 to 4096");
  return ok();
}

Status GgufConfig::readHead() {
  const std::string keyKey = m_prefix + "attention.key_length", valueKey = m_prefix + "attention.value_length";
  const std::int64_t heads = number("num_attention_heads"), hidden = number("hidden_size");
  if (heads < 1) return m_keys.bad(m_prefix + "attention.head_count", "is 0");
  const std::int64_t head = KV_TRY(m_keys.whole(keyKey)).value_or(hidden / heads);
  const std::int64_t value = KV_TRY(m_keys.whole(valueKey)).value_or(head);
  if (head < 2 || head > 4096) return m_keys.bad(keyKey, "gives heads of " + std::to_string(head) + " values");
  if (value != head)
    return m_keys.bad(valueKey, "is " + std::to_string(value) + ", keys have " + std::to_string(head),
                      "use a model whose keys and values are as long");
  m_out["head_dim"] = head;
  return ok();
}

Status GgufConfig::readWindow() {
  const std::string key = m_prefix + "attention.sliding_window";
  const auto window = KV_TRY(m_keys.whole(key));
  const bool used = window && *window > 0;
  if (used && *window > (1 << 30)) return m_keys.bad(key, "is " + std::to_string(*window) + ", above 2^30");
  m_out["sliding_window"] = used ? json(*window) : json();
  if (is("gemma2") && !window) m_out["sliding_window"] = 4096;
  if (is("llama") && used) m_out["model_type"] = "mistral";
  if (is("olmo2") && used) m_out["model_type"] = "olmo3";
  if (m_arch.pattern == 0 || m_out["sliding_window"].is_null()) {
    if (is("gemma3"))
      m_out["layer_types"] =
          json(std::vector<std::string>(static_cast<std::size_t>(number("num_hidden_layers")), "full_attention"));
    return ok();
  }
  return readSlidingLayers();
}

Status GgufConfig::readSlidingLayers() {
  const std::string key = m_prefix + "attention.sliding_window_pattern";
  const auto layers = static_cast<std::size_t>(number("num_hidden_layers"));
  const auto pattern = m_keys.whole(key);
  if (pattern) {
    const std::int64_t every = pattern->value_or(m_arch.pattern);
    if (every < 0) return m_keys.bad(key, "is below 0");
    for (std::size_t i = 0; i < layers; ++i)
      m_sliding.push_back(every == 0 || static_cast<std::int64_t>(i) % every < every - 1);
  } else {
    m_sliding = KV_TRY(m_keys.flags(key));
  }
  if (m_sliding.size() < layers)
    return m_keys.bad(key, "names " + std::to_string(m_sliding.size()) + " of " + std::to_string(layers) + " layers");
  m_sliding.resize(layers);
  for (const bool slides : m_sliding) m_out["layer_types"].push_back(slides ? "sliding_attention" : "full_attention");
  return ok();
}

/// Gemma 3 and OLMo 3 have frequencies of their own, unscaled, in layers that slide.
Status GgufConfig::readRopes() {
  const GgufRopeQuestion asked{std::string(m_arch.name), number("head_dim"), number("max_position_embeddings")};
  json rope = KV_TRY(ropeJsonOf(m_file, asked));
  if (is("mistral3")) {
    if (const auto beta = KV_TRY(m_keys.real(m_prefix + "attention.temperature_scale"))) {
      m_out["model_type"] = "ministral3";
      rope["llama_4_scaling_beta"] = *beta;
    }
  }
  if (is("phi3")) {
    constexpr const char* original = "original_max_position_embeddings";
    if (rope.contains(original)) m_out[original] = rope.at(original);
  }
  const bool byType = (is("gemma3") || m_out["model_type"] == "olmo3") && !m_sliding.empty();
  if (!byType) {
    m_out["rope_parameters"] = rope;
    return ok();
  }
  const double usual = is("gemma3") ? 10000 : rope.at("rope_theta").get<double>();
  const double local = KV_TRY(m_keys.real(m_prefix + "rope.freq_base_swa")).value_or(usual);
  m_out["rope_parameters"] = {{"full_attention", rope},
                              {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local}}}};
  return ok();
}

/// The scale of queries is in no key: the largest Gemma of either generation alone has another one than its head says.
Status GgufConfig::readCaps() {
  if (!m_arch.normsWithOne) return ok();
  for (const char* cap : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (const auto value = KV_TRY(m_keys.real(m_prefix + cap))) m_out[cap] = *value == 0 ? json() : json(*value);
  const std::int64_t layers = number("num_hidden_layers");
  const bool largest = (is("gemma2") && layers == 46) || (is("gemma3") && layers == 62);
  m_out["query_pre_attn_scalar"] = largest ? number("hidden_size") / number("num_attention_heads") : number("head_dim");
  return ok();
}

Status GgufConfig::readExperts() {
  const std::int64_t experts = KV_TRY(m_keys.whole(m_prefix + "expert_count")).value_or(0);
  if (experts == 0) {
    if (!m_out.contains("intermediate_size"))
      return m_keys.bad(m_prefix + "feed_forward_length", "is missing", "use a complete file");
    return ok();
  }
  KV_TRY(copyWhole("expert_used_count", "num_experts_per_tok", true));
  KV_TRY(copyWhole("expert_count", is("qwen3moe") ? "num_experts" : "num_local_experts"));
  if (is("llama")) m_out["model_type"] = "mixtral";
  if (is("qwen3moe")) {
    KV_TRY(copyWhole("expert_feed_forward_length", "moe_intermediate_size", true));
    m_out["norm_topk_prob"] = true;  // as the converter assumes: no key says it
    if (!m_out.contains("intermediate_size")) m_out["intermediate_size"] = m_out["moe_intermediate_size"];
  } else if (is("gpt-oss")) {
    KV_TRY(copyWhole("expert_feed_forward_length", "intermediate_size"));
  }
  return ok();
}

void GgufConfig::readTensorFacts() {
  m_out["tie_word_embeddings"] = !m_file.find("output.weight");
  m_out["attention_bias"] = biased(m_file);
  if (m_file.find("blk.0.ffn_gate.bias")) m_out["mlp_bias"] = true;
  if (!is("smollm3")) return;
  for (std::int64_t i = 0; i < number("num_hidden_layers"); ++i)
    m_out["no_rope_layers"].push_back((i + 1) % 4 == 0 ? 0 : 1);
}

/// Ids of the end of a text, then of a turn.
Status GgufConfig::readTokens() {
  const auto bos = KV_TRY(m_keys.whole("tokenizer.ggml.bos_token_id"));
  if (bos) m_out["bos_token_id"] = *bos;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (const auto id = KV_TRY(m_keys.whole(key))) {
      if (*id < 0 || *id >= number("vocab_size"))
        return m_keys.bad(
            key,
            "is " + std::to_string(*id) + ", the vocabulary has " + std::to_string(number("vocab_size")) + " tokens");
      m_out["eos_token_id"].push_back(*id);
    }
  return ok();
}

/// The key behind a name of config.json, so that complaints of its reader name what stands in the file.
std::string keyBehind(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 14> rows{
      {{"hidden_size", "embedding_length"},
       {"num_hidden_layers", "block_count"},
       {"num_attention_heads", "attention.head_count"},
       {"num_key_value_heads", "attention.head_count_kv"},
       {"intermediate_size", "feed_forward_length"},
       {"max_position_embeddings", "context_length"},
       {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
       {"head_dim", "attention.key_length"},
       {"rope_theta", "rope.freq_base"},
       {"factor", "rope.scaling.factor"},
       {"original_max_position_embeddings", "rope.scaling.original_context_length"},
       {"sliding_window", "attention.sliding_window"},
       {"num_experts_per_tok", "expert_used_count"},
       {"moe_intermediate_size", "expert_feed_forward_length"}}};
  for (const auto& [config, key] : rows)
    if (config == name) return key;
  return {};
}

}  // namespace

std::string ggufArchitectures() {
  std::string out;
  for (const GgufArch& arch : kArchs) out += (out.empty() ? "" : ", ") + std::string(arch.name);
  return out;
}

Result<json> configJsonOf(const Gguf& file) {
  const GgufArch* arch = KV_TRY(archOf(file.keys()));
  return GgufConfig(file, *arch).read();
}

Result<ModelConfig> configOf(const Gguf& file) {
  const GgufArch* arch = KV_TRY(archOf(file.keys()));
  const json made = KV_TRY(GgufConfig(file, *arch).read());
  auto config = configFromJson(made, file.file());
  if (!config) {
    Error error = config.error();
    if (const std::string key = keyBehind(error.field); !key.empty()) {
      error.field = std::string(arch->name) + "." + key;
      error.why = "key \"" + error.field + "\": " + error.why;
    }
    return error;
  }
  config->attentionBias = biased(file);
  config->outputBias = file.find("blk.0.attn_output.bias") != nullptr;
  config->interleavedRotary = arch->neighbours;
  if (arch->normsWithOne) config->normOffset = 0;
  return config;
}

}  // namespace kvlab
