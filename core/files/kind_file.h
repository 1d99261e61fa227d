// SPDX-License-Identifier: Apache-2.0
// The additions of a kind of session to native cache files, and its requirements of them. Values; any thread.
#pragma once
#include "core/files/cache_columns.h"

namespace kvlab {

class KindFile {
 public:
  virtual ~KindFile() = default;
  /// The manifest's key. It is null or absent in files of other sessions.
  virtual std::string key() const = 0;
  /// The settings that a file and a session must share: "settings" in the key's value.
  virtual nlohmann::json settings() const = 0;
  /// The key's value.
  virtual nlohmann::json describe(const CacheState& state) const = 0;
  virtual void add(ColumnsOut& out, const CacheState& state) const = 0;

  /// The kind's state in a file; `own` is the key's value. Errors: bad_file, capacity, no_phase_room.
  virtual Result<std::shared_ptr<const KindState>> read(ColumnsIn& in, const nlohmann::json& own,
                                                        const std::string& path, const CacheTarget& target,
                                                        const std::vector<LedgerRow>& ledger) const = 0;
  /// Context and phases are those that the state implies. Errors: bad_file.
  virtual Status checkContext(const KindState& state, const CacheImport& rows, const ColumnsIn& in) const = 0;
  /// So are the rows of a group; `prefix` begins the names of its tensors. Errors: bad_file.
  virtual Status checkGroup(const KindState& state, const std::string& prefix, std::span<const std::int32_t> ids,
                            std::span<const std::int32_t> phases, const ColumnsIn& in) const = 0;
};

}  // namespace kvlab
