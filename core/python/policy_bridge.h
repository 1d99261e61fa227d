// SPDX-License-Identifier: Apache-2.0
// Eviction policies whose rule is a Python function. The engine calls it from the thread of the session; the GIL is
// taken for the call. What is handed over are copies, so that Python may keep it.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "core/policy/policy.h"

namespace kvlab::python {

/// The functions of a policy, as kvlab/_policy.py wraps them. Each takes a dict of a layer's rows and gives
/// (value, None), or (None, why): score gives f32 scores of [rows] or [kv_heads, rows], observe bytes.
struct PolicyFunctions {
  nanobind::object score, observe;  // observe may be None
};

/// Adds the policy. Errors: bad_policy. Holds the GIL.
Status addPythonPolicy(const std::string& name, const std::string& help, const nlohmann::json& needs,
                       const nlohmann::json& options, const std::string& revision, PolicyFunctions functions);

}  // namespace kvlab::python
