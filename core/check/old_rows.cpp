// SPDX-License-Identifier: Apache-2.0
#include "core/check/checks.h"

#include <algorithm>

#include "core/analysis/exactness.h"
#include "core/check/stored_heads.h"
#include "core/model/decoder/frequencies.h"
#include "kernels/row_checksum.h"

namespace kvlab {
namespace {

constexpr std::size_t kWritten = 16, kOthers = 16;  // rows that a full check takes to the first layer
constexpr double kDeep = 20;                        // differences add up from layer to layer
constexpr double kShaken = 6;                       // rounding may change a row so much more than a trial shows

class OldRows {
 public:
  OldRows(const CheckInput& input, Findings& findings)
      : m_input(input),
        m_state(input.state),
        m_model(input.transformer->model()),
        m_decoder(m_model, m_state.reach(), input.transformer->ops().numericsId()),
        m_stored(input, m_decoder, findings),
        m_random(kernels::mix64(static_cast<std::uint64_t>(m_state.tick.value()) + kernels::kChecksumIndexStep)) {}

  void some() {
    if (m_state.kind->derivesContext()) {
      for (std::size_t i = 0; i < kOthers; ++i) stored();
      return;
    }
    std::vector<std::size_t> rows;
    const auto add = [&rows](std::size_t position) {
      if (std::ranges::find(rows, position) == rows.end()) rows.push_back(position);
      return position;
    };
    const std::vector<std::size_t> written = writtenLast();
    for (std::size_t i = 0; i < std::min(kWritten, written.size()); ++i) add(written[draw(written.size())]);
    for (std::size_t i = 0; i < kOthers; ++i) add(draw(m_state.context.size()));
    const std::size_t deep = add(draw(m_state.context.size()));
    // Rounded products are far from the recomputation after some layers.
    for (const std::size_t row : rows)
      if (first(row) && row == deep && !m_stored.rounds() && !m_decoder.rounds()) through(row);
  }
  void one() {
    if (m_state.kind->derivesContext()) stored();
    else first(draw(m_state.context.size()));
  }
  /// The first layer of a row, if it is there.
  void again(LedgerId id) {
    if (m_state.kind->derivesContext()) return stored(id);
    const auto found = std::ranges::find(m_state.context, id);
    if (found != m_state.context.end()) first(at(found - m_state.context.begin()));
  }
  void all() {
    if (m_state.kind->derivesContext()) {
      for (const LedgerId id : m_state.group(CacheLayer(0)).stored().ledger) stored(id);
    } else {
      for (std::size_t p = 0; p < m_state.context.size(); ++p) first(p);
    }
  }

 private:
  std::size_t draw(std::size_t below) {
    m_random = kernels::mix64(m_random + kernels::kChecksumIndexStep);
    return static_cast<std::size_t>(m_random % below);
  }

  /// Positions of the rows that the last commit wrote, in the first layer.
  std::vector<std::size_t> writtenLast() const {
    const Column<std::int32_t>& writers = m_state.group(CacheLayer(0)).writers;
    const std::int32_t last = writers.empty() ? 0 : *std::ranges::max_element(writers);
    std::vector<std::size_t> out;
    for (std::size_t p = 0; p < m_state.context.size(); ++p) {
      const auto id = static_cast<std::size_t>(m_state.context[p].value());
      if (id < writers.size() && writers[id] == last) out.push_back(p);
    }
    return out;
  }

  /// The index of a row in a layer's map; none if the map lacks the row.
  std::optional<std::size_t> indexOf(CacheLayer layer, std::size_t position) const {
    const ResidencyView& map = m_state.map(layer);
    const std::size_t from = std::min(position, map.size());  // a map is a part of the context, in its order
    for (std::size_t i = std::min(from + 1, map.size()); i-- > static_cast<std::size_t>(map.first);)
      if (map.ledger[i] == m_state.context[position]) return i;
    return std::nullopt;
  }

  /// Compares any row that the first layer holds, also one beside the context, unless an edit has left it as it was.
  void stored() {
    const ResidencyView& all = m_state.group(CacheLayer(0)).stored();
    if (all.size() == 0) return;
    stored(all.ledger[draw(all.size())]);
  }
  void stored(LedgerId id) {
    if (!m_state.ledger.contains(id) || m_state.kind->leftAsItWas(id)) return;
    const ScalarRow made = m_decoder.project(Layer(0), embeddingOf(m_input, m_decoder, id));
    int kv = 0;
    for (const CacheLayer own : m_state.cacheLayers().of(Layer(0))) {
      const ResidencyView& stored = m_state.group(own).stored();
      const auto found = std::ranges::find(stored.ledger.span(), id);
      const auto index = static_cast<std::size_t>(found - stored.ledger.span().begin());
      for (int head = 0; head < m_input.store.pool(own).format().kvHeads; ++head, ++kv)
        if (index < stored.size() && stored.has(index) &&
            !m_stored.agree(own, index, head, made.k[at(kv)], made.v[at(kv)]))
          return;
    }
  }

  /// Compares all KV heads that a layer of the model has of a row.
  bool agrees(Layer layer, std::size_t position, const ScalarRow& row, double more = 0) const {
    int kv = 0;
    for (const CacheLayer own : m_state.cacheLayers().of(layer)) {
      const std::optional<std::size_t> index = indexOf(own, position);
      for (int head = 0; head < m_input.store.pool(own).format().kvHeads; ++head, ++kv)
        if (index && !m_stored.agree(own, *index, head, row.k[at(kv)], row.v[at(kv)], more)) return false;
    }
    return true;
  }

  const LedgerRow& ledgerRow(std::size_t position) const { return m_state.ledger[m_state.context[position]]; }

  bool first(std::size_t position) const {
    return agrees(Layer(0), position, m_decoder.project(Layer(0), m_decoder.embed(ledgerRow(position).token)));
  }

  /// Nothing says that the row was computed from something else than is there.
  bool exact(Layer layer, std::size_t position) const {
    return std::ranges::all_of(m_state.cacheLayers().of(layer), [&](CacheLayer own) {
      const Exactness label = m_labels.layers[at(own)][position];
      return (label == Exactness::Exact || label == Exactness::Loaded) && indexOf(own, position);
    });
  }

  /// The rounding of a row in a layer by row types since it was computed; the rows that it saw have about the same.
  double roundedSince(Layer layer, std::size_t position) const {
    double out = 0;
    for (const CacheLayer own : m_state.cacheLayers().of(layer)) {
      const RowPast past = m_state.pastOf(own, m_state.context[position]);
      out = std::max({out, double(past.k.most()), double(past.v.most())});
    }
    return out;
  }

  /// The largest difference between two rows, in parts of the largest value of a head.
  static double apart(const ScalarRow& a, const ScalarRow& b) {
    double out = 0;
    for (const auto half : {&ScalarRow::k, &ScalarRow::v})
      for (std::size_t head = 0; head < (a.*half).size(); ++head) {
        const std::vector<double>&x = (a.*half)[head].values, &y = (b.*half)[head].values;
        double most = 1e-30, by = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          most = std::max(most, std::abs(x[i]));
          by = std::max(by, std::abs(x[i] - y[i]));
        }
        out = std::max(out, by / most);
      }
    return out;
  }

  /// The input of a layer for a row; none if that cannot be known. shaken: as in storedAttention().
  std::optional<ScalarInput> given(Layer layer, std::size_t position, const ScalarRow& row, std::vector<double> x,
                                   double shaken) const {
    std::optional<std::vector<double>> attended = storedAttention(
        m_input, m_decoder, m_stored, layer, row, [&](CacheLayer own) { return indexOfWhole(own, position); }, shaken);
    return attended ? std::optional(ScalarInput{std::move(*attended), std::move(x)}) : std::nullopt;
  }

  /// Output of a layer; none where rounding chose among experts.
  std::optional<std::vector<double>> handedOn(Layer layer, const ScalarInput& in) const {
    std::vector<ScalarOutput> made = m_decoder.outputs(layer, in.attended, in.x);
    return made.size() > 1 ? std::nullopt : std::optional(std::move(made[0].values));
  }

  /// Takes a row through the layers as far as the row is exact and the rows that it sees are resident. If row types
  /// have rounded rows since, a second walk over rows that are moved by as much estimates the effect of the rounding.
  void through(std::size_t position) {
    CacheState labelled = m_state;
    m_labels = exactness(labelled, m_input.manifest.position == PositionMode::Cache,
                         turnWord(m_model.config(), m_state.reach()));
    std::vector<double> x = m_decoder.embed(ledgerRow(position).token), other = x;
    double rounded = 0;
    for (const Layer layer : m_state.cacheLayers().ofModel()) {
      if (!exact(layer, position)) return;
      rounded = std::max(rounded, roundedSince(layer, position));
      const ScalarRow row = m_decoder.project(layer, x);
      const ScalarRow shaken = rounded > 0 ? m_decoder.project(layer, other) : row;
      if (!agrees(layer, position, row, (kDeep - 1) * m_stored.room() + kShaken * apart(row, shaken))) return;
      if (layer.value() + 1 == m_model.config().layers) return;  // nothing is stored behind the last one
      const std::optional<ScalarInput> in = given(layer, position, row, std::move(x), 0);
      const std::optional<ScalarInput> moved =
          rounded > 0 ? given(layer, position, shaken, std::move(other), rounded) : in;
      if (!in || !moved) return;
      // If row types have rounded rows since, the pass may have chosen other experts than the present rows imply.
      if (rounded > 0 && !m_decoder.choosesAlike(layer, *in, *moved, kShaken)) return;
      std::optional<std::vector<double>> next = handedOn(layer, *in), second = handedOn(layer, *moved);
      if (!next || !second) return;
      x = std::move(*next), other = std::move(*second);
    }
  }

  /// The index of the row, unless rows that it sees have left.
  std::optional<std::size_t> indexOfWhole(CacheLayer layer, std::size_t position) const {
    const std::optional<std::size_t> index = indexOf(layer, position);
    const ResidencyView& map = m_state.map(layer);
    if (!index || map.first == 0) return index;
    return impliedRows(map, *index, windowIn(m_input, layer)).begin == map.first ? std::nullopt : index;
  }

  const CheckInput& m_input;
  const CacheState& m_state;
  const Model& m_model;
  ScalarDecoder m_decoder;
  StoredHeads m_stored;
  ExactnessMap m_labels;
  std::uint64_t m_random;
};

}  // namespace

void checkDoubtedRows(const CheckInput& input, Findings& findings) {
  if (input.doubted.empty() || keysOfOtherLengths(input)) return;
  OldRows rows(input, findings);
  const std::int64_t before = findings.count();
  for (const LedgerId id : input.doubted) rows.again(id);
  if (findings.count() == before) rows.all();
}

void checkOldRows(const CheckInput& input, Findings& findings) {
  if (keysOfOtherLengths(input)) return;
  if (findings.count() > 0) return;  // a fault of the newest row may be a fault of all rows
  if (input.full) OldRows(input, findings).some();
  else OldRows(input, findings).one();
}

}  // namespace kvlab
