// SPDX-License-Identifier: Apache-2.0
#include "core/model/families/reading.h"

#include <cmath>

#include "core/model/files/gguf_config.h"

namespace kvlab {
namespace {

using nlohmann::json;
using Kind = Rope::Kind;

constexpr double kMaxFactor = 1e6;
constexpr std::int64_t kMostRopePositions = 1 << 30;

/// 0.1 m ln s + 1, the temperature of YaRN (arXiv:2309.00071, equation 22).
double yarnScale(double factor, double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; }

/// Reads one rope; `in` is the object of its keys, `top` the whole file.
class RopeReader {
 public:
  RopeReader(const JsonFields& in, const JsonFields& top, const ModelConfig& config)
      : m_in(in), m_top(top), m_config(config) {}

  Result<Rope> read(double theta) {
    KV_TRY(m_in.number("rope_theta", m_rope.theta, 1.001, 1e15, theta));
    KV_TRY(dims());
    KV_TRY(kind());
    KV_TRY(scaling());
    KV_TRY(queries());
    KV_TRY(pairs());
    return m_rope;
  }

 private:
  /// The share of a head that turns; beside the object, if the object does not say. Among transformers' models of
  /// these families only Phi-3 reads it; the keys of a GGUF file give it for all.
  Status dims() {
    const bool gguf = m_in.has(kRotaryShare) || m_top.has(kRotaryShare);
    const char* key = gguf ? kRotaryShare : "partial_rotary_factor";
    double share = 1;
    if (!gguf && m_config.type != "phi3") return ok();
    const JsonFields& from = m_in.has(key) ? m_in : m_top;
    KV_TRY(from.number(key, share, 0.0, 1.0, 1.0));
    const int dims = static_cast<int>(m_config.headDim * share);
    if (dims < 2 || dims % 2 != 0)
      return from.bad(key, "turns " + std::to_string(dims) + " values of a head, not an even number above 0");
    m_rope.dims = dims == m_config.headDim ? 0 : dims;
    return ok();
  }

  Status kind() {
    const char* key = m_in.has("rope_type") ? "rope_type" : "type";
    const auto kind = KV_TRY(m_in.text(key, "default"));
    const bool phi = m_config.type == "phi3";  // its old files say "su" or "yarn" for longrope
    if (kind == "default") m_rope.kind = Kind::Default;
    else if (kind == "linear") m_rope.kind = Kind::Linear;
    else if (kind == "llama3") m_rope.kind = Kind::Llama3;
    else if (kind == "dynamic") m_rope.kind = Kind::Dynamic;
    else if (kind == "longrope" || (phi && (kind == "su" || kind == "yarn"))) m_rope.kind = Kind::LongRope;
    else if (kind == "yarn") m_rope.kind = Kind::Yarn;
    else return m_in.bad(key, "is not implemented", "use default, linear, dynamic, llama3, yarn or longrope");
    return ok();
  }

  Status scaling() {
    switch (m_rope.kind) {
      case Kind::Default:
      case Kind::Off: return ok();
      case Kind::Linear: return m_in.number("factor", m_rope.factor, 1e-6, kMaxFactor);
      case Kind::Dynamic: return dynamic();
      case Kind::Llama3: return llama3();
      case Kind::Yarn: return yarn();
      case Kind::LongRope: return longRope();
    }
    return ok();
  }

  /// The length the model was trained at: in the scaling object, else beside it, else the maximum.
  Status original() {
    constexpr const char* key = "original_max_position_embeddings";
    const bool beside = m_top.has(key) && (!m_in.has(key) || m_config.type == "phi3");
    std::optional<std::int64_t> usual = m_config.maxPositions;
    if (m_config.type == "phi3") usual = 4096;
    return (beside ? m_top : m_in).number(key, m_rope.originalMaxPosition, std::int64_t{1}, kMostRopePositions, usual);
  }

  /// Without a factor, the model stretches from the original length to the maximum.
  Status stretch() {
    const double usual = static_cast<double>(m_config.maxPositions) / static_cast<double>(m_rope.originalMaxPosition);
    return m_in.number("factor", m_rope.factor, 1e-6, kMaxFactor, usual);
  }

  Status dynamic() {
    m_rope.originalMaxPosition = m_config.maxPositions;
    return m_in.number("factor", m_rope.factor, 1.0, kMaxFactor);
  }

  Status llama3() {
    KV_TRY(original());
    KV_TRY(m_in.number("factor", m_rope.factor, 1e-6, kMaxFactor));
    KV_TRY(m_in.number("low_freq_factor", m_rope.lowFreqFactor, 1e-6, kMaxFactor));
    KV_TRY(m_in.number("high_freq_factor", m_rope.highFreqFactor, 1e-6, kMaxFactor));
    if (m_rope.highFreqFactor <= m_rope.lowFreqFactor)
      return m_in.bad("high_freq_factor", "is not above low_freq_factor");
    return ok();
  }

  Status yarn() {
    double mscale = 0, mscaleAll = 0;
    KV_TRY(original());
    KV_TRY(stretch());
    KV_TRY(m_in.number("beta_fast", m_rope.betaFast, 1e-6, kMaxFactor, 32.0));
    KV_TRY(m_in.number("beta_slow", m_rope.betaSlow, 1e-6, kMaxFactor, 1.0));
    m_rope.truncate = KV_TRY(m_in.flag("truncate", true));
    KV_TRY(m_in.number("mscale", mscale, 0.0, kMaxFactor, 0.0));
    KV_TRY(m_in.number("mscale_all_dim", mscaleAll, 0.0, kMaxFactor, 0.0));
    const double usual = mscale != 0 && mscaleAll != 0
        ? yarnScale(m_rope.factor, mscale) / yarnScale(m_rope.factor, mscaleAll)
        : yarnScale(m_rope.factor, 1);
    return m_in.number("attention_factor", m_rope.attentionFactor, 1e-6, kMaxFactor, usual);
  }

  Status longRope() {
    KV_TRY(original());
    KV_TRY(stretch());
    const double length = std::max(2.0, static_cast<double>(m_rope.originalMaxPosition));
    const double usual = m_rope.factor <= 1 ? 1.0 : std::sqrt(1 + std::log(m_rope.factor) / std::log(length));
    KV_TRY(m_in.number("attention_factor", m_rope.attentionFactor, 1e-6, kMaxFactor, usual));
    KV_TRY(factors("short_factor", m_rope.shortFactors));
    return factors("long_factor", m_rope.longFactors);
  }

  /// One factor for each pair of values that turn.
  Status factors(const char* key, std::vector<double>& out) const {
    if (!m_in.has(key)) return m_in.bad(key, "is missing");
    const json& list = m_in.json().at(key);
    const int pairs = (m_rope.dims ? m_rope.dims : m_config.headDim) / 2;
    if (!list.is_array() || list.size() != static_cast<std::size_t>(pairs))
      return m_in.bad(key, "is not a list of " + std::to_string(pairs) + " factors, one for each pair that turns");
    for (const json& one : list) {
      const double factor = one.is_number() ? one.get<double>() : 0;
      if (!(factor >= 1e-6 && factor <= kMaxFactor)) return m_in.bad(key, "has an entry outside of 1e-6 to 1e6");
      out.push_back(factor);
    }
    return ok();
  }

  Status queries() {
    constexpr const char* key = "llama_4_scaling_beta";
    if (!m_in.has(key) || m_config.type != "ministral3") return ok();
    KV_TRY(m_in.number(key, m_rope.queryBeta, 0.0, kMaxFactor));
    if (!m_rope.originalMaxPosition) KV_TRY(original());
    m_rope.queryEvery = m_rope.originalMaxPosition;
    return ok();
  }

  /// An odd value has no partner. It must neither turn nor be scaled with those that do.
  Status pairs() const {
    if (m_config.headDim % 2 == 0 || (m_rope.dims != 0 && m_rope.queryBeta == 0)) return ok();
    return m_top.bad("head_dim",
                     "is " + std::to_string(m_config.headDim) + ", not even, and rotary turns pairs of values");
  }

  const JsonFields &m_in, &m_top;
  const ModelConfig& m_config;
  Rope m_rope;
};

/// The object of rotary keys: rope_scaling goes before rope_parameters, as in transformers. Null where there is none.
Result<const json*> ropeObject(const JsonFields& top) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!top.has(key)) continue;
    const json& object = top.json().at(key);
    if (!object.is_object()) return top.bad(key, "is not an object");
    if (!object.empty()) return &object;
  }
  return static_cast<const json*>(nullptr);
}

bool nested(const json& object) {
  for (const auto& [name, value] : object.items())
    if (value.is_object()) return true;
  return false;
}

}  // namespace

Status readRope(const JsonFields& top, ModelConfig& c, double theta) {
  const json* object = KV_TRY(ropeObject(top));
  if (object && nested(*object))
    return top.bad(top.has("rope_scaling") ? "rope_scaling" : "rope_parameters",
                   "differs by layer, which this architecture does not know", "use another checkpoint");
  KV_TRY(top.number("rope_theta", theta, 1.001, 1e15, theta));
  const json none = json::object();
  const JsonFields in = top.inside(object ? *object : none);
  c.ropes = {KV_TRY(RopeReader(in, top, c).read(theta))};
  c.ropePerLayer.clear();
  return ok();
}

Status readRopesByType(const JsonFields& top, ModelConfig& c, const std::vector<bool>& sliding,
                       const RopeThetas& thetas) {
  double full = thetas.full, local = thetas.sliding;
  KV_TRY(top.number("rope_theta", full, 1.001, 1e15, full));
  if (thetas.localKey) KV_TRY(top.number(thetas.localKey, local, 1.001, 1e15, local));
  const json* object = KV_TRY(ropeObject(top));
  json ofFull = json::object(), ofSliding = json::object();
  if (object && nested(*object)) {
    if (object->contains("full_attention")) ofFull = object->at("full_attention");
    if (object->contains("sliding_attention")) ofSliding = object->at("sliding_attention");
    if (ofFull.is_null()) ofFull = json::object();
    if (ofSliding.is_null()) ofSliding = json::object();
    if (!ofFull.is_object() || !ofSliding.is_object())
      return top.bad("rope_parameters", "has a layer type that is not an object");
  } else if (object) {
    ofFull = *object;
  }
  const JsonFields inFull = top.inside(ofFull), inSliding = top.inside(ofSliding);
  const Rope far = KV_TRY(RopeReader(inFull, top, c).read(full));
  const Rope near = KV_TRY(RopeReader(inSliding, top, c).read(local));
  c.ropes = {far, near};
  if (c.ropes[0].dims != c.ropes[1].dims)
    return top.bad("rope_parameters", "turns another share of a head in each layer type", "use another checkpoint");
  c.ropePerLayer.assign(sliding.begin(), sliding.end());
  return ok();
}

void switchRopeOff(ModelConfig& c, const std::vector<bool>& off) {
  if (c.ropePerLayer.empty()) c.ropePerLayer.assign(off.size(), 0);
  Rope none;
  none.kind = Kind::Off;
  none.dims = c.ropes[0].dims;
  for (std::size_t i = 0; i < off.size(); ++i)
    if (off[i]) c.ropePerLayer[i] = static_cast<int>(c.ropes.size());
  c.ropes.push_back(none);
}

}  // namespace kvlab
