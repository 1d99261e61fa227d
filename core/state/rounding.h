// SPDX-License-Identifier: Apache-2.0
// The largest error that storage types may have added to the computed values of a stored head: bounds, never estimates.
// Values; any thread.
#pragma once
#include <algorithm>

#include "kernels/row_format.h"

namespace kvlab {

/// A value is off by at most `relative` of itself plus `ofMost` of the largest value of its head.
struct Rounding {
  /// Bound of rows that nobody can judge: their values may be off by any number.
  static constexpr float kAny = 1e6f;

  float relative = 0, ofMost = 0;

  bool operator==(const Rounding&) const = default;
  bool any() const { return relative > 0 || ofMost > 0; }
  /// Bound for the largest value of a head, as a fraction of it.
  float most() const { return relative + ofMost; }
  /// Bound for a key that is read at another phase than it was rounded at: rotation moves the error of a pair from one
  /// value to the other.
  Rounding turned() const { return {0, std::min(kAny, 2 * most())}; }
  /// The bound of a rounded value that is rounded again.
  Rounding then(Rounding next) const {
    return {std::min(kAny, relative + next.relative * (1 + relative)),
            std::min(kAny, ofMost + next.relative * ofMost + next.ofMost * (1 + most()))};
  }
};

/// Half a step of a storage type. turned: the value is a key that is stored turned.
inline Rounding roundingOf(kernels::DType type, bool turned = false) {
  const Rounding out = [type]() -> Rounding {
    switch (type) {
      case kernels::DType::f32: return {};
      case kernels::DType::f16: return {1.0f / 2048, 0};
      case kernels::DType::bf16: return {1.0f / 256, 0};
      case kernels::DType::i8: return {0, 1.0f / 254};
      default: return {1.0f / 16, 1.0f / (448 * 1024)};  // fp8-e4m3
    }
  }();
  return turned ? out.turned() : out;
}

}  // namespace kvlab
