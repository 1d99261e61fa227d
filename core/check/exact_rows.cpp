// SPDX-License-Identifier: Apache-2.0
// The newest row equals its recomputation, layer by layer, in another implementation of the decoder (scalar_decoder.h):
// K and V from the layer's input, the output of attention over the stored rows that map and mask imply, the attention
// to each of them, and the layer's output. A full check looks at all of every layer. A cheap check looks at K, V and
// attention of one head, in each layer once in scrub_period ticks (models with more than 8 layers take turns). Once in
// that time it looks at the last layer's output for its given attention, and at some logits; and it looks at a head of
// one layer where a block of attention begins. If rows have left a layer since the pass, only its K and V are compared.
// The newest row of a kind may be no token. A device keeps what this needs for full checks alone. Some older rows are
// recomputed, too (checkOldRows).
#include <algorithm>
#include <cmath>

#include "core/check/checks.h"
#include "core/check/stored_heads.h"
#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

/// Allowed error of a layer's output, in parts of the layer's contribution. Rounded: if the decoder does not reproduce
/// the rounding of products.
constexpr double kOutput = 2e-3, kOutputRounded = 8e-2;
/// Allowed error, in parts of the change that rounding of products makes, if the session's arithmetic rounds: values
/// near a border may be rounded the other way.
constexpr double kUnsure = 2;
constexpr int kLayersInRound = 8;
constexpr int kLogitsLeftOut = 61;          // a cheap check looks at one of so many
constexpr std::int64_t kOldRows = 8;        // cheap checks of a scrub period that look at one
constexpr std::size_t kAttentionRows = 64;  // attention adds up in blocks of so many rows

class Recount {
 public:
  Recount(const CheckInput& input, Findings& findings)
      : m_input(input),
        m_state(input.state),
        m_model(input.transformer->model()),
        m_newest(m_state.context[m_state.context.size() - 1]),
        m_deeds(deedsOf(input, m_newest)),
        m_decoder(m_model, reach(), input.transformer->ops().numericsId()),
        m_findings(findings),
        m_stored(input, m_decoder, findings) {}

  /// Checks all of every layer.
  void all() {
    for (const Layer layer : m_state.cacheLayers().ofModel())
      if (known(layer)) whole(layer);
  }
  /// Checks the last layer's output for its given attention, and some of the logits.
  void last() {
    const Layer layer = m_state.cacheLayers().last();
    if (!known(layer)) return;
    output(layer, inputOf(layer));
  }

  /// Checks one query head of some layers, another one in each turn.
  void heads(std::span<const Layer> layers, std::int64_t turn) {
    for (const Layer layer : layers) {
      if (!known(layer)) continue;
      const auto head = static_cast<int>((turn + layer.value()) % m_model.config().heads);
      const std::vector<double> x = inputOf(layer);
      if (layer == Layer(0)) embedded(x);
      const int perPart = m_model.config().heads / m_state.cacheLayers().perLayer;
      const CacheLayer own = m_state.cacheLayers().of(layer)[head / perPart];
      const ScalarRow row = m_decoder.projectHead(layer, head, x);
      const int kv = kvOf(head) % kvHeads(own);
      if (!stored(own, kv, row.k[0], row.v[0]) || !find(own)) continue;
      attended(layer, own, head, row.q[0], kv);
    }
  }

 private:
  /// [cache layers] the last call for a row; null = none is written down.
  static std::vector<const PassDeed*> deedsOf(const CheckInput& input, LedgerId row) {
    std::vector<const PassDeed*> out(input.state.groupOf.size());
    for (const PassDeed& deed : input.deeds)
      if (deed.rows() > 0 && deed.tags.back() == static_cast<std::uint64_t>(row.value())) out[at(deed.layer)] = &deed;
    return out;
  }

  /// The length of the context that frequencies followed in the pass of the newest row.
  std::int64_t reach() const {
    std::int64_t out = 0;
    for (const PassDeed* deed : m_deeds) {
      if (!deed || !deed->map) return m_state.reach();
      const ResidencyView& map = *deed->map;
      out = std::max(out, std::int64_t{std::max(deed->phase.back(), map.size() ? map.phases[map.size() - 1] : 0)} + 1);
    }
    return out;
  }

  /// The newest row went through the layer, and its inputs are recorded.
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
    const int perPart = m_model.config().heads / m_state.cacheLayers().perLayer;
    int head = 0, kv = 0;
    for (const CacheLayer own : m_state.cacheLayers().of(layer)) {
      for (int i = 0; i < kvHeads(own); ++i, ++kv)
        if (!stored(own, i, row.k[at(kv)], row.v[at(kv)])) return;
      const bool there = find(own);
      std::vector<double> mean(m_seen.phases.size());
      for (int i = 0; there && i < perPart; ++i, ++head) {
        if (!attended(layer, own, head, row.q[at(head)], kvOf(head) % kvHeads(own))) return;
        std::ranges::transform(mean, m_shares, mean.begin(),
                               [&](double sum, double share) { return sum + share / perPart; });
      }
      if (!there || !probed(own, &NewestAttention::mass, 0, mean, "")) return;  // logits may be of a later pass
    }
    output(layer, x);
  }

  /// The input of the first layer is the token's embedding.
  void embedded(const std::vector<double>& x) {
    const std::vector<double> token = embeddingOf(m_input, m_decoder, m_newest);
    const double apart = distanceOf(token, x), most = std::max(1e-30, lengthOf(token));
    if (apart > 1e-4 * most)
      m_findings.add({CacheLayer(0), {}, m_newest},
                     rowName(m_newest) + " does not begin with its embedding: it differs by " +
                         figureText(100 * apart / most) + " %",
                     Harm{m_newest});
  }

  /// The index of the newest row in the layer's map; -1 = it has left.
  static std::int32_t indexOf(const ResidencyView& map, LedgerId id) {
    for (std::int32_t i = static_cast<std::int32_t>(map.size()) - 1; i >= map.first; --i)
      if (map.ledger[static_cast<std::size_t>(i)] == id) return i;
    return -1;
  }

  /// Compares a head of the stored row. False if that is wrong, so that what follows from it would be wrong, too.
  bool stored(CacheLayer own, int kv, const ScalarHead& k, const ScalarHead& v) {
    const std::int32_t index = indexOf(m_state.group(own).stored(), m_newest);
    return index < 0 || m_stored.agree(own, at(index), kv, k, v);
  }

  /// A row that the newest row saw, and how it was turned.
  struct Seen {
    LedgerId id;
    double phase, sigma;
  };

  /// The rows that the newest row sees in a cache layer, by its deed's plan, itself last; none where it has left.
  std::vector<Seen> seenIn(CacheLayer own) const {
    const PassDeed& deed = *m_deeds[at(own)];
    const int window = windowIn(m_input, own);
    std::vector<Seen> out;
    if (deed.given) {
      const GivenRows& given = *deed.given;
      std::size_t row = given.ledger.size();
      while (row > 0 && given.ledger[row - 1] != m_newest) --row;
      if (row == 0) return {};
      for (const std::int32_t one : given.seenBy(row - 1, window))
        out.push_back({given.ledger[at(one)], given.phaseOf(at(one)), given.blurOf(at(one))});
      return out;
    }
    const std::int32_t index = indexOf(*deed.map, m_newest);
    if (index < 0) return {};
    const ImpliedRows seen = impliedRows(*deed.map, at(index), window);
    for (std::int32_t i = seen.begin; i < seen.end; ++i)
      out.push_back({deed.map->ledger[at(i)], m_stored.phaseOf(deed.map->phases[at(i)]), 0});
    return out;
  }

  /// Finds the rows that the newest row sees in a cache layer. False if some have left or were written since the pass.
  bool find(CacheLayer own) {
    const std::vector<Seen> seen = seenIn(own);
    const ResidencyView& now = m_state.group(own).stored();
    const RowPool& pool = m_input.store.pool(own);
    const bool turned = m_input.transformer->keysRotated();
    m_slots.clear(), m_seen.phases.clear(), m_seen.sigmas.clear();
    auto j = static_cast<std::size_t>(now.first);  // both are in the same order
    for (const Seen& one : seen) {
      while (j < now.size() && now.ledger[j] != one.id) ++j;
      if (j == now.size() || writtenSince(own, one.id)) return false;
      const Slot slot = now.slotOf[j];
      if (slot.value() < 0 || slot.value() >= pool.slots()) return false;
      m_slots.push_back(slot);
      m_seen.phases.push_back(one.phase - (turned ? m_stored.phaseOf(now.phases[j]) : 0));
      m_seen.sigmas.push_back(one.sigma);
    }
    if (!seen.empty()) m_own = seen.back();
    return !m_slots.empty();
  }

  /// True if a later pass of the commit has written the row anew.
  bool writtenSince(CacheLayer own, LedgerId id) const {
    const PassDeed* last = &m_input.deeds.back();
    for (const PassDeed* deed = m_deeds[at(own)] + 1; deed <= last; ++deed)
      if (deed->layer == own &&
          std::ranges::find(deed->tags, static_cast<std::uint64_t>(id.value())) != deed->tags.end())
        return true;
    return false;
  }

  /// Compares the attention output of a query head over the rows that find() found. False if the pass had another one.
  bool attended(Layer layer, CacheLayer own, int head, const ScalarHead& query, int kv) {
    std::vector<double> q = query.values;
    m_decoder.turn(layer, q, m_own.phase, true, m_own.sigma);
    double most[2] = {};  // largest magnitude of the keys, and of the values that attention weighs
    m_seen.read = [&most, reader = HeadReader(m_input.store.pool(own), m_slots, kv)](std::size_t row, bool value,
                                                                                     std::span<double> out) {
      reader(row, value, out);
      for (const double one : out) most[value] = std::max(most[value], std::abs(one));
    };
    const std::vector<double> given =
        m_decoder.attend(layer, head, q, m_seen, m_input.transformer->keysRotated(), &m_shares);
    // A score that is off by so much makes shares others by twice that, in parts of them.
    const double keys = most[0] * std::sqrt(double(q.size())), score = 1 / std::sqrt(m_model.config().scoreDim());
    const double turns = at(own) < m_input.turns.size() ? m_input.turns[at(own)] * m_stored.turning(own) : 0;
    m_shareRoom = m_stored.room() +
        2 * score * keys * (turns * lengthOf(q) + kUnsure * query.unsure * std::sqrt(double(q.size())));
    const std::vector<float>& all = m_deeds[at(own)]->attended;
    const std::size_t from = at(head) * q.size() % all.size();
    const std::vector<double> got(all.begin() + static_cast<std::ptrdiff_t>(from),
                                  all.begin() + static_cast<std::ptrdiff_t>(from + q.size()));
    const double apart = distanceOf(given, got), room = m_shareRoom * most[1] * std::sqrt(double(q.size()));
    const int perPart = m_model.config().heads / m_state.cacheLayers().perLayer;
    if (apart <= room)
      return probed(own, &NewestAttention::perHead, head % perPart, m_shares, " in query head " + std::to_string(head));
    m_findings.add({own, indexIn(own), m_newest},
                   "layer " + m_state.cacheLayers().name(own) + ": what attention gave " + rowName(m_newest) +
                       " in query head " + std::to_string(head) + " is not what the " +
                       std::to_string(m_seen.phases.size()) + " rows that it sees give: it differs by " +
                       figureText(apart) + ", and " + figureText(room) + " is allowed",
                   Harm{m_newest});
    return false;
  }

  /// Compares the attention that the pass reported, one of the lists of a layer, with the shares of the rows that it
  /// sees.
  bool probed(CacheLayer own, std::vector<std::vector<float>> NewestAttention::*which, int list,
              const std::vector<double>& shares, const std::string& where) {
    const PassDeed& deed = *m_deeds[at(own)];
    const NewestAttention* said = m_state.attention.get();
    if (!said || deed.given || at(own) >= said->maps.size() || said->maps[at(own)] != deed.map) return true;
    const std::vector<std::vector<float>>& all = said->*which;
    const std::size_t each = deed.map->size() + 1, begin = each * at(list);
    if (at(own) >= all.size() || all[at(own)].size() < begin + each) return true;
    const std::span<const float> got = std::span(all[at(own)]).subspan(begin, each - 1);
    const auto last = at(indexOf(*deed.map, m_newest)) + 1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool seen = i < last && i + shares.size() >= last;
      const double wanted = seen ? shares[i + shares.size() - last] : 0, is = static_cast<double>(got[i]);
      if (std::abs(is - wanted) <= m_shareRoom) continue;
      m_findings.add({own, indexIn(own), m_newest},
                     "layer " + m_state.cacheLayers().name(own) + ": the pass said that " + rowName(m_newest) +
                         " gives " + rowName(deed.map->ledger[i]) + where + " the attention " + figureText(is) +
                         ", and its recomputation gives " + figureText(wanted),
                     Harm{m_newest});
      return false;
    }
    return true;
  }

  double outputRoom() const { return m_stored.rounds() ? kOutputRounded : kOutput; }

  std::optional<std::size_t> indexIn(CacheLayer own) const {
    const std::int32_t index = indexOf(m_state.map(own), m_newest);
    return index < 0 ? std::nullopt : std::optional(at(index));
  }

  /// Recomputes the layer's output from its input and the attention of the pass. Compares it with the input of the next
  /// layer; for the last layer compares the logits.
  void output(Layer layer, const std::vector<double>& x) {
    std::vector<double> attended;
    for (const CacheLayer own : m_state.cacheLayers().of(layer))
      attended.insert(attended.end(), m_deeds[at(own)]->attended.begin(), m_deeds[at(own)]->attended.end());
    std::optional<Apart> nearest;  // among the outputs for each choice of experts
    const bool last = layer == m_state.cacheLayers().last();
    const Layer next(layer.value() + 1);
    if (!last && !known(next)) return;
    for (const ScalarOutput& wanted : m_decoder.outputs(layer, attended, x)) {
      const std::optional<Apart> one = last ? logits(wanted) : handedOn(x, wanted, inputOf(next));
      if (!one || one->by <= one->room) return;
      if (!nearest || one->by / one->room < nearest->by / nearest->room) nearest = one;
    }
    const CacheLayer own = m_state.cacheLayers().of(layer).front();
    if (last)
      return m_findings.add({{}, {}, m_newest},
                            "the logits of the next token differ by " + figureText(nearest->by) +
                                " from their recomputation, and " + figureText(nearest->room) + " is allowed",
                            Harm{.logits = true});
    m_findings.add({own, indexIn(own), m_newest},
                   "layer " + std::to_string(layer.value()) + ": what it made of " + rowName(m_newest) +
                       " is not what its recomputation gives: it differs by " + figureText(100 * nearest->by) +
                       " % of what the layer adds, and " + figureText(100 * nearest->room) + " % is allowed",
                   Harm{m_newest});
  }

  /// The difference between a value and its recomputation, and the difference that is allowed.
  struct Apart {
    double by, room;
  };

  /// In parts of the layer's contribution to its input x.
  Apart handedOn(const std::vector<double>& x, const ScalarOutput& wanted, const std::vector<double>& got) const {
    const double added = std::max(distanceOf(wanted.values, x), 1e-6 * lengthOf(x));
    return {distanceOf(wanted.values, got) / added, outputRoom() + kUnsure * wanted.unsure / added};
  }

  /// The same for the logits of x, the last layer's output; none where the state has no fresh logits.
  std::optional<Apart> logits(const ScalarOutput& x) const {
    if (!m_state.logits || m_state.logitsStale || m_input.refreshed) return std::nullopt;
    const int step = m_input.full ? 1 : kLogitsLeftOut;
    const ScalarOutput made = m_decoder.logits(x.values, step);
    const std::vector<double>& wanted = made.values;
    std::vector<double> got;
    for (std::size_t token = 0; token < m_state.logits->size(); token += at(step))
      got.push_back(static_cast<double>((*m_state.logits)[token]));
    if (wanted.size() != got.size()) return std::nullopt;
    double mean = 0, square = 0, apart = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      mean += wanted[i];
      square += wanted[i] * wanted[i];
      apart = std::max(apart, std::abs(wanted[i] - got[i]));
    }
    mean /= static_cast<double>(wanted.size());
    const double spread = std::sqrt(std::max(0.0, square / static_cast<double>(wanted.size()) - mean * mean));
    const double moved = 10 * spread * x.unsure / std::max(1e-30, lengthOf(x.values));  // as x has moved
    return Apart{apart, 10 * outputRoom() * std::max(spread, 1e-3) + kUnsure * (made.unsure + moved)};
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  const Model& m_model;
  LedgerId m_newest;
  std::vector<const PassDeed*> m_deeds;  // [cache layers] of the newest row; null = not written down
  ScalarDecoder m_decoder;
  Findings& m_findings;
  StoredHeads m_stored;
  std::vector<Slot> m_slots;     // [rows of m_seen]
  ScalarSeen m_seen;             // rows of the cache layer that find() was called for
  Seen m_own = {};               // the newest row itself
  std::vector<double> m_shares;  // [rows of m_seen] of the head that attended() was called for
  double m_shareRoom = 0;        // allowed error of a share
};

/// Layers that cheap checks look at in a scrub period. In a deep model these are not all, so that a check stays cheap.
struct Round {
  std::vector<Layer> layers;
  std::int64_t turn = 0;  // number of earlier looks at each of them
};

Round roundOf(const CheckInput& input, std::int64_t period) {
  const int layers = input.transformer->model().config().layers, rounds = (layers - 1) / kLayersInRound + 1;
  Round out{{}, period / rounds};
  for (auto layer = static_cast<int>(period % rounds); layer < layers; layer += rounds) out.layers.emplace_back(layer);
  return out;
}

}  // namespace

void checkExactRows(const CheckInput& input, Findings& findings) {
  if (!input.transformer || input.state.context.empty()) return;
  const bool newest = std::ranges::any_of(input.deeds, [](const PassDeed& deed) { return !deed.input.empty(); });
  if (input.full) {
    if (newest) Recount(input, findings).all();
    checkDoubtedRows(input, findings);
    return checkOldRows(input, findings);
  }
  const std::int64_t parts = std::max(1, input.manifest.scrubPeriod), part = input.scrubPart % parts;
  const Round round = roundOf(input, input.state.tick.value() / parts);
  const auto begin = std::ssize(round.layers) * part / parts, end = std::ssize(round.layers) * (part + 1) / parts;
  // Turns that come once in 64 ticks would never meet the ticks at which a block of attention begins.
  const std::size_t length = input.state.context.size();
  const Layer border(
      static_cast<std::int32_t>(length / kAttentionRows % at(input.transformer->model().config().layers)));
  if (newest && length % kAttentionRows <= 1)
    Recount(input, findings).heads({&border, 1}, static_cast<std::int64_t>(length / kAttentionRows));
  if (newest && begin < end)
    Recount(input, findings).heads(std::span(round.layers).subspan(at(begin), at(end - begin)), round.turn);
  const std::int64_t looks = input.store.backend().onHost() ? kOldRows : 1;  // on a device the look waits for the tick
  if (part % std::max<std::int64_t>(1, parts / looks) == 0) checkOldRows(input, findings);
  if (newest && part == parts / 2) Recount(input, findings).last();
}

}  // namespace kvlab
