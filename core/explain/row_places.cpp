// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_places.h"

#include <algorithm>
#include <numeric>

namespace kvlab {
namespace {

constexpr double kNearRow = 0.25;               // square of a relative distance
constexpr std::size_t kMostCells = 64'000'000;  // of the table of common subsequences

RowPlaces placesBy(std::string text, std::int64_t rows, std::int64_t tokens,
                   const std::function<std::pair<std::int64_t, double>(std::int64_t)>& of) {
  RowPlaces out{std::move(text), {}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto [token, phase] = of(row);
    out.tokens.push_back(token >= 0 && token < tokens ? static_cast<std::int32_t>(token) : -1);
    out.phases.push_back(phase);
  }
  return out;
}

bool differs(const RowPlaces& a, const RowPlaces& b) { return a.tokens != b.tokens || a.phases != b.phases; }

/// Pairs (a, b), ascending in both, of a longest common subsequence of lists of so many items.
std::vector<std::pair<std::size_t, std::size_t>> common(std::size_t as, std::size_t bs,
                                                        const std::function<bool(std::size_t, std::size_t)>& same) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  if (as == 0 || bs == 0 || (as + 1) * (bs + 1) > kMostCells) return out;
  std::vector<std::uint16_t> most((as + 1) * (bs + 1));
  const auto cell = [&](std::size_t a, std::size_t b) -> std::uint16_t& { return most[a * (bs + 1) + b]; };
  for (std::size_t a = as; a-- > 0;)
    for (std::size_t b = bs; b-- > 0;)
      cell(a, b) =
          same(a, b) ? static_cast<std::uint16_t>(cell(a + 1, b + 1) + 1) : std::max(cell(a + 1, b), cell(a, b + 1));
  for (std::size_t a = 0, b = 0; a < as && b < bs;) {
    if (same(a, b) && cell(a, b) == cell(a + 1, b + 1) + 1) out.emplace_back(a++, b++);
    else if (cell(a + 1, b) >= cell(a, b + 1)) ++a;
    else ++b;
  }
  return out;
}

}  // namespace

std::vector<std::int32_t> contextOrder(const ForeignLayer& layer) {
  std::vector<std::int32_t> out(at(layer.rows));
  std::iota(out.begin(), out.end(), 0);
  if (!layer.positions.empty())
    std::ranges::stable_sort(out, {}, [&](std::int32_t row) { return layer.positions[at(row)]; });
  return out;
}

std::vector<RowPlaces> likelyPlaces(const ForeignLayer& layer, std::int64_t tokens) {
  const std::int64_t n = layer.rows;
  std::vector<RowPlaces> out;
  const auto add = [&](RowPlaces places) {
    const auto same = [&](const RowPlaces& other) { return !differs(other, places); };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(places));
  };
  if (!layer.positions.empty()) {
    const auto position = [&](std::int64_t row) { return layer.positions[at(row)]; };
    add(placesBy("by the file's positions", n, tokens, [&](std::int64_t row) {
      return std::pair<std::int64_t, double>(position(row), std::max(0, position(row)));
    }));
    std::vector<std::int64_t> rank(at(n), -1);
    std::int64_t next = 0;
    for (const std::int32_t row : contextOrder(layer))
      if (position(row) >= 0) rank[at(row)] = next++;
    add(placesBy("in the order of the file's positions", n, tokens, [&](std::int64_t row) {
      return std::pair<std::int64_t, double>(rank[at(row)], std::max(0, position(row)));
    }));
    add(placesBy("in the order of the file's positions, turned by that order", n, tokens, [&](std::int64_t row) {
      return std::pair<std::int64_t, double>(rank[at(row)],
                                             static_cast<double>(std::max<std::int64_t>(0, rank[at(row)])));
    }));
  }
  const auto shifted = [&](std::string text, std::int64_t by) {
    add(placesBy(std::move(text), n, tokens, [&](std::int64_t row) {
      return std::pair<std::int64_t, double>(row + by, static_cast<double>(std::max<std::int64_t>(0, row + by)));
    }));
  };
  shifted("row by row", 0);
  if (n < tokens) {
    shifted("as the last tokens, row by row", tokens - n);
    add(placesBy("as a ring of the last tokens", n, tokens, [&](std::int64_t row) {
      const std::int64_t last = (tokens - 1) / n * n + row, token = last < tokens ? last : last - n;
      return std::pair<std::int64_t, double>(token, static_cast<double>(token));
    }));
  }
  if (n > tokens) {
    shifted("behind padding on the left, row by row", tokens - n);
    add(placesBy("behind padding on the left, turned by their row", n, tokens, [&](std::int64_t row) {
      return std::pair<std::int64_t, double>(row + tokens - n, static_cast<double>(row));
    }));
  }
  return out;
}

std::optional<RowPlaces> placesWithHoles(std::span<const float> theirs, std::span<const float> ours,
                                         std::size_t width) {
  const std::size_t rows = theirs.size() / width, tokens = ours.size() / width;
  if (rows > tokens) return std::nullopt;
  RowPlaces out{"by the values of rows, in order", {}, {}};
  std::size_t next = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t best = next;
    double least = kNearRow;
    for (std::size_t token = next; token <= tokens - (rows - row) && least > 1e-4; ++token) {
      double apart = 0, length = 0;
      for (std::size_t i = 0; i < width; ++i) {
        const double own = ours[token * width + i], off = theirs[row * width + i] - own;
        apart += off * off, length += own * own;
      }
      if (apart < least * length) least = apart / length, best = token;
    }
    if (!(least < kNearRow)) return std::nullopt;
    out.tokens.push_back(static_cast<std::int32_t>(best));
    out.phases.push_back(static_cast<double>(best));
    next = best + 1;
  }
  return out;
}

TextOfRows textOfRows(const std::vector<std::vector<std::int32_t>>& near, const std::vector<std::int32_t>& order,
                      std::span<const TokenId> ids) {
  TextOfRows out{std::vector<std::int32_t>(near.size(), -1), std::vector<TokenId>(near.size(), TokenId(-1)), 0};
  for (std::size_t row = 0; row < near.size(); ++row)
    if (!near[row].empty()) out.ids[row] = ids[at(near[row].front())];
  const auto same = [&](std::size_t a, std::size_t b) { return out.ids[at(order[a])] == ids[b]; };
  for (const auto& [a, b] : common(order.size(), ids.size(), same)) {
    out.tokens[at(order[a])] = static_cast<std::int32_t>(b);
    ++out.matched;
  }
  return out;
}

std::vector<std::int32_t> commonTokens(std::span<const TokenId> now, std::span<const TokenId> before) {
  return commonTokens(now.size(), before.size(), [&](std::size_t a, std::size_t b) { return now[a] == before[b]; });
}

std::vector<std::int32_t> commonTokens(std::size_t now, std::size_t before,
                                       const std::function<bool(std::size_t, std::size_t)>& same) {
  std::vector<std::int32_t> out(now, -1);
  for (const auto& [a, b] : common(now, before, same)) out[a] = static_cast<std::int32_t>(b);
  return out;
}

std::string rangeWords(const std::vector<std::int32_t>& ascending) {
  std::string out;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i;
    while (end + 1 < ascending.size() && ascending[end + 1] == ascending[end] + 1) ++end;
    out += (out.empty() ? "" : ", ") + std::to_string(ascending[i]);
    if (end > i) out += " to " + std::to_string(ascending[end]);
    i = end + 1;
  }
  return out;
}

}  // namespace kvlab
