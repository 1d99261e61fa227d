// SPDX-License-Identifier: Apache-2.0
// What a running sweep has finished, so that a kill at any moment loses and repeats no finished cell: a file of lines
// "<16 hex digits: XXH3-64 of the rest> <JSON>", the first one the head, each written by one call and flushed to the
// disk before the next cell counts as done. A last line that was torn is dropped when the file is opened again; any
// other damage is an error. Locked while it is open, so that two sweeps cannot share a folder. One owner; append()
// may be called by any thread, one at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

class SweepJournal {
 public:
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  /// A new file with this head. Errors: sweep_exists, sweep_busy, bad_file.
  static Result<std::unique_ptr<SweepJournal>> create(const std::string& path, const nlohmann::ordered_json& head);
  /// An old one. Errors: bad_file, sweep_busy, bad_journal (names the line). Where even the head was torn, it is
  /// empty afterwards: the head is null, and the first line appended becomes it.
  static Result<std::unique_ptr<SweepJournal>> open(const std::string& path);

  const nlohmann::ordered_json& head() const { return m_head; }
  const std::vector<nlohmann::ordered_json>& lines() const {
    return m_lines;
  }  // found when it was opened, without the head
  /// On the disk when it returns. Error (bad_file): it is not, and nothing more can be appended.
  Status append(const nlohmann::ordered_json& line);

 private:
  explicit SweepJournal(std::string path) : m_path(std::move(path)) {}
  Status lock(int flags);
  Status read();
  Error failure(const std::string& why) const;

  std::string m_path;
  int m_file = -1;
  bool m_failed = false;
  nlohmann::ordered_json m_head;
  std::vector<nlohmann::ordered_json> m_lines;
};

}  // namespace kvlab
