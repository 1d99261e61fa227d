// SPDX-License-Identifier: Apache-2.0
#include "core/explain/left_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace kvlab {
namespace {

constexpr std::array<LeftClass, 7> kLeftClasses{
    {{"none", "row of no token", 0},
     {"fine", "within the rounding of its type", 0},
     {"l1", "up to 0.01", 0.01},
     {"l2", "up to 0.1", 0.1},
     {"l3", "up to 0.5", 0.5},
     {"l4", "up to 1", 1},
     {"l5", "1 and more: unrelated values", std::numeric_limits<double>::infinity()}}};
constexpr int kNoCell = -1, kNoToken = 0, kWithin = 1;
constexpr std::int64_t kMostColumns = 1024;  // a column stands for several rows where there are more

constexpr double kMapWidth = 900, kMapLeft = 44, kMapTop = 6, kMapBottom = 30;

const std::vector<float>& mapFigures(const ExplainedLayer& layer, Side side) {
  return side == Side::Keys ? layer.keys : layer.values;
}
const std::vector<float>& mapBounds(const ExplainedLayer& layer, Side side) {
  return side == Side::Keys ? layer.keyBounds : layer.valueBounds;
}

int leftClass(float figure, float bound) {
  if (std::isnan(figure)) return kNoToken;
  if (figure <= bound) return kWithin;
  const auto above = std::ranges::find_if(kLeftClasses.begin() + kWithin + 1, kLeftClasses.end() - 1,
                                          [&](const LeftClass& one) { return figure < one.most; });
  return static_cast<int>(above - kLeftClasses.begin());
}

/// Cells in classes, kNoCell where there is none.
struct CellGrid {
  std::size_t columns, rows;
  std::vector<int> cells = std::vector<int>(columns * rows, kNoCell);  // [rows, columns]

  void raise(std::size_t row, std::size_t column, int to) {
    int& cell = cells[row * columns + column];
    cell = std::max(cell, to);
  }
};

/// Calls visit(layer, row, head, class) for every row and head.
template <class Visit>
void eachCell(const Explanation& explanation, Side side, const Visit& visit) {
  for (std::size_t layer = 0; layer < explanation.layers.size(); ++layer) {
    const auto& figures = mapFigures(explanation.layers[layer], side);
    const auto& bounds = mapBounds(explanation.layers[layer], side);
    const std::size_t rows = explanation.layers[layer].tokens.size();
    const std::size_t heads = rows ? figures.size() / rows : 0;
    for (std::size_t at = 0; at < rows * heads; ++at) {
      const float bound = at < bounds.size() ? bounds[at] : 0;
      visit(layer, at / heads, at % heads, leftClass(figures[at], bound));
    }
  }
}

std::string short1(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

/// A path for each class: runs of equal cells, one unit wide and high each.
std::string pathsOf(const CellGrid& grid) {
  std::vector<std::string> paths(kLeftClasses.size());
  for (std::size_t row = 0; row < grid.rows; ++row)
    for (std::size_t column = 0; column < grid.columns;) {
      const int own = grid.cells[row * grid.columns + column];
      std::size_t end = column + 1;
      while (end < grid.columns && grid.cells[row * grid.columns + end] == own) ++end;
      if (own != kNoCell)
        paths[static_cast<std::size_t>(own)] += "M" + std::to_string(column) + " " + std::to_string(row) + "h" +
            std::to_string(end - column) + "v1h-" + std::to_string(end - column) + "z";
      column = end;
    }
  std::string out;
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (!paths[i].empty()) out += "<path class=\"" + std::string(kLeftClasses[i].name) + "\" d=\"" + paths[i] + "\"/>";
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + short1(x) + "\" y=\"" + short1(y) + "\" text-anchor=\"" + anchor + "\">" + text + "</text>";
}

/// A round step that gives at most `most` marks.
std::int64_t markStep(std::int64_t count, std::int64_t most) {
  for (std::int64_t power = 1;; power *= 10)
    for (const int digit : {1, 2, 5})
      if (count <= power * digit * most) return power * digit;
}

struct MapFrame {
  double width, height;  // of the cells, in pixels
  std::string name;      // for people who do not see it
};

/// The picture: cells, numbers of layers at the left, marks of columns below.
std::string framed(const CellGrid& grid, const MapFrame& frame, const Explanation& explanation,
                   const std::string& marks, const std::string& above) {
  const double cell = frame.height / static_cast<double>(grid.rows);
  std::string out = "<svg class=\"map\" role=\"img\" aria-label=\"" + frame.name + "\" viewBox=\"0 0 " +
      short1(kMapLeft + frame.width + 12) + " " + short1(kMapTop + frame.height + kMapBottom) + "\" width=\"" +
      short1(kMapLeft + frame.width + 12) + "\"><svg x=\"" + short1(kMapLeft) + "\" y=\"" + short1(kMapTop) +
      "\" width=\"" + short1(frame.width) + "\" height=\"" + short1(frame.height) + "\" viewBox=\"0 0 " +
      std::to_string(grid.columns) + " " + std::to_string(grid.rows) +
      "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">" + pathsOf(grid) + "</svg>" +
      "<rect class=\"frame\" x=\"" + short1(kMapLeft) + "\" y=\"" + short1(kMapTop) + "\" width=\"" +
      short1(frame.width) + "\" height=\"" + short1(frame.height) + "\"/>";
  const auto count = static_cast<std::int64_t>(grid.rows);
  const std::int64_t step = markStep(count, std::max<std::int64_t>(1, static_cast<std::int64_t>(frame.height / 14)));
  for (std::int64_t row = 0; row < count; row += step)
    out += label(kMapLeft - 6, kMapTop + (static_cast<double>(row) + 0.5) * cell + 4, "end",
                 std::to_string(explanation.layers[static_cast<std::size_t>(row)].layer));
  return out + marks + above + "</svg>";
}

double mapHeight(std::size_t layers) { return std::clamp(static_cast<double>(layers) * 14, 28.0, 360.0); }

/// A ring around the place where it begins.
std::string beginMark(const Explanation& explanation, Side side, double perRow, double height) {
  if (!explanation.begins || explanation.begins->side != side) return {};
  const auto& layers = explanation.layers;
  const auto found = std::ranges::find(layers, explanation.begins->layer, &ExplainedLayer::layer);
  if (found == layers.end()) return {};
  const double cell = height / static_cast<double>(layers.size());
  const std::string place = "cx=\"" + short1(kMapLeft + (explanation.begins->row + 0.5) * perRow) + "\" cy=\"" +
      short1(kMapTop + (static_cast<double>(found - layers.begin()) + 0.5) * cell) + "\" r=\"6\"/>";
  return "<circle class=\"halo\" " + place + "<circle class=\"begin\" " + place;
}

}  // namespace

std::span<const LeftClass> leftClasses() { return kLeftClasses; }

std::string rowsMap(const Explanation& explanation, Side side) {
  std::int64_t most = 0;
  for (const ExplainedLayer& layer : explanation.layers) most = std::max(most, layer.rows());
  if (most == 0) return {};
  const std::int64_t perColumn = (most + kMostColumns - 1) / kMostColumns;
  CellGrid grid{static_cast<std::size_t>((most + perColumn - 1) / perColumn), explanation.layers.size()};
  eachCell(explanation, side, [&](std::size_t layer, std::size_t row, std::size_t, int own) {
    grid.raise(layer, row / static_cast<std::size_t>(perColumn), own);
  });
  const double height = mapHeight(grid.rows),
               perRow = kMapWidth / static_cast<double>(perColumn * static_cast<std::int64_t>(grid.columns));
  std::string marks;
  const std::int64_t step = markStep(most, 12);
  for (std::int64_t row = 0; row < most; row += step)
    marks += label(kMapLeft + (static_cast<double>(row) + 0.5) * perRow, kMapTop + height + 14, "middle",
                   std::to_string(row));
  const std::string what = std::string(name(side)) + ": layers downwards, rows to the right";
  return framed(grid, {kMapWidth, height, what}, explanation, marks, beginMark(explanation, side, perRow, height));
}

std::string headsMap(const Explanation& explanation, Side side) {
  const auto heads = static_cast<std::size_t>(std::max(0, explanation.heads));
  if (heads == 0 || explanation.layers.empty()) return {};
  CellGrid grid{heads, explanation.layers.size()};
  eachCell(explanation, side, [&](std::size_t layer, std::size_t, std::size_t head, int own) {
    if (head < heads) grid.raise(layer, head, own);
  });
  const double width = std::clamp(static_cast<double>(heads) * 22, 44.0, 400.0), height = mapHeight(grid.rows);
  std::string marks;
  const auto count = static_cast<std::int64_t>(heads);
  for (std::int64_t head = 0; head < count; head += markStep(count, 16))
    marks += label(kMapLeft + (static_cast<double>(head) + 0.5) * width / static_cast<double>(heads),
                   kMapTop + height + 14, "middle", std::to_string(head));
  const std::string what = std::string(name(side)) + ": layers downwards, KV heads to the right";
  return framed(grid, {width, height, what}, explanation, marks, {});
}

}  // namespace kvlab
