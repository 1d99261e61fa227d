// SPDX-License-Identifier: Apache-2.0
#include "core/api/sweep_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "core/api/texts.h"

namespace kvlab {
namespace {

// Okabe and Ito 2008, the yellow darkened; with the marks below, 32 series can be told apart.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#8a7a00", "#56b4e9", "#e69f00", "#555555"};
constexpr double kPanelWidth = 420, kPanelHeight = 300, kLeft = 64, kTop = 56, kBottom = 48, kGap = 76, kLegend = 190;

template <class... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, 64> text{};
  const int n = std::snprintf(text.data(), text.size(), format, values...);
  return {text.data(), static_cast<std::size_t>(n)};
}

std::string fixed(double value) { return printed("%.2f", value); }

std::string shortest(double value) {
  const int power = value > 0 ? static_cast<int>(std::lround(std::log10(value))) : 0;
  const bool decade = power < -2 && std::abs(value - std::pow(10, power)) < 1e-9 * value;
  return decade ? printed("1e%d", power) : printed("%.4g", value);
}

/// Powers of 1024, as the window writes bytes.
std::string bytes(double value) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return printed("%.3g %s", value, kUnits[unit]);
}

struct Scale {
  double low = 0, high = 1;
  bool log = false;
  double at(double value) const {
    const auto map = [this](double v) { return log ? std::log(std::max(v, low)) : v; };
    const double span = map(high) - map(low);
    return span > 0 ? std::clamp((map(value) - map(low)) / span, 0.0, 1.0) : 0.5;
  }
};

struct Mark {
  double x = 0, y = 0, low = 0, high = 0;
};

struct Line {
  std::size_t style = 0;
  std::vector<Mark> marks;
  bool flat = false;  // one figure for all budgets
};

struct Panel {
  std::string title, xTitle, yTitle;
  Scale x = {}, y = {};
  std::vector<double> xTicks = {}, yTicks = {};
  bool intervals = false, xBytes = false;
  std::vector<Line> lines = {};
};

class Svg {
 public:
  void text(double x, double y, const std::string& words, const char* more = "") {
    m_out += "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\"" + more + ">" + markupText(words) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& more) {
    m_out += "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" + fixed(y2) +
        "\" " + more + "/>\n";
  }
  void raw(const std::string& text) { m_out += text; }
  std::string take() { return std::move(m_out); }

  void mark(double x, double y, std::size_t style) {
    const std::string fill = std::string("fill=\"") + colour(style) + "\"";
    const auto points = [&](std::initializer_list<std::pair<double, double>> corners) {
      m_out += "<polygon points=\"";
      for (const auto& [dx, dy] : corners) m_out += fixed(x + dx) + "," + fixed(y + dy) + " ";
      m_out += "\" " + fill + "/>\n";
    };
    switch (style / std::size(kColours) % 4) {
      case 0: m_out += "<circle cx=\"" + fixed(x) + "\" cy=\"" + fixed(y) + "\" r=\"3.5\" " + fill + "/>\n"; break;
      case 1: points({{-3.5, -3.5}, {3.5, -3.5}, {3.5, 3.5}, {-3.5, 3.5}}); break;
      case 2: points({{0, -4.5}, {4.2, 3.2}, {-4.2, 3.2}}); break;
      default: points({{0, -4.8}, {4.8, 0}, {0, 4.8}, {-4.8, 0}}); break;
    }
  }
  static std::string stroke(std::size_t style, double width) {
    return std::string("stroke=\"") + colour(style) + "\" stroke-width=\"" + fixed(width) + "\"";
  }

 private:
  static const char* colour(std::size_t style) { return kColours[style % std::size(kColours)]; }
  std::string m_out;
};

void drawFrame(Svg& svg, const Panel& panel, double left, double top) {
  const double bottom = top + kPanelHeight, right = left + kPanelWidth;
  svg.text(left, top - 12, panel.title, " font-weight=\"bold\"");
  for (const double tick : panel.yTicks) {
    const double y = bottom - panel.y.at(tick) * kPanelHeight;
    svg.line(left, y, right, y, "stroke=\"#dddddd\"");
    svg.text(left - 6, y + 4, shortest(tick), " text-anchor=\"end\"");
  }
  for (const double tick : panel.xTicks) {
    const double x = left + panel.x.at(tick) * kPanelWidth;
    svg.line(x, bottom, x, bottom + 4, "stroke=\"#333333\"");
    svg.text(x, bottom + 17, panel.xBytes ? bytes(tick) : shortest(tick), " text-anchor=\"middle\"");
  }
  svg.raw("<rect x=\"" + fixed(left) + "\" y=\"" + fixed(top) + "\" width=\"" + fixed(kPanelWidth) + "\" height=\"" +
          fixed(kPanelHeight) + "\" fill=\"none\" stroke=\"#333333\"/>\n");
  svg.text((left + right) / 2, bottom + 36, panel.xTitle, " text-anchor=\"middle\"");
  svg.raw("<text transform=\"translate(" + fixed(left - 50) + "," + fixed((top + bottom) / 2) +
          ") rotate(-90)\" text-anchor=\"middle\">" + markupText(panel.yTitle) + "</text>\n");
}

void drawLine(Svg& svg, const Panel& panel, const Line& line, double left, double top) {
  const double bottom = top + kPanelHeight;
  const auto px = [&](double x) { return left + panel.x.at(x) * kPanelWidth; };
  const auto py = [&](double y) { return bottom - panel.y.at(y) * kPanelHeight; };
  if (line.flat)
    for (const Mark& m : line.marks)
      svg.line(left, py(m.y), left + kPanelWidth, py(m.y), Svg::stroke(line.style, 1.5) + " stroke-dasharray=\"6 4\"");
  if (line.flat && panel.x.at(line.marks.front().x) <= 0) return;
  std::string path;
  for (const Mark& m : line.marks) path += fixed(px(m.x)) + "," + fixed(py(m.y)) + " ";
  if (line.marks.size() > 1)
    svg.raw("<polyline points=\"" + path + "\" fill=\"none\" " + Svg::stroke(line.style, 1.5) + "/>\n");
  for (const Mark& m : line.marks) {
    if (panel.intervals && m.high > m.low)
      svg.line(px(m.x), py(m.low), px(m.x), py(m.high), Svg::stroke(line.style, 1) + " stroke-opacity=\"0.6\"");
    svg.mark(px(m.x), py(m.y), line.style);
  }
}

std::vector<double> decades(double low, double high) {
  std::vector<double> out;
  for (double tick = std::pow(10, std::ceil(std::log10(low) - 1e-9)); tick <= high * 1.0001; tick *= 10)
    out.push_back(tick);
  if (out.size() > 1) return out;
  return {low, std::sqrt(low * high), high};
}

bool anyBudget(const std::vector<const SweepPoint*>& points) {
  return std::any_of(points.begin(), points.end(), [](const SweepPoint* p) { return p->budget.has_value(); });
}

using Pick = std::function<std::optional<Mark>(const SweepPoint&)>;

/// The points of each series, ascending by x, in the order in which series first appear.
std::vector<Line> linesOf(const std::vector<const SweepPoint*>& points, const std::vector<std::string>& series,
                          const Pick& pick) {
  std::vector<Line> out;
  const bool budgets = anyBudget(points);
  for (std::size_t i = 0; i < series.size(); ++i) {
    Line line{i, {}, false};
    for (const SweepPoint* point : points) {
      if (point->series != series[i]) continue;
      const std::optional<Mark> mark = pick(*point);
      if (mark) line.marks.push_back(*mark);
      line.flat = mark && budgets && !point->budget;
    }
    std::stable_sort(line.marks.begin(), line.marks.end(), [](const Mark& a, const Mark& b) { return a.x < b.x; });
    if (!line.marks.empty()) out.push_back(std::move(line));
  }
  return out;
}

template <class Value>
std::pair<double, double> rangeOf(const std::vector<Line>& lines, Value value, double floor) {
  double low = INFINITY, high = -INFINITY;
  for (const Line& line : lines)
    for (const Mark& mark : line.marks) {
      low = std::min(low, std::max(floor, value(mark)));
      high = std::max(high, std::max(floor, value(mark)));
    }
  if (!(low < high))
    return {low > 0 && std::isfinite(low) ? low * 0.5 : 0.1, high > 0 && std::isfinite(high) ? high * 2 : 1};
  return {low, high};
}

Panel recallPanel(const std::vector<const SweepPoint*>& points, const std::vector<std::string>& series) {
  const bool budgets = anyBudget(points);
  const bool ratio = budgets &&
      std::all_of(points.begin(), points.end(), [](const SweepPoint* p) { return !p->budget || p->budget->ratio; });
  const char* const xTitle = ratio ? "budget, share of the prompt's rows"
      : budgets                    ? "budget, tokens"
                                   : "live bytes after the prompt";
  const bool scored = std::any_of(points.begin(), points.end(), [](const SweepPoint* p) { return p->answers > 0; });
  const std::string what = scored ? "Score" : "Recall";
  Panel panel{.title = what + (budgets ? " against budget" : " against bytes"),
              .xTitle = xTitle,
              .yTitle = scored ? "wanted texts in the answer" : "questions answered right",
              .yTicks = {0, 0.25, 0.5, 0.75, 1},
              .intervals = true,
              .xBytes = !budgets};
  panel.lines = linesOf(points, series, [&](const SweepPoint& p) -> std::optional<Mark> {
    const auto shown = p.shown();
    if (!shown || (!budgets && !p.bytes)) return std::nullopt;
    return Mark{p.budget ? p.budget->value : budgets ? 0 : *p.bytes, shown->value, shown->low, shown->high};
  });
  std::vector<double> ticks;
  for (const SweepPoint* p : points)
    if (p->budget && std::find(ticks.begin(), ticks.end(), p->budget->value) == ticks.end())
      ticks.push_back(p->budget->value);
  std::sort(ticks.begin(), ticks.end());
  if (!budgets) {
    const auto [low, high] = rangeOf(
        panel.lines, [](const Mark& m) { return m.x; }, 1);
    panel.x = {low, high, true};
    panel.xTicks = {low, std::sqrt(low * high), high};
  } else {
    panel.x = {ticks.front(), ticks.size() > 1 ? ticks.back() : ticks.back() * 1.0001, true};
    panel.xTicks = ticks;
  }
  return panel;
}

Panel klPanel(const std::vector<const SweepPoint*>& points, const std::vector<std::string>& series) {
  constexpr double kFloor = 1e-6;  // smaller values stand on the axis
  Panel panel{.title = "KL against bytes",
              .xTitle = "live bytes after the prompt",
              .yTitle = "KL against the reference, nats",
              .xBytes = true};
  panel.lines = linesOf(points, series, [](const SweepPoint& p) -> std::optional<Mark> {
    if (!p.kl || !p.bytes) return std::nullopt;
    return Mark{*p.bytes, *p.kl, 0, 0};
  });
  for (Line& line : panel.lines) line.flat = false;
  const auto [left, right] = rangeOf(
      panel.lines, [](const Mark& m) { return m.x; }, 1);
  const auto [low, high] = rangeOf(
      panel.lines, [](const Mark& m) { return m.y; }, kFloor);
  panel.x = {left, right, true};
  panel.y = {low, high, true};
  panel.xTicks = {left, std::sqrt(left * right), right};
  panel.yTicks = decades(low, high);
  return panel;
}

}  // namespace

std::string paretoSvg(const std::string& title, std::span<const SweepPoint> points) {
  std::vector<std::pair<std::string, std::vector<const SweepPoint*>>> sets;
  std::vector<std::string> series;
  for (const SweepPoint& point : points) {
    const std::string name = point.prompts + ", asked " + point.ask;
    if (sets.empty() || sets.back().first != name) sets.emplace_back(name, std::vector<const SweepPoint*>{});
    sets.back().second.push_back(&point);
    if (std::find(series.begin(), series.end(), point.series) == series.end()) series.push_back(point.series);
  }
  const bool withKl = std::ranges::any_of(points, [](const SweepPoint& p) { return p.kl && p.bytes; });
  const bool scored = !withKl || std::ranges::any_of(points, [](const SweepPoint& p) { return p.shown().has_value(); });
  const double across = withKl && scored ? 2 * kPanelWidth + kGap : kPanelWidth;
  const double row = kTop + kPanelHeight + kBottom, width = kLeft + across + kLegend;
  const double height = std::max(40 + row * static_cast<double>(std::max<std::size_t>(1, sets.size())),
                                 80 + 18.0 * static_cast<double>(series.size()));
  Svg svg;
  svg.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + fixed(width) + "\" height=\"" + fixed(height) +
          "\" viewBox=\"0 0 " + fixed(width) + " " + fixed(height) +
          "\" font-family=\"Inter, sans-serif\" font-size=\"12\" fill=\"#222222\">\n<rect width=\"100%\" "
          "height=\"100%\" fill=\"#ffffff\"/>\n");
  svg.text(kLeft, 24, title, " font-size=\"15\" font-weight=\"bold\"");
  if (sets.empty()) svg.text(kLeft, 60, "no cells");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const double top = 40 + row * static_cast<double>(i) + kTop - 16;
    svg.text(kLeft, top - 30, sets[i].first, " fill=\"#555555\"");
    std::vector<Panel> panels;
    if (scored) panels.push_back(recallPanel(sets[i].second, series));
    if (withKl) panels.push_back(klPanel(sets[i].second, series));
    double left = kLeft;
    for (const Panel& panel : panels) {
      drawFrame(svg, panel, left, top);
      for (const Line& line : panel.lines) drawLine(svg, panel, line, left, top);
      left += kPanelWidth + kGap;
    }
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double legend = kLeft + across + 18, y = 84 + 18 * static_cast<double>(i);
    svg.line(legend, y, legend + 20, y, Svg::stroke(i, 1.5));
    svg.mark(legend + 10, y, i);
    svg.text(legend + 27, y + 4, series[i]);
  }
  svg.raw("</svg>\n");
  return svg.take();
}

}  // namespace kvlab
