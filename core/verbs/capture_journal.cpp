// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/capture_session.h"

#include "core/api/log.h"
#include "core/session/state_hash.h"

namespace kvlab {
namespace {

using nlohmann::json;
constexpr std::int64_t kHashedBytes = std::int64_t{64} << 20, kCheapBytes = std::int64_t{1} << 20;
constexpr std::uint64_t kHashPeriod = 16;

std::int64_t liveBytes(const CacheState& state, const CacheStore& store) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : state.layers())
    bytes += store.pool(layer).stride() * static_cast<std::int64_t>(state.map(layer).size());
  return bytes;
}

/// The hash of the present state where the capture that somebody asked for is due for it, or where it costs next to
/// nothing; else empty.
std::string hashNow(const Session& session) {
  const CaptureLog* asked = session.history().capture();
  const bool due = asked && !asked->ended() && hashIsDue(asked->next(), session.state(), session.store());
  const bool cheap = liveBytes(session.state(), session.store()) < kCheapBytes;
  return due || cheap ? captureHash(session.state(), session.store()) : std::string();
}

CaptureCommand journey(const char* verb, json args, const Session& session) {
  return {verb, std::move(args), session.state().tick, 0};
}

/// The way from the place before the verb to the present one.
std::vector<CaptureCommand> wayHere(const Session& session, const CaptureMark& mark) {
  const Timeline& line = session.timeline();
  std::vector<CaptureCommand> out;
  std::int64_t back = line.entry(mark.current).depth - line.depth();
  if (line.branch() != mark.branch) {
    const Tick tick = line.current().tick;
    out.push_back(journey("goto", {{"tick", tick.value()}, {"branch", line.branch()}}, session));
    back = line.entry(line.find(tick)).depth - line.depth();
  }
  if (back != 0) out.push_back(journey(back > 0 ? "undo" : "redo", {{"n", std::abs(back)}}, session));
  return out;
}

void logJourney(Session& session, std::vector<CaptureCommand> way) {
  if (way.empty()) return;
  way.back().hash = hashNow(session);
  for (const CaptureCommand& one : way) session.history().log(one);
}

/// A recovery that does not have the branch to which the verb went begins anew with that branch.
bool beganAnew(Session& session, const CaptureMark& mark) {
  const History::Log& recovery = session.history().recovery();
  if (!recovery.file || recovery.branches || session.timeline().branch() == mark.branch) return false;
  if (const Status begun = startRecovery(session, recovery.file->path()); !begun) logWarning(begun.error().text());
  return true;
}

void appendDone(Session& session, const CaptureMark& mark, const std::string& verb, const json& args, bool done) {
  const Timeline& line = session.timeline();
  const json given = args.is_object() ? args : json::object();
  if (line.starts() != mark.starts)
    return session.history().log(CaptureCommand{verb, given, session.state().tick, 0, hashNow(session)});
  if (line.size() > mark.entries) {
    if (std::string hash = hashNow(session); !hash.empty()) session.history().logHash(std::move(hash));
    return;
  }
  if (beganAnew(session, mark)) return;
  if (line.currentId() != mark.current || line.branch() != mark.branch)
    return logJourney(session, wayHere(session, mark));
  if (done && bendsPasses(verb)) session.history().log(CaptureCommand{verb, given, session.state().tick, 0});
}

void tellFailures(const Session& session) {
  if (CaptureLog* file = session.history().capture())
    if (const auto failed = file->takeFailure()) logError(failed->text());
  if (CaptureLog* file = session.history().recovery().file.get())
    if (const auto failed = file->takeFailure())
      logWarning(failed->code + ": after a crash the session comes back as it was until here: " + failed->why);
}

}  // namespace

std::string captureHash(const CacheState& state, const CacheStore& store) { return stateHash(state, store, {}); }

bool hashIsDue(std::uint64_t record, const CacheState& state, const CacheStore& store) {
  return record % kHashPeriod == 0 || liveBytes(state, store) < kHashedBytes;
}

bool bendsPasses(std::string_view verb) { return verb == "bug"; }

CaptureMark markCapture(Session& session) {
  if (!session.history().logged() || session.history().replaying()) return {};
  const Timeline& line = session.timeline();
  return {true,
          line.size(),
          line.currentId(),
          line.starts(),
          line.branch(),
          session.notes().views(line),
          session.breakpoints().views(),
          session.watches().list(),
          session.pending()};
}

void appendCapture(Session& session, const CaptureMark& mark, const std::string& verb, const json& args, bool done) {
  if (!mark.live || !session.history().logged()) return;
  appendDone(session, mark, verb, args, done);
  const CaptureAside aside = asideSince(session, mark);
  if (!aside.empty()) session.history().log(aside);
  tellFailures(session);
}

}  // namespace kvlab
