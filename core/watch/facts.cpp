// SPDX-License-Identifier: Apache-2.0
#include "core/watch/facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/model/decoder/sampler.h"

namespace kvlab {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A row that has a slot in a layer.
struct Row {
  CacheLayer layer;
  std::size_t index;  // in the map
  LedgerId id;
  Slot slot;
};

std::int32_t modelLayer(const CacheState& s, CacheLayer layer) { return s.cacheLayers().layerOf(layer).value(); }

/// True if a chosen layer has it; the first one that has ends the walk.
template <class F>
bool anyLayer(const CacheState& s, const Where& where, F&& has) {
  for (const CacheLayer layer : s.layers())
    if (where.meets(Key::ByLayer, modelLayer(s, layer)) && has(layer)) return true;
  return false;
}

/// Indices of a list of rows.
struct Stretch {
  std::size_t begin, end;
};

/// The indices at which the chosen rows of a list can stand. A list names a row at most once.
Stretch chosenIn(const Column<LedgerId>& list, const Where& where) {
  const std::optional<LedgerId> only = where.onlyRow();
  if (!only) return {0, list.size()};
  auto place = at(only->value());  // as long as no row has left
  if (place >= list.size() || list[place] != *only)
    place = static_cast<std::size_t>(std::find(list.begin(), list.end(), *only) - list.begin());
  return {place, std::min(place + 1, list.size())};
}

/// True if a chosen row has it; layer by layer, each in the order of its map.
template <class F>
bool anyRow(const CacheState& s, const Where& where, F&& has) {
  const ResidencyView* known = nullptr;  // layers share maps
  Stretch chosen{};
  return anyLayer(s, where, [&](CacheLayer layer) {
    const ResidencyView& map = s.map(layer);
    if (std::exchange(known, &map) != &map) chosen = chosenIn(map.ledger, where);
    for (std::size_t i = std::max(chosen.begin, at(map.first)); i < std::min(chosen.end, map.size()); ++i)
      if (where.meets(Key::ByLedger, map.ledger[i].value()) && where.meets(Key::BySlot, map.slotOf[i].value()) &&
          has(Row{layer, i, map.ledger[i], map.slotOf[i]}))
        return true;
    return false;
  });
}

/// Finds rows in a list of an older state. Rows that are asked for in their order are found one behind the other.
class Finder {
 public:
  Finder(const Column<LedgerId>& list, std::size_t first) : m_list(list), m_first(first), m_next(first) {}
  /// likely: an index at which the row may stand.
  std::optional<std::size_t> find(LedgerId id, std::size_t likely) {
    if (likely >= m_first && likely < m_list.size() && m_list[likely] == id) {
      m_next = likely + 1;
      return likely;
    }
    const auto begin = m_list.begin() + static_cast<std::ptrdiff_t>(m_first),
               next = m_list.begin() + static_cast<std::ptrdiff_t>(m_next);
    auto found = std::find(next, m_list.end(), id);
    if (found == m_list.end()) found = std::find(begin, next, id);
    if (found == m_list.end() || *found != id) return std::nullopt;
    m_next = static_cast<std::size_t>(found - m_list.begin()) + 1;
    return m_next - 1;
  }

 private:
  const Column<LedgerId>& m_list;
  std::size_t m_first, m_next;
};

/// A row now, and the index of the row in its layer before; none if it was not there.
using RowSince = bool (*)(const Sight&, const Row&, std::optional<std::size_t> then);

bool anyRowSince(const Sight& at, const Where& where, RowSince has) {
  if (!at.before.state) return false;
  const CacheState& before = *at.before.state;
  std::optional<Finder> finder;
  std::int32_t layer = -1;
  return anyRow(*at.now.state, where, [&](const Row& row) {
    if (std::exchange(layer, row.layer.value()) != row.layer.value())
      finder.emplace(before.map(row.layer).ledger, static_cast<std::size_t>(before.map(row.layer).first));
    return has(at, row, before.ledger.contains(row.id) ? finder->find(row.id, row.index) : std::nullopt);
  });
}

/// The largest of the known values.
class Largest {
 public:
  void add(double value) {
    if (std::isnan(m_value) || value > m_value) m_value = value;
  }
  double value() const { return m_value; }

 private:
  double m_value = kUnknown;
};

// --- of a state ---------------------------------------------------------------------------------------

double tick(const Sight& at, const Where&) { return static_cast<double>(at.now.state->tick.value()); }
double length(const Sight& at, const Where&) { return at.now.state->length(); }
double kl(const Sight& at, const Where&) { return at.now.kl; }

double attentionError(const Sight& at, const Where& where) {
  if (!at.now.errors) return kUnknown;
  return meanError(*at.now.errors, [&](int layer) { return where.meets(Key::ByLayer, layer); });
}

double rows(const Sight& at, const Where& where) {
  Largest out;
  anyLayer(*at.now.state, where,
           [&](CacheLayer layer) { return out.add(static_cast<double>(at.now.state->map(layer).resident())), false; });
  return out.value();
}

double slotNumber(const Sight& at, const Where& where) {
  Largest out;
  anyRow(*at.now.state, where, [&](const Row& row) { return out.add(row.slot.value()), false; });
  return out.value();
}

double phase(const Sight& at, const Where& where) {
  Largest out;
  anyRow(*at.now.state, where,
         [&](const Row& row) { return out.add(at.now.state->map(row.layer).phase(row.index).value()), false; });
  return out.value();
}

double position(const Sight& at, const Where& where) {
  const Column<LedgerId>& context = at.now.state->context;
  const Stretch chosen = chosenIn(context, where);
  for (std::size_t p = chosen.end; p-- > chosen.begin;)
    if (where.meets(Key::ByLedger, context[p].value())) return static_cast<double>(p);
  return kUnknown;
}

double brightness(const Sight& at, const Where& where) {
  Largest out;
  const CacheState& s = *at.now.state;
  const Stretch chosen = chosenIn(s.context, where);
  for (std::size_t p = chosen.begin; p < std::min(chosen.end, s.brightness.size()); ++p)
    if (where.meets(Key::ByLedger, s.context[p].value())) out.add(s.brightness[p]);
  return out.value();
}

std::string exactnessName(const Sight& at, const Where& where) {
  const SightState& now = at.now;
  std::string out;
  const Stretch chosen = chosenIn(now.state->context, where);
  for (std::size_t p = chosen.begin; now.exactness && p < std::min(now.exactness->size(), chosen.end); ++p) {
    if (!where.meets(Key::ByLedger, now.state->context[p].value())) continue;
    out = name((*now.exactness)[p]);
    if ((*now.exactness)[p] != Exactness::Exact) break;
  }
  return out;
}

// --- of a tick ----------------------------------------------------------------------------------------

bool invariant(const Sight& at, const Where&) { return at.named || (at.report && !at.report->violations.empty()); }
bool error(const Sight& at, const Where&) { return at.report && !at.report->ok; }
bool atStage(const Sight& at, const Where& where) {
  return at.stage && where.names(Key::ByStage) && where.meets(Key::ByStage, static_cast<double>(*at.stage));
}

double token(const Sight& at, const Where&) {
  return at.report && at.report->token ? at.report->token->value() : kUnknown;
}

std::string text(const Sight& at, const Where&) { return at.report ? at.report->text : std::string(); }

/// The surprise of the tick's single token under the logits of the state before.
double surprise(const Sight& at, const Where&) {
  const CacheState* before = at.before.state;
  const bool one = at.report && at.report->ok && at.report->token && at.report->block.size() <= 1;
  if (!one || !before || !before->logits || before->logitsStale) return kUnknown;
  return negativeLogLikelihood(*before->logits, *at.report->token);
}

double actions(const Sight& at, const Where&) {
  return at.report && at.report->ok ? static_cast<double>(at.report->actions.size()) : kUnknown;
}

/// Calls of(layer, row) for each row that the tick took from a layer.
template <class F>
void eachEviction(const Sight& at, const Where& where, F&& of) {
  if (!at.report) return;
  const auto take = [&](const Evict& one) {
    if (!where.meets(Key::ByLayer, one.layer.value())) return;
    for (const LedgerId id : one.ledger)
      if (where.meets(Key::ByLedger, id.value())) of(id);
  };
  std::for_each(at.report->left.begin(), at.report->left.end(), take);
  if (!at.report->ok) return;
  for (const Action& action : at.report->actions)
    if (const auto* evict = std::get_if<Evict>(&action)) take(*evict);
}

double evictions(const Sight& at, const Where& where) {
  double out = 0;
  eachEviction(at, where, [&](LedgerId) { ++out; });
  return at.report ? out : kUnknown;
}

bool evicted(const Sight& at, const Where& where) { return evictions(at, where) > 0; }

/// The token of some chosen row got one of the states in this tick.
template <RowState... Wanted>
bool became(const Sight& at, const Where& where) {
  if (!at.before.state) return false;
  const Ledger &then = at.before.state->ledger, &now = at.now.state->ledger;
  const auto is = [](RowState state) { return ((state == Wanted) || ...); };
  const Column<LedgerId>& context = at.before.state->context;
  const Stretch chosen = chosenIn(context, where);
  return std::any_of(context.begin() + chosen.begin, context.begin() + chosen.end, [&](LedgerId id) {
    return where.meets(Key::ByLedger, id.value()) && now.contains(id) && is(now[id].state) &&
        then[id].state != now[id].state;
  });
}

bool inexact(const SightState& state, std::size_t position) {
  return position < state.exactness->size() && (*state.exactness)[position] != Exactness::Exact;
}

bool stale(const Sight& at, const Where& where) {
  if (!at.before.exactness || !at.now.exactness) return false;
  const Column<LedgerId>& now = at.now.state->context;
  Finder before(at.before.state->context, 0);
  for (std::size_t p = 0; p < now.size(); ++p) {
    if (!inexact(at.now, p) || !where.meets(Key::ByLedger, now[p].value())) continue;
    const auto then = at.before.state->ledger.contains(now[p]) ? before.find(now[p], p) : std::nullopt;
    if (!then || !inexact(at.before, *then)) return true;
  }
  return false;
}

bool wrap(const Sight& at, const Where& where) {
  return at.before.state && anyLayer(*at.now.state, where, [&](CacheLayer layer) {
           const std::optional<RingState>&then = at.before.state->group(layer).ring,
                 &now = at.now.state->group(layer).ring;
           return then && now && now->wraps > then->wraps;
         });
}

bool hasMoved(const Sight& at, const Row& row, std::optional<std::size_t> then) {
  return then && at.before.state->map(row.layer).slotOf[*then] != row.slot;
}

bool computedAgain(const Sight& at, const Row& row) {
  const Column<std::int32_t>&then = at.before.state->group(row.layer).writers,
        &now = at.now.state->group(row.layer).writers;
  const auto id = kvlab::at(row.id.value());
  return id < then.size() && id < now.size() && then[id] != now[id];
}

bool moved(const Sight& at, const Where& where) { return anyRowSince(at, where, hasMoved); }

/// A row is written where it is new, has another slot, or was computed again.
bool written(const Sight& at, const Where& where) {
  return anyRowSince(at, where, [](const Sight& sight, const Row& row, std::optional<std::size_t> then) {
    return !then || hasMoved(sight, row, then) || computedAgain(sight, row);
  });
}

/// Attention of the newest query in the commit's own pass to a layer's rows; empty if the commit made none. Without a
/// layer in brackets it is the last one's.
template <class F>
void eachRead(const Sight& at, const Where& where, F&& of) {
  const CacheState& s = *at.now.state;
  if (!s.read || (at.before.state && s.read == at.before.state->read)) return;
  const NewestAttention& seen = at.now.read ? *at.now.read : *s.read;
  for (const CacheLayer layer : s.layers()) {
    const bool chosen = where.names(Key::ByLayer) ? where.meets(Key::ByLayer, modelLayer(s, layer))
                                                  : modelLayer(s, layer) == s.cacheLayers().last().value();
    const auto l = kvlab::at(layer);
    if (!chosen || l >= seen.mass.size() || l >= seen.maps.size() || !seen.maps[l]) continue;
    const ResidencyView& map = *seen.maps[l];
    const std::vector<float>& mass = seen.mass[l];
    const double equal = 1.0 / static_cast<double>(map.resident() + 1);  // the query's own row is read as well
    const Stretch part = chosenIn(map.ledger, where);
    for (std::size_t i = std::max(part.begin, kvlab::at(map.first)); i < std::min(part.end, mass.size()); ++i)
      if (where.meets(Key::ByLedger, map.ledger[i].value())) of(static_cast<double>(mass[i]), equal);
  }
}

double read(const Sight& at, const Where& where) {
  Largest out;
  eachRead(at, where, [&](double mass, double) { out.add(mass); });
  return out.value();
}

bool isRead(const Sight& at, const Where& where) {
  bool out = false;
  eachRead(at, where,
           [&](double mass, double equal) { out = out || mass > static_cast<double>(static_cast<float>(equal)); });
  return out;
}

/// Conversions of the chosen layers' rows, K and V together.
Conversions conversionsIn(const Sight& at, const Where& where) {
  std::vector<LayerConversions> chosen;
  if (at.report && at.report->ok)
    std::ranges::copy_if(at.report->conversions, std::back_inserter(chosen), [&](const LayerConversions& one) {
      return where.meets(Key::ByLayer, modelLayer(*at.now.state, one.layer));
    });
  return together(chosen);
}

template <std::int64_t Conversions::*Part>
double valueShare(const Sight& at, const Where& where) {
  const Conversions all = conversionsIn(at, where);
  return all.values > 0 ? static_cast<double>(all.*Part) / static_cast<double>(all.values) : kUnknown;
}

template <double Conversions::*Scale>
double scaleFigure(const Sight& at, const Where& where) {
  const Conversions all = conversionsIn(at, where);
  return all.scales > 0 ? all.*Scale : kUnknown;
}

constexpr Fact number(const char* name, const char* keys, Fact::Numbers of, const char* help, Need need = Need::None) {
  return {name, keys, help, of, nullptr, nullptr, need};
}
constexpr Fact tickNumber(const char* name, const char* keys, Fact::Numbers of, const char* help,
                          Fact::Flags flag = nullptr, Need need = Need::None) {
  return {name, keys, help, of, flag, nullptr, need, true};
}
constexpr Fact tickFlag(const char* name, const char* keys, Fact::Flags of, const char* help, Need need = Need::None) {
  return {name, keys, help, nullptr, of, nullptr, need, true};
}

constexpr std::array kFacts = {
    tickNumber("actions", "", actions, "actions that the tick applied"),
    number("attention_error", "layer", attentionError,
           "error of the newest token's attention over the resident rows, against all rows: the mean over layers and "
           "query heads",
           Need::Errors),
    number("brightness", "ledger", brightness, "brightness of a row"),
    tickFlag("changed", "ledger", became<RowState::Replaced, RowState::Deleted>,
             "the token of a row was replaced or deleted"),
    tickFlag("deleted", "ledger", became<RowState::Deleted>, "the token of a row was deleted"),
    tickFlag("error", "", error, "the tick failed"),
    tickFlag("evicted", "layer, ledger", evicted, "a row left a layer, by an action or through a window"),
    tickNumber("evictions", "layer, ledger", evictions, "rows that left layers in the tick"),
    Fact{"exactness", "ledger",
         "exact, context-evicted, context-edited, phase-shifted, inherited or loaded: how a row of the last layer "
         "stands "
         "to a rebuild",
         nullptr, nullptr, exactnessName, Need::Exactness},
    tickFlag("invariant", "", invariant, "a check found an invariant broken"),
    number("kl", "", kl, "drift from a rebuild: KL divergence of the next token, nats", Need::Kl),
    number("length", "", length, "tokens of the context"),
    tickFlag("moved", "layer, ledger, slot", moved, "a row has another slot than before", Need::Slots),
    tickNumber("nonfinite", "layer", valueShare<&Conversions::nonFinite>,
               "share of the values, K and V, that the tick converted to int8 or fp8 and that were no finite numbers"),
    number("phase", "layer, ledger, slot", phase, "rotary phase of a row's key"),
    number("position", "ledger", position, "position of a row in the context"),
    tickNumber("read", "layer, ledger", read,
               "share of the newest query's attention that a row gets, in the last layer unless one is named; as a "
               "condition: more than an equal share",
               isRead, Need::Attention),
    tickFlag("replaced", "ledger", became<RowState::Replaced>, "the token of a row was replaced"),
    number("rows", "layer", rows, "rows that a layer holds"),
    tickNumber(
        "saturated", "layer", valueShare<&Conversions::atMax>,
        "share of the values that the tick converted to int8 or fp8 and that got the largest code; each head and "
        "row has one at least"),
    tickNumber("scale_max", "layer", scaleFigure<&Conversions::scaleMax>,
               "largest scale of the rows that the tick converted to int8 or fp8"),
    tickNumber("scale_mean", "layer", scaleFigure<&Conversions::scaleMean>,
               "mean scale of the rows that the tick converted to int8 or fp8"),
    tickNumber("scale_min", "layer", scaleFigure<&Conversions::scaleMin>,
               "smallest scale of the rows that the tick converted to int8 or fp8"),
    number("slot", "layer, ledger, slot", slotNumber, "slot of a row", Need::Slots),
    tickFlag("stage", "stage", atStage, "the tick is stopped behind this stage", Need::Stage),
    tickFlag("stale", "ledger", stale, "a row of the last layer may come out differently from a rebuild from now on",
             Need::Exactness),
    tickNumber("surprise", "", surprise, "negative log-likelihood of the tick's one token, nats"),
    Fact{"text", "", "text of the tick's tokens", nullptr, nullptr, text, Need::None, true},
    number("tick", "", tick, "number of the tick"),
    tickNumber("token", "", token, "id of the tick's token"),
    tickFlag("wrap", "layer", wrap, "the pointer of a ring passed slot 0", Need::Slots),
    tickFlag("written", "layer, ledger, slot", written,
             "a row was written: it is new, has another slot, or was computed again", Need::Slots)};

}  // namespace

bool compares(double left, Compare how, double right) {
  switch (how) {
    case Compare::Equal: return left == right;
    case Compare::NotEqual: return left != right && !std::isnan(left) && !std::isnan(right);
    case Compare::GreaterEqual: return left >= right;
    case Compare::LessEqual: return left <= right;
    case Compare::Greater: return left > right;
    case Compare::Less: return left < right;
  }
  return false;
}

bool Where::names(Key key) const {
  return std::any_of(m_tests.begin(), m_tests.end(), [key](const Test& test) { return test.key == key; });
}

std::optional<LedgerId> Where::onlyRow() const {
  for (const Test& test : m_tests)
    if (test.key == Key::ByLedger && test.how == Compare::Equal && test.value >= 0 && test.value <= 2147483647.0 &&
        test.value == std::floor(test.value))
      return LedgerId(static_cast<LedgerId::rep>(test.value));
  return std::nullopt;
}

bool Where::meets(Key key, double value) const {
  return std::all_of(m_tests.begin(), m_tests.end(),
                     [&](const Test& test) { return test.key != key || compares(value, test.how, test.value); });
}

bool Fact::takes(Key key) const {
  return std::string_view(keys).find(kKeyNames[static_cast<std::size_t>(key)]) != std::string_view::npos;
}

std::span<const Fact> facts() { return kFacts; }

const Fact* findFact(const std::string& name) {
  const auto found = std::find_if(kFacts.begin(), kFacts.end(), [&](const Fact& one) { return one.name == name; });
  return found == kFacts.end() ? nullptr : &*found;
}

}  // namespace kvlab
