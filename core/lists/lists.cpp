// SPDX-License-Identifier: Apache-2.0
#include "core/lists/lists.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "core/analysis/metrics.h"
#include "core/api/error.h"
#include "core/api/layout_names.h"
#include "core/api/manifest.h"
#include "core/api/manifest_list.h"
#include "core/bugs/bug_kind.h"
#include "core/explain/explain.h"
#include "core/foreign/foreign_cache.h"
#include "core/model/decoder/int8_weights.h"
#include "core/model/tensor_types.h"
#include "core/parts/kinds.h"
#include "core/parts/open_parts.h"
#include "core/selftest/self_test.h"
#include "core/tables/tables.h"
#include "core/tasks/task_kinds.h"
#include "core/verbs/verbs.h"
#include "core/watch/facts.h"
#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/find_module.h"
#include "kernels/ops/op_table.h"

namespace kvlab {

using nlohmann::json;

namespace {

json entry(std::string_view id, std::string_view title) { return {{"id", id}, {"title", title}}; }

template <class List, class Id, class Title>
json entries(const List& list, Id id, Title title) {
  json out = json::array();
  for (const auto& one : list) out.push_back(entry(std::invoke(id, one), std::invoke(title, one)));
  return out;
}

json argList(const std::vector<ArgInfo>& args) {
  json out = json::array();
  for (const ArgInfo& arg : args) {
    out.push_back({{"name", arg.name}, {"type", typeText(arg)}, {"required", !arg.optional}});
    if (!arg.otherwise.is_null()) out.back()["default"] = arg.otherwise;
    if (!arg.shape.empty()) out.back()["shape"] = arg.shape;
    if (!arg.words.empty()) out.back()["words"] = arg.words;
  }
  return out;
}

/// [{type, tensors, bytes}], the type of the most bytes first.
json typesOf(const Model& model) {
  json out = json::array();
  for (const TensorTypes& one : tensorTypes(model))
    out.push_back({{"type", kernels::dtypeName(one.dtype)}, {"tensors", one.tensors}, {"bytes", one.bytes}});
  return out;
}

/// [{layers: [first, last], layout, k, v, row_bytes, slots}], neighbours that are alike as one.
json layersOf(const MemoryNeed& need) {
  json out = json::array();
  for (const MemoryNeed::LayerRows& one : need.layers) {
    json row{{"layout", one.layout}, {"k", one.k}, {"v", one.v}, {"row_bytes", one.rowBytes}, {"slots", one.slots}};
    const int layer = one.layer.value();
    json* last = out.empty() ? nullptr : &out.back();
    const bool alike = last && std::all_of(row.items().begin(), row.items().end(), [&](const auto& item) {
                         return (*last)[item.key()] == item.value();
                       });
    if (alike) (*last)["layers"][1] = layer;
    else out.push_back(row), out.back()["layers"] = {layer, layer};
  }
  return out;
}

json describe(const Model& model, const json& types, const Manifest& manifest, const MemoryNeed& need) {
  const ModelConfig& config = model.config();
  const json layers = layersOf(need);
  return {{"model", model.spec()},
          {"architecture", config.type},
          {"parameters", config.parameters()},
          {"layers", config.layers},
          {"heads", config.heads},
          {"kv_heads", config.kvHeads},
          {"head_dim", config.headDim},
          {"hidden", config.hidden},
          {"vocabulary", config.vocab},
          {"positions", config.maxPositions},
          {"window", config.slidingWindow},
          {"dtype", kernels::dtypeName(model.dtype())},
          {"types", types},
          {"weights", manifest.weights.empty() ? types.front().at("type").get<std::string>() : manifest.weights},
          {"weight_bytes", need.weights},
          {"capacity", need.capacity},
          {"row_bytes", layers.front()["row_bytes"]},
          {"rows", layers},
          {"kv_bytes", need.allocated},
          {"kv_bytes_reserved", need.reserved},
          {"reserved_at_once", need.atOnce},
          {"pass_bytes", need.work}};
}

/// Weights in int8 are made from the model's, which takes time: the model without them is kept.
Result<json> describeOpened(std::shared_ptr<const Model> model, const Manifest& manifest) {
  const json types = typesOf(*model);
  if (manifest.weights == "int8") model = KV_TRY(withInt8Weights(std::move(model)));
  const MemoryNeed need = KV_TRY(memoryNeed(manifest, model));
  return describe(*model, types, manifest, need);
}

/// free: null where the device did not compute.
json deviceOf(const kernels::CudaAnswer& cuda) {
  const kernels::CudaDevice& d = cuda.device;
  json out{{"name", d.name},
           {"capability", std::to_string(d.major) + "." + std::to_string(d.minor)},
           {"memory", d.memoryBytes},
           {"free", nullptr},
           {"driver", std::to_string(d.driver / 1000) + "." + std::to_string(d.driver % 1000 / 10)},
           {"bytesPerSecond", d.bytesPerSecond}};
  std::int64_t unused = 0, all = 0;
  const kernels::CudaCalls calls(*cuda.api, cuda.ordinal);
  if (cuda.computes && calls(&kernels::CudaApi::memory, &unused, &all) == 0) out["free"] = unused;
  return out;
}

}  // namespace

json listInvariants() { return entries(invariants(), &Invariant::id, &Invariant::title); }
json listLayouts() { return entries(layouts(), &LayoutName::name, &LayoutName::help); }
json listMetrics() { return entries(metrics(), &MetricName::id, &MetricName::title); }
json listBugs() { return entries(bugKinds(), &BugKind::name, &BugKind::title); }
json listSelfTests() { return entries(selfTests(), &SelfTest::id, &SelfTest::title); }
json listImporters() { return entries(importers(), &ForeignImporter::name, &ForeignImporter::files); }
json listCauses() { return entries(causeKinds(), &CauseKind::name, &CauseKind::title); }
json listTasks() { return entries(taskKinds(), &TaskKind::name, &TaskKind::title); }
json listErrors() { return entries(errorCodes(), &ErrorCode::code, &ErrorCode::meaning); }

json listPolicies() {
  json list = json::array();
  for (const PolicyName& one : policies()) {
    list.push_back(entry(one.name, one.help));
    for (const PolicyPreset& preset : policyPresets())
      if (preset.policy == one.name)
        list.back()["presets"].push_back(
            {{"name", preset.name}, {"keys", json::parse(preset.keys)}, {"source", preset.source}});
  }
  return list;
}

json listVerbs() {
  json list = json::array();
  for (const VerbInfo& verb : verbs()) {
    list.push_back(entry(verb.name, verb.help));
    list.back().update({{"args", argList(verb.args)},
                        {"gives", verb.gives},
                        {"effect", name(verb.effect)},
                        {"lanes", name(verb.lanes)}});
  }
  return list;
}

json listTables() {
  json list = json::array();
  for (const TableInfo& table : tables()) {
    list.push_back(entry(table.name, table.help));
    list.back().update({{"args", argList(table.args)}, {"effect", name(table.effect)}, {"columns", json::array()}});
    for (const ColumnInfo& column : table.columns)
      list.back()["columns"].push_back({{"name", column.name}, {"type", name(column.type)}, {"help", column.help}});
  }
  return list;
}

json listFacts() {
  json list = json::array();
  for (const Fact& fact : facts()) {
    const char* type = fact.type() == ValueType::Text ? "text"
        : fact.type() == ValueType::Flag              ? "condition"
                                                      : "number";
    list.push_back(entry(fact.name, fact.help));
    list.back().update({{"type", fact.number && fact.flag ? "number, or condition" : type},
                        {"keys", fact.keys},
                        {"of", fact.ofTick ? "tick" : "state"}});
  }
  return list;
}

json listManifest() {
  json list = json::array();
  for (const ManifestKey& key : manifestKeys()) {
    list.push_back(entry(key.key, key.meaning));
    list.back().update({{"type", key.type}, {"default", key.otherwise}});
  }
  return list;
}

json listNumerics(const std::string& backend) {
  json list = json::array();
  for (const kernels::NumericsAnswer& one : kernels::numericsOf(backend))
    list.push_back({{"id", one.id}, {"available", one.why.empty()}, {"why", one.why}});
  return list;
}

json listBackends(bool every) {
  json out = json::array(
      {{{"id", "cpu"}, {"available", true}, {"why", std::string("runs as ") + kernels::cpuOps().targetName()}}});
  using enum kernels::CudaTrial;
  for (const kernels::CudaAnswer& cuda : kernels::askForDevices(every ? each : untilOneComputes)) {
    const std::string there = cuda.computes ? "runs on " : "found, ";
    out.push_back({{"id", cuda.device.devices > 0 ? "cuda:" + std::to_string(cuda.ordinal) : "cuda"},
                   {"available", cuda.why.empty()},
                   {"why", cuda.why.empty() ? there + kernels::cudaDeviceText(cuda.device) : cuda.why}});
    if (cuda.device.name[0]) out.back()["device"] = deviceOf(cuda);
  }
  return out;
}

std::vector<std::string> backendChoices() {
  std::vector<std::string> out{"auto", "cpu", "cuda"};
  for (const kernels::CudaAnswer& cuda : kernels::askForDevices(kernels::CudaTrial::none))
    if (cuda.why.empty()) out.push_back("cuda:" + std::to_string(cuda.ordinal));
  return out;
}

Result<json> describeModel(const json& manifest, const std::string& resources) {
  const Manifest checked = KV_TRY(Manifest::fromJson(manifest));
  return describeOpened(KV_TRY(Model::open(checked.model, resources)), checked);
}

ModelDescriber modelDescriber(const std::string& resources) {
  struct Kept {
    std::mutex lock;
    std::string spec;
    std::shared_ptr<const Model> model;
  };
  return [resources, kept = std::make_shared<Kept>()](const json& manifest) -> Result<json> {
    const Manifest checked = KV_TRY(Manifest::fromJson(manifest));
    const std::lock_guard guard(kept->lock);
    if (kept->spec != checked.model || !kept->model) {
      kept->model = nullptr;
      kept->model = KV_TRY(Model::open(checked.model, resources));
      kept->spec = checked.model;
    }
    return describeOpened(kept->model, checked);
  };
}

}  // namespace kvlab
