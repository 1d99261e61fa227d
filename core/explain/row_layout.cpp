// SPDX-License-Identifier: Apache-2.0
#include "core/explain/row_layout.h"

#include <algorithm>
#include <cmath>

#include "core/api/ids.h"

namespace kvlab {
namespace {

/// Mixes each `size` values by the orthonormal Hadamard matrix in natural order; its own inverse.
void hadamardMix(std::span<float> values, int size) {
  const auto n = at(size);
  const float scale = 1 / std::sqrt(static_cast<float>(size));
  for (std::size_t from = 0; from + n <= values.size(); from += n) {
    for (std::size_t step = 1; step < n; step *= 2)
      for (std::size_t i = from; i < from + n; i += 2 * step)
        for (std::size_t j = i; j < i + step; ++j) {
          const float a = values[j], b = values[j + step];
          values[j] = a + b, values[j + step] = a - b;
        }
    for (std::size_t j = from; j < from + n; ++j) values[j] *= scale;
  }
}

template <class Move>
void moveAll(const LayoutStep& step, const RowShape& shape, const Move& move) {
  std::int64_t to = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    for (int head = 0; head < shape.heads; ++head)
      for (int dim = 0; dim < shape.dim; ++dim, ++to)
        move(to,
             step.ofTable() ? step.place(shape, row, head, dim)
                            : row * shape.width() + step.order[at(std::int64_t{head} * shape.dim + dim)]);
}

LayoutStep whole(std::string kind, std::string text,
                 std::function<std::int64_t(const RowShape&, std::int64_t, int, int)> place) {
  return {std::move(kind), nlohmann::json::object(), std::move(text), std::move(place)};
}

/// A place within a block of rows: its first row, its rows (the last block may have fewer) and the row in it.
struct InBlock {
  std::int64_t first, rows, row;
  InBlock(const RowShape& shape, std::int64_t r, std::int64_t block)
      : first(r / block * block), rows(std::min(block, shape.rows - first)), row(r - first) {}
};

void addBlockSteps(std::vector<LayoutStep>& out, const RowShape& shape, std::int64_t block) {
  const std::string in = " within blocks of " + std::to_string(block) + " rows";
  const nlohmann::json rows = {{"rows", block}};
  out.push_back({"block_transpose", rows, "transposed" + in, [block](const RowShape& s, std::int64_t r, int h, int d) {
                   const InBlock b(s, r, block);
                   return b.first * s.width() + (std::int64_t{h} * s.dim + d) * b.rows + b.row;
                 }});
  if (shape.heads > 1) {
    out.push_back({"head_transpose", rows, "transposed head by head" + in,
                   [block](const RowShape& s, std::int64_t r, int h, int d) {
                     const InBlock b(s, r, block);
                     const std::int64_t to = d * b.rows + b.row;
                     return (b.first + to / s.dim) * s.width() + std::int64_t{h} * s.dim + to % s.dim;
                   }});
    out.push_back({"block_heads_first", rows, "stored head by head" + in,
                   [block](const RowShape& s, std::int64_t r, int h, int d) {
                     const InBlock b(s, r, block);
                     return b.first * s.width() + (h * b.rows + b.row) * s.dim + d;
                   }});
  }
  for (const int x : {4, 8, 16})
    if (shape.dim % x == 0 && shape.dim > x)
      out.push_back({"block_pieces",
                     {{"rows", block}, {"values", x}},
                     "stored in pieces of " + std::to_string(x) + " values" + in,
                     [block, x](const RowShape& s, std::int64_t r, int h, int d) {
                       const InBlock b(s, r, block);
                       const std::int64_t piece = std::int64_t{h} * (s.dim / x) + d / x;
                       return b.first * s.width() + (piece * b.rows + b.row) * x + d % x;
                     }});
}

/// The same order of values in every head.
std::vector<std::int32_t> inHeads(const RowShape& shape, const std::vector<std::int32_t>& head) {
  std::vector<std::int32_t> out;
  for (int h = 0; h < shape.heads; ++h)
    for (const std::int32_t in : head) out.push_back(h * shape.dim + in);
  return out;
}

std::vector<std::int32_t> inverse(const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[at(order[i])] = static_cast<std::int32_t>(i);
  return out;
}

}  // namespace

void LayoutStep::undo(const RowShape& shape, std::vector<float>& rows) const {
  if (hadamard > 0) return hadamardMix(rows, hadamard);
  const std::vector<float> from = rows;
  moveAll(*this, shape, [&](std::int64_t to, std::int64_t lies) { rows[at(to)] = from[at(lies)]; });
}

void LayoutStep::apply(const RowShape& shape, std::vector<float>& rows) const {
  if (hadamard > 0) return hadamardMix(rows, hadamard);
  const std::vector<float> from = rows;
  moveAll(*this, shape, [&](std::int64_t to, std::int64_t lies) { rows[at(lies)] = from[at(to)]; });
}

std::vector<LayoutStep> tableSteps(const RowShape& shape, std::int32_t page) {
  std::vector<LayoutStep> out;
  if (shape.rows < 2) return out;
  if (shape.heads > 1)
    out.push_back(whole("heads_before_rows", "stored head by head: heads and rows are swapped",
                        [](const RowShape& s, std::int64_t r, int h, int d) { return (h * s.rows + r) * s.dim + d; }));
  out.push_back(whole(
      "values_before_rows", "transposed: values and rows are swapped",
      [](const RowShape& s, std::int64_t r, int h, int d) { return (std::int64_t{h} * s.dim + d) * s.rows + r; }));
  if (shape.heads > 1) {
    out.push_back(whole("heads_transposed", "transposed head by head: the values of a head and rows are swapped",
                        [](const RowShape& s, std::int64_t r, int h, int d) {
                          const std::int64_t to = d * s.rows + r;
                          return to / s.dim * s.width() + std::int64_t{h} * s.dim + to % s.dim;
                        }));
    out.push_back(whole(
        "axes_reversed", "stored with all axes reversed: [head size, heads, rows]",
        [](const RowShape& s, std::int64_t r, int h, int d) { return (std::int64_t{d} * s.heads + h) * s.rows + r; }));
  }
  std::vector<std::int64_t> blocks = {8, 16, 32, 64, 128, 256};
  if (page > 1 && std::ranges::find(blocks, page) == blocks.end()) blocks.push_back(page);
  for (const std::int64_t block : blocks)
    if (block < shape.rows || (block == shape.rows && block == page)) addBlockSteps(out, shape, block);
  return out;
}

std::vector<LayoutStep> rowSteps(const RowShape& shape, const ModelConfig& config) {
  std::vector<LayoutStep> out;
  const int dims = config.ropes.front().dims > 0 ? config.ropes.front().dims : shape.dim / 2 * 2, half = dims / 2;
  std::vector<std::int32_t> neighbours, swapped;
  for (int i = 0; i < shape.dim; ++i) {
    neighbours.push_back(i < half ? 2 * i : i < dims ? 2 * (i - half) + 1 : i);
    swapped.push_back(i < half ? i + half : i < dims ? i - half : i);
  }
  if (half > 1) {
    out.push_back({"pairing",
                   {{"pairs", "neighbours"}},
                   "ordered so that pairs of rotation are neighbours",
                   {},
                   inHeads(shape, neighbours)});
    out.push_back({"pairing",
                   {{"pairs", "twice_halved"}},
                   "reordered from neighbours to halves though they were halves",
                   {},
                   inHeads(shape, inverse(neighbours))});
  }
  if (half > 0)
    out.push_back({"halves_swapped",
                   nlohmann::json::object(),
                   "stored with the halves of a head swapped",
                   {},
                   inHeads(shape, swapped)});
  if (shape.heads > 1 && shape.dim > 1) {
    std::vector<std::int32_t> order;
    for (int h = 0; h < shape.heads; ++h)
      for (int d = 0; d < shape.dim; ++d) order.push_back(d * shape.heads + h);
    out.push_back(
        {"heads_and_dims_swapped", nlohmann::json::object(), "stored with heads and head size swapped", {}, order});
    if (inverse(order) != order)
      out.push_back({"heads_and_dims_swapped",
                     {{"twice", true}},
                     "reordered as if heads and head size were swapped, which they were not",
                     {},
                     inverse(order)});
  }
  for (int size = 16; size <= shape.dim; size *= 2)
    if (shape.dim % size == 0)
      out.push_back({"hadamard",
                     {{"size", size}},
                     "rotated by a Hadamard matrix of " + std::to_string(size) + " values",
                     {},
                     {},
                     size});
  return out;
}

}  // namespace kvlab
