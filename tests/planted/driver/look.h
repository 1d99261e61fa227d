// SPDX-License-Identifier: Apache-2.0
// All data by which a run of a planted fault is compared: logits, tokens, stored rows, and the memory beside them,
// after each step of a session. A value.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/session/session.h"

namespace kvlab::planted_faults {

/// A row of the ledger in a cache layer.
struct RowLook {
  std::uint64_t bits = 0;    // its record and its phase
  std::uint64_t beside = 0;  // its provenance, gate score and statistics of attention
  std::int32_t slot = -1;    // no part of the state
  bool operator==(const RowLook&) const = default;
};

struct Look {
  std::int64_t tick = 0;
  std::map<std::string, std::uint64_t> parts;         // "logits", "tokens", "random", ...
  std::map<std::int32_t, std::uint64_t> ledger;       // by ledger id: state, lineage, pin and brightness
  std::vector<std::map<std::int32_t, RowLook>> rows;  // [cache layers] by ledger id
  std::string error;                                  // code of the error that the step ended with
};

Look lookAt(const Session& session, std::string error);

/// The differences between a run and another one.
struct Differences {
  std::set<std::string> parts;                           // "rows" among them
  std::set<std::pair<std::int32_t, std::int32_t>> rows;  // cache layer, ledger id
  std::set<std::int32_t> ledger;

  bool any() const { return !parts.empty(); }
  void add(const Look& a, const Look& b);
};

}  // namespace kvlab::planted_faults
