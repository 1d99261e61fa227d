// SPDX-License-Identifier: Apache-2.0
// Rules that are Python functions. The engine calls them from the thread of the session; the GIL is taken for the call.
// What is handed over are copies, so that Python may keep it.
#pragma once
#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab::python {

/// Adds a rule; told: what addOutside() is told. answer takes a question as a dict, with its lists as arrays ("u1" as
/// bytes), and gives (value, None) or (None, why); value is bytes, or an array of the numbers that the question wants.
/// Holds the GIL.
Status addPythonRule(const nlohmann::json& told, nanobind::object answer);

}  // namespace kvlab::python
