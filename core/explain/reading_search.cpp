// SPDX-License-Identifier: Apache-2.0
#include "core/explain/reading_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/api/json_values.h"

namespace kvlab {
namespace {

constexpr std::size_t kSample = 32;    // rows that are looked at
constexpr double kBetter = 0.75;       // of the rest: what a further mistake must get below
constexpr double kTellsNothing = 0.9;  // a rest as of rows that have nothing in common
constexpr std::size_t kRivals = 6;
constexpr int kMostOffset = 4096;          // positions
constexpr std::size_t kMostTokens = 4096;  // distinct ones

/// Heads of length 1; a head without a length stays.
void normalise(std::span<float> rows, int dim) {
  for (std::size_t i = 0; i + at(dim) <= rows.size(); i += at(dim)) {
    double length = 0;
    for (std::size_t j = i; j < i + at(dim); ++j) length += double{rows[j]} * rows[j];
    const auto by = static_cast<float>(length > 0 && std::isfinite(length) ? 1 / std::sqrt(length) : 0);
    for (std::size_t j = i; j < i + at(dim); ++j) rows[j] = by > 0 ? rows[j] * by : 0;
  }
}

/// Error of a head against another of any length: the sine of their angle.
double sine(const float* a, const float* b, int dim) {
  float dot = 0;
  for (int i = 0; i < dim; ++i) dot += a[i] * b[i];
  return std::sqrt(std::max(0.0, 1 - double{dot} * dot));
}

struct Base {
  std::vector<LayoutStep> steps;
  std::vector<float> rows;  // [sample, width], heads of length 1
};

class ReadingSearch {
 public:
  explicit ReadingSearch(const ReadingAsk& ask) : m_ask(ask), m_heads(at(ask.shape.heads)), m_dim(ask.shape.dim) {
    for (std::size_t i = 0; i < std::min(kSample, at(ask.shape.rows)); ++i)
      m_sample.push_back(i * at(ask.shape.rows) / std::min(kSample, at(ask.shape.rows)));
    m_turnings.push_back(turningOf(ask.config, Layer(ask.own), ask.length));
    for (KeyTurning& one : otherTurnings(ask.config, Layer(ask.own), ask.length)) m_turnings.push_back(std::move(one));
  }

  std::vector<FoundReading> run() {
    addBases({}, m_ask.theirs, false);
    sweep(0);
    if (done()) return take();
    makeBases();
    for (const int mistakes : {1, 2}) {
      sweep(mistakes);
      if (done()) return take();
    }
    freeHeads();
    offsets();
    bases();
    if (m_best.rest > 0.5) sweep(3);
    return take();
  }

 private:
  bool done() const { return m_best.rest <= restAllowed(m_ask.floor); }

  std::vector<float> sampled(const std::vector<float>& rows) const {
    std::vector<float> out;
    const std::size_t width = at(m_ask.shape.width());
    for (const std::size_t row : m_sample)
      out.insert(out.end(), rows.begin() + std::ptrdiff_t(row * width),
                 rows.begin() + std::ptrdiff_t((row + 1) * width));
    return out;
  }

  void addBase(std::vector<LayoutStep> steps, std::vector<float> rows) {
    normalise(rows, m_dim);
    m_bases.push_back({std::move(steps), std::move(rows)});
  }

  /// A table, alone or with each of up to two steps within rows.
  void addBases(const std::vector<LayoutStep>& table, const std::vector<float>& all, bool more) {
    const RowShape few{static_cast<std::int64_t>(m_sample.size()), m_ask.shape.heads, m_dim};
    const std::vector<float> rows = sampled(all);
    if (!more || !table.empty()) addBase(table, rows);
    if (!more) return;
    const std::vector<LayoutStep> within = rowSteps(m_ask.shape, m_ask.config);
    for (const LayoutStep& one : within) {
      std::vector<float> first = rows;
      one.undo(few, first);
      std::vector<LayoutStep> steps = table;
      steps.push_back(one);
      addBase(steps, first);
      for (const LayoutStep& two : within) {
        if (two.kind == one.kind && one.kind != "pairing") continue;
        std::vector<float> second = first;
        two.undo(few, second);
        std::vector<LayoutStep> both = steps;
        both.push_back(two);
        addBase(std::move(both), std::move(second));
      }
    }
  }

  void makeBases() {
    addBases({}, m_ask.theirs, true);
    for (const LayoutStep& table : tableSteps(m_ask.shape, m_ask.page)) {
      std::vector<float> rows = m_ask.theirs;
      table.undo(m_ask.shape, rows);
      addBases({table}, rows, true);
    }
    std::ranges::stable_sort(m_bases, {}, [](const Base& base) { return base.steps.size(); });
  }

  using Key = std::tuple<Side, int, std::size_t, std::size_t>;  // source, layer, places, turning

  std::vector<float> expectedOf(Side source, int own, std::size_t places, const KeyTurning& turning) const {
    const RowPlaces& all = m_ask.places[places];
    const std::vector<float>& rows = source == Side::Keys ? m_ask.exact.keys[at(own)] : m_ask.exact.values[at(own)];
    const std::size_t width = at(m_ask.shape.width());
    std::vector<float> out;
    std::vector<double> phases;
    for (const std::size_t row : m_sample) {
      phases.push_back(all.phases[row]);
      for (std::size_t i = 0; i < width; ++i)
        out.push_back(all.tokens[row] < 0 ? 0 : rows[at(all.tokens[row]) * width + i]);
    }
    if (source == Side::Keys) turning.turn(out, m_dim, phases);
    normalise(out, m_dim);
    return out;
  }

  const std::vector<float>& expected(const Key& key) {
    auto [found, fresh] = m_expected.try_emplace(key);
    if (!fresh) return found->second;
    const auto& [source, own, places, turning] = key;
    const bool elsewhere = own != m_ask.own && turning == 0;
    found->second = expectedOf(source, own, places,
                               elsewhere ? turningOf(m_ask.config, Layer(own), m_ask.length) : m_turnings[turning]);
    return found->second;
  }

  double restOf(const Base& base, const std::vector<float>& ours) const {
    double sum = 0;
    for (std::size_t i = 0; i + at(m_dim) <= ours.size(); i += at(m_dim)) sum += sine(&base.rows[i], &ours[i], m_dim);
    return sum / static_cast<double>(std::max<std::size_t>(1, ours.size() / at(m_dim)));
  }

  void offer(FoundReading found) {
    if (m_found.empty()) m_plain = found.rest;
    // An offset of some rows is no offset of all.
    if (found.reading.turning.kind == "position_offset" && found.rest > 0.3 * m_plain) return;
    if (found.rest < m_best.rest * std::pow(kBetter, found.mistakes - m_best.mistakes) || m_found.empty())
      m_best = found;
    if (found.mistakes > 0 && found.rest > kTellsNothing) return;
    m_found.push_back(std::move(found));
    if (m_found.size() < 64) return;
    std::ranges::stable_sort(m_found, {}, &FoundReading::rest);
    m_found.resize(kRivals * 2);
  }

  FoundReading foundOf(const Base& base, const Key& key, int mistakes, double rest) const {
    const auto& [source, own, places, turning] = key;
    SideReading reading;
    reading.side = m_ask.side, reading.source = source, reading.layout = base.steps;
    reading.turning = m_turnings[turning];
    return {std::move(reading), places, own, mistakes, rest};
  }

  /// Every combination of so many mistakes.
  void sweep(int mistakes) {
    for (const Base& base : m_bases) {
      const int left = mistakes - static_cast<int>(base.steps.size());
      if (left < 0 || left > 2) continue;
      for (std::size_t places = 0; places < m_ask.places.size(); ++places) {
        for (const Side source : {m_ask.side, m_ask.side == Side::Keys ? Side::Values : Side::Keys})
          for (std::size_t turning = 0; turning < (source == Side::Keys ? m_turnings.size() : 1); ++turning)
            if ((source != m_ask.side) + (turning != 0) == left)
              tryOne(base, {source, m_ask.own, places, turning}, mistakes);
        if (left != 1) continue;
        for (int own = 0; own < static_cast<int>(m_ask.exact.keys.size()); ++own)
          if (own != m_ask.own) tryOne(base, {m_ask.side, own, places, 0}, mistakes);
      }
    }
  }

  void tryOne(const Base& base, const Key& key, int mistakes) {
    const double rest = restOf(base, expected(key));
    if (mistakes == 0 || rest < kTellsNothing) offer(foundOf(base, key, mistakes, rest));
  }

  /// Each of their heads may be any of ours.
  void freeHeads() {
    if (m_heads < 2) return;
    for (const Base& base : m_bases) {
      if (base.steps.size() > 1) continue;
      for (std::size_t places = 0; places < m_ask.places.size(); ++places)
        for (std::size_t turning = 0; turning < (m_ask.side == Side::Keys ? m_turnings.size() : 1); ++turning) {
          if (turning != 0 && !base.steps.empty()) continue;
          const Key key{m_ask.side, m_ask.own, places, turning};
          const std::vector<float>& ours = expected(key);
          double rest = 0;
          const std::vector<int> map = headsOf(base, ours, rest);
          const bool own = std::ranges::is_sorted(map) && map.back() == static_cast<int>(m_heads) - 1 &&
              std::ranges::adjacent_find(map) == map.end();
          if (own) continue;
          FoundReading found = foundOf(base, key, static_cast<int>(base.steps.size()) + (turning != 0) + 1, rest);
          found.reading.headMap = map;
          offer(std::move(found));
        }
    }
  }

  std::vector<int> headsOf(const Base& base, const std::vector<float>& ours, double& rest) const {
    std::vector<int> map;
    const std::size_t width = at(m_ask.shape.width());
    for (std::size_t theirs = 0; theirs < m_heads; ++theirs) {
      std::vector<double> sums(m_heads);
      for (std::size_t row = 0; row < m_sample.size(); ++row)
        for (std::size_t head = 0; head < m_heads; ++head)
          sums[head] +=
              sine(&base.rows[row * width + theirs * at(m_dim)], &ours[row * width + head * at(m_dim)], m_dim);
      const auto least = std::ranges::min_element(sums);
      const bool own = sums[theirs] <= *least * 1.01;
      map.push_back(own ? static_cast<int>(theirs) : static_cast<int>(least - sums.begin()));
      rest += own ? sums[theirs] : *least;
    }
    rest /= static_cast<double>(m_heads * m_sample.size());
    return map;
  }

  /// The offset at which pairs, summed over rows and heads, agree best.
  int bestOffset(const std::vector<double>& along, const std::vector<double>& across) {
    const std::vector<double>& frequencies = m_turnings[0].frequencies;
    if (m_offsets.empty())
      for (int offset = -kMostOffset; offset <= kMostOffset; ++offset)
        for (const double w : frequencies) {
          m_offsets.push_back(std::cos(offset * w));
          m_offsets.push_back(std::sin(offset * w));
        }
    int best = 0;
    double most = -1e30;
    const double* turned = m_offsets.data();
    for (int offset = -kMostOffset; offset <= kMostOffset; ++offset) {
      double sum = 0;
      for (std::size_t pair = 0; pair < frequencies.size(); ++pair, turned += 2)
        sum += along[pair] * turned[0] + across[pair] * turned[1];
      if (sum > most) most = sum, best = offset;
    }
    return best;
  }

  /// Keys that are all turned by so many positions more. The sum over rows and heads of pairs makes it cheap.
  void offsets() {
    if (m_ask.side != Side::Keys) return;
    for (const Base& base : m_bases) {
      if (base.steps.size() > 1) continue;
      for (std::size_t places = 0; places < m_ask.places.size(); ++places) {
        const KeyTurning& own = m_turnings[0];
        const std::vector<float>& ours = expected({Side::Keys, m_ask.own, places, 0});
        std::vector<double> along(own.first.size()), across(own.first.size());
        for (std::size_t i = 0; i + at(m_dim) <= ours.size(); i += at(m_dim))
          for (std::size_t pair = 0; pair < own.first.size(); ++pair) {
            const float a = base.rows[i + at(own.first[pair])], b = base.rows[i + at(own.second[pair])];
            const float x = ours[i + at(own.first[pair])], y = ours[i + at(own.second[pair])];
            along[pair] += a * x + b * y, across[pair] += b * x - a * y;
          }
        const int best = bestOffset(along, across);
        if (best == 0) continue;
        KeyTurning turning = own;
        turning.shift = best, turning.kind = "position_offset", turning.parameters = {{"offset", best}};
        turning.text = "rotated " + std::to_string(std::abs(best)) + " positions " + (best > 0 ? "behind" : "before") +
            " their own";
        offerTurning(base, places, std::move(turning));
      }
    }
  }

  /// Any base, where the usual ones do not fit.
  void bases() {
    if (m_ask.side != Side::Keys || m_best.rest <= restAllowed(m_ask.floor) || m_ask.config.ropes.size() > 1) return;
    const auto expectedAt = [&](double logarithm) {
      return expectedOf(Side::Keys, m_ask.own, 0,
                        turningWithBase(m_ask.config, Layer(m_ask.own), m_ask.length, std::exp(logarithm)));
    };
    std::vector<std::pair<double, std::vector<float>>> tried;  // logarithm of the base, and the rows
    for (double x = std::log(500.0); x < std::log(5e8); x += 0.1) tried.emplace_back(x, expectedAt(x));
    for (const Base& base : m_bases) {
      if (base.steps.size() > 1) continue;
      double best = 0, rest = 2, step = 0.1;
      for (const auto& [x, ours] : tried)
        if (const double now = restOf(base, ours); now < rest) rest = now, best = x;
      if (rest > 0.7) continue;
      for (; step > 1e-6; step *= 0.6)
        for (const double x : {best - step, best + step})
          if (const double now = restOf(base, expectedAt(x)); now < rest) rest = now, best = x;
      double value = std::exp(best);
      const double round = std::pow(10, std::floor(std::log10(value)) - 3);
      value = std::round(value / round) * round;
      offerTurning(base, 0, turningWithBase(m_ask.config, Layer(m_ask.own), m_ask.length, value));
    }
  }

  void offerTurning(const Base& base, std::size_t places, KeyTurning turning) {
    const double rest = restOf(base, expectedOf(Side::Keys, m_ask.own, places, turning));
    FoundReading found =
        foundOf(base, {Side::Keys, m_ask.own, places, 0}, static_cast<int>(base.steps.size()) + 1, rest);
    found.reading.turning = std::move(turning);
    offer(std::move(found));
  }

  std::vector<FoundReading> take() {
    std::ranges::stable_sort(m_found, {},
                             [](const FoundReading& one) { return one.rest / std::pow(kBetter, one.mistakes); });
    std::vector<FoundReading> out = {m_best};
    for (FoundReading& one : m_found) {
      const auto same = [&](const FoundReading& other) { return causeWords(other) == causeWords(one); };
      if (out.size() < kRivals && std::ranges::none_of(out, same)) out.push_back(std::move(one));
    }
    return out;
  }

  static std::string causeWords(const FoundReading& found) {
    std::string out = std::to_string(found.own) + ":";
    for (const Cause& cause : causesOf(found.reading, "rows")) out += cause.text + ";";
    return out;
  }

  const ReadingAsk& m_ask;
  std::size_t m_heads;
  int m_dim;
  std::vector<std::size_t> m_sample;
  std::vector<KeyTurning> m_turnings;
  std::vector<Base> m_bases;
  std::vector<double> m_offsets;  // [offsets, pairs] cosine and sine
  std::map<Key, std::vector<float>> m_expected;
  FoundReading m_best;
  double m_plain = 1;  // rest without a mistake
  std::vector<FoundReading> m_found;
};

}  // namespace

std::vector<FoundReading> findReadings(const ReadingAsk& ask) { return ReadingSearch(ask).run(); }

double restAllowed(double floor) { return 2.5 * floor + 0.02; }

std::vector<std::vector<std::int32_t>> nearTokens(const ReadingAsk& ask, const SideReading& reading,
                                                  std::span<const TokenId> ids) {
  const std::size_t width = at(ask.shape.width()), heads = at(ask.shape.heads), dim = at(ask.shape.dim);
  std::vector<float> theirs = reading.undone(ask.shape, ask.theirs);
  normalise(theirs, ask.shape.dim);
  std::vector<float> ours = ask.exact.values[at(ask.own)];
  normalise(ours, ask.shape.dim);
  std::map<TokenId, std::int32_t> distinct;
  for (std::size_t i = 0; i < ids.size() && distinct.size() < kMostTokens; ++i)
    distinct.try_emplace(ids[i], static_cast<std::int32_t>(i));
  const double allowed = std::min(0.6, restAllowed(ask.floor) + 0.05);
  std::vector<std::vector<std::int32_t>> out(at(ask.shape.rows));
  for (std::size_t row = 0; row < out.size(); ++row) {
    std::vector<std::pair<double, std::int32_t>> near;
    for (const auto& [id, token] : distinct) {
      double rest = 0;
      for (std::size_t head = 0; head < heads && rest <= allowed * static_cast<double>(heads); ++head) {
        const std::size_t from = reading.headMap.empty() ? head : at(reading.headMap[head]);
        rest += sine(&theirs[row * width + head * dim], &ours[at(token) * width + from * dim], ask.shape.dim);
      }
      rest /= static_cast<double>(heads);
      if (rest <= allowed) near.emplace_back(rest, token);
    }
    std::ranges::sort(near);
    for (const auto& [rest, token] : near) out[row].push_back(token);
  }
  return out;
}

NearPhase nearestPhase(const PhaseAsk& ask, std::span<const float> theirs, std::span<const float> unturned) {
  const KeyTurning& turning = ask.turning;
  std::vector<double> along(turning.first.size()), across(turning.first.size());
  std::vector<float> a(theirs.begin(), theirs.end()), b(unturned.begin(), unturned.end());
  normalise(a, ask.dim), normalise(b, ask.dim);
  double still = 0;  // what no pair turns
  for (std::size_t i = 0; i + at(ask.dim) <= a.size(); i += at(ask.dim)) {
    for (std::size_t j = i; j < i + at(ask.dim); ++j) still += double{a[j]} * b[j];
    for (std::size_t pair = 0; pair < along.size(); ++pair) {
      const std::size_t first = i + at(turning.first[pair]), second = i + at(turning.second[pair]);
      const double turned = double{a[first]} * b[first] + double{a[second]} * b[second];
      along[pair] += turned, still -= turned;
      across[pair] += double{a[second]} * b[first] - double{a[first]} * b[second];
    }
  }
  const double heads = std::max(1.0, static_cast<double>(a.size() / at(ask.dim)));
  NearPhase out;
  double most = -1e30;
  const auto offer = [&](double phase) {
    double sum = still;
    const double turned = turning.times * phase + turning.shift;
    for (std::size_t pair = 0; pair < along.size(); ++pair)
      sum += along[pair] * std::cos(turned * turning.frequencies[pair]) +
          across[pair] * std::sin(turned * turning.frequencies[pair]);
    if (sum <= most) return;
    most = sum, out.phase = phase;
    out.error = std::sqrt(std::max(0.0, 1 - sum / heads * (sum / heads)));
  };
  for (const double phase : ask.likely) offer(phase);
  for (std::int32_t phase = 0; phase < ask.phases && out.error > ask.enough; ++phase) offer(phase);
  return out;
}

}  // namespace kvlab
