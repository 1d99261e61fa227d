// SPDX-License-Identifier: Apache-2.0
#include "core/session/row_story.h"

#include <algorithm>
#include <array>

#include "core/api/column.h"
#include "core/api/json_values.h"
#include "core/model/decoder/frequencies.h"
#include "core/session/decisions.h"
#include "core/session/look_back.h"

namespace kvlab {
namespace {

constexpr std::array kNames = {"loaded",    "computed", "rebuilt", "turned",       "copied",
                               "converted", "damaged",  "left",    "became_stale", "became_exact"};

/// Index of a row among those that have a slot in a layer; none if it has none.
std::optional<std::size_t> placeOf(const ResidencyView& map, LedgerId row) {
  const auto found = std::find(map.ledger.begin(), map.ledger.end(), row);
  const auto place = static_cast<std::size_t>(found - map.ledger.begin());
  return map.has(place) ? std::optional(place) : std::nullopt;
}

bool sameStart(const LayerGroup& before, const LayerGroup& now) {
  return now.window == before.window && now.map->first == before.map->first &&
      continues(now.map->ledger, before.map->ledger) && continues(now.map->phases, before.map->phases) &&
      continues(now.provenance, before.provenance);
}

/// True if a commit only appended rows, so that all others are as exact as they were.
bool onlyGrew(const ModelConfig& model, const CacheState& before, const CacheState& now) {
  if (now.kind->derivesContext() || before.groups.size() != now.groups.size() ||
      !continues(now.context, before.context))
    return false;
  if (turnWord(model, before.reach()) != turnWord(model, now.reach())) return false;
  for (std::size_t g = 0; g < now.groups.size(); ++g)
    if (!sameStart(before.groups[g], now.groups[g])) return false;
  return std::ranges::equal(before.pasts, now.pasts,
                            [](const Column<RowPast>& a, const Column<RowPast>& b) { return a.sharesWith(b); });
}

/// The exactness of each row of a state, compared with a rebuild.
class Verdicts {
 public:
  Verdicts(const Session& session, const CacheState& state)
      : m_state(state), m_map(session.kind().exactness(session.parts(), state)) {}

  /// None for a row that is not in the context.
  std::optional<Exactness> of(CacheLayer layer, LedgerId row) const {
    const std::optional<std::size_t> place = positionOf(row);
    if (!place) return std::nullopt;
    return *place < m_map.layers[at(layer)].size() ? m_map.layers[at(layer)][*place] : Exactness::Exact;
  }
  /// The earliest inexact row that a row saw in a layer.
  LedgerId seenBy(CacheLayer layer, LedgerId row) const {
    const std::int32_t seen = m_map.inherited[at(layer)][*positionOf(row)];
    return seen < 0 ? LedgerId(-1) : m_state.context[at(seen)];
  }

 private:
  std::optional<std::size_t> positionOf(LedgerId row) const {
    const auto found = std::find(m_state.context.begin(), m_state.context.end(), row);
    if (found == m_state.context.end()) return std::nullopt;
    return static_cast<std::size_t>(found - m_state.context.begin());
  }

  const CacheState& m_state;
  ExactnessMap m_map;
};

bool loads(const std::string& verb) { return verb == "loadCache"; }

class Story {
 public:
  Story(Session& session, CacheLayer layer, LedgerId row) : m_session(session), m_layer(layer), m_row(row) {}

  Result<std::vector<RowChapter>> tell() {
    const Timeline& line = m_session.timeline();
    const LedgerRow& row = m_session.state().ledger[m_row];
    const std::vector<int> path = line.path(line.currentId());
    // A native file brings its own count of ticks, so that they need not ascend.
    const auto before =
        std::find_if(path.rbegin(), path.rend(), [&](int id) { return line.entry(id).tick < row.born; });
    const int first = before == path.rend() ? path.front() : *before;
    LookBack back(m_session, [](Need need) { return need == Need::Slots; });
    KV_TRY(back.forward(first, line.currentId(), [&](const Sight& seen, int entry) { commit(seen, entry); }));
    const ResidencyView& map = m_session.state().group(m_layer).stored();
    if (const std::optional<std::size_t> place = placeOf(map, m_row); place && !m_chapters.empty())
      m_chapters.back().slot = map.slotOf[*place];  // executed again, it may have got another one
    return std::move(m_chapters);
  }

 private:
  void commit(const Sight& seen, int entry) {
    const CacheState &before = *seen.before.state, &now = *seen.now.state;
    const ResidencyView &then = mapOf(before), &map = mapOf(now);
    const std::optional<std::size_t> from = placeOf(then, m_row), to = placeOf(map, m_row);
    if (from && m_chapters.empty()) add(0, RowEvent::Loaded, then, *from, true);  // there before all commits
    m_entry = entry;
    if (to) held(before, now, then, map, from, *to);
    else if (from) add(entry, RowEvent::Left, map, std::nullopt, false, whyGone(seen, now));
    else passedBy(before, now, map);
    if (to) judge(before, now, from.has_value());
  }

  /// A native file brings its own ledger: before that, the number was another row's, and the map is as good as empty.
  const ResidencyView& mapOf(const CacheState& state) const {
    static const ResidencyView kNone;
    const LedgerRow& row = m_session.state().ledger[m_row];
    const bool same =
        state.ledger.contains(m_row) && state.ledger[m_row].born == row.born && state.ledger[m_row].token == row.token;
    return same ? state.group(m_layer).stored() : kNone;
  }

  void held(const CacheState& before, const CacheState& now, const ResidencyView& then, const ResidencyView& map,
            std::optional<std::size_t> from, std::size_t to) {
    const LayerGroup &old = before.group(m_layer), &group = now.group(m_layer);
    const auto id = at(m_row.value());
    const std::int32_t depth = m_session.timeline().entry(m_entry).depth;
    const bool wrote = id < group.writers.size() && group.writers[id] == depth;
    const bool turned = from && then.phase(*from) != map.phase(to);
    if (!wrote && !turned && from) return;
    const Timeline::Entry& made = commandOf(m_entry);
    const std::string& verb = made.verb;
    const bool again = from && id < old.provenance.size() && id < group.provenance.size() &&
        !(old.provenance[id] == group.provenance[id]);
    RowEvent event = RowEvent::Computed;
    if (!from) event = loads(verb) ? RowEvent::Loaded : RowEvent::Computed;
    else if (verb == "fault") event = RowEvent::Damaged;
    else if (verb == "rebuild") event = RowEvent::Rebuilt;
    else if (converts(made)) event = RowEvent::Converted;
    else if (again) event = RowEvent::Computed;
    else if (turned) event = RowEvent::Turned;
    else if (then.slotOf[*from] != map.slotOf[to]) event = RowEvent::Copied;
    std::string detail;
    if (turned) detail = "phase " + text(then.phase(*from)) + " to " + text(map.phase(to));
    add(m_entry, event, map, to, wrote, std::move(detail));
  }

  void judge(const CacheState& before, const CacheState& now, bool wasThere) {
    if (wasThere && onlyGrew(m_session.model().config(), before, now)) return;
    const std::optional<Exactness> is = Verdicts(m_session, now).of(m_layer, m_row);
    if (!is || *is == m_exact) return;
    const bool stale = *is != Exactness::Exact && *is != Exactness::Loaded;
    m_exact = *is;
    RowChapter next = m_chapters.back();
    if (next.event == RowEvent::Loaded && m_exact == Exactness::Loaded) {
      m_chapters.back().exactness = m_exact;
      return;
    }
    next.entry = m_entry;
    next.event = stale ? RowEvent::BecameStale : RowEvent::BecameExact;
    next.wrote = false;
    next.exactness = m_exact;
    next.detail = stale ? std::string(name(m_exact)) : "";
    m_chapters.push_back(std::move(next));
  }

  void add(int entry, RowEvent event, const ResidencyView& map, std::optional<std::size_t> place, bool wrote,
           std::string detail = {}) {
    RowChapter one{.entry = entry, .event = event, .wrote = wrote, .exactness = m_exact, .detail = std::move(detail)};
    if (place) {
      one.slot = map.slotOf[*place];
      one.phase = map.phase(*place).value();
    }
    m_chapters.push_back(std::move(one));
  }

  /// The way in which the row left: by the ledger, or because the layer gave it up.
  std::string whyGone(const Sight& seen, const CacheState& now) const {
    const RowState state = now.ledger[m_row].state;
    const bool layersAlone = state == RowState::Live || state == RowState::LeftWindow || state == RowState::Evicted;
    if (!layersAlone) return std::string(name(state));
    const Timeline::Entry& entry = m_session.timeline().entry(m_entry);
    const auto names = [&](const Evict& one) {
      const CacheLayers& layers = m_session.cacheLayers();
      return one.layer == layers.layerOf(m_layer) && std::ranges::find(one.ledger, m_row) != one.ledger.end();
    };
    if (std::ranges::any_of(entry.left, names)) return "left_window";
    if (seen.report && now.policy)
      for (const Action& action : seen.report->actions)
        if (const auto* evict = std::get_if<Evict>(&action); evict && names(*evict))
          if (const std::string by = evictedBy(*seen.before.state, now); !by.empty()) return by;
    return "evicted";
  }

  /// The commit computed the row, and its policy dropped it at once.
  void passedBy(const CacheState& before, const CacheState& now, const ResidencyView& map) {
    if (&map != &now.group(m_layer).stored()) return;
    const std::string by = evictedBy(before, now);
    if (by.empty()) return;
    add(m_entry, RowEvent::Computed, map, std::nullopt, false);
    add(m_entry, RowEvent::Left, map, std::nullopt, false, by);
  }

  /// "evicted by h2o in tick 12: score 0.0121, rank 41 of 41, ...; row 41 left the window with score 0.304 and stayed";
  /// empty where no policy dropped the row.
  std::string evictedBy(const CacheState& before, const CacheState& now) const {
    std::optional<LayerDecision> made = LayerDecision::of(&before, now, m_layer);
    const std::optional<RowDecision> one = made ? made->about(m_row) : std::nullopt;
    if (!one || one->verdict != Verdict::Dropped) return {};
    const std::string out = "evicted" + decisionWords(*one).substr(name(one->verdict).size());
    const std::vector<Contest>& contests = now.policy->audit.layers[at(m_layer)].contests;
    const auto lost = std::ranges::find(contests, m_row, &Contest::loser);
    if (lost == contests.end()) return out;
    if (lost->challenger == m_row) return out + "; it had just left the window";
    return out + "; row " + std::to_string(lost->challenger.value()) + " left the window with score " +
        numberWords(static_cast<double>(lost->challengerScore), 3) + " and stayed";
  }

  const Timeline::Entry& commandOf(int entry) const {
    const Timeline& line = m_session.timeline();
    return line.entry(line.commandOf(entry));
  }
  static bool converts(const Timeline::Entry& made) {
    const auto names = [&](const char* key) { return made.args.is_object() && made.args.contains(key); };
    return made.verb == "settings" && (names("kv") || names("layout") || names("layers"));
  }
  static std::string text(Phase phase) {
    std::string out = std::to_string(phase.value());
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
    return out;
  }

  Session& m_session;
  CacheLayer m_layer;
  LedgerId m_row;
  std::vector<RowChapter> m_chapters;
  Exactness m_exact = Exactness::Exact;
  int m_entry = 0;
};

/// Follows inherited inexactness to the row where it began, which lies in an earlier layer each time.
void follow(const Session& session, RowCause& out) {
  const Verdicts now(session, session.state());
  for (CacheLayer layer = out.layer;; layer = out.layer) {
    const LedgerId row = out.rows.back();
    for (const CacheLayer one : session.state().layers()) {
      out.first = now.of(one, row).value_or(Exactness::Exact);
      out.layer = one;
      if (out.first != Exactness::Exact || one == layer) break;
    }
    const LedgerId seen = out.first == Exactness::Inherited ? now.seenBy(out.layer, row) : LedgerId(-1);
    if (seen.value() < 0) return;
    out.rows.push_back(seen);
  }
}

}  // namespace

std::string_view name(RowEvent event) { return kNames[static_cast<std::size_t>(event)]; }

Result<std::vector<RowChapter>> rowStory(Session& session, CacheLayer layer, LedgerId row) {
  return Story(session, layer, row).tell();
}

Result<RowCause> whyInexact(Session& session, CacheLayer layer, LedgerId row) {
  RowCause out{.rows = {row}, .layer = layer};
  out.exactness = Verdicts(session, session.state()).of(layer, row).value_or(Exactness::Exact);
  if (out.exactness == Exactness::Exact) return out;
  follow(session, out);
  const LedgerId origin = out.rows.back();
  LookBack back(session, [](Need) { return false; });
  out.entry = KV_TRY(back.lastOf(session.timeline().currentId(), [&](const Sight& seen, int) {
    const auto exactIn = [&](const CacheState& state) {
      const std::optional<Exactness> is =
          state.ledger.contains(origin) ? Verdicts(session, state).of(out.layer, origin) : std::nullopt;
      return is.value_or(Exactness::Exact) == Exactness::Exact;
    };
    const bool there = seen.before.state->ledger.contains(origin);
    if (there && onlyGrew(session.model().config(), *seen.before.state, *seen.now.state)) return false;
    return exactIn(*seen.before.state) && !exactIn(*seen.now.state);
  }));
  return out;
}

Result<std::vector<RowRead>> rowReads(Session& session, Layer layer, LedgerId row) {
  const Expression read = KV_TRY(Expression::parse("read(ledger==" + std::to_string(row.value()) +
                                                   ", layer==" + std::to_string(layer.value()) + ")"));
  const Timeline& line = session.timeline();
  const std::vector<int> path = line.path(line.currentId());
  const Tick born = session.state().ledger[row].born;
  const auto first = std::ranges::lower_bound(path, born, {}, [&](int id) { return line.entry(id).tick; });
  std::vector<RowRead> out;
  LookBack back(session, [&](Need need) { return read.needs(need); });
  KV_TRY(back.forward(first == path.begin() ? path.front() : *std::prev(first), line.currentId(),
                      [&](const Sight& seen, int entry) {
                        const double mass = std::get<double>(read.value(seen));
                        if (mass > 0) out.push_back({entry, mass});
                      }));
  return out;
}

}  // namespace kvlab
