// SPDX-License-Identifier: Apache-2.0
// How long work reports where it stands and learns that it should stop. Called on the working
// thread; must not throw.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace kvlab {

/// what = present step; done of total, units of the step (total 0 = unknown). Returns false to
/// cancel: the work ends with Error code "cancelled" and changes nothing. May be empty.
using Progress = std::function<bool(const std::string& what, std::int64_t done, std::int64_t total)>;

/// False if the receiver asks to stop.
inline bool report(const Progress& progress, const std::string& what, std::int64_t done, std::int64_t total) {
  return !progress || progress(what, done, total);
}

}  // namespace kvlab
