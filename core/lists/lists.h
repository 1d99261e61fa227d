// SPDX-License-Identifier: Apache-2.0
// Lists about the engine for `kvlab list`, `kvlab info` and the Python package; no session is needed. Any thread.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// Arrays of {id, title}, in the order of the engine's own lists.
nlohmann::json listInvariants();
nlohmann::json listLayouts();
nlohmann::json listPolicies();
nlohmann::json listMetrics();
nlohmann::json listErrors();
nlohmann::json listBugs();
nlohmann::json listSelfTests();
nlohmann::json listImporters();
nlohmann::json listCauses();
nlohmann::json listTasks();
/// [{id, title, effect, lanes, args: [{name, type, required, default?}]}]
nlohmann::json listVerbs();
nlohmann::json listTables();
/// [{id, title, type, keys, of}] of expressions; of: state, or the tick that led to it
nlohmann::json listFacts();
/// [{id, title, type, default}]; default null = depends on the session
nlohmann::json listManifest();
/// [{id, available, why, device?: {name, capability, memory, free, driver, bytesPerSecond}}] of the CPU and each CUDA
/// device. every: each device computes something; otherwise they do until one can, and others are only looked at.
nlohmann::json listBackends(bool every = true);
/// Values of the manifest's key `backend` on this machine. Lets no device compute.
std::vector<std::string> backendChoices();
/// [{id, available, why}] for the arithmetic of a backend, the exact one first. May load libraries.
nlohmann::json listNumerics(const std::string& backend);
/// Describes the manifest's model, and the memory that a session of it needs. Errors: bad_model, bad_manifest.
Result<nlohmann::json> describeModel(const nlohmann::json& manifest, const std::string& resources);
/// describeModel() that keeps the last model open. Any thread; calls wait for one another.
using ModelDescriber = std::function<Result<nlohmann::json>(const nlohmann::json& manifest)>;
ModelDescriber modelDescriber(const std::string& resources);

}  // namespace kvlab
