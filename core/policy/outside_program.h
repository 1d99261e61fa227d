// SPDX-License-Identifier: Apache-2.0
// Rules in a Python file, for programs that are not Python's. A child, `python3 -m kvlab.outside_program FILE FD`, has
// the file's rules and answers questions about them over a socket. A message is two lengths (u32 bytes of JSON, u64
// bytes of values, little-endian), the JSON and the values, which the JSON describes: "arrays": [[name, dtype, shape],
// ..] in their order. The child begins with {"rules": [..]}, of which each is what addOutside() is told, or with
// {"error": why}. A question is AddedQuestion::told with its arrays. Its answer is the values, or {"error": why}.
#pragma once
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// Starts a child for the file and adds its rules, which ask the child from then on, one question at a time. The child
/// ends with this program. KVLAB_PYTHON names the interpreter, which must have the package kvlab; else it is python3.
/// Returns the names. Errors: bad_policy (the interpreter or the package is missing, the file fails or has no rules),
/// those of addOutside().
Result<std::vector<std::string>> addOutsideFile(const std::string& file);

}  // namespace kvlab
