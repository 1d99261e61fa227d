// SPDX-License-Identifier: Apache-2.0
// The tables that the rope and attention kernels read: one row per phase, in a table for each set of frequencies that
// layers have, with the same numbers of rows. A row is [width()] f32: cos[headDim/2], then sin[headDim/2], computed in
// double and multiplied by the attention factor where a pair turns; sigma damps pair w by exp(-(sigma*w)^2/2). Rows 0
// .. maxPositions-1 are the integer phases; other phases and sigmas follow in order of first use. One owner; not for
// concurrent use while it grows.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/api/ids.h"
#include "core/model/decoder/frequencies.h"
#include "kernels/backend/array.h"
#include "kernels/row_format.h"

namespace kvlab {

class Rotary {
 public:
  explicit Rotary(const ModelConfig& config);
  /// Tables that a configuration has.
  static int sets(const ModelConfig& config);

  /// Row of the tables for a phase; makes the row if there is none. Whole phases from 0 to
  /// maxPositions-1 with sigma 0 have index == phase, and every row below them exists too.
  std::int32_t index(Phase phase, double sigma = 0);
  /// The phase of a row, for reports.
  Phase phase(std::int32_t index) const;
  double sigma(std::int32_t index) const;

  /// Says how long the context is: some frequencies follow from it. Changes every row then. True where that happened.
  bool reach(std::int64_t length);
  /// Raised by reach().
  std::int64_t revision() const { return m_revision; }

  int sets() const { return static_cast<int>(m_sets.size()); }
  int keySet(Layer layer) const { return m_keySet[m_config.ropeAt(layer)]; }
  int querySet(Layer layer) const { return m_querySet[m_config.ropeAt(layer)]; }
  /// [rows, width()] of a set; stable until index() makes the next row.
  const float* data(int set = 0) const { return m_table.get() + set * capacity() * width(); }
  std::int64_t width() const { return kernels::rotaryWidth(m_config.headDim); }  // floats in a row
  std::int64_t dense() const { return m_dense; }                                 // rows set aside for whole phases
  std::int64_t denseFilled() const { return m_filled; }                          // computed rows of them
  std::int64_t extraFilled() const { return static_cast<std::int64_t>(m_extra.size()); }
  std::int64_t capacity() const { return m_dense + static_cast<std::int64_t>(m_extraCapacity); }
  /// Frequencies of the keys of a layer, [headDim/2].
  const std::vector<double>& frequencies(Layer layer = Layer(0)) const { return m_sets[at(keySet(layer))].frequencies; }

 private:
  struct Set {
    Rope rope;
    bool ofQueries = false;
    std::vector<double> frequencies;    // [headDim/2]
    double growth(double phase) const;  // factor of queries
  };

  void fillDense(std::int32_t last);
  void fillRow(std::int64_t row, double phase, double sigma);
  void reserveExtra(std::size_t rows);

  ModelConfig m_config;
  std::vector<Set> m_sets;
  std::vector<int> m_keySet, m_querySet;  // [ropes]
  std::int64_t m_revision = 0;
  std::int32_t m_dense;       // rows set aside for whole phases
  std::int32_t m_filled = 0;  // computed rows of them
  std::size_t m_extraCapacity = 0;
  std::vector<std::pair<double, double>> m_extra;            // phase and sigma of row m_dense + i
  std::map<std::pair<double, double>, std::int32_t> m_rows;  // index of each extra row
  std::unique_ptr<float[]> m_table;                          // [sets, m_dense + m_extraCapacity, width()]
};

/// The tables where ops can read them: the host's own, or a copy that new rows are sent to.
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
