// SPDX-License-Identifier: Apache-2.0
#include "core/policy/pruner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/edit/edit_plan.h"
#include "core/edit/key_shift.h"
#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/frequencies.h"
#include "core/policy/kept_scores.h"
#include "core/policy/selection.h"
#include "core/state/host_work.h"

namespace kvlab {
namespace {

/// to <- keep * to + the mean of perHead over the query heads of each group, times `factor`. to: [kvHeads, rows];
/// perHead: [heads, rows + 1], or empty.
void addGroupMeans(std::span<float> to, float keep, const std::vector<float>& perHead, int heads, int kvHeads,
                   float factor) {
  constexpr std::size_t kLanes = 16;
  const std::size_t rows = to.size() / at(kvHeads), group = at(heads / kvHeads), width = rows + 1;
  const bool given = perHead.size() == at(heads) * width;
  const float share = factor / static_cast<float>(group);
  for (std::size_t list = 0; list < at(kvHeads); ++list) {
    const float* from = given ? &perHead[list * group * width] : nullptr;
    float* out = to.data() + list * rows;
    std::size_t row = 0;
    for (; row + kLanes <= rows; row += kLanes) {
      float sums[kLanes] = {};
      for (std::size_t head = 0; from && head < group; ++head)
        for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += from[head * width + row + lane] * share;
      for (std::size_t lane = 0; lane < kLanes; ++lane) out[row + lane] = keep * out[row + lane] + sums[lane];
    }
    for (; row < rows; ++row) {
      float sum = 0;
      for (std::size_t head = 0; from && head < group; ++head) sum += from[head * width + row] * share;
      out[row] = keep * out[row] + sum;
    }
  }
}

/// The moments of the query heads of one cache layer.
std::shared_ptr<const QueryMoments> momentsOf(const Observation& seen, CacheLayer layer, const CacheHeads& heads) {
  const std::shared_ptr<const QueryMoments>& all = seen.moments[at(heads.layers.layerOf(layer))];
  if (!heads.layers.byHead()) return all;
  const auto slice = [&](const std::vector<double>& values, std::int64_t each) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(heads.layers.partOf(layer) * heads.query * each);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(heads.query * each));
  };
  const std::int64_t dim = heads.dim;
  return std::make_shared<const QueryMoments>(QueryMoments{slice(all->mean, dim), slice(all->covariance, dim * dim)});
}

/// One decision over all layers.
class Decision {
 public:
  explicit Decision(const PrunerInput& input)
      : m_in(input),
        m_layers(input.state.cacheLayers()),
        m_heads(headsOf(input.transformer.model().config(), m_layers)),
        m_next(*input.state.policy),
        m_pins(input.state.ledger.pins() ? input.state.ledger.size() : 0) {}

  Result<Pruned> run() {
    const auto start = std::chrono::steady_clock::now();
    m_next.prefilling = m_in.pass == PassKind::PromptPart;
    m_next.atPromptEnd = m_in.pass == PassKind::PromptEnd;
    if (m_next.atPromptEnd) m_next.promptRows = m_in.state.length();
    m_next.audit.prefilling = m_next.prefilling;
    m_next.audit.tick = Tick(m_in.state.tick.value() + 1);
    Pruned out;
    if (std::ranges::any_of(m_layers.each(), [this](CacheLayer layer) { return policy(layer).added; }))
      m_decided = std::make_shared<Decisions>();
    onThreads(&m_in.store.backend(), m_next.layers.size(),  // some megabytes in each tick
              [this](std::size_t layer) { takeOver(CacheLayer(static_cast<std::int32_t>(layer))); });
    for (const CacheLayer layer : m_layers.each()) KV_TRY(remember(layer));
    for (const Layer layer : m_layers.ofModel()) KV_TRY(shareOut(layer));
    for (const CacheLayer layer : m_layers.each()) {
      std::vector<std::int32_t> leaving = KV_TRY(decide(layer));
      if (policy(layer).added) keepDecision(layer, leaving);
      if (!leaving.empty()) out.evictions.push_back(evictionOf(layer, leaving));
    }
    m_next.decided = m_decided;
    m_next.seen = m_in.state.attention;
    m_next.audit.us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    out.state = std::make_shared<const PolicyState>(std::move(m_next));
    return out;
  }

 private:
  const PolicySpec& spec(CacheLayer layer) const { return m_next.specs[at(layer)]; }
  const Policy& policy(CacheLayer layer) const { return policyOf(spec(layer).name); }
  unsigned needs(CacheLayer layer) const { return needsOf(spec(layer)); }

  /// The decision to be repeated in a layer; null where the policy decides now.
  const Decided* given(CacheLayer layer) const {
    static const Decided kNothing;
    if (!m_in.decided || !policy(layer).added) return nullptr;
    const auto found = std::ranges::find(*m_in.decided, layer, &Decided::layer);
    return found == m_in.decided->end() ? &kNothing : &*found;
  }

  void keepDecision(CacheLayer layer, const std::vector<std::int32_t>& leaving) {
    const LayerPolicyState& own = m_next.layers[at(layer)];
    Decided out{layer, {}, own.budget, own.memory};
    for (const std::int32_t i : leaving) out.left.push_back(m_in.state.map(layer).ledger[at(i)]);
    if (!out.left.empty() || out.budget || !out.memory.empty()) m_decided->push_back(std::move(out));
  }

  /// An added policy looks at the pass.
  Status remember(CacheLayer layer) {
    std::string& memory = m_next.layers[at(layer)].memory;
    if (const Decided* before = given(layer)) memory = before->memory;
    else if (const Policy& own = policy(layer); own.observes) {
      const Figures figures = KV_TRY(figuresOf(layer, spec(layer)));
      memory = KV_TRY(own.observes(spec(layer), figures.rows));
    }
    return ok();
  }

  /// Places of the rows of a decision in the layer's map, ascending; rows that are not there have left.
  static std::vector<std::int32_t> placesOf(const Decided& decision, const ResidencyView& map) {
    std::vector<std::int32_t> out;
    for (const LedgerId id : decision.left)
      if (const auto found = std::ranges::find(map.ledger.span(), id); found != map.ledger.span().end())
        out.push_back(static_cast<std::int32_t>(found - map.ledger.span().begin()));
    std::ranges::sort(out);
    return out;
  }

  Evict evictionOf(CacheLayer layer, const std::vector<std::int32_t>& leaving) const {
    PlannedEviction eviction{layer, {}};
    for (std::int32_t i : leaving) eviction.ledger.push_back(m_in.state.map(layer).ledger[at(i)]);
    return evictOf(m_layers, eviction);
  }

  bool bounded(const PolicySpec& spec) const {
    return !spec.keepsAll() && !m_in.holds && !m_next.prefilling && (!spec.ratio || m_next.promptRows > 0);
  }

  /// Rows beyond the bands that a layer may hold until it decides, as far as the next tick has room then.
  std::int32_t waiting(CacheLayer layer, std::int32_t held) const {
    const LayerGroup& group = m_in.state.group(layer);
    const std::int32_t room = std::min(m_in.mostRows, group.capacity ? group.capacity - 1 : m_in.mostRows) - held;
    return std::clamp(room, 0, spec(layer).interval - 1);
  }

  LayerBands bandsFor(CacheLayer layer) const {
    LayerBands bands = bandsOf(spec(layer), m_layers.layerOf(layer), m_layers.layers, m_next.promptRows);
    if (const std::optional<std::int32_t>& own = m_next.layers[at(layer)].budget) bands.bands.budget = *own;
    return bands;
  }

  /// The budget of a layer among its heads: once, when the rows first exceed it. From then on each head's competition
  /// is its own.
  Status shareOut(Layer shared) {
    const CacheLayer first = m_layers.of(shared).front();
    if (given(first)) {
      for (const CacheLayer layer : m_layers.of(shared)) m_next.layers[at(layer)].budget = given(layer)->budget;
      return ok();
    }
    if (!spec(first).byHead() || !bounded(spec(first)) || m_next.layers[at(first)].budget) return ok();
    const Bands bands = bandsFor(first).bands;
    const std::int32_t wait = m_next.atPromptEnd ? 0 : waiting(first, bands.capacity());
    if (static_cast<std::int32_t>(m_in.state.map(first).resident()) <= bands.capacity() + wait) return ok();
    std::vector<std::vector<float>> scores;
    for (const CacheLayer layer : m_layers.of(shared)) {
      std::vector<float> own = KV_TRY(scoresOf(layer, bands));
      own.erase(own.end() - std::min<std::ptrdiff_t>(bands.window, std::ssize(own)), own.end());
      own.erase(own.begin(), own.begin() + std::min<std::ptrdiff_t>(bands.sinks, std::ssize(own)));
      scores.push_back(std::move(own));
    }
    const std::vector<std::int32_t> budgets = headBudgets(scores, bands, spec(first));
    for (std::size_t head = 0; head < budgets.size(); ++head) m_next.layers[at(first) + head].budget = budgets[head];
    return ok();
  }

  /// Adds the attention of the pass that made this state. Attention from a read-only query pass has no such sums.
  void takeOver(CacheLayer layer) {
    const NewestAttention* seen = m_in.state.attention.get();
    if (!seen || m_in.state.attention == m_next.seen || at(layer) >= seen->receivedPerHead.size() ||
        seen->receivedPerHead[at(layer)].empty() ||
        seen->maps[at(layer)]->ledger.size() != m_in.state.map(layer).size())
      return;
    LayerPolicyState& own = m_next.layers[at(layer)];
    if (needs(layer) & kReceived) add(own.received, layer, seen->receivedPerHead[at(layer)], 1, 1);
    // The papers observe at the end of a prompt. Later each query replaces one of the observed queries.
    const float share = 1.0f / static_cast<float>(std::max(1, spec(layer).observe));
    if ((needs(layer) & kObserved) && m_in.pass == PassKind::Decode)
      add(own.observed, layer, seen->receivedPerHead[at(layer)], 1 - share, share);
  }

  /// to <- keep * to + factor * the pass's group means
  void add(RowValues& to, CacheLayer layer, const std::vector<float>& perHead, float keep, float factor) const {
    const std::shared_ptr<const ResidencyView>& map = m_in.state.group(layer).map;
    to = RowValues::made(map, at(m_heads.kv) * map->size(), [&](std::span<float> values) {
      align(values, *map, to, m_heads.kv, 0);
      addGroupMeans(values, keep, perHead, m_heads.query, m_heads.kv, factor);
    });
  }

  /// Indices of the rows that leave a layer, ascending.
  Result<std::vector<std::int32_t>> decide(CacheLayer layer) {
    const PolicySpec& spec = m_next.specs[at(layer)];
    const ResidencyView& map = m_in.state.map(layer);
    LayerAudit& audit = m_next.audit.layers[at(layer)];
    audit.policy = spec.name;
    audit.rows = static_cast<std::int32_t>(map.resident());
    audit.rowBytes = m_in.store.pool(layer).stride();
    audit.evicted = 0;
    audit.contests.clear();
    audit.fallback.clear();
    audit.bounded = bounded(spec);
    audit.waiting = 0;
    if (!audit.bounded) return std::vector<std::int32_t>();
    LayerBands bands = bandsFor(layer);
    audit.bands = bands.bands;
    audit.fallback = std::move(bands.fallback);
    const std::vector<bool> pinned = pinnedRows(map);
    audit.protectedRows = pinnedBeyond(pinned, audit.bands);
    audit.waiting = waiting(layer, audit.requested() + audit.protectedRows);
    const bool waits = audit.waiting > 0 && !m_next.atPromptEnd;
    if (audit.rows <= (waits ? audit.allowed() : audit.requested()) && !spec.threshold)
      return std::vector<std::int32_t>();
    std::vector<std::int32_t> out = KV_TRY(leaving(layer, pinned));
    audit.evicted = static_cast<std::int32_t>(out.size());
    audit.evictedEver += audit.evicted;
    audit.rows -= audit.evicted;
    if (!out.empty()) audit.fired = m_next.audit.tick;
    return out;
  }

  /// The same where the layer may have too many rows.
  Result<std::vector<std::int32_t>> leaving(CacheLayer layer, const std::vector<bool>& pinned) {
    const ResidencyView& map = m_in.state.map(layer);
    LayerAudit& audit = m_next.audit.layers[at(layer)];
    if (const Decided* before = given(layer)) {
      m_next.layers[at(layer)].scores = {};
      m_next.layers[at(layer)].scoredBy = {};
      return placesOf(*before, map);
    }
    std::vector<float> scores = KV_TRY(scoresOf(layer, audit.bands));
    noteUnscored(scores, audit);
    std::vector<std::int32_t> out = losers(scores, audit.bands, spec(layer).threshold, pinned);
    if (m_in.pass == PassKind::Decode) audit.contests = contestsOf(map, scores, out, audit.bands);
    for (std::int32_t& i : out) i += map.first;
    const LayerGroup& group = m_in.state.group(layer);
    m_next.layers[at(layer)].scores = kept(group.map, std::move(scores));
    m_next.layers[at(layer)].scoredBy = policy(layer).ofRow ? group.writers : Column<std::int32_t>();
    return out;
  }

  /// Rows written before the policy had gates have no score and rank lowest.
  static void noteUnscored(const std::vector<float>& scores, LayerAudit& audit) {
    const auto n = std::count_if(scores.begin(), scores.end(), [](float score) { return std::isnan(score); });
    if (n > 0)
      audit.fallback += (audit.fallback.empty() ? "" : "; ") + std::to_string(n) +
          (n == 1 ? " row has" : " rows have") + " no score and leave first";
  }

  /// [resident rows], or empty if no token is pinned.
  std::vector<bool> pinnedRows(const ResidencyView& map) {
    if (m_pins.empty()) return {};
    std::vector<bool> out(map.resident());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pinned(map.ledger[at(map.first) + i]);
    return out;
  }

  /// Most rows are in many layers, and the ledger is large: it is asked once for each row.
  bool pinned(LedgerId id) {
    Pin& known = m_pins[at(id.value())];
    if (known == Pin::Unknown) known = m_in.state.ledger[id].pinned ? Pin::Yes : Pin::No;
    return known == Pin::Yes;
  }

  /// Number of pinned rows between the bands that exceed the budget.
  static std::int32_t pinnedBeyond(const std::vector<bool>& pinned, const Bands& bands) {
    if (pinned.empty()) return 0;
    const auto rows = static_cast<std::int32_t>(pinned.size());
    std::int32_t held = 0;
    for (std::int32_t i = std::min(bands.sinks, rows); i < rows - bands.window; ++i) held += pinned[at(i)];
    return std::max(0, held - bands.budget);
  }

  static RowValues kept(const std::shared_ptr<const ResidencyView>& map, std::vector<float> scores) {
    scores.insert(scores.begin(), at(map->first), 0.0f);
    return RowValues::of(map, scores);
  }

  /// Pairs each row that has just left the window with one of the rows that leave now.
  static std::vector<Contest> contestsOf(const ResidencyView& map, const std::vector<float>& scores,
                                         const std::vector<std::int32_t>& out, const Bands& bands) {
    std::vector<Contest> contests;
    const auto end = static_cast<std::int32_t>(scores.size()) - bands.window,
               begin = end - static_cast<std::int32_t>(out.size());
    for (std::size_t i = 0; i < std::min(out.size(), kMostContests); ++i) {
      const std::int32_t challenger = begin + static_cast<std::int32_t>(i);
      if (challenger < 0) continue;
      const auto id = [&](std::int32_t index) { return map.ledger[at(map.first) + at(index)]; };
      contests.push_back({id(challenger), id(out[i]), scores[at(challenger)], scores[at(out[i])]});
    }
    return contests;
  }

  /// One score per resident row. The policy gets the outer bands as they are.
  Result<std::vector<float>> scoresOf(CacheLayer layer, const Bands& bands) {
    const PolicySpec& asked = m_next.specs[at(layer)];
    const bool asAsked = asked.sinks == bands.sinks && asked.window == bands.window;
    PolicySpec fitted = asAsked ? PolicySpec{} : asked;
    fitted.sinks = bands.sinks;
    fitted.window = bands.window;
    const PolicySpec& spec = asAsked ? asked : fitted;
    if (policyOf(spec.name).ofRow) return scoresByRow(layer, spec);
    Figures figures = KV_TRY(figuresOf(layer, spec));
    std::vector<float> scores = KV_TRY(policyOf(spec.name).scores(spec, figures.rows));
    return perRow(std::move(scores), figures.rows.rows(), spec.heads);
  }

  /// The same by a policy that looks at each row by itself: most rows have their scores already.
  Result<std::vector<float>> scoresByRow(CacheLayer layer, const PolicySpec& spec) const {
    const ResidencyView& map = m_in.state.map(layer);
    std::vector<float> out(map.resident());
    static const RowValues kNone;
    const LayerPolicyState& last = m_next.layers[at(layer)];
    const RowValues& scores = scoresStay(layer) ? last.scores : kNone;
    const std::vector<std::size_t> unknown = takeScores(scores, last.scoredBy, m_in.state.group(layer), out);
    if (unknown.empty()) return out;
    const ResidencyView some = partOf(map, unknown);
    const std::vector<float> keys = gathered(layer, some, true);
    KV_TRY(backendStatus(m_in.store.backend(), "reading rows for a policy"));
    LayerRows rows = rowsOf(layer, some.ledger.span());
    rows.keys = keys;
    const std::vector<float> made = perRow(KV_TRY(policyOf(spec.name).scores(spec, rows)), unknown.size(), spec.heads);
    for (std::size_t i = 0; i < unknown.size(); ++i) out[unknown[i] - at(map.first)] = made[i];
    return out;
  }

  /// False if keys may be turned by other frequencies than at the last decision, or stand in an order of their own.
  bool scoresStay(CacheLayer layer) const {
    return lengthOfChange(m_in.transformer.model().config().rope(m_layers.layerOf(layer))) == 0 &&
        !m_in.state.kind->derivesContext();
  }

  LayerRows rowsOf(CacheLayer layer, std::span<const LedgerId> ledger) const {
    return {.layer = layer,
            .heads = m_heads.query,
            .kvHeads = m_heads.kv,
            .headDim = m_in.transformer.model().config().headDim,
            .ledger = ledger};
  }

  /// The rows of a layer with the statistics that its policy needs.
  struct Figures {
    std::vector<float> received, observed, newest, keys, values, brightness, gates, future;
    LayerRows rows;  // of these
  };
  Result<Figures> figuresOf(CacheLayer layer, const PolicySpec& spec) {
    const ResidencyView& map = m_in.state.map(layer);
    const LayerPolicyState& own = m_next.layers[at(layer)];
    Figures out;
    out.rows = rowsOf(layer, map.ledger.span().subspan(at(map.first)));
    LayerRows& rows = out.rows;
    const unsigned wanted = needs(layer);
    if (wanted & kReceived)
      rows.received = out.received = residents(map, alignedWith(map, own.received, m_heads.kv, 0));
    if (meansReceived(spec)) rows.received = out.received = perQuery(map, std::move(out.received));
    if (wanted & kObserved)
      rows.observed = out.observed = residents(map, alignedWith(map, own.observed, m_heads.kv, 0));
    if (wanted & kNewest) rows.newest = out.newest = newestOf(layer);
    if (wanted & kBrightness) rows.brightness = out.brightness = brightnessOf(map);
    if (wanted & kKeys) rows.keys = out.keys = gathered(layer, map, true);
    if (wanted & kValues) rows.values = out.values = gathered(layer, map, false);
    if (wanted & kGates) rows.gates = out.gates = gatesOf(layer);
    if (wanted & kFuture) rows.future = out.future = futureOf(layer);
    if (wanted & kMoments) rows.queries = own.queries.get();
    rows.frequencies = m_in.transformer.rotary().frequencies(m_layers.layerOf(layer));
    if ((wanted & kMoments) && !policy(layer).added) stretchTurning(out.keys, layer, rows.frequencies);
    rows.scoreDim = m_in.transformer.model().config().scoreDim();
    if (m_in.store.backend().onHost()) rows.host = &m_in.store.backend();
    rows.nextPhase = map.phases.empty() ? 0 : map.phases[map.size() - 1] + 1;
    rows.memory = own.memory;
    KV_TRY(backendStatus(m_in.store.backend(), "reading rows for a policy"));
    return out;
  }

  /// Removes rows that left through the window from lists over the map.
  std::vector<float> residents(const ResidencyView& map, std::vector<float> lists) const {
    if (map.first == 0) return lists;
    std::vector<float> out;
    for (std::size_t from = 0; from < lists.size(); from += map.size())
      out.insert(out.end(), lists.begin() + static_cast<std::ptrdiff_t>(from) + map.first,
                 lists.begin() + static_cast<std::ptrdiff_t>(from + map.size()));
    return out;
  }

  /// The mean over all query heads of the layer of the model, whose KV heads may have maps of their own.
  std::vector<float> newestOf(CacheLayer own) const {
    const ResidencyView& map = m_in.state.map(own);
    const NewestAttention* seen = m_in.state.attention.get();
    std::vector<float> out(map.size());
    for (const CacheLayer layer : m_layers.of(m_layers.layerOf(own))) {
      if (!seen || seen->mass[at(layer)].empty()) continue;
      std::vector<float> mass = seen->mass[at(layer)];
      mass.resize(seen->maps[at(layer)]->size());
      mass = alignedWith(map, RowValues::of(seen->maps[at(layer)], mass), 1, 0);
      for (std::size_t row = 0; row < out.size(); ++row) out[row] += mass[row] / static_cast<float>(m_layers.perLayer);
    }
    return residents(map, std::move(out));
  }

  /// Places in the context of the resident rows.
  std::vector<std::size_t> placesOf(const ResidencyView& map) const {
    std::vector<std::size_t> out;
    std::size_t position = 0;
    for (std::size_t i = at(map.first); i < map.size(); ++i, ++position) {
      while (m_in.state.context[position] != map.ledger[i]) ++position;
      out.push_back(position);
    }
    return out;
  }

  std::vector<float> brightnessOf(const ResidencyView& map) const {
    std::vector<float> out;
    for (const std::size_t place : placesOf(map)) out.push_back(m_in.state.brightness[place]);
    return out;
  }

  /// Divides attention received by the number of queries that saw the row: its own and those behind it in the context.
  std::vector<float> perQuery(const ResidencyView& map, std::vector<float> lists) const {
    const std::vector<std::size_t> places = placesOf(map);
    for (std::size_t i = 0; i < lists.size(); ++i)
      lists[i] /= static_cast<float>(m_in.state.context.size() - places[i % places.size()]);
    return lists;
  }

  /// Queries to come have YaRN's attention factor, as keys have: here the keys carry both. [rows, kvHeads, headDim]
  void stretchTurning(std::vector<float>& keys, CacheLayer layer, std::span<const double> frequencies) const {
    const ModelConfig& config = m_in.transformer.model().config();
    const double factor = config.ropes[config.ropeAt(m_layers.layerOf(layer))].attentionFactor;
    const std::size_t half = frequencies.size(), dim = at(config.headDim);
    for (std::size_t i = 0; factor != 1 && i < keys.size(); ++i)
      if (i % dim < 2 * half && frequencies[i % dim % half] != 0) keys[i] *= static_cast<float>(factor);
  }

  /// By place in the context, which equals the place in the record as long as nothing was edited. A row that
  /// stands for several tokens has their sum.
  std::vector<float> futureOf(CacheLayer layer) const {
    const ResidencyView& map = m_in.state.map(layer);
    const std::size_t rows = map.resident();
    const std::size_t model = at(m_layers.layerOf(layer));
    if (!m_next.future || model >= m_next.future->mass.size())
      return std::vector<float>(rows, std::numeric_limits<float>::quiet_NaN());
    const std::vector<float>& mass = m_next.future->mass[model];
    const std::size_t recorded = at(m_next.future->rows), all = recorded ? mass.size() / recorded : 1;
    const std::size_t lists = all == 1 ? 1 : at(m_heads.kv), first = all == 1 ? 0 : at(m_layers.partOf(layer));
    std::vector<float> out(lists * rows, std::numeric_limits<float>::quiet_NaN());
    std::size_t position = 0;
    for (std::size_t i = 0; i < rows; ++i, ++position) {
      while (m_in.state.context[position] != map.ledger[at(map.first) + i]) ++position;
      const TokenSpan tokens = m_in.state.kind->tokensAt(Position(static_cast<std::int32_t>(position)));
      for (std::size_t list = 0; list < lists && at(tokens.end) <= recorded; ++list) {
        const auto begin = mass.begin() + static_cast<std::ptrdiff_t>((first + list) * recorded);
        out[list * rows + i] = std::accumulate(begin + tokens.begin, begin + tokens.end, 0.0f);
      }
    }
    return out;
  }

  std::vector<float> gatesOf(CacheLayer layer) const {
    const ResidencyView& map = m_in.state.map(layer);
    const std::size_t heads = at(m_heads.kv), stride = heads * at(m_layers.perLayer),
                      first = at(m_layers.partOf(layer)), rows = map.resident();
    std::vector<float> out(heads * rows, std::numeric_limits<float>::quiet_NaN());
    if (m_in.state.gateScores.empty()) return out;
    const std::span<const float> all = m_in.state.gateScores[at(m_layers.layerOf(layer))].span();
    const std::span<const LedgerId> ids = map.ledger.span().subspan(at(map.first));
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t from = at(ids[i].value()) * stride + first;
      for (std::size_t head = 0; head < heads && from + heads <= all.size(); ++head)
        out[head * rows + i] = all[from + head];
    }
    return out;
  }

  /// K as attention reads it, or V, of the resident rows of a map of the layer. [rows, kvHeads, headDim]
  std::vector<float> gathered(CacheLayer layer, const ResidencyView& map, bool keys) const {
    std::vector<float> out =
        gatherRows(m_in.store.backend(), {m_in.store.pool(layer).view()}, plain(map.residentSlots()), keys);
    if (keys && !m_in.transformer.keysRotated()) {
      m_in.transformer.rotary().reach(m_in.state.reach());
      const std::vector<std::int32_t> phases = rotaryRowsOf(m_in.state, map, m_in.transformer.rotary());
      m_in.transformer.rotateKeys(m_layers.layerOf(layer), out.data(), std::span(phases).subspan(at(map.first)),
                                  m_heads.kv);
    }
    return out;
  }

  const PrunerInput& m_in;
  const CacheLayers m_layers;
  CacheHeads m_heads;
  PolicyState m_next;
  std::shared_ptr<Decisions> m_decided;  // of added policies; null: there is none
  enum class Pin : std::uint8_t { Unknown, No, Yes };
  std::vector<Pin> m_pins;  // [ledger] as far as they were asked for; empty if no token is pinned
};

}  // namespace

unsigned statisticsOf(const std::vector<PolicySpec>& specs) {
  unsigned all = kNoStatistic;
  for (const PolicySpec& spec : specs) all |= needsOf(spec);
  return all;
}

std::vector<std::int32_t> observations(const std::vector<PolicySpec>& specs) {
  std::vector<std::int32_t> out;
  for (const PolicySpec& spec : specs)
    if ((needsOf(spec) & (kObserved | kMoments)) && std::find(out.begin(), out.end(), spec.observe) == out.end())
      out.push_back(spec.observe);
  return out;
}

CacheHeads headsOf(const ModelConfig& config, const CacheLayers& layers) {
  return {config.heads / layers.perLayer, config.kvHeads / layers.perLayer, config.headDim, layers};
}

std::shared_ptr<const PolicyState> withObservation(const PolicyState& state, const CacheHeads& heads,
                                                   std::int32_t observe, const Observation& seen) {
  auto next = std::make_shared<PolicyState>(state);
  if (seen.queries == 0) return next;
  const float share = 1.0f / static_cast<float>(seen.queries);
  for (const CacheLayer layer : heads.layers.each()) {
    const PolicySpec& spec = next->specs[at(layer)];
    const unsigned needs = needsOf(spec);
    if (spec.observe != observe) continue;
    if (needs & kMoments) next->layers[at(layer)].queries = momentsOf(seen, layer, heads);
    if (!(needs & kObserved)) continue;
    const std::shared_ptr<const ResidencyView>& map = seen.attention->maps[at(layer)];
    std::vector<float> values(at(heads.kv) * map->size());
    addGroupMeans(values, 0, seen.attention->receivedPerHead[at(layer)], heads.query, heads.kv, share);
    next->layers[at(layer)].observed = RowValues::of(map, values);
  }
  return next;
}

Result<Pruned> prune(const PrunerInput& input) {
  KV_TRY(knownPolicies(input.state.policy->specs));
  return Decision(input).run();
}

}  // namespace kvlab
