// SPDX-License-Identifier: Apache-2.0
// What live passes were told to read and write, written down where attention is called: not what plan and maps say that
// passes should do. Checks compare both. Only passes over host memory are written down. Owned by a store; engine
// thread.
#pragma once
#include <memory>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// A part of a list of rows that a pass was given.
struct ListDeed {
  std::int32_t from = 0;                              // place of the first one in the list
  std::vector<std::int32_t> slots = {}, phases = {};  // of each
};

/// One call for the rows of a chunk in a cache layer. [n] are its rows.
struct PassDeed {
  CacheLayer layer;
  std::vector<std::uint64_t> tags = {};                  // [n] ledger ids
  std::vector<std::int32_t> phase, begin, end, written;  // [n]; written: slots
  std::shared_ptr<const ListDeed> list = {};             // what the rows read; calls on the same list share it
  std::shared_ptr<const ResidencyView> map = {};         // as the plan gave it to the pass
  std::vector<float> input = {};                         // [hidden] of the last row, before the layer
  std::vector<float> attended = {};                      // [heads*headDim] that attention gave of the last row

  std::size_t rows() const { return tags.size(); }
};

class PassDeeds {
 public:
  /// Nothing is written down until it is wanted.
  void want(bool wanted) { m_wanted = wanted; }
  bool wanted() const { return m_wanted; }
  void add(PassDeed deed) { m_all.push_back(std::move(deed)); }
  /// In the order of the calls.
  const std::vector<PassDeed>& all() const { return m_all; }
  void clear() { m_all.clear(); }

 private:
  bool m_wanted = false;
  std::vector<PassDeed> m_all;
};

}  // namespace kvlab
