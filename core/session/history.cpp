// SPDX-License-Identifier: Apache-2.0
#include "core/session/history.h"

#include <algorithm>
#include <new>

#include "core/session/edit_words.h"
#include "core/session/session.h"
#include "core/session/storage.h"
#include "core/state/commit.h"
#include "core/state/provenance.h"
#include "core/state/state_bytes.h"

namespace kvlab {
namespace {

/// Bytes of the rows that keep their slots for the state before a commit.
std::int64_t freedBytes(const LayerSlots& freed, const CacheStore& store) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : idRange<CacheLayer>(0, freed.size()))
    bytes += store.pool(layer).stride() * std::ssize(freed[at(layer)]);
  return bytes;
}

/// Bytes of the rows that an anchor of a state would have.
std::int64_t anchorRowBytes(const SessionParts& parts, const CacheState& state) {
  std::int64_t bytes = 0;
  for (const CacheLayer layer : parts.store.layers())
    bytes += parts.store.pool(layer).stride() * static_cast<std::int64_t>(state.map(layer).resident());
  return bytes;
}

/// A query pass over the rows of the state gives the logits that it has, bit for bit.
bool canAskAgain(const SessionParts& parts, const CacheState& state) {
  const Manifest& m = parts.manifest;
  const bool plain =
      !state.kind->derivesContext() && !state.policy && !m.faults && m.keyPhase == "on_read" && parts.backend->onHost();
  return plain && state.logits && !state.logitsStale &&
      std::ranges::all_of(state.groups, [&](const LayerGroup& group) { return state.complete(*group.map); });
}

/// The state without its logits, which are as many as the vocabulary has tokens. Its attention stays: conditions about
/// older states read it.
CacheState thin(const CacheState& state) {
  CacheState out = state;
  out.logits = nullptr;
  out.logitsStale = true;
  return out;
}

/// The nearest states stay whole.
void thinOlder(const Timeline& timeline, const SessionParts& parts) {
  constexpr int kWhole = 32;
  int id = timeline.currentId();
  for (int i = 0; i < kWhole && id >= 0; ++i) id = timeline.entry(id).parent;
  Timeline::Kept* const kept = id < 0 ? nullptr : timeline.entry(id).kept.get();
  if (kept && canAskAgain(parts, kept->state)) kept->state = thin(kept->state);
}

}  // namespace

std::shared_ptr<const Anchor> takeAnchor(const SessionParts& parts, const CacheState& state) {
  Anchor out{withoutSums(state), parts.manifest, rowsIn(parts, state)};
  for (const auto& rows : out.rows) out.bytes += std::ssize(rows);
  return std::make_shared<const Anchor>(std::move(out));
}

/// The only function that replaces the present state.
void History::become(CacheState state) {
  m_state = std::move(state);
  m_before.reset();
  m_passed = false;
  m_measured = {};
}

History::Beginning History::beginning(CacheState state) const {
  Timeline timeline = m_timeline.another();
  timeline.start(state, m_pools);
  return {std::move(state), std::move(timeline)};
}

void History::start(Beginning beginning) {
  m_timeline = std::move(beginning.timeline);
  become(std::move(beginning.state));
}

void History::startFrom(const History& other, CacheState state, bool along) {
  const Timeline& line = other.m_timeline;
  m_timeline = line.trunk(along ? line.tip() : line.currentId(), line.depth(), state, along);
  if (along) m_timeline.keepLike(line, other.m_pools, m_pools);
  become(std::move(state));
  m_passed = along && other.m_passed;
  m_execute = other.m_execute;
  m_kindOf = other.m_kindOf;
}

void History::turnTo(const History& other, int tip, SessionParts& parts) {
  forgetOlder(parts, true);
  m_timeline = other.m_timeline.trunk(tip, m_timeline.depth(), m_state, true);
  refine(m_state);
}

void History::anchor(const SessionParts& parts, bool tick) {
  const int last = m_timeline.anchored(m_timeline.currentId());
  const std::int64_t done = m_timeline.current().work - (last < 0 ? 0 : m_timeline.entry(last).work);
  const std::int64_t most = parts.manifest.historyBytes / 2;  // the rest is for kept states
  if (m_replaying || done < m_anchorWork || most == 0) return;
  const bool resumes = !m_verb.empty() || (tick && m_timeline.onlyTicks(m_timeline.currentId()));
  if (resumes && anchorRowBytes(parts, m_state) <= most / 4) m_timeline.setAnchor(takeAnchor(parts, m_state), most);
}

void History::commit(Commit commit, SessionParts& parts) {
  noteWriters(m_state, commit, m_timeline.depth() + 1);
  if (commit.state.read == m_state.read) commit.state.read = nullptr;  // it made no pass
  Timeline::Entry entry;
  entry.sort = m_kind.sort;
  if (!m_verb.empty()) entry.words = wordsOf(m_kind, m_verb, m_args, m_state, parts.model->tokenizer());
  if (m_kind.says && !entry.words.empty() && m_kind.sort == EditSort::Ticks) entry.sort = EditSort::Edit;
  entry.tick = commit.state.tick;
  const std::int64_t rows = commit.state.ledger.nextId().value() - m_state.ledger.nextId().value();
  entry.work = m_timeline.current().work + 1 + std::max<std::int64_t>(0, rows);
  entry.left = std::move(commit.left);
  if (commit.state.policy && commit.state.policy != m_state.policy) entry.decided = commit.state.policy->decided;
  auto kept = std::make_unique<Timeline::Kept>(Timeline::Kept{.state = withoutSums(commit.state)});
  kept->apart = commit.stored || parts.layouts.inPlace();
  if (!kept->apart) {
    kept->added = std::move(commit.added);
    kept->freed = std::move(commit.freed);
  }
  if (commit.stored) {
    kept->storedBefore = commit.stored;
    kept->stored = storedAs(parts);
  }
  const CacheState older = withoutSums(m_state);
  kept->bytes = bytesBeside(canAskAgain(parts, m_state) ? thin(older) : older, kept->state) +
      freedBytes(kept->freed, parts.store);
  const Records records = logged() && !m_replaying ? recordsOf(entry) : Records();
  m_timeline.roomForOne();
  // From here to the next state nothing fails.
  if (commit.stored) poolsChanged();
  kept->pools = m_pools;
  std::optional<KeptRows> log = parts.store.log().take();
  const bool whole = log.has_value();
  if (whole) kept->rows = std::move(*log);
  kept->bytes += kept->rows.bytes();
  entry.kept = std::move(kept);
  const bool first = !m_verb.empty();  // commit of its command
  entry.verb = std::exchange(m_verb, {});
  entry.args = std::exchange(m_args, nullptr);
  m_timeline.push(std::move(entry));
  CacheState before = std::move(m_state);
  m_beforePassed = m_passed;
  become(std::move(commit.state));
  m_before = std::move(before);
  if (m_commitsLeft > 0) --m_commitsLeft;
  if (!parts.decisions.empty()) parts.decisions.pop_front();
  if (logged() && !m_replaying) m_logged = first ? 1 : m_logged + 1;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (!records[i].empty()) (void)m_logs[i].file->write(records[i]);
  if (commit.severed || !whole) return forgetOlder(parts, !commit.severed);
  try {
    thinOlder(m_timeline, parts);
    makeRoom(parts, 0);
  } catch (const std::bad_alloc&) {  // the next commit makes room
  }
}

bool History::takeBack(SessionParts& parts) const {
  CacheStore& store = parts.store;
  if (!store.putBack()) return false;
  store.log().end();
  LayerSlots named = parts.layouts.heldBy(m_state);
  if (!parts.layouts.inPlace()) {  // else history keeps its rows apart
    const LayerSlots older = m_timeline.held(m_pools, named.size(), 0).slots;
    for (std::size_t layer = 0; layer < named.size(); ++layer)
      named[layer].insert(named[layer].end(), older[layer].begin(), older[layer].end());
  }
  parts.layouts.restart(store, m_state, named);
  return true;
}

/// A command is in the logs as soon as it has made a commit: a crash within a long one loses no tick.
History::Records History::recordsOf(const Timeline::Entry& entry) const {
  constexpr int kMostTicks = 1 << 24;  // as many as there will be commits
  std::vector<std::shared_ptr<const Decisions>> decided;
  if (entry.decided) decided.push_back(entry.decided);
  const auto record = [&](std::uint64_t number) {
    if (m_logged > 0 && m_verb.empty())
      return captureRecord(CaptureProgress{entry.tick, m_logged + 1, {}, decided}, number);
    const nlohmann::json ticks{{"n", kMostTicks}}, none = nlohmann::json::object();
    const nlohmann::json& args = m_verb.empty() ? ticks : m_args.is_object() ? m_args : none;
    return captureRecord(
        CaptureCommand{.verb = m_verb.empty() ? "step" : m_verb, .args = args, .tick = entry.tick, .decided = decided},
        number);
  };
  Records out;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (m_logs[i].file) out[i] = record(m_logs[i].file->next());
  return out;
}

void History::setApart(SessionParts& parts) {
  if (parts.layouts.inPlace()) return;                                  // they are apart
  if (m_state.kind->derivesContext()) return forgetOlder(parts, true);  // a draft has slots of its own
  m_timeline.setApart(parts.store);
  parts.layouts.restart(parts.store, m_state);
}

void History::leave(SessionParts& parts) {
  constexpr std::size_t kMostCopied = 2048;  // a tenth of a second
  if (!parts.layouts.inPlace() && !m_state.kind->derivesContext()) m_timeline.keepNewest(parts.store, kMostCopied);
  setApart(parts);
}

void History::refine(CacheState state) {
  m_timeline.refine(CacheState(state), m_pools);
  m_passed = false;
  m_state = std::move(state);
}

void History::standAgain(Stand stand) {
  m_pools = stand.pools;
  m_timeline.refine(std::move(stand.kept), m_pools);
  m_state = std::move(stand.state);
}

bool History::lies(int entry) const {
  const Timeline::Kept* const kept = m_timeline.entry(entry).kept.get();
  const bool there = kept && kept->pools == m_pools && !kept->state.kind->derivesContext();
  return there && m_timeline.liesInPools(entry);
}

void History::select(int entry, CacheState placed) {
  CacheState copy = placed;
  m_timeline.select(entry);
  m_timeline.refine(std::move(copy), m_pools);
  become(std::move(placed));
}

void History::beginCommand(std::string verb, nlohmann::json args) {
  m_kind = m_kindOf ? m_kindOf(verb) : CommandKind();
  m_verb = std::move(verb);
  m_args = std::move(args);
  if (m_verb.empty()) m_logged = 0;
}

std::vector<PastCommand> History::commands(int id, int from) const {
  std::vector<PastCommand> out;
  const std::vector<int> path = m_timeline.path(id, from);
  bool rest = false;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Timeline::Entry& entry = m_timeline.entry(path[i]);
    rest = rest || (out.empty() && entry.verb.empty());
    if (out.empty() || !entry.verb.empty())
      out.push_back({entry.verb.empty() ? "step" : entry.verb, entry.args, 0, path[i]});
    ++out.back().commits;
    out.back().last = path[i];
    out.back().decided.push_back(entry.decided);
  }
  if (rest) out.front().args = {{"n", out.front().commits}};  // see Timeline::onlyTicks()
  return out;
}

Result<nlohmann::json> History::executeAgain(Session& session, const PastCommand& command) {
  if (command.commits == 0) return m_execute(session, command.verb, command.args);
  m_commitsLeft = command.commits;
  session.parts().decisions.assign(command.decided.begin(), command.decided.end());
  Result<nlohmann::json> result = m_execute(session, command.verb, command.args);
  session.parts().decisions.clear();
  const std::int64_t left = std::exchange(m_commitsLeft, -1);
  if (left == 0 || !result) return left == 0 ? nlohmann::json(nullptr) : result;
  return Error(
      "not_replayed", command.verb + " could not be done again",
      "it made " + std::to_string(command.commits - left) + " of " + std::to_string(command.commits) + " commits",
      "a cancelled command or an armed fault cannot be executed again; start from a saved cache");
}

Timeline History::beginReplay(CacheState state, int entry) {
  Timeline again = m_timeline.another();
  again.start(state, m_pools, m_timeline.entry(entry).depth, m_timeline.anchorBytes());
  m_replaying = true;  // from here on nothing fails
  become(std::move(state));
  return std::exchange(m_timeline, std::move(again));
}

Timeline History::beginReplay(CacheStore& store) {
  Timeline again = m_timeline.takeKept(store);
  m_replaying = true;
  return std::exchange(m_timeline, std::move(again));
}

bool History::endReplay(Timeline kept, int id, std::optional<CacheState> back) {
  m_replaying = false;
  std::swap(m_timeline, kept);
  if (!back) return m_timeline.adopt(id, std::move(kept));
  select(id, std::move(*back));
  return false;
}

}  // namespace kvlab
