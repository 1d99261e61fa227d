// SPDX-License-Identifier: Apache-2.0
// Capture files (.kvcap) record the commands of a session for replay. Append-only:
//   "kvlab-capture 3\n", then records: u32 length, u64 XXH3-64 of the payload seeded with the
//   record's number, payload (JSON, UTF-8); little-endian, nothing between records.
// Record 0 is {"manifest", "fingerprint" of the model, "numerics"}, every later one a command
//   {"verb", "args", "tick" after it, "commits" it made, "hash"?, "decided"?}
// or how far the command before it has come, while its session goes on
//   {"tick", "commits", "hash"?, "decided"?}
// or tells of notes, breakpoints, watches and pending actions (capture_aside.h). Version 1 had commands only, version 2
// no records of how far a command has come and of pending actions; both are read as well.
// decided has what policies whose rules come from outside decided, so that a replay needs no rules: for each commit of
// the record null or a list of {"layer", "left": [ledger ids]?, "budget"?, "memory": hexadecimal?}. The header, and
// records that come later, may have "policies": what declarePolicies() reads (core/policy/policy.h).
// hash is the state hash after the command, without pending actions. A file may end anywhere: the reader ignores bytes
// after the last whole record and names them in a note. A whole record with invalid content is an error (code
// bad_capture) that names record and byte. Values; any thread.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/api/manifest.h"
#include "core/files/capture_aside.h"
#include "core/state/policy_state.h"

namespace kvlab {

struct CaptureCommand {
  std::string verb;
  nlohmann::json args = nlohmann::json::object();
  Tick tick;
  std::int64_t commits = 1;                                    // fewer if the command was stopped or partly taken back
  std::string hash = {};                                       // empty = not recorded
  std::uint64_t record = 0;                                    // number of its record in the file that it was read from
  std::vector<std::shared_ptr<const Decisions>> decided = {};  // [commits], or empty if there are none
};

/// The progress of the last command of a file.
struct CaptureProgress {
  Tick tick;
  std::int64_t commits = 0;
  std::string hash = {};                                       // empty = not recorded
  std::vector<std::shared_ptr<const Decisions>> decided = {};  // of the commits since the record before, if there are
};

struct CaptureHeader {
  Manifest manifest;
  std::string fingerprint, numerics;
};

struct Capture {
  CaptureHeader header;
  std::vector<CaptureCommand> commands;
  std::vector<CaptureAside> asides = {};  // in the order of the file
  std::string note = {};                  // names ignored bytes; empty = none
  std::size_t bytes = 0;                  // up to the end of the last whole record
  std::uint64_t records = 0;              // whole records, the header included
};

/// Bytes of a file's start (first line and record 0), and of a later record (from 1).
std::string captureStart(const CaptureHeader& header);
std::string captureRecord(const CaptureCommand& command, std::uint64_t number);
std::string captureRecord(const CaptureProgress& progress, std::uint64_t number);
std::string captureRecord(const CaptureAside& aside, std::uint64_t number);
/// Bytes of a whole file; `next` receives the number of the next record. The asides stand in the order of their places.
std::string captureFile(const Capture& capture, std::uint64_t& next);
std::uint64_t captureChecksum(std::string_view payload, std::uint64_t number);

Result<Capture> parseCapture(std::span<const std::byte> bytes, const std::string& file);
/// Errors: bad_file (missing, unreadable), bad_capture.
Result<Capture> openCapture(const std::string& path);

class BackgroundSync;

/// A capture file that grows with its session. Every append is one write, so a crash loses at most the record being
/// written; another thread brings it to the disk, so that nobody waits. A record that the disk does not take is cut off
/// again. One owner.
class CaptureLog {
 public:
  /// Creates a file that holds `start` (header and commands so far); replaces an existing file.
  static Result<std::unique_ptr<CaptureLog>> open(const std::string& path, const std::string& start,
                                                  std::uint64_t next);
  /// Continues a file that was read: drops the bytes after its whole records. Error: bad_file.
  static Result<std::unique_ptr<CaptureLog>> resume(const std::string& path, const Capture& capture);
  ~CaptureLog();
  CaptureLog(const CaptureLog&) = delete;
  CaptureLog& operator=(const CaptureLog&) = delete;

  const std::string& path() const { return m_path; }
  std::uint64_t next() const { return m_next; }  // number of the next record
  /// Error (code bad_file); after an error nothing more is written.
  template <class Record>
  Status append(const Record& record) {
    return write(captureRecord(record, m_next));
  }
  /// The same for a record that captureRecord() has made with the number next(). Needs no memory.
  Status write(const std::string& record);
  /// The end of the file.
  struct End {
    std::uint64_t next = 0;
    std::int64_t bytes = 0;
  };
  End end() const;
  /// Cuts off everything that was appended since.
  void cutTo(const End& end);
  /// An error has ended it.
  bool ended() const { return m_file < 0; }
  /// That error.
  const std::optional<Error>& failure() const { return m_failure; }
  /// The same, once.
  std::optional<Error> takeFailure() { return std::exchange(m_told, true) ? std::nullopt : m_failure; }

 private:
  CaptureLog(std::string path, int file, std::uint64_t next);

  std::string m_path;
  int m_file;
  std::uint64_t m_next;
  std::optional<Error> m_failure;
  bool m_told = true;  // takeFailure() has nothing new
  std::unique_ptr<BackgroundSync> m_sync;
};

}  // namespace kvlab
