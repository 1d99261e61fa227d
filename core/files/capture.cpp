// SPDX-License-Identifier: Apache-2.0
#include "core/files/capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "core/api/part_file.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"
#include "core/model/files/mapped_file.h"
#include "core/model/files/strict_json.h"
#include "core/policy/policy.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::string_view kKind = "kvlab-capture ", kFirstLine = "kvlab-capture 3\n";
constexpr int kVersion = 3;
constexpr std::size_t kFrame = 12;  // length and checksum
constexpr std::size_t kMostPayload = std::size_t{256} << 20;

/// The entries of `args` with these names, where they say something.
json taken(const json& args, std::initializer_list<const char*> names) {
  json out = json::object();
  for (const char* name : names)
    if (args.contains(name) && !args[name].is_null() && args[name] != "") out[name] = args[name];
  return out;
}

json changeOf(const std::string& verb, const json& args) {
  if (verb == "setFormat") return {{"kv", taken(args, {"k", "v"})}};
  if (verb == "setCapacity") return {{"capacity", args.value("rows", json())}};
  return taken(args,
               {"layout", "policy", "after_edit", "executor", "sampling", "ring", "position", "check", "brightness"});
}

/// Commands of captures that older programs wrote, as this program has them: replaces the verbs that changed one
/// setting each by `settings`.
void toPresent(std::string& verb, json& args) {
  static constexpr const char* kOlder[] = {"setLayout", "setFormat", "setPolicy", "setCapacity", "setRules"};
  if (std::ranges::find(kOlder, verb) == std::end(kOlder)) return;
  json change = changeOf(verb, args);
  if (const json layer = args.value("layer", json()); !layer.is_null()) {
    change["match"] = layer;
    change = {{"layers", json::array({change})}};
  }
  if (args.contains("pending")) change["pending"] = args["pending"];
  verb = "settings";
  args = std::move(change);
}

std::string framed(const json& payload, std::uint64_t number) {
  const std::string text = payload.dump(-1, ' ', false, json::error_handler_t::replace);
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::uint64_t checksum = captureChecksum(text, number);
  std::string out(kFrame, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  std::memcpy(out.data() + sizeof length, &checksum, sizeof checksum);
  return out + text;
}

/// The version that a first line names; 0 = it is no first line of a capture.
int versionOf(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kFirstLine.size()));
  const bool line = text.size() == kFirstLine.size() && text.starts_with(kKind) && text.ends_with('\n');
  const char digit = line ? text[kKind.size()] : '0';
  return digit > '0' && digit <= '9' ? digit - '0' : 0;
}

Error badCapture(const std::string& file, const std::string& why, const std::string& field = {}) {
  return Error("bad_capture", "cannot read " + file, why, "use an undamaged copy of the capture", field);
}

// --- decisions of added policies

bool decides(const std::vector<std::shared_ptr<const Decisions>>& all) {
  return std::ranges::any_of(all, [](const auto& one) { return one != nullptr; });
}

json toJson(const std::vector<std::shared_ptr<const Decisions>>& all) {
  json out = json::array();
  for (const auto& decisions : all) {
    json& list = out.emplace_back(decisions ? json::array() : json());
    for (std::size_t i = 0; decisions && i < decisions->size(); ++i) {
      const Decided& from = (*decisions)[i];
      json& one = list.emplace_back(json{{"layer", from.layer.value()}});
      for (const LedgerId id : from.left) one["left"].push_back(id.value());
      if (from.budget) one["budget"] = *from.budget;
      if (!from.memory.empty()) one["memory"] = hexText(from.memory);
    }
  }
  return out;
}

bool isCount(const json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max();
}

/// None where it is no decision.
std::optional<Decided> decidedOf(const json& from) {
  const json layer = member(from, "layer"), budget = member(from, "budget"), memory = member(from, "memory"),
             left = member(from, "left");
  if (!isCount(layer) || !(left.is_null() || left.is_array()) || !std::ranges::all_of(left, isCount) ||
      !(budget.is_null() || isCount(budget)) || !(memory.is_null() || memory.is_string()))
    return std::nullopt;
  Decided out{CacheLayer(layer.get<std::int32_t>())};
  for (const json& id : left) out.left.push_back(LedgerId(id.get<std::int32_t>()));
  if (!budget.is_null()) out.budget = budget.get<std::int32_t>();
  if (memory.is_string()) {
    std::optional<std::string> bytes = bytesOfHex(memory.get<std::string>());
    if (!bytes) return std::nullopt;
    out.memory = std::move(*bytes);
  }
  return out;
}

std::optional<std::vector<std::shared_ptr<const Decisions>>> decisionsOf(const json& all) {
  std::vector<std::shared_ptr<const Decisions>> out;
  if (!all.is_null() && !all.is_array()) return std::nullopt;
  for (const json& list : all) {
    if (!list.is_null() && !list.is_array()) return std::nullopt;
    auto decisions = list.is_null() ? nullptr : std::make_shared<Decisions>();
    for (const json& one : list) {
      std::optional<Decided> decided = decidedOf(one);
      if (!decided) return std::nullopt;
      decisions->push_back(std::move(*decided));
    }
    out.push_back(std::move(decisions));
  }
  return out;
}

class CaptureReader {
 public:
  CaptureReader(std::span<const std::byte> bytes, const std::string& file) : m_bytes(bytes), m_file(file) {}

  Result<Capture> read() {
    m_version = versionOf(m_bytes);
    if (m_version == 0) return badCapture(m_file, "byte 0: it does not begin with \"kvlab-capture\" and a version");
    if (m_version > kVersion) return laterVersion();
    m_at = kFirstLine.size();
    const std::optional<std::string_view> first = next();
    if (!first) return badCapture(m_file, "record 0, the manifest, " + m_damage);
    KV_TRY(readHeader(*first));
    noteWhole();
    while (m_at < m_bytes.size()) {
      const std::size_t begin = m_at;
      const std::optional<std::string_view> text = next();
      if (!text) {
        m_capture.note = "record " + std::to_string(m_number) + " at byte " + std::to_string(begin) + " " + m_damage +
            "; the last " + std::to_string(m_bytes.size() - begin) + " bytes were dropped";
        break;
      }
      KV_TRY(readRecord(*text));
      noteWhole();
    }
    return std::move(m_capture);
  }

 private:
  Error laterVersion() const {
    return Error("bad_capture", "cannot read " + m_file,
                 "byte " + std::to_string(kKind.size()) + ": it has version " + std::to_string(m_version) +
                     ", and this program reads versions 1 to " + std::to_string(kVersion),
                 "open it with the program that wrote it, or a later one");
  }

  void noteWhole() {
    m_capture.bytes = m_at;
    m_capture.records = m_number;
  }

  /// The payload of the next record. If there is none, sets the note.
  std::optional<std::string_view> next() {
    if (m_bytes.size() - m_at < kFrame) return damaged("is cut short");
    std::uint32_t length;
    std::uint64_t checksum;
    std::memcpy(&length, m_bytes.data() + m_at, sizeof length);
    std::memcpy(&checksum, m_bytes.data() + m_at + sizeof length, sizeof checksum);
    if (length > m_bytes.size() - m_at - kFrame) return damaged("is cut short");
    const std::string_view text(reinterpret_cast<const char*>(m_bytes.data()) + m_at + kFrame, length);
    if (captureChecksum(text, m_number) != checksum) return damaged("does not match its checksum");
    m_begin = m_at;
    m_at += kFrame + length;
    ++m_number;
    return text;
  }

  std::nullopt_t damaged(const char* how) {
    m_damage = how;
    return std::nullopt;
  }

  /// The last record.
  std::string place() const { return "record " + std::to_string(m_number - 1) + " at byte " + std::to_string(m_begin); }
  Error bad(const std::string& why, const std::string& field = {}) const {
    return badCapture(m_file, place() + ": " + why, field);
  }

  Result<json> object(std::string_view text) const {
    Result<json> parsed = parseJson(text, m_file, "bad_capture", {.bytes = kMostPayload});
    if (!parsed) return bad(parsed.error().why);
    if (!parsed->is_object()) return bad("not an object");
    return parsed;
  }

  Status readHeader(std::string_view text) {
    const auto header = KV_TRY(object(text));
    for (const char* field : {"fingerprint", "numerics"})
      if (!header.value(field, json()).is_string()) return bad(std::string(field) + " is not text", field);
    KV_TRY(declare(header));
    const Result<Manifest> manifest = Manifest::fromJson(header.value("manifest", json()));
    if (!manifest) return bad(manifest.error().why, manifest.error().field);
    m_capture.header = {*manifest, header["fingerprint"].get<std::string>(), header["numerics"].get<std::string>()};
    return ok();
  }

  Status declare(const json& record) const {
    if (!record.contains("policies")) return ok();
    const Status declared = declarePolicies(record["policies"]);
    return declared ? ok() : bad(declared.error().why, "policies");
  }

  Status readRecord(std::string_view text) {
    const auto payload = KV_TRY(object(text));
    KV_TRY(declare(payload));
    if (m_version > 2 && !payload.contains("verb") && payload.contains("commits")) return readProgress(payload);
    if (m_version < 2 || !isAside(payload)) return readCommand(payload);
    Result<CaptureAside> aside = asideFromJson(payload);
    if (!aside) return bad(aside.error().why, aside.error().field);
    aside->after = m_capture.commands.size();
    aside->place = place();
    m_capture.asides.push_back(aside.take());
    return ok();
  }

  Status readCommand(const json& command) {
    CaptureCommand out;
    out.record = m_number - 1;
    const json verb = command.value("verb", json());
    if (!verb.is_string()) return bad("verb is not text", "verb");
    out.args = command.value("args", json::object());
    if (!out.args.is_object()) return bad("args is not an object", "args");
    CaptureProgress done = KV_TRY(progressOf(command));
    out.verb = verb.get<std::string>();
    toPresent(out.verb, out.args);
    out.tick = done.tick;
    out.commits = done.commits;
    out.hash = std::move(done.hash);
    out.decided = std::move(done.decided);
    m_capture.commands.push_back(std::move(out));
    return ok();
  }

  Status readProgress(const json& record) {
    CaptureProgress done = KV_TRY(progressOf(record));
    if (m_capture.commands.empty()) return bad("no command stands before it", "commits");
    CaptureCommand& command = m_capture.commands.back();
    if (done.commits < command.commits) return bad("it has fewer commits than the record before it", "commits");
    command.tick = done.tick;
    command.commits = done.commits;
    command.hash = std::move(done.hash);
    for (auto& one : done.decided) command.decided.push_back(std::move(one));
    return ok();
  }

  Result<CaptureProgress> progressOf(const json& record) const {
    const json hash = record.value("hash", json(""));
    if (!hash.is_string()) return bad("hash is not text", "hash");
    std::int64_t tick = 0, commits = 0;
    if (!whole(record, "tick", tick)) return bad("tick is not a whole number from 0", "tick");
    if (!whole(record, "commits", commits)) return bad("commits is not a whole number from 0", "commits");
    auto decided = decisionsOf(member(record, "decided"));
    if (!decided) return bad("decided is no list of decisions", "decided");
    return CaptureProgress{Tick(tick), commits, hash.get<std::string>(), std::move(*decided)};
  }

  static bool whole(const json& object, const char* field, std::int64_t& out) {
    const json value = object.value(field, json());
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= (std::uint64_t{1} << 53)) return false;
    out = value.get<std::int64_t>();
    return true;
  }

  std::span<const std::byte> m_bytes;
  const std::string& m_file;
  std::size_t m_at = 0, m_begin = 0;
  std::uint64_t m_number = 0;
  int m_version = 0;
  std::string m_damage;
  Capture m_capture;
};

}  // namespace

std::uint64_t captureChecksum(std::string_view payload, std::uint64_t number) {
  return XXH3_64bits_withSeed(payload.data(), payload.size(), number);
}

std::string captureStart(const CaptureHeader& header) {
  json payload{
      {"manifest", header.manifest.toJson()}, {"fingerprint", header.fingerprint}, {"numerics", header.numerics}};
  if (json all = addedPolicies(); !all.is_null()) payload["policies"] = std::move(all);
  return std::string(kFirstLine) + framed(payload, 0);
}

std::string captureRecord(const CaptureCommand& command, std::uint64_t number) {
  json payload{
      {"verb", command.verb}, {"args", command.args}, {"tick", command.tick.value()}, {"commits", command.commits}};
  if (!command.hash.empty()) payload["hash"] = command.hash;
  if (decides(command.decided)) payload["decided"] = toJson(command.decided);
  if (command.verb == "settings")
    if (json all = addedPolicies(); !all.is_null()) payload["policies"] = std::move(all);
  return framed(payload, number);
}

std::string captureRecord(const CaptureProgress& progress, std::uint64_t number) {
  json payload{{"tick", progress.tick.value()}, {"commits", progress.commits}};
  if (!progress.hash.empty()) payload["hash"] = progress.hash;
  if (decides(progress.decided)) payload["decided"] = toJson(progress.decided);
  return framed(payload, number);
}

std::string captureRecord(const CaptureAside& aside, std::uint64_t number) { return framed(toJson(aside), number); }

std::string captureFile(const Capture& capture, std::uint64_t& next) {
  std::string out = captureStart(capture.header);
  next = 1;
  auto aside = capture.asides.begin();
  for (std::size_t done = 0; done <= capture.commands.size(); ++done) {
    for (; aside != capture.asides.end() && aside->after <= done; ++aside) out += captureRecord(*aside, next++);
    if (done < capture.commands.size()) out += captureRecord(capture.commands[done], next++);
  }
  return out;
}

Result<Capture> parseCapture(std::span<const std::byte> bytes, const std::string& file) {
  return CaptureReader(bytes, file).read();
}

Result<Capture> openCapture(const std::string& path) {
  const auto file = KV_TRY(MappedFile::open(path));
  return parseCapture(file->bytes(), path);
}

/// Flushes an open file to the disk on a thread of its own, so that code that appends need not wait. Requests during a
/// flush share the next one. If the machine gives no thread, the system flushes when it likes. One owner.
class BackgroundSync {
 public:
  /// The file stays open for as long as this lives.
  explicit BackgroundSync(int file) : m_worker(std::make_unique<Worker>(file)), m_process(::getpid()) {
    try {
      m_worker->thread = std::thread([worker = m_worker.get()] { worker->run(); });
    } catch (const std::system_error&) {  // no thread is left
    }
  }
  /// Waits for a flush that was asked for.
  ~BackgroundSync() {
    if (::getpid() != m_process) {
      (void)m_worker.release();  // a condition that a thread waits for cannot be destroyed
      return;
    }
    {
      const std::lock_guard lock(m_worker->mutex);
      m_worker->ended = true;
    }
    m_worker->asked.notify_one();
    if (m_worker->thread.joinable()) m_worker->thread.join();
  }
  BackgroundSync(const BackgroundSync&) = delete;
  BackgroundSync& operator=(const BackgroundSync&) = delete;

  void ask() {
    {
      const std::lock_guard lock(m_worker->mutex);
      if (std::exchange(m_worker->wanted, true)) return;
    }
    m_worker->asked.notify_one();
  }

 private:
  struct Worker {
    explicit Worker(int opened) : file(opened) {}
    void run() {
      std::unique_lock lock(mutex);
      while (true) {
        asked.wait(lock, [this] { return wanted || ended; });
        if (!std::exchange(wanted, false)) return;
        lock.unlock();
        ::fdatasync(file);
        lock.lock();
      }
    }

    const int file;
    std::mutex mutex;  // guards the next three
    std::condition_variable asked;
    bool wanted = false, ended = false;
    std::thread thread;
  };
  std::unique_ptr<Worker> m_worker;
  const pid_t m_process;  // a fork of it has no such thread
};

Result<std::unique_ptr<CaptureLog>> CaptureLog::open(const std::string& path, const std::string& start,
                                                     std::uint64_t next) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && (S_ISFIFO(there.st_mode) || S_ISSOCK(there.st_mode)))
    return Error("bad_file", "cannot write " + path, "it is a pipe, and a capture that grows needs a file",
                 "name a file, or write a whole capture with saveCapture");
  PartFile part(path);
  part.append(start.data(), start.size());
  KV_TRY(part.publish());
  return std::unique_ptr<CaptureLog>(new CaptureLog(path, part.takeOver(), next));
}

Result<std::unique_ptr<CaptureLog>> CaptureLog::resume(const std::string& path, const Capture& capture) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(capture.bytes)) == 0)
    return std::unique_ptr<CaptureLog>(new CaptureLog(path, file, capture.records));
  const int why = errno;
  if (file >= 0) ::close(file);
  return Error("bad_file", "cannot write " + path, std::strerror(why),
               "check the folder, its permissions and the free space");
}

CaptureLog::CaptureLog(std::string path, int file, std::uint64_t next)
    : m_path(std::move(path)), m_file(file), m_next(next), m_sync(std::make_unique<BackgroundSync>(file)) {}

CaptureLog::~CaptureLog() {
  m_sync.reset();
  if (m_file >= 0) ::close(m_file);
}

CaptureLog::End CaptureLog::end() const {
  struct stat now {};
  const bool regular = m_file >= 0 && ::fstat(m_file, &now) == 0 && S_ISREG(now.st_mode);
  return {m_next, regular ? std::int64_t{now.st_size} : -1};
}

void CaptureLog::cutTo(const End& end) {
  if (m_file < 0 || end.bytes < 0 || m_next == end.next || ::ftruncate(m_file, end.bytes) != 0) return;
  ::lseek(m_file, end.bytes, SEEK_SET);
  m_next = end.next;
}

Status CaptureLog::write(const std::string& record) {
  if (m_file < 0) return ok();
  ++m_next;
  struct stat before {};
  const bool regular = ::fstat(m_file, &before) == 0 && S_ISREG(before.st_mode);
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t n = ::write(m_file, record.data() + done, record.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const Error error{"bad_file", "the capture " + m_path + " ends here", std::strerror(errno),
                        "free some space and start another capture"};
      if (regular && ::ftruncate(m_file, before.st_size) != 0) errno = 0;  // readers drop a torn record
      m_sync.reset();
      ::close(std::exchange(m_file, -1));
      m_failure = error;
      m_told = false;
      return error;
    }
    done += static_cast<std::size_t>(n);
  }
  m_sync->ask();
  return ok();
}

}  // namespace kvlab
