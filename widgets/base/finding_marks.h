// SPDX-License-Identifier: GPL-3.0-or-later
// Findings of checks, by row and layer: all views mark rows and layers by this one lookup. A value made once
// for a snapshot; without findings it costs nothing. Any thread.
#pragma once
#include <QString>
#include <optional>
#include <span>
#include <vector>

#include "widgets/base/storage_groups.h"

namespace kvlab {

struct FindingMark {
  std::optional<CacheLayer> layer;  // none = the finding is about all layers, or about none
  LedgerId row;                     // -1 = the layer or the state as a whole
  std::int32_t position;            // position of the row in the context; -1 = none
  QString text;                     // the check, the ticks between which the damage came, and details

  bool names(LedgerId one) const { return one.value() >= 0 && row == one; }
  bool concerns(CacheLayer one) const { return !layer || *layer == one; }
  /// Position of the row in the context of a state, if the finding is about the layer; -1 = not there.
  int placeIn(const Snapshot& of, CacheLayer one) const {
    return concerns(one) ? kvlab::placeIn(of, row, position) : -1;
  }
  bool operator==(const FindingMark&) const = default;
};

class FindingMarks {
 public:
  FindingMarks() = default;
  explicit FindingMarks(const Snapshot& snapshot);

  bool operator==(const FindingMarks&) const = default;
  bool empty() const { return m_all.empty(); }
  const std::vector<FindingMark>& all() const { return m_all; }
  /// True if a finding names the layer.
  bool in(CacheLayer layer) const { return !text(layer).isEmpty(); }
  /// True if a finding names the row, in whichever layer.
  bool of(LedgerId row) const { return !text(row).isEmpty(); }
  bool of(LedgerId row, CacheLayer layer) const { return !text(row, layer).isEmpty(); }
  /// The findings that name the row, in a layer or in all of them, or that name the layer: a line each.
  QString text(LedgerId row) const;
  QString text(LedgerId row, CacheLayer layer) const { return text(row, std::span(&layer, 1)); }
  QString text(CacheLayer layer) const { return text(std::span(&layer, 1)); }
  /// The same of layers that share a map.
  QString text(LedgerId row, std::span<const CacheLayer> layers) const;
  QString text(std::span<const CacheLayer> layers) const;
  /// Rows of such layers that a finding names. positionOf: [rows] context positions.
  std::vector<std::int32_t> rowsIn(std::span<const CacheLayer> layers,
                                   const std::vector<std::int32_t>& positionOf) const;

 private:
  std::vector<FindingMark> m_all;
};

}  // namespace kvlab
