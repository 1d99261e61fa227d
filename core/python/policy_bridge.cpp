// SPDX-License-Identifier: Apache-2.0
#include "core/python/policy_bridge.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <numeric>

#include "core/python/handle.h"
#include "core/python/json_python.h"

namespace nb = nanobind;

namespace kvlab::python {
namespace {

using nlohmann::json;

/// A NumPy array of its own.
template <class T, class From>
nb::object arrayOf(std::span<const From> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<T>();
  kept->reserve(values.size());
  for (const From& one : values)
    if constexpr (requires { one.value(); }) kept->push_back(static_cast<T>(one.value()));
    else kept->push_back(static_cast<T>(one));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.begin(), owner));
}

nb::dict dictOf(const PolicySpec& spec, const LayerRows& rows) {
  nb::dict out;
  out["layer"] = rows.layer.value();
  out["heads"] = rows.heads;
  out["kv_heads"] = rows.kvHeads;
  out["head_dim"] = rows.headDim;
  out["next_phase"] = rows.nextPhase;
  out["sinks"] = spec.sinks;
  out["window"] = spec.window;
  out["options"] = toPython(spec.options.is_object() ? spec.options : json::object());
  out["memory"] = nb::bytes(rows.memory.data(), rows.memory.size());
  out["ledger"] = arrayOf<std::int32_t>(rows.ledger, {rows.rows()});
  visitStatistics(rows, [&out](const char* name, auto list, std::initializer_list<std::size_t> shape) {
    out[name] = arrayOf<std::remove_cvref_t<decltype(list[0])>>(list, shape);
  });
  return out;
}

Error failed(const std::string& name, CacheLayer layer, const std::string& why) {
  return Error("bad_policy", "the policy " + name + " failed in layer " + std::to_string(layer.value()), why,
               "mend it and add it again; the session is as it was", "name", name);
}

/// Calls a function of the policy; its value goes through `read`, which returns a Result.
template <class Read>
auto called(const nb::object& function, const PolicySpec& spec, const LayerRows& rows, const Read& read)
    -> decltype(read(nb::object())) {
  const nb::gil_scoped_acquire gil;
  const InPolicy inside;
  try {
    const auto answer = nb::cast<nb::tuple>(function(dictOf(spec, rows)));
    if (!answer[1].is_none()) return failed(spec.name, rows.layer, nb::cast<std::string>(nb::str(answer[1])));
    return read(nb::object(answer[0]));
  } catch (const std::exception& error) {  // nb::python_error among them
    return failed(spec.name, rows.layer, error.what());
  }
}

Result<std::vector<float>> scoresFrom(const PolicySpec& spec, const LayerRows& rows, const nb::object& value) {
  const auto array = nb::cast<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>(value);
  const std::size_t n = rows.rows(), heads = at(rows.kvHeads);
  if (array.size() == n || array.size() == heads * n)
    return std::vector<float>(array.data(), array.data() + array.size());
  return failed(spec.name, rows.layer,
                "score gave " + std::to_string(array.size()) + " numbers for " + std::to_string(n) + " rows of " +
                    std::to_string(heads) + " KV heads");
}

}  // namespace

Status addPythonPolicy(const std::string& name, const std::string& help, const json& needs, const json& options,
                       const std::string& revision, PolicyFunctions functions) {
  Policy policy;
  policy.revision = revision;
  policy.needs = KV_TRY(statisticsNamed(name, needs));
  // A session may ask for good; the functions must not be freed by a thread without the GIL.
  auto* const kept = new PolicyFunctions(std::move(functions));
  policy.scores = [kept](const PolicySpec& spec, const LayerRows& rows) {
    return called(kept->score, spec, rows, [&](const nb::object& value) { return scoresFrom(spec, rows, value); });
  };
  if (!kept->observe.is_none())
    policy.observes = [kept](const PolicySpec& spec, const LayerRows& rows) {
      return called(kept->observe, spec, rows, [](const nb::object& value) -> Result<std::string> {
        const auto bytes = nb::cast<nb::bytes>(value);
        return std::string(bytes.c_str(), bytes.size());
      });
    };
  return addPolicy(name, help, options, std::move(policy));
}

}  // namespace kvlab::python
