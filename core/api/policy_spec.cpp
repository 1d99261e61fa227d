// SPDX-License-Identifier: Apache-2.0
#include "core/api/policy_spec.h"

#include <algorithm>

#include "core/api/manifest_keys.h"
#include "core/api/texts.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr Word<HeadRule> kHeads[] = {
    {"mean", HeadRule::Mean}, {"max", HeadRule::Max}, {"sum", HeadRule::Sum}, {"each", HeadRule::Each}};
constexpr Word<Allocator> kAllocators[] = {{"uniform", Allocator::Uniform}, {"pyramid", Allocator::Pyramid}};
constexpr Word<HeadBudget> kHeadBudgets[] = {{"uniform", HeadBudget::Uniform}, {"adaptive", HeadBudget::Adaptive}};
constexpr Word<Pooling> kPoolings[] = {{"avg", Pooling::Average}, {"max", Pooling::Maximum}};
constexpr std::int32_t kMostRows = 1 << 24;
constexpr const char* kTotals[] = {"budget", "capacity", "ratio"};

Error refused(const std::string& field, const json& value, const std::string& why, const std::string& remedy) {
  return Error("bad_manifest", "the policy was refused", why, remedy, field, value);
}

template <class Value>
void optionalNumber(ManifestKeys& keys, const char* key, std::optional<Value>& out, Value low, Value high,
                    std::string_view meaning) {
  Value value = low;
  bool there = false;
  const char* type = std::is_integral_v<Value> ? "integer" : "number";
  keys.take(key, type, out ? json(*out) : json(), meaning, [&](const json& v) -> std::optional<std::string> {
    const bool right = std::is_integral_v<Value> ? v.is_number_integer() : v.is_number();
    if (!right || !(v.get<double>() >= double(low)) || !(v.get<double>() <= double(high)))
      return "is outside " + json(low).dump() + " .. " + json(high).dump();
    value = v.get<Value>();
    there = true;
    return std::nullopt;
  });
  if (there) out = value;
}

/// Keys that an added policy brought along; each keeps the type of its default.
void readOptions(ManifestKeys& keys, const PolicyName& policy, PolicySpec& spec) {
  if (!policy.options || policy.options->empty()) return;
  json values = *policy.options;
  if (spec.options.is_object()) values.update(spec.options);
  for (const auto& [key, value] : values.items())
    keys.take(key.c_str(),
              value.is_number()        ? "number"
                  : value.is_boolean() ? "true or false"
                                       : "text",
              json(value), "An option of the policy.",
              [&, like = json(value)](const json& given) -> std::optional<std::string> {
                if (given.is_number() ? !like.is_number() : given.type() != like.type())
                  return "is not of the type of its default, " + like.dump();
                values[key] = given;
                return std::nullopt;
              });
  spec.options = std::move(values);
}

/// Keys of single policies; no policy: all of them, for a list.
void readOwn(ManifestKeys& keys, const PolicyName* policy, PolicySpec& spec) {
  const auto takes = [&](const char* key) { return !policy || policy->takes(key); };
  const auto meaning = [&](const char* key, const char* words) {
    std::string out = words;
    for (const PolicyName& one : policies())
      if (!policy && one.takes(key)) out += (out.ends_with('.') ? " For " : ", ") + std::string(one.name);
    return out;
  };
  if (takes("seed"))
    keys.integer("seed", spec.seed, 0, std::numeric_limits<std::int64_t>::max(),
                 meaning("seed", "The start of the random numbers."));
  if (takes("observe"))
    keys.integer("observe", spec.observe, 0, kMostRows,
                 meaning("observe", "Queries that are looked at, at the end of a prompt; 0 means all."));
  if (takes("kernel"))
    keys.integer("kernel", spec.kernel, 1, 1023, meaning("kernel", "Rows that are pooled, an odd number."));
  if (takes("pooling")) keys.word("pooling", spec.pooling, kPoolings, meaning("pooling", "How neighbours are pooled."));
  if (takes("future"))
    keys.integer("future", spec.future, 1, 1 << 20, meaning("future", "Positions ahead that count."));
  if (takes("record"))
    keys.text("record", spec.record, {}, meaning("record", "A file that the verb recordLifespans wrote."));
  if (takes("gates"))
    keys.text("gates", spec.gates, {},
              meaning("gates", "A file of gate weights; empty takes those that are shipped for the model."));
  if (takes("epsilon"))
    keys.real("epsilon", spec.epsilon, 0, 1e6,
              meaning("epsilon", "A constant that is added to the scores before the norms of values weigh them."));
  if (takes("by"))
    keys.text("by", spec.by, {},
              meaning("by", "The score of a row: an expression over its figures (semantics.md, 6)."));
  if (policy) readOptions(keys, *policy, spec);
}

void readTotals(ManifestKeys& keys, PolicySpec& spec) {
  optionalNumber(keys, "budget", spec.budget, 0, kMostRows, "Rows that are kept by score, between sinks and window.");
  optionalNumber(keys, "capacity", spec.capacity, 1, kMostRows, "Rows of all bands together, in place of budget.");
  optionalNumber(keys, "ratio", spec.ratio, 0.0, 1.0,
                 "Rows of all bands together as a share of the prompt's, in place of budget.");
  optionalNumber(keys, "threshold", spec.threshold, -1e30, 1e30, "Rows whose score is lower leave, budget or not.");
}

void readBands(ManifestKeys& keys, PolicySpec& spec) {
  keys.integer("sinks", spec.sinks, 0, kMostRows, "The first rows, which always stay.");
  keys.integer("window", spec.window, 0, kMostRows, "The last rows, which always stay.");
  readTotals(keys, spec);
  keys.integer("interval", spec.interval, 1, kMostRows,
               "Rows beyond the bands that make a tick decide: with 16, one tick of sixteen does. The end of a prompt "
               "always decides.");
  keys.word(
      "heads", spec.heads, kHeads,
      "How the scores of the KV heads become one per row; each asks for residency by KV head, and is max without.");
  keys.word("allocator", spec.allocator, kAllocators, "Whether all layers have the same budget, or lower layers more.");
  keys.real("beta", spec.beta, 1, 1e6, "With allocator pyramid: the mean budget over the smallest one.");
  keys.word(
      "head_budget", spec.headBudget, kHeadBudgets,
      "Whether the KV heads of a layer have the same budget, or one after their scores; adaptive needs residency by "
      "KV head.");
  keys.real("alpha", spec.alpha, 0, 1, "With head_budget adaptive: the share of the budget that every head keeps.");
}

/// Bands of a policy from outside where nothing else is said.
constexpr const char* kBandsOfAdded = R"({"sinks":4,"window":32,"capacity":512})";

/// The keys of a preset under the given ones.
json over(json out, const json& given) {
  if (given.contains("window") && given["window"] != 0 && out.contains("kernel") && out["observe"] == out["window"])
    out["observe"] = given["window"];  // one number in the programs
  if (std::any_of(std::begin(kTotals), std::end(kTotals), [&](const char* key) { return given.contains(key); }))
    for (const char* key : kTotals) out.erase(key);
  out.update(given);
  return out;
}

/// The given keys, then those of the preset. A given budget, capacity or ratio replaces all three of the preset.
Result<json> withPreset(const json& given) {
  const std::string name = given["name"].get<std::string>(), wanted = given.value("preset", std::string());
  std::string all;
  for (const PolicyPreset& preset : policyPresets()) {
    if (preset.policy != name) continue;
    if (!all.empty()) all += ", ";
    all += preset.name;
    if (!wanted.empty() && wanted != preset.name) continue;
    json out = over(json::parse(preset.keys), given);
    out["preset"] = preset.name;
    return out;
  }
  const std::optional<PolicyName> policy = policyNamed(name);
  if (wanted.empty() && policy && policy->options) return over(json::parse(kBandsOfAdded), given);
  if (wanted.empty()) return given;
  return refused("preset", wanted, wanted + " is not a preset of " + name,
                 all.empty() ? "leave preset out" : "its presets are " + all);
}

std::optional<Error> contradiction(const PolicySpec& spec) {
  if (spec.budget.has_value() + spec.capacity.has_value() + spec.ratio.has_value() > 1)
    return refused("budget", nullptr, "budget, capacity and ratio exclude each other", "give one of them");
  if (spec.ratio && *spec.ratio <= 0)
    return refused("ratio", *spec.ratio, "ratio is not above 0", "give the share of rows to keep, up to 1");
  if (spec.kernel % 2 == 0) return refused("kernel", spec.kernel, "kernel is even", "give an odd number of rows");
  if (spec.interval > 1 && spec.threshold)
    return refused("interval", spec.interval, "rows below the threshold leave in every tick, not in intervals",
                   "leave interval or threshold out");
  const std::int64_t bands = std::int64_t{spec.sinks} + spec.window;
  if (spec.capacity && spec.windowGiven && bands > *spec.capacity)
    return refused(
        "capacity", *spec.capacity,
        "sinks and window need " + std::to_string(bands) + " rows, capacity has " + std::to_string(*spec.capacity),
        "raise capacity, or lower sinks or window");
  return std::nullopt;
}

constexpr PolicyName kPolicies[] = {
#define KVLAB_POLICY(factory, name, keys, help) {name, keys, help},
#include "core/api/policies.inc"
#undef KVLAB_POLICY
};

/// True for a key that policies have already.
bool isPolicyKey(const std::string& name) {
  std::vector<ManifestKey> own;
  ManifestKeys keys(own, "");
  listPolicyKeys(keys);
  return std::ranges::any_of(own, [&](const ManifestKey& one) { return one.key == name; });
}

PolicyName nameOf(const Added& one) {
  return {one.name, one.more["keys"].get_ref<const std::string&>(), one.help, &one.options};
}

}  // namespace

std::vector<PolicyName> policies() {
  std::vector<PolicyName> out(std::begin(kPolicies), std::end(kPolicies));
  for (const Added* one : addedOf(AddedKind::Policy)) out.push_back(nameOf(*one));
  return out;
}

Status addPolicyName(Added policy) {
  const auto fault = [&](const std::string& why) {
    return Error("bad_policy", "the policy " + policy.name + " was not added", why, "give it another one", "name",
                 policy.name);
  };
  if (std::ranges::any_of(kPolicies, [&](const PolicyName& one) { return one.name == policy.name; }))
    return fault("the program has a policy of that name");
  for (const auto& [key, value] : policy.options.items())
    if (isPolicyKey(key)) return fault("the option " + key + " has the name of a key that policies have already");
  return add(std::move(policy));
}

bool PolicyName::takes(std::string_view key) const {
  const std::string all = ' ' + std::string(keys) + ' ';
  return all.find(' ' + std::string(key) + ' ') != std::string::npos;
}

std::optional<PolicyName> policyNamed(std::string_view name) {
  for (const PolicyName& one : kPolicies)
    if (one.name == name) return one;
  const Added* const added = addedNamed(AddedKind::Policy, name);
  return added ? std::optional(nameOf(*added)) : std::nullopt;
}

std::string notAPolicy(std::string_view name) {
  return std::string(name) + " is not a policy" + nearestNote(name, namesOf(policies()));
}

std::span<const PolicyPreset> policyPresets() {
  static constexpr PolicyPreset kPresets[] = {
#define KVLAB_PRESET(policy, name, keys, source) {policy, name, keys, source},
#include "core/api/policy_presets.inc"
#undef KVLAB_PRESET
  };
  return kPresets;
}

void listPolicyKeys(ManifestKeys& keys) {
  PolicySpec spec;
  keys.describe("name", "text", spec.name, "The policy: kvlab list policies.");
  keys.describe("preset", "text", json(), "Values that a paper gives; keys beside it win.");
  readBands(keys, spec);
  readOwn(keys, nullptr, spec);
}

Result<PolicySpec> PolicySpec::fromJson(const json& given) {
  Result<json> object = namedObject(given);
  if (!object) return refused("policy", given, object.error().why, object.error().remedy);
  if (!object->contains("name") || !(*object)["name"].is_string())
    return refused("name", nullptr, "the name is missing", "see kvlab list policies");
  if (object->contains("preset") && !(*object)["preset"].is_string())
    return refused("preset", (*object)["preset"], "preset is not a text", "see kvlab list policies");
  const std::string name = (*object)["name"].get<std::string>();
  const std::optional<PolicyName> policy = policyNamed(name);
  if (!policy) return refused("name", name, notAPolicy(name), "see kvlab list policies");
  json merged = KV_TRY(withPreset(*object));
  PolicySpec spec;
  spec.windowGiven = object->contains("window");
  ManifestKeys keys(merged, "");
  keys.text("name", spec.name, {}, "");
  keys.text("preset", spec.preset, {}, "");
  if (!spec.keepsAll()) readBands(keys, spec);
  readOwn(keys, &*policy, spec);
  if (const std::optional<Error> error = keys.finish())
    return refused(error->field, error->value, error->why, "see kvlab list policies for its keys");
  if (const std::optional<Error> error = contradiction(spec)) return *error;
  return spec;
}

json PolicySpec::toJson() const {
  json out{{"name", name}};
  if (!preset.empty()) out["preset"] = preset;
  if (keepsAll()) return out;
  PolicySpec spec = *this;
  json read;
  ManifestKeys keys = ManifestKeys::into(read);
  readBands(keys, spec);
  if (const std::optional<PolicyName> policy = policyNamed(name)) readOwn(keys, &*policy, spec);
  if (!windowGiven) read.erase("window");
  if (interval == 1) read.erase("interval");
  if (allocator != Allocator::Pyramid) read.erase("beta");
  if (!byHead()) read.erase("alpha");
  out.update(read);
  return out;
}

}  // namespace kvlab
