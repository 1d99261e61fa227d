// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/model/files/gguf_cursor.h"

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

/// The beginning of a text of the file, for messages.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

/// "gemma2, gemma3, gpt-oss, .."
std::string ggufArchitectures() {
  std::string out;
  for (const GgufArch& arch : kArchs) out += (out.empty() ? "" : ", ") + std::string(arch.name);
  return out;
}

Result<const GgufArch*> archOf(const GgufKeys& keys) {
  const auto name = KV_TRY(keys.text("general.architecture"));
  if (!name) return keys.bad("general.architecture", "is missing", "use a file that a current converter wrote");
  for (const GgufArch& arch : kArchs)
    if (arch.name == *name) return &arch;
  return keys.bad("general.architecture", "is \"" + printable(*name) + "\", which is not known here",
                  "use a model of " + ggufArchitectures());
}

bool biased(const Gguf& file) { return file.find("blk.0.attn_q.bias") || file.find("blk.0.attn_qkv.bias"); }

constexpr const char* kFreqs = "rope_freqs.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";

/// The rotary keys and tensors of a file as rope_parameters of a config.json: {"rope_type", "rope_theta", ..}.
class GgufRope {
 public:
  /// `arch`: the prefix of the keys; values of a head, and the longest context.
  GgufRope(const Gguf& file, std::string_view arch, std::int64_t headDim, std::int64_t positions)
      : m_file(file),
        m_keys(file.keys()),
        m_arch(std::string(arch) + "."),
        m_headDim(headDim),
        m_positions(positions) {}

  Result<json> read() {
    m_out["rope_type"] = "default";
    m_theta = KV_TRY(m_keys.real(m_arch + "rope.freq_base")).value_or(10000);
    m_out["rope_theta"] = m_theta;
    KV_TRY(readDims());
    const auto type = KV_TRY(m_keys.text(m_arch + "rope.scaling.type"));
    if (type == "yarn") KV_TRY(readYarn());
    else if (m_file.find(kLongFactors)) KV_TRY(readLongRope());
    else if (m_file.find(kFreqs)) KV_TRY(readFactors());
    else if (!type || type == "linear") KV_TRY(readLinear());
    else if (type != "none")
      return m_keys.bad(m_arch + "rope.scaling.type", "is \"" + printable(*type) + "\", which is not implemented",
                        "use a model with linear, yarn or longrope");
    return m_out;
  }

 private:
  /// The first values of a head turn; config.json says which share. A share that rounds down is a little more.
  Status readDims() {
    const std::string key = m_arch + "rope.dimension_count";
    m_dims = KV_TRY(m_keys.whole(key)).value_or(m_headDim);
    if (m_dims < 2 || m_dims > m_headDim || m_dims % 2 != 0)
      return m_keys.bad(
          key, "is " + std::to_string(m_dims) + ", not an even number up to the head's " + std::to_string(m_headDim));
    if (m_dims == m_headDim) return ok();
    const auto head = static_cast<double>(m_headDim);
    double share = static_cast<double>(m_dims) / head;
    while (static_cast<std::int64_t>(head * share) < m_dims) share = std::nextafter(share, 1.0);
    m_out[kRotaryShare] = share;
    return ok();
  }

  Status readLinear() {
    auto factor = KV_TRY(m_keys.real(m_arch + "rope.scaling.factor"));
    if (!factor) factor = KV_TRY(m_keys.real(m_arch + "rope.scale_linear"));
    if (!factor || *factor == 0 || *factor == 1) return ok();
    m_out["rope_type"] = "linear";
    m_out["factor"] = *factor;
    return ok();
  }

  Status readYarn() {
    m_out["rope_type"] = "yarn";
    KV_TRY(copyReal("rope.scaling.factor", "factor"));
    KV_TRY(copyWhole("rope.scaling.original_context_length", "original_max_position_embeddings"));
    KV_TRY(copyReal("rope.scaling.yarn_beta_fast", "beta_fast"));
    KV_TRY(copyReal("rope.scaling.yarn_beta_slow", "beta_slow"));
    KV_TRY(copyReal("rope.scaling.yarn_attn_factor", "attention_factor"));
    if (KV_TRY(copyReal("rope.scaling.yarn_log_multiplier", "mscale_all_dim"))) m_out["mscale"] = 1.0;
    const std::string ramp = m_arch + "rope.scaling.yarn_ext_factor", times = m_arch + "rope.scaling.attn_factor";
    if (KV_TRY(m_keys.real(ramp)).value_or(1) != 1) return m_keys.bad(ramp, "is not 1, which is not implemented");
    if (KV_TRY(m_keys.real(times)).value_or(1) != 1) return m_keys.bad(times, "is not 1, which is not implemented");
    if (m_arch == "gpt-oss.") m_out["truncate"] = false;  // as its config.json says and no key does
    return ok();
  }

  Status readLongRope() {
    m_out["rope_type"] = "longrope";
    m_out["short_factor"] = KV_TRY(factors(kShortFactors));
    m_out["long_factor"] = KV_TRY(factors(kLongFactors));
    KV_TRY(copyWhole("rope.scaling.original_context_length", "original_max_position_embeddings"));
    return ok();
  }

  /// Frequencies are divided by these factors. Llama 3's follow from numbers that the file does not say.
  Status readFactors() {
    const json list = KV_TRY(factors(kFreqs));
    if (const std::int64_t original = llama3Length(list)) {
      m_out["rope_type"] = "llama3";
      m_out.update({{"factor", list.back()},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", original}});
    } else if (list != json(std::vector<double>(list.size(), 1.0))) {
      m_out["rope_type"] = "longrope";
      m_out.update({{"short_factor", list},
                    {"long_factor", list},
                    {"factor", 1.0},
                    {"attention_factor", 1.0},
                    {"original_max_position_embeddings", m_positions}});
    }
    return ok();
  }

  double frequency(std::size_t i) const {
    return std::pow(m_theta, -2.0 * static_cast<double>(i) / static_cast<double>(m_dims));
  }

  /// The length that Llama 3's rule made these factors of; 0 = another rule did. Frequencies of below one turn in that
  /// length are divided by the last factor, those above four by 1, those between by something between, which tells it.
  std::int64_t llama3Length(const json& list) const {
    const double most = list.back();
    double length = 8192;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const double smooth = (1 / list[i].get<double>() - 1 / most) / (1 - 1 / most);
      if (smooth > 0.01 && smooth < 0.99) length = std::round((1 + 3 * smooth) * 2 * std::numbers::pi / frequency(i));
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const double turns = length * frequency(i) / (2 * std::numbers::pi);
      const double smooth = std::clamp((turns - 1) / 3, 0.0, 1.0), wanted = 1 / ((1 - smooth) / most + smooth);
      if (!(std::abs(list[i].get<double>() - wanted) <= 1e-4 * wanted)) return 0;
    }
    return most > 1 && length >= 1 && length < 1e9 ? static_cast<std::int64_t>(length) : 0;
  }

  Result<json> factors(const char* name) const {
    const GgufTensor* tensor = m_file.find(name);
    const auto bad = [&](const std::string& why) {
      return badGguf(m_file.file(), "tensor \"" + std::string(name) + "\"", why, {}, name);
    };
    if (!tensor) return bad("is missing");
    if (tensor->dtype != kernels::DType::f32 || tensor->shape != std::vector<std::int64_t>{m_dims / 2})
      return bad("is " + std::string(kernels::dtypeName(tensor->dtype)) + " " + shapeText(tensor->shape) +
                 ", not f32 [" + std::to_string(m_dims / 2) + "]");
    json out = json::array();
    for (const float value : widened(tensor->view())) {
      if (!(value >= 1e-6f && value <= 1e6f)) return bad("has a factor outside of 1e-6 to 1e6");
      out.push_back(decimalOf(value));
    }
    return out;
  }

  /// True where the key is there.
  Result<bool> copyReal(const char* key, const char* name) {
    const auto value = KV_TRY(m_keys.real(m_arch + key));
    if (value) m_out[name] = *value;
    return value.has_value();
  }
  Result<bool> copyWhole(const char* key, const char* name) {
    const auto value = KV_TRY(m_keys.whole(m_arch + key));
    if (value) m_out[name] = *value;
    return value.has_value();
  }

  const Gguf& m_file;
  const GgufKeys m_keys;
  const std::string m_arch;
  const std::int64_t m_headDim, m_positions;
  double m_theta = 10000;
  std::int64_t m_dims = 0;
  json m_out;
};

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
  json rope = KV_TRY(GgufRope(m_file, m_arch.name, number("head_dim"), number("max_position_embeddings")).read());
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
