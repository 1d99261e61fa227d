// SPDX-License-Identifier: Apache-2.0
// Rotary frequencies and the table the rope and attention kernels read: one row per phase.
// Frequencies as transformers' modeling_rope_utils defines default, linear, llama3 and yarn, in
// double. A row is [headDim] f32: cos[headDim/2], then sin[headDim/2], computed in double and
// multiplied by YaRN's attention factor; sigma damps pair w by exp(-(sigma*w)^2/2).
// Rows 0 .. maxPositions-1 are the integer phases; other phases and sigmas follow in order of first
// use. One owner; not for concurrent use while it grows.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/api/ids.h"
#include "core/model/files/config.h"

namespace kvlab {

/// w[i] in radians per position, [headDim/2].
std::vector<double> inverseFrequencies(const ModelConfig& config);

class Rotary {
 public:
  explicit Rotary(const ModelConfig& config);

  /// Row of the table for a phase; makes the row if there is none. Whole phases from 0 to
  /// maxPositions-1 with sigma 0 have index == phase, and every row below them exists too.
  std::int32_t index(Phase phase, double sigma = 0);
  /// The phase of a row, for reports.
  Phase phase(std::int32_t index) const;
  double sigma(std::int32_t index) const;

  /// [rows, headDim]; stable until index() makes the next row.
  const float* data() const { return m_table.get(); }
  std::int64_t width() const { return static_cast<std::int64_t>(2 * m_frequencies.size()); }  // floats in a row
  std::int64_t dense() const { return m_dense; }         // rows set aside for whole phases
  std::int64_t denseFilled() const { return m_filled; }  // computed rows of them
  std::int64_t extraFilled() const { return static_cast<std::int64_t>(m_extra.size()); }
  std::int64_t capacity() const { return m_dense + static_cast<std::int64_t>(m_extraCapacity); }
  const std::vector<double>& frequencies() const { return m_frequencies; }

 private:
  void fillDense(std::int32_t last);
  void fillRow(float* row, double phase, double sigma) const;
  void reserveExtra(std::size_t rows);

  std::vector<double> m_frequencies;  // [headDim/2]
  double m_attentionFactor;
  std::int32_t m_dense;       // rows set aside for whole phases
  std::int32_t m_filled = 0;  // computed rows of them
  std::size_t m_extraCapacity = 0;
  std::vector<std::pair<double, double>> m_extra;            // phase and sigma of row m_dense + i
  std::map<std::pair<double, double>, std::int32_t> m_rows;  // of the extra rows
  std::unique_ptr<float[]> m_table;                          // [m_dense + m_extraCapacity, headDim]
};

}  // namespace kvlab
