// SPDX-License-Identifier: Apache-2.0
// Checks the scores that policies decide by. The score of a row follows by the policy's rule from the statistics that
// the state remembers, from the stored keys, or from the row's place; as many rows leave as exceed the bands; and the
// budget of a layer is divided among its heads by these scores. Rules are written down here a second time. A cheap
// check looks at one layer in each tick, at keys in one tick of sixteen; a full one at Expected Attention in one layer
// in each tick. Policies that are not listed, and rows that have left where layouts move rows, are passed over.
// semantics.md, section 6.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/check/checks.h"
#include "core/check/map_walk.h"
#include "core/check/stored_heads.h"
#include "core/state/rounding.h"

namespace kvlab {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kKeyTurns = 16;
constexpr std::string_view kExpected = "expected_attention";

double rank(double score) { return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score; }

// The scores of Expected Attention a second time, in double, as the paper has them (arXiv 2510.00636, section 3): the
// moments of queries are turned by the mean rotation of the positions to come, which is a sum over these positions.
// core/policy turns the keys instead, by the closed form of the sum.

/// The rows of one KV head.
struct ExpectedRows {
  std::vector<std::vector<double>> keys = {};  // [rows][dim] as attention reads them
  std::vector<double> lengths = {};            // [rows] of their values
  std::size_t sinks = 0;                       // rows in front that the softmax leaves out
};

/// Queries to come.
struct ExpectedQueries {
  std::span<const double> mean = {};        // [heads, dim] of the query heads of the KV head
  std::span<const double> covariance = {};  // [heads, dim, dim]
  std::vector<double> frequencies = {};     // [dim / 2]; value i turns with value dim / 2 + i
  double stretch = 1;                       // attention factor of values that turn
  double nextPhase = 0;
  int future = 1;       // number of positions
  double scoreDim = 1;  // its root divides q . k
};

/// Turns pairs of values by the mean over positions of the rotation.
class MeanTurn {
 public:
  explicit MeanTurn(const ExpectedQueries& queries) {
    for (const double w : queries.frequencies) {
      double cosine = 0, sine = 0;
      for (int step = 0; step < queries.future; ++step) {
        cosine += std::cos((queries.nextPhase + step) * w);
        sine += std::sin((queries.nextPhase + step) * w);
      }
      const double share = (w == 0 ? 1 : queries.stretch) / queries.future;
      m_cosine.push_back(cosine * share), m_sine.push_back(sine * share);
    }
  }
  /// Values at x, x + step and so on.
  void operator()(double* x, std::size_t step) const {
    const std::size_t half = m_cosine.size();
    for (std::size_t i = 0; i < half; ++i) {
      const double a = x[i * step], b = x[(half + i) * step];
      x[i * step] = a * m_cosine[i] - b * m_sine[i];
      x[(half + i) * step] = a * m_sine[i] + b * m_cosine[i];
    }
  }

 private:
  std::vector<double> m_cosine, m_sine;
};

/// Score that a query head expects for a key before the softmax: mean . k / root(d) + k' covariance k / 2d.
double expectation(std::span<const double> mean, std::span<const double> covariance, std::span<const double> key,
                   double scoreDim) {
  double linear = 0, square = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    linear += mean[i] * key[i];
    double row = 0;
    for (std::size_t j = 0; j < key.size(); ++j) row += covariance[i * key.size() + j] * key[j];
    square += key[i] * row;
  }
  return linear / std::sqrt(scoreDim) + square / (2 * scoreDim);
}

/// [rows]
std::vector<double> expectedScores(const ExpectedRows& rows, const ExpectedQueries& queries, double epsilon) {
  const std::size_t count = rows.keys.size(), dim = rows.keys.front().size(), heads = queries.mean.size() / dim;
  const MeanTurn turn(queries);
  std::vector<double> out(count);
  for (std::size_t head = 0; head < heads; ++head) {
    std::vector<double> mean(dim), covariance(dim * dim), share(count);
    std::ranges::copy(queries.mean.subspan(head * dim, dim), mean.begin());
    std::ranges::copy(queries.covariance.subspan(head * dim * dim, dim * dim), covariance.begin());
    turn(mean.data(), 1);
    for (std::size_t i = 0; i < dim; ++i) turn(covariance.data() + i, dim);
    for (std::size_t i = 0; i < dim; ++i) turn(covariance.data() + i * dim, 1);
    double most = -INFINITY, sum = 0;
    for (std::size_t row = rows.sinks; row < count; ++row)
      most = std::max(most, share[row] = expectation(mean, covariance, rows.keys[row], queries.scoreDim));
    for (std::size_t row = rows.sinks; row < count; ++row) sum += share[row] = std::exp(share[row] - most);
    for (std::size_t row = rows.sinks; row < count; ++row) out[row] += share[row] / sum / static_cast<double>(heads);
  }
  for (std::size_t row = 0; row < count; ++row) out[row] = (out[row] + epsilon) * rows.lengths[row];
  return out;
}

class Scores {
 public:
  Scores(const CheckInput& input, Findings& findings)
      : m_input(input), m_state(input.state), m_policy(*input.state.policy), m_findings(findings) {}

  void check() {
    const auto layers = static_cast<std::int64_t>(m_state.groupOf.size());
    for (const CacheLayer layer : m_state.layers()) {
      const std::int64_t turn = m_state.tick.value();
      const bool mine = m_input.full || turn % layers == layer.value() || m_input.deeds.size() > m_state.groupOf.size();
      if (mine) given(layer);
      if (!fresh(layer)) continue;
      if (mine) counted(layer);
      if (keys(spec(layer).name) && m_input.manifest.afterEdit == AfterEdit::Selective) continue;  // rows may follow
      if (keys(spec(layer).name) ? keysDue(layer) : mine) scored(layer);
      if (m_findings.count() > 0) return;
    }
  }

 private:
  const PolicySpec& spec(CacheLayer layer) const { return m_policy.specs[at(layer)]; }
  const RowValues& scores(CacheLayer layer) const { return m_policy.layers[at(layer)].scores; }
  static bool keys(std::string_view policy) { return policy == "knorm" || policy == "keydiff" || policy == kExpected; }
  std::string name(CacheLayer layer) const {
    return "layer " + m_state.cacheLayers().name(layer) + ": policy " + spec(layer).name;
  }

  /// The last commit decided about the layer by scores.
  bool fresh(CacheLayer layer) const {
    const RowValues& now = scores(layer);
    if (!now.map || now.values.size() != now.map->size() || m_policy.audit.tick != m_state.tick) return false;
    const auto& before = m_input.before->policy;
    return !before || at(layer) >= before->layers.size() || before->layers[at(layer)].scores.map != now.map;
  }

  /// As many rows leave as exceed the bands and the pinned rows beyond them.
  void counted(CacheLayer layer) {
    const LayerAudit& audit = m_policy.audit.layers[at(layer)];
    if (spec(layer).threshold) return;
    const ResidencyView& then = *scores(layer).map;
    const auto rows = static_cast<std::int32_t>(then.resident());
    std::int32_t pinned = 0, between = 0;
    for (std::int32_t i = audit.bands.sinks; i < rows - audit.bands.window; ++i, ++between)
      pinned += m_state.ledger[then.ledger[at(then.first + i)]].pinned;
    const std::int32_t leave = std::max(0, between - pinned - std::max(0, audit.bands.budget - pinned));
    if (audit.evicted == leave) return;
    const std::size_t odd = oddOne(layer, audit.evicted > leave);
    m_findings.add({layer, odd, then.ledger[odd]},
                   name(layer) + " let " + std::to_string(audit.evicted) + " rows go, and its bands ask for " +
                       std::to_string(leave) + "; " + rowName(then.ledger[odd]) + " should " +
                       (audit.evicted > leave ? "stay" : "leave"));
  }

  /// Index of the best row between the bands that left, or of the worst one that stayed.
  std::size_t oddOne(CacheLayer layer, bool left) const {
    const ResidencyView &then = *scores(layer).map, &now = m_state.map(layer);
    const Bands& bands = m_policy.audit.layers[at(layer)].bands;
    std::size_t odd = at(then.first), next = at(now.first);
    bool any = false;
    for (std::size_t i = at(then.first); i < then.size(); ++i) {
      const bool stays = next < now.size() && now.ledger[next] == then.ledger[i];
      next += stays;
      const bool between = i >= at(then.first + bands.sinks) && i + at(bands.window) < then.size();
      if (!between || stays == left || m_state.ledger[then.ledger[i]].pinned) continue;
      const double score = rank(static_cast<double>(scores(layer).values[i])),
                   best = rank(static_cast<double>(scores(layer).values[odd]));
      if (!any || (left ? score > best : score <= best)) odd = i;
      any = true;
    }
    return odd;
  }

  /// Moments of queries take a product of matrices for each head.
  bool keysDue(CacheLayer layer) const {
    const auto layers = static_cast<std::int64_t>(m_state.groupOf.size());
    const std::int64_t turn = m_state.tick.value();
    if (m_input.full) return spec(layer).name != kExpected || turn % layers == layer.value();
    return turn % kKeyTurns == 0 && turn / kKeyTurns % layers == layer.value();
  }

  /// Per head, the attention that a pass gave to the rows of a layer must equal its number of queries. Not checked
  /// where an edit takes several passes over one map: it is unknown which pass is meant.
  void given(CacheLayer layer) {
    const NewestAttention* all = m_state.attention.get();
    const Manifest& rules = m_input.manifest;
    if (rules.afterEdit == AfterEdit::Selective || rules.newRows == NewRows::EmbeddingOnly) return;
    if (!all || all == m_input.before->attention.get() || at(layer) >= all->receivedPerHead.size() ||
        all->receivedPerHead[at(layer)].empty() || at(layer) >= all->maps.size() || !all->maps[at(layer)] ||
        !m_input.transformer || m_input.transformer->model().layer(m_state.cacheLayers().layerOf(layer)).sinks)
      return;
    std::size_t queries = 0;
    for (const PassDeed& deed : m_input.deeds)
      if (deed.layer == layer && deed.map == all->maps[at(layer)]) queries += deed.rows();
    const std::span<const float> list = all->receivedPerHead[at(layer)];
    const std::size_t width = all->maps[at(layer)]->size() + 1;
    for (std::size_t from = 0; queries > 0 && from + width <= list.size(); from += width) {
      double sum = 0;
      for (const float one : list.subspan(from, width)) sum += static_cast<double>(one);
      if (std::abs(sum - static_cast<double>(queries)) <= 1e-3 * static_cast<double>(queries)) continue;
      const ResidencyView& map = *all->maps[at(layer)];
      return m_findings.add({layer, at(map.first), map.ledger[at(map.first)]},
                            name(layer) + ": the pass gave its rows the attention " + std::to_string(sum) + " of " +
                                std::to_string(queries) + " queries");
    }
  }

  /// [rows] of a map's resident rows from lists of KV heads.
  std::vector<double> perRow(CacheLayer layer, const std::vector<std::vector<double>>& lists) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < lists.front().size(); ++i) {
      double sum = 0, most = std::numeric_limits<double>::quiet_NaN();  // NaN stays where no head has a score
      for (const std::vector<double>& list : lists) sum += list[i], most = std::fmax(most, list[i]);
      const HeadRule rule = spec(layer).heads;
      out.push_back(rule == HeadRule::Sum        ? sum
                        : rule == HeadRule::Mean ? sum / static_cast<double>(lists.size())
                                                 : most);
    }
    return out;
  }

  /// Scores that a policy's rule gives to the rows of a map that it decided about, [resident rows]; empty = the rule is
  /// not written down here.
  std::vector<double> wanted(CacheLayer layer, const ResidencyView& then) const {
    const std::string_view policy = spec(layer).name;
    const std::size_t first = at(then.first), rows = then.resident();
    std::vector<double> out(rows);
    if (policy == "streaming_llm" || policy == "sliding_window") {
      for (std::size_t i = 0; i < rows; ++i) out[i] = static_cast<double>(i);
      return out;
    }
    if (policy == "brightness") {
      std::size_t p = 0;
      for (std::size_t i = 0; i < rows; ++i, ++p) {
        while (p < m_state.context.size() && m_state.context[p] != then.ledger[first + i]) ++p;
        if (p == m_state.context.size()) return {};
        out[i] = static_cast<double>(m_state.brightness[p]);
      }
      return out;
    }
    if (policy == "h2o" && spec(layer).preset != "kvpress")
      return remembered(layer, then, m_policy.layers[at(layer)].received);
    if (policy == "tova") return newest(layer, then);
    if (policy == "snapkv" || policy == "pyramidkv" || policy == "adakv")
      return remembered(layer, then, m_policy.layers[at(layer)].observed, true);
    if (policy == "smartkv") return gates(layer, then);
    if (policy == kExpected) return expected(layer, then);
    if (keys(policy)) return keyScores(layer, then);
    return {};
  }

  /// Values of a list over the rows of another map of the same context; 0 where a row is not there.
  static std::vector<double> aligned(const ResidencyView& map, const ResidencyView& of, std::span<const float> values,
                                     std::size_t from) {
    std::vector<double> out(map.resident());
    std::size_t j = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::size_t found = j;
      while (found < of.ledger.size() && of.ledger[found] != map.ledger[at(map.first) + i]) ++found;
      if (found == of.ledger.size()) continue;
      j = found + 1;
      if (from + found < values.size()) out[i] = static_cast<double>(values[from + found]);
    }
    return out;
  }

  /// Attention of the newest query, mean over all heads of the layer of the model; empty where it is not known.
  std::vector<double> newest(CacheLayer layer, const ResidencyView& then) const {
    const NewestAttention* all = m_state.attention.get();
    const CacheLayers layers = m_state.cacheLayers();
    std::vector<double> out(then.resident());
    for (const CacheLayer own : layers.of(layers.layerOf(layer))) {
      if (!all || at(own) >= all->maps.size() || at(own) >= all->mass.size() || all->mass[at(own)].empty()) return {};
      const std::vector<double> one = aligned(then, *all->maps[at(own)], all->mass[at(own)], 0);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += one[i] / layers.perLayer;
    }
    return out;
  }

  /// The neighbours of each row before the window, by the policy's kernel; beyond the ends a mean counts zeros.
  std::vector<double> pooled(CacheLayer layer, const std::vector<double>& list) const {
    const auto window = at(m_policy.audit.layers[at(layer)].bands.window);
    const auto past = static_cast<std::ptrdiff_t>(list.size() - std::min(list.size(), window));
    const std::ptrdiff_t half = spec(layer).kernel / 2;
    std::vector<double> out = list;
    for (std::ptrdiff_t i = 0; i < past; ++i) {
      double sum = 0, most = list[at(i)];
      for (std::ptrdiff_t j = i - half; j <= i + half; ++j)
        if (j >= 0 && j < past) sum += list[at(j)], most = std::max(most, list[at(j)]);
      out[at(i)] = spec(layer).pooling == Pooling::Maximum ? most : sum / spec(layer).kernel;
    }
    return out;
  }

  std::vector<double> remembered(CacheLayer layer, const ResidencyView& then, const RowValues& values,
                                 bool pools = false) const {
    if (!values.map || values.map->size() == 0) return {};
    std::vector<std::vector<double>> lists;
    for (std::size_t from = 0; from < values.values.size(); from += values.map->size())
      lists.push_back(aligned(then, *values.map, values.values, from));
    if (pools)
      for (std::vector<double>& list : lists) list = pooled(layer, list);
    return perRow(layer, lists);
  }

  std::vector<double> gates(CacheLayer layer, const ResidencyView& then) const {
    const CacheLayers layers = m_state.cacheLayers();
    const auto of = at(layers.layerOf(layer));
    if (of >= m_state.gateScores.size() || !m_input.transformer) return {};
    const Column<float>& all = m_state.gateScores[of];
    const std::size_t heads = at(m_input.transformer->model().config().kvHeads), own = heads / at(layers.perLayer);
    std::vector<std::vector<double>> lists(own);
    for (std::size_t i = at(then.first); i < then.size(); ++i)
      for (std::size_t head = 0; head < own; ++head) {
        const std::size_t place = at(then.ledger[i].value()) * heads + at(layers.partOf(layer)) * own + head;
        lists[head].push_back(static_cast<double>(place < all.size() ? all[place] : kNone));
      }
    return perRow(layer, lists);
  }

  /// False if a pool of another size holds the rows now: rows that stay have other slots, or rows that left lie behind
  /// all that stay, and were not copied.
  bool samePool(const ResidencyView& then, const ResidencyView& now) const {
    std::int32_t left = -1, stays = -1;
    std::size_t next = at(now.first);
    for (std::size_t i = at(then.first); i < then.size(); ++i)
      if (next >= now.size() || now.ledger[next] != then.ledger[i]) left = std::max(left, then.slotOf[i].value());
      else if (now.slotOf[next++] != then.slotOf[i]) return false;
    for (const Slot slot : now.residentSlots()) stays = std::max(stays, slot.value());
    return !m_input.resized || left < stays;
  }

  static bool anyLeft(const ResidencyView& then, const ResidencyView& now) {
    std::size_t next = at(now.first);
    for (std::size_t i = at(then.first); i < then.size(); ++i, ++next) {
      while (next < now.size() && now.ledger[next] != then.ledger[i]) ++next;
      if (next == now.size()) return true;
    }
    return false;
  }

  /// False where the commit has written over rows that it let go, as blocks of tokens may.
  static bool stillThere(const RowPool& pool, const ResidencyView& then) {
    const std::span<const Slot> slots = then.residentSlots();
    std::vector<std::int32_t> places(slots.size());
    std::ranges::transform(slots, places.begin(), [](Slot slot) { return slot.value(); });
    std::vector<std::uint64_t> tags(places.size());
    pool.readTags(places, tags.data(), nullptr);
    for (std::size_t i = 0; i < tags.size(); ++i)
      if (tags[i] != static_cast<std::uint64_t>(then.ledger[at(then.first) + i].value())) return false;
    return true;
  }

  /// The rows that the policy looked at are there still, and may be read.
  bool readable(CacheLayer layer, const ResidencyView& then) const {
    const bool moves = dynamic_cast<const RunSlots*>(&m_input.store.slots(layer)) || !generated(m_input);
    if (moves || !m_input.transformer || m_state.kind->derivesContext() || !m_input.store.backend().onHost())
      return false;
    const RowPool& pool = m_input.store.pool(layer);
    return std::ranges::all_of(then.residentSlots(),
                               [&](Slot s) { return s.value() >= 0 && s.value() < pool.slots(); }) &&
        !(m_input.late && anyLeft(then, m_state.map(layer))) && samePool(then, m_state.map(layer)) &&
        stillThere(pool, then);
  }

  const Rope& rope(CacheLayer layer) const {
    return m_input.transformer->model().config().rope(m_state.cacheLayers().layerOf(layer));
  }
  std::vector<double> frequencies(CacheLayer layer) const {
    return m_input.transformer->rotary().frequencies(m_state.cacheLayers().layerOf(layer));
  }

  /// The phases that the rows' keys still have to be turned by, [rows]. Keys that are stored turned have been turned to
  /// their present phases since the decision, if their rows are still there.
  std::vector<double> phasesLeft(CacheLayer layer, const ResidencyView& then) const {
    const auto phase = [&](const ResidencyView& map, std::size_t i) {
      return m_input.transformer->rotary().phase(map.phases[i]).value();
    };
    const ResidencyView& now = m_state.map(layer);
    std::vector<double> out;
    std::size_t next = at(now.first);
    for (std::size_t i = at(then.first); i < then.size(); ++i) {
      const bool stays = next < now.size() && now.ledger[next] == then.ledger[i];
      const double stored = !m_input.transformer->keysRotated() ? 0 : stays ? phase(now, next) : phase(then, i);
      out.push_back(phase(then, i) - stored);
      next += stays;
    }
    return out;
  }

  /// The keys of a KV head as attention read them, [rows][dim].
  std::vector<std::vector<double>> turnedKeys(CacheLayer layer, const ResidencyView& then,
                                              const HeadReader& read) const {
    const auto dim = at(m_input.store.pool(layer).format().headDim);
    const std::vector<double> w = frequencies(layer);
    const double factor = m_input.transformer->keysRotated() ? 1 : rope(layer).attentionFactor;
    const std::vector<double> phases = phasesLeft(layer, then);
    std::vector<std::vector<double>> out(then.resident(), std::vector<double>(dim));
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::vector<double>& own = out[i];
      read(i, false, own);
      for (std::size_t d = 0; d < dim / 2 && (phases[i] != 0 || factor != 1); ++d) {
        const double a = own[d], b = own[dim / 2 + d], c = std::cos(phases[i] * w[d]), s = std::sin(phases[i] * w[d]);
        const double f = w[d] == 0 ? 1 : factor;
        own[d] = f * (a * c - b * s), own[dim / 2 + d] = f * (a * s + b * c);
      }
    }
    return out;
  }

  /// Scores by rules that read the keys as attention reads them.
  std::vector<double> keyScores(CacheLayer layer, const ResidencyView& then) const {
    if (!readable(layer, then)) return {};
    const RowPool& pool = m_input.store.pool(layer);
    std::vector<std::vector<double>> lists;
    for (int head = 0; head < pool.format().kvHeads; ++head) {
      const std::vector<std::vector<double>> keys = turnedKeys(layer, then, {pool, then.residentSlots(), head});
      std::vector<double> mean(at(pool.format().headDim)), lengths, along;
      for (const std::vector<double>& key : keys) {
        lengths.push_back(lengthOf(key));
        for (std::size_t d = 0; d < key.size() && lengths.back() > 0; ++d) mean[d] += key[d] / lengths.back();
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const double product = lengths[i] * lengthOf(mean);
        along.push_back(product > 0 ? -std::inner_product(mean.begin(), mean.end(), keys[i].begin(), 0.0) / product
                                    : 0);
        lengths[i] = -lengths[i];
      }
      lists.push_back(spec(layer).name == "knorm" ? lengths : along);
    }
    return perRow(layer, lists);
  }

  /// Scores by Expected Attention: from keys, values and the remembered moments of queries.
  std::vector<double> expected(CacheLayer layer, const ResidencyView& then) const {
    const auto& moments = m_policy.layers[at(layer)].queries;
    const bool turned = at(layer) < m_input.turns.size() && m_input.turns[at(layer)] > 0;  // since the decision
    if (!moments || turned || !readable(layer, then) || then.resident() == 0) return {};
    const RowPool& pool = m_input.store.pool(layer);
    const auto lists = at(pool.format().kvHeads), dim = at(pool.format().headDim);
    ExpectedQueries queries{.frequencies = frequencies(layer),
                            .stretch = rope(layer).attentionFactor,
                            .nextPhase = m_input.transformer->rotary().phase(then.phases[then.size() - 1]).value() + 1,
                            .future = spec(layer).future,
                            .scoreDim = m_input.transformer->model().config().scoreDim()};
    const auto slice = [&](const std::vector<double>& all, std::size_t head) {
      return std::span(all).subspan(all.size() / lists * head, all.size() / lists);
    };
    std::vector<std::vector<double>> made;
    for (std::size_t head = 0; head < lists; ++head) {
      const HeadReader read(pool, then.residentSlots(), static_cast<int>(head));
      ExpectedRows rows{.keys = turnedKeys(layer, then, read),
                        .sinks = at(m_policy.audit.layers[at(layer)].bands.sinks)};
      std::vector<double> value(dim);
      for (std::size_t i = 0; i < rows.keys.size(); ++i) read(i, true, value), rows.lengths.push_back(lengthOf(value));
      queries.mean = slice(moments->mean, head), queries.covariance = slice(moments->covariance, head);
      made.push_back(expectedScores(rows, queries, spec(layer).epsilon));
    }
    return perRow(layer, made);
  }

  /// The allowed error of key scores, in parts of the largest score: keys that the commit has turned in place were
  /// rounded once more since the decision.
  double roundedSince(CacheLayer layer) const {
    const int turns = keys(spec(layer).name) && at(layer) < m_input.turns.size() ? m_input.turns[at(layer)] : 0;
    const Rounding once = roundingOf(m_input.store.pool(layer).format().k);
    constexpr double kLargest = 4;  // value of a head, in parts of its mean magnitude
    return turns * (static_cast<double>(once.relative) + kLargest * static_cast<double>(once.ofMost));
  }

  void scored(CacheLayer layer) {
    const ResidencyView& then = *scores(layer).map;
    const std::vector<double> made = wanted(layer, then);
    const double own = spec(layer).name == kExpected ? 1e-2 : 1e-3;  // exponents of floats lose more
    const double room = own + roundedSince(layer);
    double most = 0;
    for (const double one : made)
      if (std::isfinite(one)) most = std::max(most, std::abs(one));
    for (std::size_t i = 0; i < made.size(); ++i) {
      const double is = static_cast<double>(scores(layer).values[at(then.first) + i]);
      if ((std::isnan(is) && std::isnan(made[i])) || std::abs(is - made[i]) <= room * most + 1e-6) continue;
      return m_findings.add({layer, at(then.first) + i, then.ledger[at(then.first) + i]},
                            name(layer) + " gave " + rowName(then.ledger[at(then.first) + i]) + " the score " +
                                std::to_string(is) + "; its rule makes " + std::to_string(made[i]));
    }
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  const PolicyState& m_policy;
  Findings& m_findings;
};

}  // namespace

void checkPolicyScores(const CheckInput& input, Findings& findings) {
  if (!input.state.policy || !edited(input) || input.state.policy->specs.size() != input.state.groupOf.size() ||
      input.state.policy->audit.layers.size() != input.state.groupOf.size())
    return;
  Scores(input, findings).check();
}

}  // namespace kvlab
