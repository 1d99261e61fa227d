// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/head_rows.h"

#include <algorithm>
#include <cstring>

namespace kvlab {

HeadRows::HeadRows(const TensorView& matrix, int heads) : m_matrix(matrix) {
  if (!matrix || matrix.shape.empty() || matrix.shape[0] % heads != 0) return;
  const std::int64_t rows = matrix.shape[0], in = matrix.elements() / rows;
  if (in % kernels::dtypeBlock(matrix.dtype).values != 0) return;
  m_headRows = static_cast<std::size_t>(rows / heads);
  m_headBytes = static_cast<std::size_t>(kernels::dtypeRowBytes(matrix.dtype, in)) * m_headRows;
  const auto* from = static_cast<const std::byte*>(matrix.data);
  m_bytes.assign(from, from + matrix.bytes());
}

float* HeadRows::scales(int which) {
  const auto at = reinterpret_cast<const std::byte*>(m_matrix.scales()) - static_cast<const std::byte*>(m_matrix.data);
  return reinterpret_cast<float*>(m_bytes.data() + at) + static_cast<std::size_t>(which) * m_headRows;
}

HeadRows HeadRows::swapped(const TensorView& matrix, int heads, int a, int b) {
  HeadRows out(matrix, heads);
  if (!out) return out;
  std::swap_ranges(out.head(a), out.head(a) + out.m_headBytes, out.head(b));
  if (matrix.scales()) std::swap_ranges(out.scales(a), out.scales(a) + out.m_headRows, out.scales(b));
  return out;
}

HeadRows HeadRows::without(const TensorView& matrix, int heads, int head) {
  HeadRows out(matrix, heads);
  if (out) std::memset(out.head(head), 0, out.m_headBytes);
  return out;
}

TensorView HeadRows::view() const {
  TensorView out = m_matrix;
  out.data = m_bytes.data();
  return out;
}

}  // namespace kvlab
