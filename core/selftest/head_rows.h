// SPDX-License-Identifier: Apache-2.0
// A matrix of weights whose rows are those of heads, with rows of heads in other places. The rest of the bytes is as it
// was, scales of rows included. Owns its bytes; any thread.
#pragma once
#include <cstddef>
#include <vector>

#include "core/model/files/tensor.h"

namespace kvlab {

class HeadRows {
 public:
  /// The rows of two heads change places. matrix: [heads*dim, in], or a bias [heads*dim].
  static HeadRows swapped(const TensorView& matrix, int heads, int a, int b);
  /// The rows of a head become zero, or the value that zero bytes encode.
  static HeadRows without(const TensorView& matrix, int heads, int head);

  /// False for an absent tensor, and where rows do not lie one after another.
  explicit operator bool() const { return !m_bytes.empty(); }
  /// Lives no longer than this object.
  TensorView view() const;

 private:
  HeadRows(const TensorView& matrix, int heads);
  std::byte* head(int which) { return m_bytes.data() + static_cast<std::size_t>(which) * m_headBytes; }
  float* scales(int which);

  TensorView m_matrix;
  std::vector<std::byte> m_bytes;
  std::size_t m_headBytes = 0, m_headRows = 0;
};

}  // namespace kvlab
