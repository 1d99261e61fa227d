// SPDX-License-Identifier: Apache-2.0
// Rotary tables where ops can read them: the host's own, or a copy that new rows are sent to.
#pragma once
#include "core/model/decoder/rotary.h"
#include "kernels/backend/array.h"

namespace kvlab {

class RotaryMirror {
 public:
  /// The tables with every row that they have now, [sets, capacity, width], until the next call.
  const float* update(kernels::Backend& backend, const Rotary& rotary);

 private:
  void send(const Rotary& rotary, std::int64_t begin, std::int64_t end);

  kernels::Array<float> m_copy;
  std::int64_t m_dense = 0, m_extra = 0;  // rows that were sent
  std::int64_t m_revision = 0;            // revision of the tables that were sent
};

}  // namespace kvlab
