// SPDX-License-Identifier: Apache-2.0
#include "core/lanes/lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/analysis/metrics.h"
#include "core/api/log.h"
#include "core/api/manifest_values.h"
#include "core/model/decoder/sampler.h"
#include "core/session/settings.h"
#include "core/session/ticks.h"
#include "core/session/truth.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
/// Example: "ring.window=32, kv.k=int8".
std::string labelOf(const json& changes) {
  std::string out;
  const json flat = changes.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (path.empty()) break;  // an empty object
    std::string key = path.substr(1);
    std::replace(key.begin(), key.end(), '/', '.');
    out += (out.empty() ? "" : ", ") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out.empty() ? "as the reference" : out;
}

/// A session that its owner gets back unless it is kept.
class Lent {
 public:
  Lent(std::unique_ptr<Session>& owner, std::unique_ptr<Session>& place) : m_owner(owner), m_place(&place) {
    place = std::move(owner);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    if (m_place) m_owner = std::move(*m_place);
  }
  void keep() { m_place = nullptr; }

 private:
  std::unique_ptr<Session>& m_owner;
  std::unique_ptr<Session>* m_place;
};

/// Microseconds of a session's last tick. The time that it takes to write the report as JSON does not count for the
/// lane.
double lastTickUs(const Session& session) {
  double end = 0;
  if (const auto& report = session.health().report)
    for (const Event& event : report->events) end = std::max(end, event.startUs + event.us);
  return end;
}

const std::vector<float>* logitsOf(const CacheState& state) {
  return state.logits && !state.logitsStale ? state.logits.get() : nullptr;
}

}  // namespace

/// The tokens that a session took in order, each with its ledger id and its loss, independent of later edits. Lanes
/// compare their residency by these tokens.
class LaneTokens {
 public:
  /// Starts with the live tokens of a state.
  void start(const CacheState& state) {
    m_taken = {};
    m_losses = {};
    m_placeOf.assign(state.ledger.size(), -1);
    for (const LedgerId id : state.context) take(id, state.ledger[id].surprise);
  }

  /// Adds the tokens appended since the last call. Returns false if tokens were taken back. before: the logits that
  /// the first of them was taken from, or null; `taken` becomes its loss by them, which is no number without both.
  bool follow(const CacheState& state, const std::vector<float>* before, double& taken) {
    taken = std::numeric_limits<double>::quiet_NaN();
    if (state.ledger.size() < m_placeOf.size()) return false;
    for (auto i = static_cast<std::int32_t>(m_placeOf.size()); i < state.ledger.nextId().value(); ++i) {
      const Source source = state.ledger[LedgerId(i)].source;
      const bool edit = source == Source::Replacement || source == Source::Insertion;
      if (!edit && before) taken = negativeLogLikelihood(*before, state.ledger[LedgerId(i)].token);
      if (edit) m_placeOf.push_back(-1);
      else take(LedgerId(i), before ? static_cast<float>(taken) : state.ledger[LedgerId(i)].surprise);
      if (!edit) before = nullptr;
    }
    return true;
  }

  /// Number of tokens in front of the first one that the state has taken back.
  std::size_t known(const CacheState& state) const {
    const LedgerId end = state.ledger.nextId();
    const auto gone = std::find_if(m_taken.begin(), m_taken.end(), [end](LedgerId id) { return id >= end; });
    return static_cast<std::size_t>(gone - m_taken.begin());
  }

  /// The same tokens, for another thread.
  LaneTokens ownCopy() const {
    LaneTokens out = *this;
    out.m_taken = m_taken.ownCopy();
    out.m_losses = m_losses.ownCopy();
    return out;
  }

  std::size_t size() const { return m_taken.size(); }
  const Column<LedgerId>& taken() const { return m_taken; }  // [tokens]
  const Column<float>& losses() const { return m_losses; }   // [tokens] -ln p, nats; NaN = not measured
  /// Index among the taken tokens, -1 = none.
  std::int32_t placeOf(LedgerId id) const { return at(id) < m_placeOf.size() ? m_placeOf[at(id)] : -1; }
  /// [tokens] 1 = the token's row is in the map.
  std::vector<std::uint8_t> residents(const ResidencyView& map) const {
    std::vector<std::uint8_t> out(m_taken.size());
    for (std::size_t i = at(map.first); i < map.size(); ++i)
      if (const std::int32_t place = placeOf(map.ledger[i]); place >= 0) out[at(place)] = 1;
    return out;
  }

 private:
  void take(LedgerId id, float loss) {
    m_placeOf.resize(std::max(m_placeOf.size(), at(id) + 1), -1);
    m_placeOf[at(id)] = static_cast<std::int32_t>(m_taken.size());
    m_taken.push_back(id);
    m_losses.push_back(loss);
  }

  Column<LedgerId> m_taken;
  Column<float> m_losses;
  std::vector<std::int32_t> m_placeOf;  // [ledger ids] index among the taken tokens, -1 = none
};

struct Lanes::Lane {
  int place = 0;
  std::string label;
  json changes;
  std::unique_ptr<Session> session;
  LaneTokens tokens;
  std::optional<LaneExit> exit = {};
  LaneFigures now = {};
  std::size_t common = 0;  // tokens that it took with the others, if it has left
  Samples kl = {}, dnll = {}, top1 = {}, massKept = {}, overlap = {}, us = {};  // one per tick

  struct Run {
    bool stepped = false;
    PassGroup::Outcome done = {};                           // the error that ended it, time and weights of the call
    std::shared_ptr<const std::vector<float>> before = {};  // the logits that the token was sampled from
    double loss = std::nan("");                             // -ln p of the first token taken, by `before`
    double ticked = 0;                                      // microseconds of the tick
  };
  Run run = {};  // the running commit

  const CacheState& state() const { return session->state(); }
  /// taken: tokens that all lanes took.
  void leave(Error error, std::size_t taken) {
    exit = LaneExit{state().tick, std::move(error)};
    common = taken;
  }
  std::size_t taken() const { return exit ? common : tokens.size(); }
};

Lanes::~Lanes() = default;

const Session& Lanes::session(int lane) const { return *m_lanes[at(lane)]->session; }
Session& Lanes::session(int lane) { return *m_lanes[at(lane)]->session; }

Result<std::unique_ptr<Lanes>> Lanes::make(const Session& origin, const std::vector<json>& changes,
                                           const LanesOptions& options) {
  Result<std::unique_ptr<Session>> reference = origin.fork();
  if (!reference) return in("lane", 0, reference.error());
  return around(*reference, changes, options);
}

Result<std::unique_ptr<Lanes>> Lanes::around(std::unique_ptr<Session>& reference, const std::vector<json>& changes,
                                             const LanesOptions& options) {
  std::unique_ptr<Lanes> lanes(new Lanes);
  lanes->m_lanes.push_back(std::make_unique<Lane>(Lane{0, "reference", json::object(), nullptr, {}}));
  Lane& first = *lanes->m_lanes.front();
  Lent lent(reference, first.session);
  first.tokens.start(first.state());
  keepAttention(*first.session);  // lanes are compared by it
  for (const json& change : changes)
    if (Status opened = lanes->open(*first.session, change); !opened) return in("lane", lanes->size(), opened.error());
  lanes->makeWide(options.together);
  KV_TRY(lanes->setNeedles(options.needles));
  silence(*first.session);
  lent.keep();
  return lanes;
}

Result<std::unique_ptr<Lanes>> Lanes::fork() const {
  std::unique_ptr<Lanes> copy(new Lanes);
  for (const auto& lane : m_lanes) {
    Result<std::unique_ptr<Session>> session = lane->session->fork();
    if (!session) return in("lane", lane->place, session.error());
    auto own = std::make_unique<Lane>(Lane{lane->place, lane->label, lane->changes, session.take(),
                                           lane->tokens.ownCopy(), lane->exit, lane->now, lane->common});
    own->kl = lane->kl, own->dnll = lane->dnll, own->top1 = lane->top1;
    own->massKept = lane->massKept, own->overlap = lane->overlap, own->us = lane->us;
    copy->m_lanes.push_back(std::move(own));
  }
  copy->m_needles = m_needles;
  copy->m_ticks = m_ticks;
  copy->makeWide(m_passes.wanted());
  copy->m_passes.setLast(m_passes.last());
  copy->publish();
  return copy;
}

std::unique_ptr<Session> Lanes::release(int lane) {
  m_passes.close();  // uses lane 0's backend
  Session& session = *m_lanes[at(lane)]->session;
  session.publisher().startAfter(m_snapshot ? m_serial : 0);
  session.publish();
  return std::move(m_lanes[at(lane)]->session);
}

Status Lanes::open(const Session& origin, const json& changes) {
  if (!changes.is_object())
    return Error("bad_manifest", "the lane was not opened", "its changes are not an object",
                 "give an object of manifest keys", "changes", changes);
  const Manifest own = settingsOf(origin.parts(), origin.state());
  Manifest manifest = KV_TRY(own.with(changes));
  const std::vector<std::string> idle = idleKeys(manifest, own);
  std::unique_ptr<Session> session = KV_TRY(origin.beside(std::move(manifest)));
  json ids = json::array();
  for (const LedgerId id : origin.state().context) ids.push_back(origin.state().ledger[id].token.value());
  if (!ids.empty())
    if (const std::optional<Error> failed = failureOf(execute(*session, "promptIds", {{"ids", ids}}))) return *failed;
  std::string label = labelOf(changes);
  if (!idle.empty()) label += " (without effect)";
  for (const std::string& one : idle) logWarning("lane " + std::to_string(size()) + ": " + one);
  m_lanes.push_back(std::make_unique<Lane>(Lane{size(), std::move(label), changes, std::move(session), {}}));
  m_lanes.back()->tokens.start(m_lanes.back()->state());
  return ok();
}

Status Lanes::usable() const {
  if (!m_lanes.front()->exit) return ok();
  return Error("out_of_step", "the lanes were not stepped",
               "the reference has left: " + m_lanes.front()->exit->error.text(), "read the report, or open new lanes");
}

Result<LanesTick> Lanes::feed(const std::string& verb, const json& args) {
  if (const VerbInfo* info = verbNamed(verb); !info || info->lanes != InLanes::Feeds)
    return Error("bad_argument", "the lanes were not fed", verb + " does not give the same tokens to every lane",
                 "call a verb that does, such as prompt or promptIds", "verb", verb);
  return commit([&](Lane& lane) { return failureOf(execute(*lane.session, verb, args)); }, {}, false);
}

Result<LanesTick> Lanes::step(const std::vector<TokenId>& forced) {
  KV_TRY(usable());
  std::vector<TokenId> tokens = forced;
  const Session& first = session(0);
  const bool block = forced.empty() && first.manifest().ring.blockTokens > 1;
  if (forced.empty() && !block) {
    TokenId next = KV_TRY(peek(*m_lanes.front()->session));
    tokens = {next};
  }
  const Job run = [&](Lane& lane) -> std::optional<Error> {
    Trace trace;
    KV_TRY(refreshLogits(*lane.session));
    lane.run.before = lane.state().logits;
    json args = json::object();
    if (lane.place > 0 || !forced.empty())  // lane 0 generates the peeked token again with its own sampler
      for (const TokenId token : tokens) args["tokens"].push_back(token.value());
    const Result<json> reports = execute(*lane.session, "step", args);
    lane.run.ticked = lastTickUs(*lane.session);
    if (block && lane.place == 0 && reports)
      for (const json& token : reports->back()["block"]) tokens.emplace_back(token.get<std::int32_t>());
    return failureOf(reports);
  };
  return commit(run, block ? "a block of tokens is known when lane 0 has generated all of it" : "", true);
}

/// Runs the job in every lane that is in step, then compares the lanes. apart: why passes are not made together, or
/// empty.
Result<LanesTick> Lanes::commit(const Job& job, std::string apart, bool tick) {
  KV_TRY(usable());
  const std::size_t before = m_lanes.front()->tokens.size();
  runAll(job, std::move(apart));
  if (tick && !m_passes.last().together)
    for (const auto& lane : m_lanes)
      if (lane->run.stepped) lane->run.done.us = lane->run.ticked;
  if (std::optional<Error> refused = settle()) {
    publish();
    return *refused;
  }
  LanesTick out;
  static_cast<PassReport&>(out) = m_passes.last();
  const Lane& first = *m_lanes.front();
  for (std::size_t i = before; i < first.tokens.size(); ++i) {
    out.tokens.push_back(first.state().ledger[first.tokens.taken()[i]].token);
    out.text += first.session->model().tokenizer().tokenText(out.tokens.back());
  }
  m_ticks += tick;
  measure(tick);
  for (const auto& lane : m_lanes) out.lanes.push_back({lane->run.stepped, lane->run.done.error, lane->now});
  publish();
  return out;
}

void Lanes::makeWide(bool together) {
  std::vector<Session*> all;
  for (const auto& lane : m_lanes) all.push_back(lane->session.get());
  m_passes.open(all, together);
}

/// Runs the job in every lane that is in step.
void Lanes::runAll(const Job& job, std::string apart) {
  std::vector<Lane*> stepped;
  std::vector<Session*> sessions;
  for (const auto& lane : m_lanes) {
    lane->run = {.stepped = !lane->exit};
    if (lane->exit) continue;
    stepped.push_back(lane.get());
    sessions.push_back(lane->session.get());
  }
  std::vector<PassGroup::Outcome> done = m_passes.run(
      sessions, [&](std::size_t i) { return job(*stepped[i]); }, std::move(apart));
  for (std::size_t i = 0; i < done.size(); ++i) stepped[i]->run.done = std::move(done[i]);
}

/// A lane that failed leaves. If all lanes failed, none leaves and the error is returned.
std::optional<Error> Lanes::settle() {
  const auto stepped = [](const auto& lane) { return lane->run.stepped; };
  const auto failed = [](const auto& lane) { return !lane->run.stepped || lane->run.done.error; };
  const bool all = std::all_of(m_lanes.begin(), m_lanes.end(), failed);
  for (const auto& lane : m_lanes) {
    if (!lane->run.stepped) continue;
    lane->tokens.follow(lane->state(), lane->run.before.get(), lane->run.loss);
    const std::size_t reference = m_lanes.front()->tokens.size();
    const bool behind = all && lane->tokens.size() != reference;  // its retry had added the token
    if (behind || (!all && lane->run.done.error))
      lane->leave(*lane->run.done.error, std::min(lane->tokens.size(), reference));
  }
  const auto first = std::find_if(m_lanes.begin(), m_lanes.end(), stepped);
  return all ? (*first)->run.done.error : std::nullopt;
}

/// Compares lanes in step with the present state of the reference.
void Lanes::measure(bool tick) {
  for (const auto& lane : m_lanes) {
    if (lane->exit) continue;
    compare(*lane);
    if (!tick) continue;
    lane->kl.add(lane->now.kl);
    lane->dnll.add(lane->now.dnll);
    lane->top1.add(lane->now.top1);
    lane->massKept.add(lane->now.meanMassKept());
    lane->overlap.add(lane->now.meanOverlap());
    lane->us.add(lane->now.us);
  }
}

/// Compares residency layer by layer. Neighbouring layers with the same maps reuse the same lists.
void Lanes::compareRows(Lane& lane) {
  const Lane& first = *m_lanes.front();
  const CacheState &reference = first.state(), &own = lane.state();
  const NewestAttention* seen =
      reference.attention && reference.attention->whole() ? reference.attention.get() : nullptr;
  std::vector<std::uint8_t> there, base, rows;
  const CacheLayers layers =
      (own.perLayer > 1 ? own : reference).cacheLayers();  // one of the two may have a layer per KV head
  const ResidencyView *ownMap = nullptr, *referenceMap = nullptr;
  for (const CacheLayer layer : layers.each()) {
    const CacheLayer seenIn = reference.cacheLayers().with(layer, layers);
    const ResidencyView *before = std::exchange(ownMap, &own.map(own.cacheLayers().with(layer, layers))),
                        *referenceBefore = std::exchange(referenceMap, &reference.map(seenIn));
    if (before != ownMap || referenceBefore != referenceMap) {
      there = lane.tokens.residents(*ownMap);
      base = first.tokens.residents(*referenceMap);
    }
    lane.now.overlap.push_back(jaccard(base, there));
    if (!m_needles.empty()) lane.now.needles.push_back(survival(there, m_needles));
    const std::size_t seenAt = at(seenIn);
    if (!seen || seenAt >= seen->mass.size() || seen->mass[seenAt].empty()) continue;
    const ResidencyView& map = *seen->maps[seenAt];
    rows.assign(seen->mass[seenAt].size(), 0);
    for (std::size_t i = 0; i <= map.size() && i < rows.size(); ++i) {
      // The entry behind the last row is the query itself, if the query has no row.
      const std::int32_t place =
          i < map.size() ? first.tokens.placeOf(map.ledger[i]) : static_cast<std::int32_t>(there.size()) - 1;
      rows[i] = place >= 0 && there[at(place)];
    }
    lane.now.massKept.push_back(massKept(seen->mass[seenAt], rows));
  }
}

void Lanes::compare(Lane& lane) {
  const Lane& first = *m_lanes.front();
  lane.now = {};
  lane.now.us = lane.run.done.us;
  lane.now.weightBytes = lane.run.done.weightBytes;
  const std::vector<float>*p = logitsOf(first.state()), *q = logitsOf(lane.state());
  if (p && q) {
    lane.now.kl = klDivergence(*p, *q);
    lane.now.top1 = likeliestToken(*p) == likeliestToken(*q);
  }
  lane.now.dnll = lane.run.loss - first.run.loss;
  compareRows(lane);
}

Status Lanes::setNeedles(std::vector<std::int32_t> places) {
  std::sort(places.begin(), places.end());
  const auto tokens = static_cast<std::int32_t>(m_lanes.front()->tokens.size());
  for (const std::int32_t place : places)
    if (place < 0 || place >= tokens)
      return Error("bad_argument", "the needles were refused",
                   "token " + std::to_string(place) + " is none of the " + std::to_string(tokens) + " that were taken",
                   "give places of tokens that the lanes have", "needles", place);
  m_needles = std::move(places);
  remeasure();
  return ok();
}

/// Compares again after a call that was no tick: residency may have changed, times and tokens have not.
void Lanes::remeasure() {
  for (const auto& lane : m_lanes) {
    if (lane->exit) continue;
    const LaneFigures last = lane->now;
    compare(*lane);
    lane->now.dnll = last.dnll;
    lane->now.us = last.us;
  }
  publish();
}

Status Lanes::there(int lane) const {
  if (lane >= 0 && lane < size()) return ok();
  return Error("bad_argument", "the lane was not called",
               "lane " + std::to_string(lane) + " is none of the " + std::to_string(size()),
               "give a lane from 0 to " + std::to_string(size() - 1), "lane", lane);
}

Result<json> Lanes::call(int lane, const std::string& verb, const json& args) {
  KV_TRY(there(lane));
  Lane& one = *m_lanes[at(lane)];
  const std::size_t before = one.tokens.size();
  const SnapshotPtr seen = one.session->snapshot();
  Result<json> result = execute(*one.session, verb, args);
  if (one.session->snapshot() == seen) return result;  // the verb only read
  double none = 0;
  const bool follows = one.tokens.follow(one.state(), nullptr, none);
  if (!one.exit && (!follows || one.tokens.size() != before))
    one.leave({"out_of_step", "the lane left the others",
               verb + (follows ? " gave it tokens of its own" : " took tokens back"),
               "step all lanes together, or open new lanes"},
              before);
  if (one.exit) one.common = std::min(one.common, one.tokens.known(one.state()));
  remeasure();
  return result;
}

void Lanes::publish() {
  auto view = std::make_shared<LanesView>();
  for (const auto& lane : m_lanes) {
    LaneView one{lane->label, lane->changes, lane->session->snapshot(), lane->exit, lane->now};
    one.kl = lane->kl.summary();
    one.dnll = lane->dnll.summary();
    one.top1 = lane->top1.summary();
    one.massKept = lane->massKept.summary();
    one.overlap = lane->overlap.summary();
    one.us = lane->us.summary();
    one.taken = lane->tokens.taken().prefix(lane->taken());
    one.losses = lane->tokens.losses().prefix(lane->taken());
    view->lanes.push_back(std::move(one));
  }
  view->ticks = m_ticks;
  view->weightBytes = m_passes.last().weightBytes;
  view->together = m_passes.last().together;
  view->apart = m_passes.last().apart;
  view->needles = m_needles;
  m_view = std::move(view);
  auto snapshot = std::make_shared<Snapshot>(*session(0).snapshot());
  snapshot->lanes = m_view;
  if (m_publish) snapshot->exactness = shownExactness(session(0));
  m_serial = std::max(m_serial, snapshot->serial) + 1;
  snapshot->serial = m_serial;
  m_snapshot = std::move(snapshot);
  if (m_publish) m_publish(m_snapshot);
}

}  // namespace kvlab
