// SPDX-License-Identifier: Apache-2.0
// The journal lists the finished cells of a running sweep, so that a kill at any moment loses and repeats none of them.
// Lines read "<16 hex digits: XXH3-64 of the rest> <JSON>"; the first line is the head. One call writes a line and
// flushes it to the disk before the next cell counts as done. Opening drops a torn last line; any other damage is an
// error. The file is locked while it is open, so two sweeps cannot share a folder. One owner; any thread may call
// append(), one at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// What a journal holds. Nobody is kept from writing it meanwhile.
struct JournalLines {
  nlohmann::ordered_json head;                // null: not written yet, or torn
  std::vector<nlohmann::ordered_json> lines;  // whole ones, without the head
  std::size_t bytes = 0;                      // of head and lines; what follows is torn
  bool torn = false;
};
/// Errors: bad_file; bad_journal (names the line).
Result<JournalLines> readJournal(const std::string& path);
/// Whether a sweep is writing the journal now.
bool journalBusy(const std::string& path);
/// A journal with these lines, whole or not at all. Error: bad_file.
Status writeJournal(const std::string& path, const nlohmann::ordered_json& head,
                    const std::vector<nlohmann::ordered_json>& lines);

class SweepJournal {
 public:
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  /// A new file with this head. Errors: sweep_exists, sweep_busy, bad_file.
  static Result<std::unique_ptr<SweepJournal>> create(const std::string& path, const nlohmann::ordered_json& head);
  /// Opens an existing journal. Errors: bad_file, sweep_busy, bad_journal (names the line). If even the head was torn,
  /// the journal is empty afterwards: the head is null, and the first appended line becomes the head.
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
