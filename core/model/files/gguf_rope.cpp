// SPDX-License-Identifier: Apache-2.0
#include "core/model/files/gguf_config.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "core/model/files/gguf_cursor.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr const char* kFreqs = "rope_freqs.weight";
constexpr const char* kShortFactors = "rope_factors_short.weight";
constexpr const char* kLongFactors = "rope_factors_long.weight";

class GgufRope {
 public:
  GgufRope(const Gguf& file, const GgufRopeQuestion& asked)
      : m_file(file), m_keys(file.keys()), m_asked(asked), m_arch(asked.arch + ".") {}

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
  static std::string printable(const std::string& text) {
    std::string out;
    for (const char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
    return out;
  }

  /// The first values of a head turn; config.json says which share. A share that rounds down is a little more.
  Status readDims() {
    const std::string key = m_arch + "rope.dimension_count";
    m_dims = KV_TRY(m_keys.whole(key)).value_or(m_asked.headDim);
    if (m_dims < 2 || m_dims > m_asked.headDim || m_dims % 2 != 0)
      return m_keys.bad(
          key,
          "is " + std::to_string(m_dims) + ", not an even number up to the head's " + std::to_string(m_asked.headDim));
    if (m_dims == m_asked.headDim) return ok();
    const auto head = static_cast<double>(m_asked.headDim);
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
    if (m_asked.arch == "gpt-oss") m_out["truncate"] = false;  // as its config.json says and no key does
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
                    {"original_max_position_embeddings", m_asked.positions}});
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
  const GgufRopeQuestion& m_asked;
  const std::string m_arch;
  double m_theta = 10000;
  std::int64_t m_dims = 0;
  json m_out;
};

}  // namespace

Result<json> ropeJsonOf(const Gguf& file, const GgufRopeQuestion& asked) { return GgufRope(file, asked).read(); }

}  // namespace kvlab
