// SPDX-License-Identifier: Apache-2.0
// JSON as Python values and back. Callers hold the GIL.
#pragma once
#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>

namespace kvlab::python {

/// None, bool, int, float, str, list, dict.
nanobind::object toPython(const nlohmann::json& value);

/// The reverse; tuples, other sequences, arrays and scalars of NumPy count as what they hold. Throws TypeError, which
/// names the place, for anything else, ValueError for numbers that JSON cannot write.
nlohmann::json toJson(nanobind::handle value);

}  // namespace kvlab::python
