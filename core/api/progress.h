// SPDX-License-Identifier: Apache-2.0
// Long work reports its progress and learns here that it should stop. The working thread calls it; it
// must not throw.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace kvlab {

/// what names the present step; done and total count its units (total 0 = unknown). A receiver that returns
/// false cancels: the work ends with Error code "cancelled" and changes nothing. May be empty.
using Progress = std::function<bool(const std::string& what, std::int64_t done, std::int64_t total)>;

/// False if the receiver asks to stop.
inline bool report(const Progress& progress, const std::string& what, std::int64_t done, std::int64_t total) {
  return !progress || progress(what, done, total);
}

}  // namespace kvlab
