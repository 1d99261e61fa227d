// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/api/json_values.h"
#include "core/explain/row_places.h"

namespace kvlab {
namespace {

constexpr double kFactor = 0.02;           // nearer to 1 it is no scale that somebody forgot
constexpr std::size_t kMostSearched = 64;  // rows of a layer that are compared with the rows of all tokens

double lengthOf(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    length += double{b[i]} * b[i];
  }
  return length > 0 && std::isfinite(sum) ? std::sqrt(sum / length) : 1e9;
}

/// All factors are further from 1 than a bound.
bool far(const std::vector<double>& factors, double bound) {
  return std::ranges::all_of(factors, [&](double factor) { return std::abs(factor - 1) > bound; });
}
bool alike(const std::vector<double>& factors, double bound) {
  const auto [least, most] = std::ranges::minmax(factors);
  return most - least <= 0.1 * std::abs(most) + 2 * bound;
}

/// One side of a row.
struct SideOfRow {
  Side side = Side::Keys;
  std::span<const float> theirs, ours;  // [width]
  std::vector<int> heads;               // that are wrong
  float bound = 0;                      // the largest of the wrong heads
};

class FaultFinder {
 public:
  FaultFinder(const LayerRowsRead& rows, const FaultGround& ground, bool lowest)
      : m_rows(rows),
        m_ground(ground),
        m_lowest(lowest),
        m_heads(at(ground.config.kvHeads)),
        m_dim(at(ground.config.headDim)) {}

  std::vector<RowFault> run() {
    std::vector<RowFault> out;
    std::size_t wrong = 0;
    const auto rows = static_cast<std::int32_t>(m_rows.places.tokens.size());
    for (std::int32_t row = 0; row < rows; ++row) wrong += faulty(row) ? 1 : 0;
    const std::size_t every = std::max<std::size_t>(1, wrong / kMostSearched);
    std::size_t seen = 0;
    for (std::int32_t row = 0; row < rows; ++row)
      if (faulty(row)) out.push_back(faultOf(row, seen++ % every == 0));
    return out;
  }

 private:
  bool faulty(std::int32_t row) const {
    return m_rows.places.tokens[at(row)] >= 0 &&
        (!sideOf(row, Side::Keys).heads.empty() || !sideOf(row, Side::Values).heads.empty());
  }

  SideOfRow sideOf(std::int32_t row, Side side) const {
    const bool keys = side == Side::Keys;
    const std::span<const float> figures = keys ? m_rows.keys : m_rows.values;
    const std::span<const float> bounds = keys ? m_rows.keyBounds : m_rows.valueBounds;
    const std::size_t width = m_heads * m_dim;
    SideOfRow out{side,
                  (keys ? m_rows.theirKeys : m_rows.theirValues).subspan(at(row) * width, width),
                  (keys ? m_rows.ourKeys : m_rows.ourValues).subspan(at(row) * width, width),
                  {},
                  0};
    for (std::size_t head = 0; head < m_heads; ++head) {
      if (!(figures[at(row) * m_heads + head] > bounds[at(row) * m_heads + head])) continue;
      out.heads.push_back(static_cast<int>(head));
      out.bound = std::max(out.bound, bounds[at(row) * m_heads + head]);
    }
    return out;
  }

  std::span<const float> head(std::span<const float> row, int number) const {
    return row.subspan(at(number) * m_dim, m_dim);
  }

  RowFault faultOf(std::int32_t row, bool search) {
    const SideOfRow keys = sideOf(row, Side::Keys), values = sideOf(row, Side::Values);
    RowFault out{.layer = m_rows.layer, .row = row, .keys = !keys.heads.empty(), .values = !values.heads.empty()};
    std::vector<int> heads = keys.heads;
    heads.insert(heads.end(), values.heads.begin(), values.heads.end());
    std::ranges::sort(heads);
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    if (heads.size() < m_heads) out.heads = heads;
    if (bySides(out, keys, values)) return out;
    if (out.heads.empty()) otherToken(out, keys, values, search);
    return out;
  }

  /// Faults that need no other row.
  bool bySides(RowFault& out, const SideOfRow& keys, const SideOfRow& values) const {
    std::vector<double> factors;
    bool infinite = false, zero = true, scaled = true;
    for (const SideOfRow* side : {&keys, &values})
      for (const int number : side->heads) {
        const std::span<const float> theirs = head(side->theirs, number), ours = head(side->ours, number);
        infinite = infinite || !std::ranges::all_of(theirs, [](float x) { return std::isfinite(x); });
        const double length = lengthOf(theirs), own = lengthOf(ours);
        zero = zero && length == 0;
        double dot = 0;
        for (std::size_t i = 0; i < m_dim; ++i) dot += double{theirs[i]} * ours[i];
        const double cosine = length > 0 && own > 0 ? dot / (length * own) : 0;
        const double factor = own > 0 ? dot / (own * own) : 0;
        scaled = scaled && std::sqrt(std::max(0.0, 1 - cosine * cosine)) <= std::max(1e-3, double{side->bound});
        factors.push_back(factor);
      }
    const double bound = std::max(1e-3, double{std::max(keys.bound, values.bound)});
    if (infinite) out.kind = RowFault::Kind::NotFinite;
    else if (zero) out.kind = RowFault::Kind::Zero;
    else if (scaled && !factors.empty() && far(factors, std::max(kFactor, bound))) {
      out.kind = RowFault::Kind::Scaled;
      std::ranges::sort(factors);
      out.factor = alike(factors, bound) ? factors[factors.size() / 2] : std::numeric_limits<double>::quiet_NaN();
    }
    return out.kind != RowFault::Kind::None;
  }

  enum class Made : std::uint8_t { Values, Keys, PlainKeys };

  /// Rows of all tokens in the layer, [tokens, width]: values, keys turned to their own phases, or keys before
  /// rotation.
  const std::vector<float>& rowsOfText(Made made) {
    std::vector<float>& out = m_ofText[static_cast<std::size_t>(made)];
    if (!out.empty()) return out;
    RowPlaces all;
    for (std::size_t i = 0; i < m_ground.ids.size(); ++i) {
      all.tokens.push_back(static_cast<std::int32_t>(i));
      all.phases.push_back(m_ground.exact.phases[i]);
    }
    SideReading reading = made == Made::Values ? m_ground.values : m_ground.keys;
    if (made == Made::PlainKeys)
      reading.turning.kind = "not_rotated", reading.turning.parameters = nlohmann::json::object();
    out = expectedRows(reading, m_ground.config, m_ground.exact, m_rows.own, all, m_ground.length);
    return out;
  }

  /// all: every token may be it, else those as far away as a token that was found before.
  void otherToken(RowFault& out, const SideOfRow& keys, const SideOfRow& values, bool all) {
    const std::int32_t own = m_rows.places.tokens[at(out.row)];
    const double ownPhase = m_rows.places.phases[at(out.row)];
    double nearest = 1e9;
    const auto offer = [&](std::size_t token, double phase, double apart, double bound) {
      if (static_cast<std::int32_t>(token) == own || apart > std::max(bound, 1e-3)) return;
      if (apart < nearest) nearest = apart, out.token = static_cast<std::int32_t>(token), out.phase = phase;
    };
    const std::size_t width = m_heads * m_dim;
    const auto compare = [&](std::span<const float> theirs, Made made, double bound, bool atOwn) {
      const std::vector<float>& ours = rowsOfText(made);
      const auto count = static_cast<std::int32_t>(m_ground.ids.size());
      for (std::int32_t token = 0; token < count; ++token)
        if (all || m_distances.contains(token - own))
          offer(at(token), atOwn ? ownPhase : m_ground.exact.phases[at(token)],
                distance(theirs, std::span(ours).subspan(at(token) * width, width)), bound);
    };
    if (out.values) compare(values.theirs, Made::Values, values.bound, false);
    if (!out.values) {
      compare(keys.theirs, Made::Keys, keys.bound, false);
      std::vector<float> unturned(keys.theirs.begin(), keys.theirs.end());
      turningLike(m_ground.keys.turning, m_ground.config, Layer(m_rows.own), m_ground.length)
          .turnBack(unturned, m_ground.config.headDim, {&ownPhase, 1});
      compare(unturned, Made::PlainKeys, keys.bound, true);
    }
    if (out.token >= 0) out.kind = RowFault::Kind::OtherToken, m_distances.insert(out.token - own);
    else if (m_lowest && out.values && all) out.kind = RowFault::Kind::Foreign;
  }

  const LayerRowsRead& m_rows;
  const FaultGround& m_ground;
  bool m_lowest;
  std::size_t m_heads, m_dim;
  std::array<std::vector<float>, 3> m_ofText;
  std::set<std::int32_t> m_distances;  // of tokens that were found, in tokens
};

struct FaultGroup {
  RowFault first;
  std::vector<std::int32_t> rows, layers;  // ascending, each once
  std::vector<std::int32_t> tokens;        // of OtherToken, one for each row
};

void addOnce(std::vector<std::int32_t>& to, std::int32_t value) {
  const auto place = std::ranges::lower_bound(to, value);
  if (place == to.end() || *place != value) to.insert(place, value);
}

std::string factorKey(const RowFault& fault) { return numberWords(fault.factor, 2); }

std::string sideWords(const RowFault& fault) {
  return fault.keys && fault.values ? "keys and values" : fault.keys ? "keys" : "values";
}

/// "rows 3 to 5", "row 7".
std::string rowWords(const std::vector<std::int32_t>& rows) {
  return (rows.size() == 1 ? "row " : "rows ") + rangeWords(rows);
}

bool isToken(std::int32_t token) { return token >= 0; }

Cause causeOf(const FaultGroup& group, std::size_t layers, const FaultGround& ground,
              const std::vector<RowPlaces>& places) {
  const RowFault& one = group.first;
  Cause out;
  out.parameters = {{"rows", group.rows}};
  if (!(one.keys && one.values)) out.parameters["side"] = sideWords(one);
  std::string where;
  if (group.layers.size() < layers) {
    out.parameters["layers"] = group.layers;
    where += (group.layers.size() == 1 ? " in layer " : " in layers ") + rangeWords(group.layers);
  }
  if (!one.heads.empty()) {
    out.parameters["heads"] = one.heads;
    where += (one.heads.size() == 1 ? " in head " : " in heads ") +
        rangeWords(std::vector<std::int32_t>(one.heads.begin(), one.heads.end()));
  }
  const std::string rows = sideWords(one) + " of " + rowWords(group.rows);
  switch (one.kind) {
    case RowFault::Kind::NotFinite: out.kind = "not_finite_rows", out.text = rows + " are not finite"; break;
    case RowFault::Kind::Zero: out.kind = "zero_rows", out.text = rows + " are zero"; break;
    case RowFault::Kind::Scaled:
      if (std::isfinite(one.factor) &&
          std::ssize(group.rows) == std::ranges::count_if(places.front().tokens, isToken)) {
        out.kind = "scale";
        out.text = sideWords(one) + " are multiplied by " + numberWords(one.factor, 3);
        out.parameters.erase("rows");
        out.parameters["factor"] = finite(one.factor);
        break;
      }
      out.kind = "scaled_rows";
      out.text = rows +
          (std::isnan(one.factor) ? ": each head is multiplied by a factor of its own, as with the scale of another one"
                                  : " are multiplied by " + numberWords(one.factor, 3));
      out.parameters["factor"] = finite(one.factor);
      break;
    case RowFault::Kind::OtherToken: {
      const std::int32_t by = one.token - places.front().tokens[at(one.row)];
      out.parameters["tokens"] = group.tokens;
      out.kind = group.rows.size() > 1 && std::abs(by) == 1 ? "shifted_rows" : "rows_of_other_tokens";
      if (out.kind == "shifted_rows") {
        out.parameters["by"] = by;
        out.text = rows + " are those of the token " + (by > 0 ? "behind" : "before") + ": rows are shifted by one";
      } else {
        std::vector<std::int32_t> tokens = group.tokens;
        std::ranges::sort(tokens);
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        out.text = rows + " are those of " + (tokens.size() == 1 ? "token " : "tokens ") + rangeWords(tokens);
      }
      break;
    }
    default: {
      out.kind = "foreign_rows", out.text = rows + " are of another text";
      const std::int64_t page = ground.page;
      const auto count = static_cast<std::int64_t>(group.rows.size());
      if (page > 1 && count % page == 0 && group.rows.front() % page == 0)
        out.text += ": whole pages of " + std::to_string(page) + " rows", out.parameters["page"] = page;
    }
  }
  out.text += where;
  return out;
}

}  // namespace

std::vector<RowFault> rowFaults(const LayerRowsRead& rows, const FaultGround& ground, bool lowest) {
  return FaultFinder(rows, ground, lowest).run();
}

std::vector<Cause> faultCauses(const std::vector<RowFault>& faults, const std::vector<RowPlaces>& places,
                               const std::vector<int>& layers, const FaultGround& ground) {
  std::map<std::string, FaultGroup> groups;
  for (const RowFault& fault : faults) {
    if (fault.kind == RowFault::Kind::None) continue;
    std::string key = std::to_string(static_cast<int>(fault.kind)) + sideWords(fault);
    for (const int head : fault.heads) key += "," + std::to_string(head);
    const auto layer = static_cast<std::size_t>(std::ranges::find(layers, fault.layer) - layers.begin());
    if (fault.kind == RowFault::Kind::Scaled) key += factorKey(fault);
    if (fault.kind == RowFault::Kind::OtherToken) {
      const std::int32_t by = fault.token - places[layer].tokens[at(fault.row)];
      key += std::abs(by) == 1 ? std::to_string(by) : "";
    }
    const auto [group, fresh] = groups.try_emplace(key, FaultGroup{fault, {}, {}, {}});
    if (fault.layer == group->second.first.layer && fault.token >= 0) group->second.tokens.push_back(fault.token);
    addOnce(group->second.rows, fault.row);
    addOnce(group->second.layers, fault.layer);
  }
  std::vector<Cause> out;
  for (const auto& [key, group] : groups) out.push_back(causeOf(group, layers.size(), ground, places));
  std::ranges::stable_sort(out, std::greater<>{}, [](const Cause& one) {
    return one.parameters["rows"].size() * (one.parameters.contains("layers") ? one.parameters["layers"].size() : 1000);
  });
  return out;
}

}  // namespace kvlab
