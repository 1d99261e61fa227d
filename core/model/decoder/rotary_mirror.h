// SPDX-License-Identifier: Apache-2.0
// A rotary table where ops can read it: the host's own, or a copy that new rows are sent to.
#pragma once
#include "core/model/decoder/rotary.h"
#include "kernels/backend/array.h"

namespace kvlab {

class RotaryMirror {
 public:
  /// The table with every row that it has now, until the next call.
  const float* update(kernels::Backend& backend, const Rotary& rotary);

 private:
  void send(const Rotary& rotary, std::int64_t begin, std::int64_t end);

  kernels::Array<float> m_copy;
  std::int64_t m_dense = 0, m_extra = 0;  // rows that were sent
};

}  // namespace kvlab
