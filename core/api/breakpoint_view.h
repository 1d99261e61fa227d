// SPDX-License-Identifier: Apache-2.0
// View of a breakpoint for readers. A value; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

struct BreakpointView {
  int id = 0;
  std::string condition;          // in the language of core/watch/expression.h
  std::int64_t ignore = 0;        // so many times more it does not stop yet
  bool once = false;              // it is forgotten when it has stopped a run
  bool logs = false;              // it writes a line to the log instead of stopping
  bool enabled = true;            // false = it is not evaluated
  std::int64_t hits = 0;          // times that it has held
  std::optional<Tick> last = {};  // tick at which it held last

  bool operator==(const BreakpointView&) const = default;
};
nlohmann::json toJson(const BreakpointView& point);

}  // namespace kvlab
