// SPDX-License-Identifier: Apache-2.0
// Reads a Python pickle as data: a tree of nodes. Nothing is imported, called or built; names of Python and calls stay
// nodes. Names that `allowed` does not know are refused. Values; any thread.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

struct PickleNode {
  enum class Kind : std::uint8_t { Scalar, List, Dict, Name, Call, Outside };
  Kind kind = Kind::Scalar;
  nlohmann::json scalar;             // of a Name its text: "torch FloatStorage"
  std::vector<std::uint32_t> items;  // List: items; Dict: keys and values in turn; Call: callee, arguments, perhaps the
                                     // state of the object; Outside: what names the thing that lies elsewhere
};

struct Pickle {
  std::vector<PickleNode> nodes;
  std::uint32_t root = 0;

  const PickleNode& operator[](std::uint32_t node) const { return nodes[node]; }
};

/// Errors (bad_file): damaged, too long, an opcode or a name that is not read.
Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::string& file,
                          const std::function<bool(std::string_view name)>& allowed);

}  // namespace kvlab
