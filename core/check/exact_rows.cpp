// SPDX-License-Identifier: Apache-2.0
// The newest row is what its own recomputation gives, layer by layer, in another implementation of the decoder
// (scalar_decoder.h): K and V from the input that the layer was given, what attention gives from the stored rows that
// map and mask imply, and from that what the layer hands on. A full check looks at all of every layer. A cheap one
// looks at K, V and attention of one head, in each layer once in scrub_period ticks. Where rows have left a layer since
// the pass, its K and V are compared alone. Of older rows some are recomputed, too (old_rows.h).
#include <algorithm>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/implied_rows.h"
#include "core/check/old_rows.h"
#include "core/check/stored_heads.h"
#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

/// Of what a layer adds, in parts of its length.
constexpr double kOutput = 2e-3, kOutputRounded = 8e-2;

class Recount {
 public:
  Recount(const CheckInput& input, Findings& findings)
      : m_input(input),
        m_state(input.state),
        m_model(input.transformer->model()),
        m_decoder(m_model, m_state.reach()),
        m_findings(findings),
        m_newest(m_state.context[m_state.context.size() - 1]),
        m_stored(input, m_decoder, findings) {
    m_deeds.resize(m_state.groupOf.size());
    for (const PassDeed& deed : input.deeds)
      if (deed.rows() > 0 && deed.tags.back() == static_cast<std::uint64_t>(m_newest.value()))
        m_deeds[at(deed.layer)] = &deed;
  }

  /// Checks all of every layer.
  void all() {
    for (const Layer layer : m_state.cacheLayers().ofModel())
      if (known(layer)) whole(layer);
  }

  /// Checks one query head of layers [begin, end) of the model, another one in each round.
  void heads(int begin, int end, std::int64_t round) {
    for (int l = begin; l < end; ++l) {
      const Layer layer(l);
      if (!known(layer)) continue;
      const auto head = static_cast<int>((round + l) % m_model.config().heads);
      const std::vector<double> x = inputOf(layer);
      if (layer == Layer(0)) embedded(x);
      const int perPart = m_model.config().heads / m_state.cacheLayers().perLayer;
      const CacheLayer own = m_state.cacheLayers().of(layer)[head / perPart];
      const ScalarRow row = m_decoder.projectHead(layer, head, x);
      const int kv = kvOf(head) % kvHeads(own);
      if (!stored(own, kv, row.k, row.v) || !gather(own)) continue;
      attended(layer, own, head, row.q, kv);
    }
  }

 private:
  /// The newest row went through the layer, and what it was given is written down.
  bool known(Layer layer) const {
    for (const CacheLayer own : m_state.cacheLayers().of(layer))
      if (!m_deeds[at(own)] || m_deeds[at(own)]->input.empty()) return false;
    return true;
  }
  std::span<const float> input(Layer layer) const {
    return m_deeds[at(m_state.cacheLayers().of(layer).front())]->input;
  }
  std::vector<double> inputOf(Layer layer) const {
    const std::span<const float> x = input(layer);
    return {x.begin(), x.end()};
  }
  int kvOf(int head) const { return head / (m_model.config().heads / m_model.config().kvHeads); }
  int kvHeads(CacheLayer own) const { return m_input.store.pool(own).format().kvHeads; }

  void whole(Layer layer) {
    const std::vector<double> x = inputOf(layer);
    if (layer == Layer(0)) embedded(x);
    const ScalarRow row = m_decoder.project(layer, x);
    const std::size_t dim = at(m_model.config().headDim);
    const auto part = [dim](const std::vector<double>& from, int which) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at(which) * dim);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(dim));
    };
    const int perPart = m_model.config().heads / m_state.cacheLayers().perLayer;
    std::vector<double> given;
    int head = 0, kv = 0;
    for (const CacheLayer own : m_state.cacheLayers().of(layer)) {
      for (int i = 0; i < kvHeads(own); ++i, ++kv)
        if (!stored(own, i, part(row.k, kv), part(row.v, kv))) return;
      const bool there = gather(own);
      for (int i = 0; there && i < perPart; ++i, ++head) {
        const auto one = attended(layer, own, head, part(row.q, head), kvOf(head) % kvHeads(own));
        if (!one) return;
        given.insert(given.end(), one->begin(), one->end());
      }
      if (!there) return;
    }
    output(layer, x, given);
  }

  /// The input of the first layer is the token's embedding.
  void embedded(const std::vector<double>& x) {
    const std::vector<double> token = m_decoder.embed(m_state.ledger[m_newest].token);
    const double apart = distance(token, x), most = std::max(1e-30, length(token));
    if (apart > 1e-4 * most)
      m_findings.add({CacheLayer(0), {}, m_newest},
                     rowName(m_newest) + " does not begin with the embedding of its token: it differs by " +
                         figureText(100 * apart / most) + " %");
  }

  static double length(std::span<const double> x) {
    double sum = 0;
    for (const double value : x) sum += value * value;
    return std::sqrt(sum);
  }
  static double distance(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum);
  }

  /// The index of the newest row in the layer's map; -1 = it has left.
  static std::int32_t indexOf(const ResidencyView& map, LedgerId id) {
    for (std::int32_t i = static_cast<std::int32_t>(map.size()) - 1; i >= map.first; --i)
      if (map.ledger[static_cast<std::size_t>(i)] == id) return i;
    return -1;
  }

  /// Compares a head of the stored row. False if that is wrong, so that what follows from it would be wrong, too.
  bool stored(CacheLayer own, int kv, std::vector<double> k, const std::vector<double>& v) {
    const std::int32_t index = indexOf(m_state.map(own), m_newest);
    return index < 0 || m_stored.agree(own, at(index), kv, std::move(k), v);
  }

  /// Brings the rows that the newest row sees in a cache layer. False if some have left since the pass.
  bool gather(CacheLayer own) {
    const PassDeed& deed = *m_deeds[at(own)];
    const ResidencyView &then = *deed.map, &now = m_state.map(own);
    const std::int32_t index = indexOf(then, m_newest);
    if (index < 0) return false;
    const ImpliedRows seen = impliedRows(then, at(index), windowIn(m_input, own));
    const RowPool& pool = m_input.store.pool(own);
    std::vector<std::int32_t> slots;
    m_seen = {};
    std::int32_t j = now.first;
    for (std::int32_t i = seen.begin; i < seen.end; ++i) {
      while (j < static_cast<std::int32_t>(now.size()) && now.ledger[at(j)] != then.ledger[at(i)]) ++j;
      if (j == static_cast<std::int32_t>(now.size())) return false;
      const std::int32_t slot = now.slotOf[at(j)].value();
      if (slot < 0 || slot >= pool.slots()) return false;
      slots.push_back(slot);
      m_seen.phases.push_back(m_stored.phaseOf(then.phases[at(i)]));
    }
    m_seen.k.resize(slots.size() * at(pool.width()));
    m_seen.v.resize(m_seen.k.size());
    pool.gather(slots, m_seen.k.data(), m_seen.v.data());
    return true;
  }

  /// What attention gives a query head over the rows that gather() brought; none where the pass had something else.
  std::optional<std::vector<double>> attended(Layer layer, CacheLayer own, int head, std::vector<double> q, int kv) {
    m_decoder.turn(layer, q, m_seen.phases.back(), true);
    std::vector<double> given =
        m_decoder.attend(layer, head, q, m_seen, at(kv) * q.size(), m_input.transformer->keysRotated());
    const std::vector<float>& all = m_deeds[at(own)]->attended;
    const std::size_t from = at(head) * q.size() % all.size();
    const std::vector<double> got(all.begin() + static_cast<std::ptrdiff_t>(from),
                                  all.begin() + static_cast<std::ptrdiff_t>(from + q.size()));
    double most = 0;  // of the values that it weighs
    const std::size_t width = m_seen.v.size() / m_seen.phases.size();
    for (std::size_t row = at(kv) * q.size(); row < m_seen.v.size(); row += width)
      for (std::size_t i = 0; i < q.size(); ++i)
        most = std::max(most, std::abs(static_cast<double>(m_seen.v[row + i])));
    const double apart = distance(given, got), room = m_stored.room() * most * std::sqrt(double(q.size()));
    if (apart <= room) return given;
    m_findings.add({own, indexIn(own), m_newest},
                   "layer " + m_state.cacheLayers().name(own) + ": what attention gave " + rowName(m_newest) +
                       " in query head " + std::to_string(head) + " is not what the " +
                       std::to_string(m_seen.phases.size()) + " rows that it sees give: it differs by " +
                       figureText(apart) + ", and " + figureText(room) + " is allowed");
    return std::nullopt;
  }

  double outputRoom() const { return m_stored.rounds() ? kOutputRounded : kOutput; }

  std::optional<std::size_t> indexIn(CacheLayer own) const {
    const std::int32_t index = indexOf(m_state.map(own), m_newest);
    return index < 0 ? std::nullopt : std::optional(at(index));
  }

  /// Compares what the layer handed on, which is the next one's input; of the last layer the logits.
  void output(Layer layer, const std::vector<double>& x, const std::vector<double>& attended) {
    std::vector<double> wanted = x;
    m_decoder.finish(layer, attended, wanted);
    const bool last = layer == m_state.cacheLayers().last();
    if (last) return logits(wanted);
    const Layer next(layer.value() + 1);
    if (!known(next)) return;
    const double apart = distance(wanted, inputOf(next)), added = std::max(distance(wanted, x), 1e-6 * length(x));
    const double room = outputRoom();
    if (apart <= room * added) return;
    const CacheLayer own = m_state.cacheLayers().of(layer).front();
    m_findings.add({own, indexIn(own), m_newest},
                   "layer " + std::to_string(layer.value()) + ": what it made of " + rowName(m_newest) +
                       " is not what its recomputation gives: it differs by " + figureText(100 * apart / added) +
                       " % of what the layer adds, and " + figureText(100 * room) + " % is allowed");
  }

  void logits(const std::vector<double>& x) {
    if (!m_state.logits || m_state.logitsStale) return;
    const std::vector<double> wanted = m_decoder.logits(x);
    const std::vector<float>& got = *m_state.logits;
    if (wanted.size() != got.size()) return;
    double mean = 0, square = 0, apart = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      mean += wanted[i];
      square += wanted[i] * wanted[i];
      apart = std::max(apart, std::abs(wanted[i] - static_cast<double>(got[i])));
    }
    mean /= static_cast<double>(wanted.size());
    const double spread = std::sqrt(std::max(0.0, square / static_cast<double>(wanted.size()) - mean * mean));
    const double room = 10 * outputRoom() * std::max(spread, 1e-3);
    if (apart > room)
      m_findings.add({{}, {}, m_newest},
                     "the logits of the next token differ by " + figureText(apart) + " from their recomputation, and " +
                         figureText(room) + " is allowed");
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  const Model& m_model;
  ScalarDecoder m_decoder;
  Findings& m_findings;
  LedgerId m_newest;
  StoredHeads m_stored;
  std::vector<const PassDeed*> m_deeds;  // [cache layers] of the newest row; null = not written down
  ScalarSeen m_seen;                     // of the cache layer that gather() was called for
};

}  // namespace

void checkExactRows(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("exact_rows", out);
  if (!input.transformer || input.state.context.empty()) return;
  const bool newest = !input.deeds.empty();
  if (input.full) {
    if (newest) Recount(input, findings).all();
    return checkOldRows(input, findings);
  }
  const int layers = input.transformer->model().config().layers;
  const std::int64_t parts = std::max(1, input.manifest.scrubPeriod), part = input.scrubPart % parts;
  const auto begin = static_cast<int>(layers * part / parts), end = static_cast<int>(layers * (part + 1) / parts);
  if (newest && begin < end) Recount(input, findings).heads(begin, end, input.state.tick.value() / parts);
  if (part == 0) checkOldRows(input, findings);
}

}  // namespace kvlab
