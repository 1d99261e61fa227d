// SPDX-License-Identifier: Apache-2.0
// What policies do to a session: they decide over the state that a pass has left, and what they evict is part of
// the same commit. semantics.md, section 6.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/analysis/lifespans.h"
#include "core/model/decoder/gate_weights.h"
#include "core/session/session.h"

namespace kvlab {
namespace {

/// Rows that the moments of queries leave out: the sinks of the layers that want them.
std::int32_t momentsFrom(const std::vector<PolicySpec>& specs) {
  std::int32_t from = 0;
  for (const PolicySpec& spec : specs)
    if (policyOf(spec.name).needs & kMoments) from = std::max(from, spec.sinks);
  return from;
}

bool keepAll(const std::vector<PolicySpec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [](const PolicySpec& spec) { return spec.keepsAll(); });
}

}  // namespace

Status Session::policiesPossible(const std::vector<PolicySpec>& specs) const {
  const bool byHead = std::any_of(specs.begin(), specs.end(), [](const PolicySpec& spec) { return spec.byHead(); });
  if (byHead && !m_cacheLayers.byHead() && m_model->config().kvHeads > 1)
    return Error{"bad_manifest",
                 "the policy was refused",
                 "head_budget adaptive needs rows of each KV head's own, and residency is by layer",
                 "open the session with residency kv_head, or with this policy",
                 std::nullopt,
                 "head_budget",
                 "adaptive"};
  if (m_manifest.probes || !(statisticsOf(specs) & (kReceived | kObserved | kNewest | kBrightness))) return ok();
  return Error{"bad_manifest",
               "the policy was refused",
               "it looks at attention, and probes are off",
               "set probes to true",
               std::nullopt,
               "probes",
               false};
}

/// The gates that policies ask; null where none does.
Result<std::shared_ptr<const GateWeights>> Session::gatesFor(const std::vector<PolicySpec>& specs) {
  std::optional<std::string> file;
  for (const PolicySpec& spec : specs) {
    if (!(policyOf(spec.name).needs & kGates)) continue;
    if (file && *file != spec.gates)
      return Error{"bad_manifest",
                   "the policy was refused",
                   "layers ask different gates, " + *file + " and " + spec.gates,
                   "use one file for all layers",
                   std::nullopt,
                   "gates",
                   spec.gates};
    file = spec.gates;
  }
  if (!file) return std::shared_ptr<const GateWeights>();
  const std::string path = gatesPath(*file);
  for (const auto& loaded : m_gates)
    if (loaded->path() == path) return loaded;
  if (file->empty() && !std::filesystem::exists(path))
    return Error{"bad_manifest",
                 "the policy was refused",
                 "no gates are shipped for the model " + m_model->spec(),
                 "name a file: smartkv:gates=FILE",
                 std::nullopt,
                 "gates",
                 ""};
  Result<std::shared_ptr<const GateWeights>> gates = GateWeights::load(path, m_model->config(), m_backend);
  if (gates) m_gates.push_back(*gates);
  return gates;
}

std::string Session::gatesPath(const std::string& file) const {
  return file.empty() ? m_resources + "/gates/" + m_model->spec() + ".safetensors" : file;
}

/// The recorded run that oracles know; null where none names one.
Result<std::shared_ptr<const FutureMass>> Session::futureFor(const std::vector<PolicySpec>& specs) {
  std::string file;
  for (const PolicySpec& spec : specs) {
    if (spec.record.empty()) continue;
    if (!file.empty() && file != spec.record)
      return Error{"bad_manifest",
                   "the policy was refused",
                   "layers know different records, " + file + " and " + spec.record,
                   "use one file for all layers",
                   std::nullopt,
                   "record",
                   spec.record};
    file = spec.record;
  }
  if (file.empty()) return std::shared_ptr<const FutureMass>();
  if (const auto found = m_records.find(file); found != m_records.end()) return found->second;
  Result<Lifespans> record = Lifespans::load(file);
  if (!record) return record.error();
  const ModelConfig& config = m_model->config();
  if (static_cast<int>(record->layers.size()) != config.layers || record->kvHeads != config.kvHeads)
    return Error{"bad_lifespans",
                 "the policy was refused",
                 file + " has " + std::to_string(record->layers.size()) + " layers of " +
                     std::to_string(record->kvHeads) + " heads, the model " + std::to_string(config.layers) + " of " +
                     std::to_string(config.kvHeads),
                 "record a run of this model",
                 std::nullopt,
                 "record",
                 file};
  auto future = std::make_shared<FutureMass>();
  future->rows = record->rows;
  for (LayerLifespans& layer : record->layers) future->mass.push_back(std::move(layer.mass));
  return m_records[file] = future;
}

std::vector<PolicySpec> Session::policiesWanted() const {
  std::vector<PolicySpec> out;
  for (int layer = 0; layer < m_cacheLayers.layers; ++layer)
    out.insert(out.end(), static_cast<std::size_t>(m_cacheLayers.perLayer), m_manifest.policyOf(layer));
  return out;
}

/// The policies of the manifest before anything was seen; null where all keep everything. Their gates are loaded.
std::shared_ptr<const PolicyState> Session::startPolicies() const {
  PolicyState state;
  state.specs = policiesWanted();
  if (keepAll(state.specs)) return nullptr;
  for (const PolicySpec& spec : state.specs)
    for (const auto& loaded : m_gates)
      if ((policyOf(spec.name).needs & kGates) && loaded->path() == gatesPath(spec.gates)) state.gates = loaded;
  for (const PolicySpec& spec : state.specs)
    if (const auto found = m_records.find(spec.record); found != m_records.end()) state.future = found->second;
  state.layers.resize(state.specs.size());
  state.audit.layers.resize(state.specs.size());
  for (std::size_t layer = 0; layer < state.specs.size(); ++layer)
    state.audit.layers[layer].policy = state.specs[layer].name;
  return std::make_shared<const PolicyState>(std::move(state));
}

/// Lets the policies look at the pass that made `applied`, which waits for its commit, and evicts what they say
/// together with it.
Result<Applied> Session::applyPolicies(Applied applied, PassKind pass, Transaction& transaction, Trace& trace,
                                       TickReport& report) {
  auto scope = trace.scope("policy");
  const auto fail = [&](Error error) {
    if (!applied.rewritten) m_store.release(applied.added);  // else the caller mends
    return error;
  };
  TransactionRules rules = transactionRules();
  rules.keepLogits = true;
  if (pass == PassKind::Decode && applied.state.policy->prefilling) pass = PassKind::PromptEnd;
  if (pass == PassKind::PromptEnd)
    for (const std::int32_t queries : observations(applied.state.policy->specs)) {
      Result<Observation> seen = transaction.observe(applied.state, queries, momentsFrom(applied.state.policy->specs),
                                                     rules, trace, m_progress);
      if (!seen) return fail(seen.error());
      applied.state.policy =
          withObservation(*applied.state.policy, headsOf(m_model->config(), m_cacheLayers.perLayer), queries, *seen);
    }
  Result<Pruned> pruned = prune({applied.state, *m_transformer, m_store, pass});
  if (!pruned) return fail(pruned.error());
  std::vector<Action> actions(pruned->evictions.begin(), pruned->evictions.end());
  applied.state.policy = std::move(pruned->state);
  report.actions.insert(report.actions.end(), actions.begin(), actions.end());
  Result<EditPlan> plan = planEdit(applied.state, planRules(Source::Model), std::move(actions));
  if (!plan) return fail(plan.error());
  return transaction.run(applied.state, *plan, rules, trace, m_progress, &applied);
}

std::vector<float> Session::scores(int layer) const {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const ResidencyView& map = m_state.map(layer);
  if (!m_state.policy) return std::vector<float>(map.size(), kNone);
  return alignedWith(map, m_state.policy->layers[static_cast<std::size_t>(layer)].scores, 1, kNone);
}

TickReport Session::endPrefill() {
  if (Status usableNow = usable(); !usableNow) return refused(usableNow.error());
  if (!m_state.policy || !m_state.policy->prefilling) {
    TickReport nothing;
    nothing.tick = m_state.tick;
    return nothing;
  }
  return runTick(false, {}, {}, Source::Prompt, PassKind::PromptEnd);
}

void Session::setFuture(std::shared_ptr<const FutureMass> future) {
  if (!m_state.policy) return;
  PolicyState next = *m_state.policy;
  next.future = std::move(future);
  m_state.policy = std::make_shared<const PolicyState>(std::move(next));
  m_timeline.adopt(m_timeline.currentId(), m_state);
}

Status Session::setPolicy(int layer, const PolicySpec& spec) {
  if (Status usableNow = usable(); !usableNow) return usableNow;
  if (Status possible = withoutWlod("the policy was not changed"); !possible) return possible;
  PolicyState next;
  if (m_state.policy) next = *m_state.policy;
  else {
    next.specs.resize(static_cast<std::size_t>(m_state.layers()));
    next.layers.resize(next.specs.size());
    next.audit.layers.resize(next.specs.size());
    next.promptRows = m_state.length();
  }
  for (int l = 0; l < m_state.layers(); ++l)
    if (layer < 0 || m_cacheLayers.layerOf(Layer(l)).value() == layer) {
      next.layers[static_cast<std::size_t>(l)].budget.reset();
      next.specs[static_cast<std::size_t>(l)] = spec;
      next.audit.layers[static_cast<std::size_t>(l)] = {};
      next.audit.layers[static_cast<std::size_t>(l)].policy = spec.name;
    }
  if (Status possible = policiesPossible(next.specs); !possible) return possible;
  Result<std::shared_ptr<const GateWeights>> gates = gatesFor(next.specs);
  if (!gates) return gates.error();
  next.gates = gates.take();
  Result<std::shared_ptr<const FutureMass>> future = futureFor(next.specs);
  if (!future) return future.error();
  if (*future) next.future = future.take();
  CacheState state = m_state;
  state.policy = keepAll(next.specs) ? nullptr : std::make_shared<const PolicyState>(std::move(next));
  record(std::move(state), {}, {});
  publish();
  return ok();
}

}  // namespace kvlab
