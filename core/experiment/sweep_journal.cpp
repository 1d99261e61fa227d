// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "core/api/part_file.h"
#include "core/files/fingerprint.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::size_t kSumDigits = 16;

std::string sum(std::string_view text) { return contentHash(std::as_bytes(std::span(text.data(), text.size()))); }

std::string lineOf(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return sum(text) + " " + text + "\n";
}

/// The JSON of a whole line; nothing if it is torn or damaged.
std::optional<Json> valueOf(std::string_view line) {
  if (line.size() < kSumDigits + 2 || line[kSumDigits] != ' ') return std::nullopt;
  const std::string_view text = line.substr(kSumDigits + 1);
  if (sum(text) != line.substr(0, kSumDigits)) return std::nullopt;
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
}

bool writeAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(file) == 0;
}

}  // namespace

SweepJournal::~SweepJournal() {
  if (m_file >= 0) ::close(m_file);
}

Error SweepJournal::failure(const std::string& why) const {
  return Error("bad_file", "cannot use the journal " + m_path, why,
               "check the folder, its permissions and the free space");
}

Status SweepJournal::lock(int flags) {
  m_file = ::open(m_path.c_str(), flags | O_CLOEXEC, 0644);
  if (m_file < 0 && errno == EEXIST)
    return Error("sweep_exists", "the sweep was not started", m_path + " holds another sweep or a part of this one",
                 "go on with --resume, or give another --out");
  if (m_file < 0) return failure(std::strerror(errno));
  if (::flock(m_file, LOCK_EX | LOCK_NB) == 0) return ok();
  return Error("sweep_busy", "the sweep was not started", "another one is writing " + m_path,
               "wait for it, or give another --out");
}

Result<std::unique_ptr<SweepJournal>> SweepJournal::create(const std::string& path, const Json& head) {
  std::unique_ptr<SweepJournal> journal(new SweepJournal(path));
  KV_TRY(journal->lock(O_RDWR | O_CREAT | O_EXCL | O_APPEND));
  KV_TRY(journal->append(head));
  syncFolderOf(path);
  return journal;
}

Result<std::unique_ptr<SweepJournal>> SweepJournal::open(const std::string& path) {
  std::unique_ptr<SweepJournal> journal(new SweepJournal(path));
  KV_TRY(journal->lock(O_RDWR | O_APPEND));
  KV_TRY(journal->read());
  return journal;
}

Status SweepJournal::read() {
  JournalLines found = KV_TRY(readJournal(m_path));
  m_head = std::move(found.head);
  m_lines = std::move(found.lines);
  if (!found.torn) return ok();
  const auto whole = static_cast<off_t>(found.bytes);
  if (::ftruncate(m_file, whole) != 0 || ::fsync(m_file) != 0) return failure(std::strerror(errno));
  return ok();
}

Result<JournalLines> readJournal(const std::string& path) {
  const std::string text = KV_TRY(readFile(path, "bad_file", kMostBytes));
  JournalLines out;
  for (int number = 1; out.bytes < text.size(); ++number) {
    const std::size_t end = text.find('\n', out.bytes);
    const bool last = end == std::string::npos || end + 1 == text.size();
    std::optional<Json> value =
        end == std::string::npos ? std::nullopt : valueOf(std::string_view(text).substr(out.bytes, end - out.bytes));
    if (!value && !last)
      return Error("bad_journal", "cannot use the journal " + path,
                   "line " + std::to_string(number) + " is damaged, and others follow it",
                   "start again with another --out");
    if (!value) break;
    if (number == 1) out.head = std::move(*value);
    else out.lines.push_back(std::move(*value));
    out.bytes = end + 1;
  }
  out.torn = out.bytes < text.size();
  return out;
}

bool journalBusy(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool busy = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return busy;
}

Status writeJournal(const std::string& path, const Json& head, const std::vector<Json>& lines) {
  std::string text = lineOf(head);
  for (const Json& line : lines) text += lineOf(line);
  return writeWhole(path, text);
}

Status SweepJournal::append(const Json& line) {
  if (m_head.is_null()) m_head = line;
  if (!m_failed && writeAll(m_file, lineOf(line))) return ok();
  m_failed = true;  // a line behind half a line would look like damage
  return failure(std::strerror(errno));
}

}  // namespace kvlab
