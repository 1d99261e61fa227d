// SPDX-License-Identifier: Apache-2.0
#include "core/api/manifest.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/api/layout_names.h"
#include "core/api/manifest_keys.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr Word<Residency> kResidencies[] = {
    {"auto", Residency::Auto}, {"layer", Residency::ByLayer}, {"kv_head", Residency::ByHead}};
constexpr Word<PositionMode> kPositions[] = {
    {"context", PositionMode::Context}, {"absolute", PositionMode::Absolute}, {"cache", PositionMode::Cache}};
constexpr Word<Executor> kExecutors[] = {{"batch", Executor::Batch}, {"descending", Executor::Descending}};
constexpr Word<NewRows> kNewRows[] = {{"forward", NewRows::Forward}, {"embedding_only", NewRows::EmbeddingOnly}};
constexpr Word<CheckLevel> kLevels[] = {
    {"off", CheckLevel::Off}, {"cheap", CheckLevel::Cheap}, {"full", CheckLevel::Full}};
constexpr Word<bool> kOverflow[] = {{"refuse", false}, {"shift", true}};

std::optional<std::string> readAfterEdit(const json& v, Manifest& m) {
  const bool object = v.is_object() && v.size() == 1 && v.contains("selective");
  if (object) {
    const json& inner = v["selective"];
    const json ratio = inner.is_object() ? inner.value("ratio", json(m.selectiveRatio)) : inner;
    if (!ratio.is_number() || !(ratio.get<double>() > 0) || ratio.get<double>() > 1) return "has no ratio in 0 .. 1";
    m.afterEdit = AfterEdit::Selective;
    m.selectiveRatio = ratio.get<double>();
    return std::nullopt;
  }
  if (v == "keep") m.afterEdit = AfterEdit::Keep;
  else if (v == "recompute") m.afterEdit = AfterEdit::Recompute;
  else if (v == "selective") m.afterEdit = AfterEdit::Selective;
  else return "is not keep, recompute, selective or {\"selective\":{\"ratio\":r}}";
  return std::nullopt;
}

std::optional<std::string> readPolicy(const json& v, PolicySpec& out) {
  Result<PolicySpec> read = PolicySpec::fromJson(v);
  if (!read) return "is refused: " + read.error().why + "; " + read.error().remedy;
  out = read.take();
  return std::nullopt;
}

std::optional<std::string> whyNot(const std::string& layout) {
  const Result<LayoutSpec> spec = parseLayout(layout);
  if (spec) return std::nullopt;
  return "is refused: " + spec.error().why + "; " + spec.error().remedy;
}

/// "NAME", "paged:block=16", or {"name": "paged", "block": 16}.
std::optional<std::string> readLayout(const json& v, std::string& out) {
  if (v.is_string()) {
    out = v.get<std::string>();
    return whyNot(out);
  }
  if (!v.is_object()) return "is neither a text nor an object";
  const json name = v.value("name", json());
  if (!name.is_string()) return "has no name";
  out = name.get<std::string>();
  for (const auto& [key, value] : v.items()) {
    if (key == "name") continue;
    if (!value.is_number_integer()) return "has a parameter " + key + " that is not an integer";
    out += (out.find(':') == std::string::npos ? ":" : ",") + key + "=" + value.dump();
  }
  return whyNot(out);
}

std::string rowTypesText() {
  std::string all;
  for (const std::string_view type : rowTypes()) all += (all.empty() ? "one of " : ", ") + std::string(type);
  return all;
}

/// A row type, or a codec that was added.
std::optional<std::string> readRowType(const json& v, std::string& out) {
  for (const std::string_view type : rowTypes())
    if (v == type) {
      out = type;
      return std::nullopt;
    }
  const Result<AddedUse> codec = addedUse(AddedKind::Codec, v);
  if (codec) out = codec->text;
  return codec ? std::nullopt : std::optional("is not " + rowTypesText() + ", and " + codec.error().why);
}

void readRowTypes(ManifestKeys& keys, std::string& k, std::string& v) {
  const std::string types = keys.listing() ? rowTypesText() : std::string();
  keys.object("kv", "Storage types of rows.", [&](ManifestKeys& inner) {
    inner.take("k", types.c_str(), json(),
               "Type that keys are stored in, or a codec that was added; left out, it is dtype.",
               [&](const json& value) { return readRowType(value, k); });
    inner.take("v", types.c_str(), json(),
               "Type that values are stored in, or a codec that was added; left out, it is dtype.",
               [&](const json& value) { return readRowType(value, v); });
  });
}

/// "3", "0-3" or 3.
std::optional<std::string> readMatch(const json& v, LayerOverride& out) {
  const std::string text = v.is_number_integer() ? v.dump() : v.is_string() ? v.get<std::string>() : "";
  const char *begin = text.data(), *end = begin + text.size();
  std::int32_t first = 0;
  std::from_chars_result read = std::from_chars(begin, end, first);
  std::int32_t last = first;
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
  if (text.empty() || read.ec != std::errc() || read.ptr != end || first < 0 || last < first)
    return "is not a layer or a range like 0-3";
  out.from = Layer(first), out.to = Layer(last);
  return std::nullopt;
}

void readLayers(ManifestKeys& keys, std::vector<LayerOverride>& out) {
  keys.list("layers", "Values that some layers have instead of the session's own; later entries win.",
            [&](ManifestKeys& inner) {
              LayerOverride layer;
              bool matched = false;
              inner.take("match", "text or integer", json(), "The layers of the entry: 3, or a range such as 0-3.",
                         [&](const json& v) {
                           matched = true;
                           return readMatch(v, layer);
                         });
              inner.take("layout", "layout", json(), "As the key layout.",
                         [&](const json& v) { return readLayout(v, layer.layout); });
              readRowTypes(inner, layer.kvK, layer.kvV);
              inner.integer("window", layer.window, 0, 1 << 24, json(),
                            "Phases that the mask of the layers lets through; left out, they are the model's.");
              inner.take("policy", "policy", json(), "As the key policy.",
                         [&](const json& v) { return readPolicy(v, layer.policy.emplace()); });
              if (!matched) inner.fail("match", nullptr, "is missing");
              out.push_back(std::move(layer));
            });
}

void readStart(ManifestKeys& keys, BrightnessSettings& b) {
  for (const char* source : {"user", "prompt", "model", "replacement", "insertion", "file"}) {
    double value = std::numeric_limits<double>::quiet_NaN();
    keys.real(source, value, 0, 1e6, "Brightness that a token of this source starts with; left out, it is max.");
    if (value > b.max) keys.fail(source, value, "is brighter than brightness.max");
    if (!std::isnan(value)) b.start[source] = value;
  }
}

std::optional<std::string> readCompressor(const json& v, std::string& out) {
  for (const char* own : {"off", "nearest", "outside"})
    if (v == own) {
      out = own;
      return std::nullopt;
    }
  const Result<AddedUse> use = addedUse(AddedKind::Compressor, v);
  if (use) out = use->text;
  return use ? std::nullopt : std::optional("is not one of off, nearest, outside, and " + use.error().why);
}

void readBrightness(ManifestKeys& keys, BrightnessSettings& b) {
  keys.real("decay", b.decay, 0, 1e6, "The loss of every token per generated token.");
  keys.real("gain", b.gain, 0, 1e6, "The gain of a token per unit of attention that it gets.");
  keys.real("max", b.max, 0, 1e6, "The brightest that a token can be.");
  keys.object("start", "Brightness of new tokens, by their source.", [&](ManifestKeys& inner) { readStart(inner, b); });
  keys.integer("target", b.target, 2, 1 << 30, "Tokens from which on the dimmest pairs are culled.");
  keys.take("compressor", "one of off, nearest, outside", b.compressor,
            "The replacement of a culled pair: nearest takes the token whose embedding is nearest to the pair's mean, "
            "outside leaves it to lists of actions; or a compressor that was added.",
            [&](const json& v) { return readCompressor(v, b.compressor); });
  keys.real("min_cosine", b.minCosine, -1, 1, "A replacement that is less near to the mean than this is none.");
}

void readSampling(ManifestKeys& keys, SamplingSettings& s) {
  keys.real("temperature", s.temperature, 0, 100, "0 takes the likeliest token.");
  keys.integer("top_k", s.topK, 0, 1 << 30, "So many of the likeliest tokens are drawn from; 0 means all.");
  keys.real("top_p", s.topP, 0, 1, "The likeliest tokens that have this probability together are drawn from.");
  keys.real("repetition_penalty", s.repetitionPenalty, 0.01, 100,
            "Divides the logits of tokens that the context has; 1 changes nothing.");
  keys.integer("seed", s.seed, 0, std::numeric_limits<std::int64_t>::max(), "The start of the random numbers.");
}

/// {...} | null | "off".
void readWlod(ManifestKeys& keys, std::optional<WlodSettings>& out) {
  if (keys.holds("wlod", {json(), "off"})) return;
  keys.object("wlod",
              "A working context of tokens and gists over a longer time line; null or off means none, {} one with the "
              "values below.",
              [&](ManifestKeys& inner) { out.emplace().read(inner); });
}

void readStorage(ManifestKeys& keys, Manifest& m) {
  readRowTypes(keys, m.kvK, m.kvV);
  keys.text(
      "key_phase", m.keyPhase, {"on_read", "at_write"},
      "When keys are rotated: on_read stores them unrotated, so that no edit rewrites a row; at_write stores them "
      "rotated, for comparison.");
  keys.word(
      "position", m.position, kPositions,
      "The phase of a row: its place in the context, the place it was born at, or its place in the layer's cache.");
  keys.take("layout", "layout", m.layout, "How rows are stored: kvlab list layouts.",
            [&](const json& v) { return readLayout(v, m.layout); });
  keys.take("policy", "policy", m.policy.name, "Which rows a layer keeps: kvlab list policies.",
            [&](const json& v) { return readPolicy(v, m.policy); });
  if (keys.listing()) keys.listInner("policy.", listPolicyKeys);
  keys.word("residency", m.residency, kResidencies,
            "The unit with a residency map of its own: a layer, or each KV head of it; auto takes heads if a policy "
            "asks for them.");
}

void readState(ManifestKeys& keys, Manifest& m) {
  readStorage(keys, m);
  readLayers(keys, m.layers);
  readWlod(keys, m.wlod);
  keys.object("ring", "Settings of ring layouts.", [&](ManifestKeys& inner) {
    inner.integer("window", m.ring.window, 0, 1 << 24,
                  "Rows that a ring keeps; 0 means as many as the layer's mask lets through.");
    inner.integer("block_tokens", m.ring.blockTokens, 1, 1 << 12, "Tokens per tick.");
    inner.flag("tail_only", m.ring.tailOnly, "Assembled reads take only rows that the mask lets through.");
  });
  keys.flag("guards", m.guards, json(),
            "Rings compare what they read with the residency map, row by row; left out, debug builds do.");
  keys.integer("capacity", m.capacity, 0, 1 << 24, "Rows that a layer holds; 0 means the model's context length.");
  keys.integer("staging", m.staging, 1, 1 << 20, "Slots of each pool for rows that are computed before a commit.");
  keys.integer("history_bytes", m.historyBytes, 0, std::int64_t{1} << 40,
               "Bytes that older states may hold; what is older still is executed again on the way back. With "
               "indirection and paged the pools have slots for them, which a device gives when the session opens.");
}

void readEditing(ManifestKeys& keys, Manifest& m) {
  keys.word("executor", m.executor, kExecutors,
            "How a list of edits is carried out: at once, or one by one from the highest position down.");
  keys.take(
      "after_edit", "one of keep, recompute, selective, or {\"selective\":{\"ratio\":0.15}}", "keep",
      "Rows behind an edit were computed in a context that is gone: they stay, all are computed again, or the share "
      "that deviates most is.",
      [&](const json& v) { return readAfterEdit(v, m); });
  keys.word("new_rows", m.newRows, kNewRows,
            "How rows of edits are computed: by a forward pass, or from the embedding alone, for comparison.");
  keys.word("absolute_overflow", m.shiftOnOverflow, kOverflow,
            "With position absolute, where new rows find no free phases: the edit is refused, or later rows move up.");
  keys.integer("prefill_chunk", m.prefillChunk, 1, 1 << 16, "Rows of one forward pass.");
  keys.object("brightness", "The brightness of tokens and what it culls.",
              [&](ManifestKeys& inner) { readBrightness(inner, m.brightness); });
  keys.object("sampling", "How the next token is drawn.",
              [&](ManifestKeys& inner) { readSampling(inner, m.sampling); });
  keys.object("check", "The check after every tick.", [&](ManifestKeys& inner) {
    inner.word("level", m.check, kLevels, "Nothing, a part of the rows in turn, or every row.");
    inner.integer("scrub_period", m.scrubPeriod, 1, 1 << 20, "Ticks until level cheap has seen every row once.");
  });
  keys.flag("probes", m.probes, "Ticks bring attention to the host: brightness, policies and views look at it.");
  keys.flag("op_events", m.opEvents,
            "Every op call is an event of its tick, with time and bytes; slows ticks down, and on a device no pass is "
            "recorded and replayed.");
  keys.flag("faults", m.faults, "Opens the door of the fault drill.");
}

/// A device of a number that is not there is refused where it is opened.
std::optional<std::string> readBackend(const json& v, std::string& out) {
  const std::string given = v.is_string() ? v.get<std::string>() : "", device = "cuda:";
  const std::string number = given.starts_with(device) ? given.substr(device.size()) : "";
  const bool numbered = !number.empty() && number.size() <= 3 &&
      number.find_first_not_of("0123456789") == std::string::npos && (number == "0" || number[0] != '0');
  if (!v.is_string()) return "is not a text";
  if (!numbered && given != "auto" && given != "cpu" && given != "cuda") return "is not one of auto, cpu, cuda, cuda:N";
  out = given;
  return std::nullopt;
}

void readManifest(ManifestKeys& keys, Manifest& m) {
  keys.text("model", m.model, {},
            "demo, a name of kvlab model list, a Hugging Face directory, a GGUF file, or synthetic:NAME.");
  keys.take("backend", "one of auto, cpu, cuda, cuda:N", m.backend,
            "The device that computes. cuda is the first CUDA device that computes rightly, cuda:N the one of this "
            "number (kvlab info); neither falls back to the CPU, as auto does.",
            [&](const json& v) { return readBackend(v, m.backend); });
  keys.text("weights", m.weights, {"", "int8", kDequantise},
            "int8 stores the matrices as codes, dequantise brings weights in blocks to f32; empty leaves them as the "
            "files have them.");
  keys.text("numerics", m.numerics, {},
            "The arithmetic, by its id (kvlab info); empty takes the exact one of the back end.");
  keys.integer("threads", m.threads, 0, 1024, "Threads that compute; 0 means all cores.");
  keys.text("dtype", m.dtype, {"", "f32", "f16", "bf16"},
            "Type of activations and rows; empty takes the weights' type.");
  readState(keys, m);
  readEditing(keys, m);
}

json overrideJson(const LayerOverride& layer) {
  const std::string from = std::to_string(layer.from.value()), to = std::to_string(layer.to.value());
  json out{{"match", layer.to > layer.from ? from + "-" + to : from}};
  if (!layer.layout.empty()) out["layout"] = layer.layout;
  if (!layer.kvK.empty()) out["kv"]["k"] = layer.kvK;
  if (!layer.kvV.empty()) out["kv"]["v"] = layer.kvV;
  if (layer.window >= 0) out["window"] = layer.window;
  if (layer.policy) out["policy"] = layer.policy->toJson();
  return out;
}

json afterEditJson(const Manifest& m) {
  if (m.afterEdit == AfterEdit::Selective) return {{"selective", {{"ratio", m.selectiveRatio}}}};
  return m.afterEdit == AfterEdit::Keep ? "keep" : "recompute";
}

/// Takes from an entry of `layers` the keys that `what` sets.
void forget(LayerOverride& layer, const LayerOverride& what) {
  if (!what.layout.empty()) layer.layout.clear();
  if (!what.kvK.empty()) layer.kvK.clear();
  if (!what.kvV.empty()) layer.kvV.clear();
  if (what.window >= 0) layer.window = -1;
  if (what.policy) layer.policy.reset();
}

/// Adds an entry. Older entries lose the keys that it sets for all their layers.
void add(std::vector<LayerOverride>& layers, const LayerOverride& one) {
  for (LayerOverride& old : layers)
    if (one.from <= old.from && old.to <= one.to) forget(old, one);
  layers.push_back(one);
  std::erase_if(layers, [](const LayerOverride& layer) { return layer.empty(); });
}

/// The last override of a layer that says something, else the session's own.
template <class Value, class Says>
const Value& lastOf(const std::vector<LayerOverride>& layers, Layer layer, Value LayerOverride::*value,
                    const Value& own, Says says) {
  for (auto one = layers.rbegin(); one != layers.rend(); ++one)
    if (one->from <= layer && layer <= one->to && says((*one).*value)) return (*one).*value;
  return own;
}

constexpr auto kNamed = [](const std::string& text) { return !text.empty(); };

}  // namespace

std::span<const std::string_view> rowTypes() {
  static constexpr std::string_view kTypes[] = {"f32", "f16", "bf16", "int8", "fp8-e4m3"};
  return kTypes;
}

const std::string& Manifest::layoutOf(Layer layer) const {
  return lastOf(layers, layer, &LayerOverride::layout, layout, kNamed);
}
const std::string& Manifest::kOf(Layer layer) const { return lastOf(layers, layer, &LayerOverride::kvK, kvK, kNamed); }
const std::string& Manifest::vOf(Layer layer) const { return lastOf(layers, layer, &LayerOverride::kvV, kvV, kNamed); }
const PolicySpec& Manifest::policyOf(Layer layer) const {
  for (auto one = layers.rbegin(); one != layers.rend(); ++one)
    if (one->from <= layer && layer <= one->to && one->policy) return *one->policy;
  return policy;
}
bool Manifest::residentByHead() const {
  if (residency != Residency::Auto) return residency == Residency::ByHead;
  return policy.prefersHeads() || std::any_of(layers.begin(), layers.end(), [](const LayerOverride& one) {
           return one.policy && one.policy->prefersHeads();
         });
}
std::int32_t Manifest::windowOf(Layer layer) const {
  static constexpr std::int32_t kModels = -1;
  return lastOf(layers, layer, &LayerOverride::window, kModels, [](std::int32_t window) { return window >= 0; });
}

Result<Manifest> Manifest::fromJson(const json& object) {
  if (!object.is_object()) return badManifest("manifest", object, "is not an object");
  Manifest m;
  ManifestKeys keys(object, "");
  readManifest(keys, m);
  if (const std::optional<Error> error = keys.finish()) return *error;
  return m;
}

Result<Manifest> Manifest::with(const json& change) const {
  if (!change.is_object()) return badManifest("manifest", change, "is not an object");
  static constexpr std::string_view kWhole[] = {"policy", "after_edit"};
  json all = toJson();
  all["layers"] = json::array();
  for (const auto& [key, value] : change.items()) {
    const bool inner = value.is_object() && all.contains(key) && all[key].is_object() &&
        std::ranges::find(kWhole, key) == std::end(kWhole);
    if (inner) all[key].update(value);
    else all[key] = value;
  }
  Manifest out = KV_TRY(fromJson(all));
  LayerOverride everywhere{Layer(0), Layer(std::numeric_limits<std::int32_t>::max())};
  if (change.contains("layout")) everywhere.layout = out.layout;
  const json kv = change.value("kv", json::object());
  if (kv.contains("k")) everywhere.kvK = out.kvK;
  if (kv.contains("v")) everywhere.kvV = out.kvV;
  if (change.contains("policy")) everywhere.policy = out.policy;
  std::vector<LayerOverride> own = std::exchange(out.layers, layers);
  for (LayerOverride& old : out.layers) forget(old, everywhere);
  for (const LayerOverride& one : own) add(out.layers, one);
  std::erase_if(out.layers, [](const LayerOverride& one) { return one.empty(); });
  return out;
}

json Manifest::pinned(json keys) {
  const auto pin = [](json& holder, const char* key, AddedKind kind) {
    if (!holder.is_object() || !holder.contains(key)) return;
    if (const Result<AddedUse> use = addedUse(kind, holder[key])) holder[key] = use->text;
  };
  const auto types = [&pin](json& from) {
    if (!from.is_object() || !from.contains("kv")) return;
    for (const char* key : {"k", "v"}) pin(from["kv"], key, AddedKind::Codec);
  };
  types(keys);
  if (keys.contains("layers"))
    for (json& layer : keys["layers"]) types(layer);
  if (keys.contains("brightness")) pin(keys["brightness"], "compressor", AddedKind::Compressor);
  return keys;
}

std::span<const std::string_view> livingKeys() {
  static constexpr std::string_view kLiving[] = {"layout",     "kv",         "policy",   "layers", "capacity",
                                                 "after_edit", "executor",   "position", "ring",   "check",
                                                 "sampling",   "brightness", "op_events"};
  return kLiving;
}

bool livingKey(std::string_view path) {
  const std::string_view first = path.substr(0, path.find_first_of(".["));
  if (first == "ring") return path == "ring" || path == "ring.block_tokens";
  if (path == "brightness.max") return false;  // tokens may be brighter than another one
  return std::ranges::find(livingKeys(), first) != livingKeys().end();
}

std::vector<ManifestKey> manifestKeys() {
  std::vector<ManifestKey> out;
  ManifestKeys keys(out, "");
  Manifest defaults;
  readManifest(keys, defaults);
  return out;
}

/// The readers write; keys that they take in more than one form follow by hand.
json Manifest::toJson() const {
  Manifest m = *this;
  json out;
  ManifestKeys keys = ManifestKeys::into(out);
  readManifest(keys, m);
  if (!kvK.empty()) out["kv"]["k"] = kvK;
  if (!kvV.empty()) out["kv"]["v"] = kvV;
  out["policy"] = policy.toJson();
  out["layers"] = json::array();
  for (const LayerOverride& layer : layers) out["layers"].push_back(overrideJson(layer));
  out["wlod"] = wlod ? wlod->toJson() : json();
  out["after_edit"] = afterEditJson(*this);
  out["brightness"]["start"] = brightness.start;
  return out;
}

}  // namespace kvlab
