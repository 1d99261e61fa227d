// SPDX-License-Identifier: Apache-2.0
#include "core/parts/policy_files.h"

#include <algorithm>
#include <filesystem>

#include "core/analysis/lifespans.h"
#include "core/model/decoder/gate_weights.h"
#include "core/model/named_models.h"
#include "core/parts/session_parts.h"
#include "core/policy/policy.h"
#include "core/policy/pruner.h"

namespace kvlab {
namespace {

Error badPolicy(std::string why, std::string remedy, const char* field, nlohmann::json value) {
  return {"bad_manifest", "the policy was refused", std::move(why), std::move(remedy), std::nullopt,
          field,          std::move(value)};
}

std::string gatesPath(const SessionParts& parts, const std::string& file) {
  return file.empty() ? trainedFile("gates", parts.model->spec(), parts.resources) : file;
}

bool asksGates(const PolicySpec& spec) { return needsOf(spec) & kGates; }

Status possible(const SessionParts& parts, const std::vector<PolicySpec>& specs) {
  KV_TRY(knownPolicies(specs));
  const bool byHead = std::any_of(specs.begin(), specs.end(), [](const PolicySpec& spec) { return spec.byHead(); });
  if (byHead && !parts.cacheLayers.byHead() && parts.model->config().kvHeads > 1)
    return badPolicy("head_budget adaptive needs residency by KV head, and the session's residency is by layer",
                     "open the session with residency kv_head", "head_budget", "adaptive");
  if (parts.manifest.probes || !(statisticsOf(specs) & (kReceived | kObserved | kNewest | kBrightness))) return ok();
  return badPolicy("the policy uses attention, and probes are off", "set probes to true", "probes", false);
}

}  // namespace

Status PolicyFiles::load(const SessionParts& parts, const std::vector<PolicySpec>& specs) {
  KV_TRY(possible(parts, specs));
  KV_TRY(loadGates(parts, specs));
  return loadRecords(parts, specs);
}

Status PolicyFiles::loadGates(const SessionParts& parts, const std::vector<PolicySpec>& specs) {
  std::optional<std::string> file;
  for (const PolicySpec& spec : specs) {
    if (!asksGates(spec)) continue;
    if (file && *file != spec.gates)
      return badPolicy("layers name different gates, " + *file + " and " + spec.gates, "use one file for all layers",
                       "gates", spec.gates);
    file = spec.gates;
  }
  if (!file || gates(parts, specs)) return ok();
  const std::string path = gatesPath(parts, *file);
  if (file->empty() && !std::filesystem::exists(path))
    return badPolicy("there are no gates for the model " + parts.model->spec() + ": no file " + path,
                     "train some with kvlab train gates, or name a file: smartkv:gates=FILE", "gates", "");
  m_gates.push_back(KV_TRY(GateWeights::load(path, parts.model->config(), parts.backend)));
  return ok();
}

Status PolicyFiles::loadRecords(const SessionParts& parts, const std::vector<PolicySpec>& specs) {
  std::string file;
  for (const PolicySpec& spec : specs) {
    if (spec.record.empty()) continue;
    if (!file.empty() && file != spec.record)
      return badPolicy("layers name different records, " + file + " and " + spec.record, "use one file for all layers",
                       "record", spec.record);
    file = spec.record;
  }
  if (file.empty() || m_records.count(file)) return ok();
  Lifespans record = KV_TRY(Lifespans::load(file));
  const ModelConfig& config = parts.model->config();
  const auto shape = [](std::size_t layers, int heads) {
    return std::to_string(layers) + " layers of " + std::to_string(heads) + " heads";
  };
  if (static_cast<int>(record.layers.size()) != config.layers || record.kvHeads != config.kvHeads)
    return Error{"bad_lifespans",
                 "the policy was refused",
                 file + " has " + shape(record.layers.size(), record.kvHeads) + ", the model " +
                     shape(static_cast<std::size_t>(config.layers), config.kvHeads),
                 "record a run of this model",
                 std::nullopt,
                 "record",
                 file};
  auto future = std::make_shared<FutureMass>();
  future->rows = record.rows;
  for (LayerLifespans& layer : record.layers) future->mass.push_back(std::move(layer.mass));
  m_records[file] = std::move(future);
  return ok();
}

std::shared_ptr<const GateWeights> PolicyFiles::gates(const SessionParts& parts,
                                                      const std::vector<PolicySpec>& specs) const {
  for (const PolicySpec& spec : specs)
    for (const auto& loaded : m_gates)
      if (asksGates(spec) && loaded->path() == gatesPath(parts, spec.gates)) return loaded;
  return nullptr;
}

std::shared_ptr<const FutureMass> PolicyFiles::future(const std::vector<PolicySpec>& specs) const {
  for (const PolicySpec& spec : specs)
    if (const auto found = m_records.find(spec.record); found != m_records.end()) return found->second;
  return nullptr;
}

bool keepAll(const std::vector<PolicySpec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [](const PolicySpec& spec) { return spec.keepsAll(); });
}

std::vector<PolicySpec> policiesWanted(const SessionParts& parts) {
  std::vector<PolicySpec> out;
  for (const Layer layer : parts.cacheLayers.ofModel())
    out.insert(out.end(), static_cast<std::size_t>(parts.cacheLayers.perLayer), parts.manifest.policyOf(layer));
  return out;
}

std::shared_ptr<const PolicyState> startPolicies(const SessionParts& parts) {
  PolicyState state;
  state.specs = policiesWanted(parts);
  if (keepAll(state.specs)) return nullptr;
  state.gates = parts.policyFiles.gates(parts, state.specs);
  state.future = parts.policyFiles.future(state.specs);
  state.layers.resize(state.specs.size());
  state.audit.layers.resize(state.specs.size());
  for (std::size_t layer = 0; layer < state.specs.size(); ++layer)
    state.audit.layers[layer].policy = state.specs[layer].name;
  return std::make_shared<const PolicyState>(std::move(state));
}

}  // namespace kvlab
