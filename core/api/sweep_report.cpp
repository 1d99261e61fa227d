// SPDX-License-Identifier: Apache-2.0
#include "core/api/sweep_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/api/markup.h"
#include "core/api/texts.h"

namespace kvlab {
namespace {

constexpr const char* kSweepStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1c2430;--soft:#5b6675;--line:#d9dfe6}
@media(prefers-color-scheme:dark){:root{--page:#14181d;--text:#e3e8ee;--soft:#98a4b3;--line:#303944}}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:1500px;margin:0 auto;padding:28px 20px 40px}
h1{font-size:23px}h2{font-size:16px;margin:30px 0 8px}.soft{color:var(--soft)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:3px 9px;border-bottom:1px solid var(--line)}
th{font-weight:600;font-size:13px}th:first-child{text-align:left}tbody th{font-weight:400;font-size:15px}
td small{color:inherit;opacity:.75}.wide{overflow-x:auto}
figure{display:inline-block;margin:8px 22px 12px 0;vertical-align:top}figcaption{font-size:13px;font-weight:600}
.plot{background:#fff;overflow-x:auto}.cells td{text-align:left}code{font-size:13px}summary{cursor:pointer}
.s0{background:#b5362b;color:#fff}.s1{background:#df6d38;color:#000}.s2{background:#f4c27a;color:#000}
.s3{background:#cfe3b4;color:#000}.s4{background:#3f9a5f;color:#000}
)";
constexpr int kDepthBands = 5;

std::string percentText(double share) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.0f", 100 * share);
  return text.data();
}

/// Five classes of shares, each a fifth.
std::string shareCell(double share, const std::string& more) {
  const int band = std::clamp(static_cast<int>(share * 5), 0, 4);
  return "<td class=\"s" + std::to_string(band) + "\">" + percentText(share) + more + "</td>";
}

std::string budgetWords(const std::optional<SweepBudget>& budget) {
  if (!budget) return {};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), budget->ratio ? ", %.4g of rows" : ", %.0f tokens", budget->value);
  return text.data();
}

std::string headRow(const std::string& corner, const std::vector<std::string>& columns) {
  std::string out = markupElement("th", markupText(corner));
  for (const std::string& one : columns) out += markupElement("th", markupText(one));
  return markupElement("thead", markupElement("tr", out));
}

std::string tableOf(const std::string& head, const std::string& body) {
  return "<div class=\"wide\">" + markupElement("table", head + markupElement("tbody", body)) + "</div>";
}

/// Names in the order in which they first come.
class Order {
 public:
  void add(const std::string& name) {
    if (std::find(m_names.begin(), m_names.end(), name) == m_names.end()) m_names.push_back(name);
  }
  const std::vector<std::string>& names() const { return m_names; }

 private:
  std::vector<std::string> m_names;
};

class SweepHtml {
 public:
  SweepHtml(std::span<const SweepRow> rows, std::span<const SweepPoint> points) : m_points(points) {
    for (const SweepPoint& point : points) {
      m_prompts.add(point.prompts);
      m_series.add(point.series + budgetWords(point.budget));
    }
    for (const SweepRow& row : rows) takeAnswers(row);
  }

  /// Score and interval of each series and budget on each prompt set.
  std::string scores() const {
    std::map<std::pair<std::string, std::string>, const SweepPoint*> cells;
    for (const SweepPoint& point : m_points) cells[{point.series + budgetWords(point.budget), point.prompts}] = &point;
    std::string body;
    for (const std::string& series : m_series.names()) {
      std::string line = markupElement("th", markupText(series));
      for (const std::string& prompts : m_prompts.names()) {
        const auto found = cells.find({series, prompts});
        if (found == cells.end() || !found->second->answers) line += "<td></td>";
        else
          line += shareCell(found->second->score,
                            " <small>" + percentText(found->second->scoreLow) + "-" +
                                percentText(found->second->scoreHigh) + "</small>");
      }
      body += markupElement("tr", line);
    }
    return tableOf(headRow("", m_prompts.names()), body);
  }

  /// A map of depth by length for each series; empty where no answer has a depth.
  std::string depths() const {
    std::string out;
    for (const std::string& series : m_series.names()) {
      const auto found = m_depths.find(series);
      if (found == m_depths.end()) continue;
      Order lengths;
      for (const auto& [place, scores] : found->second) lengths.add(std::to_string(place.first));
      std::string body;
      for (int band = 0; band < kDepthBands; ++band) {
        std::string line = markupElement("th", percentText(band / 5.0) + "-" + percentText((band + 1) / 5.0) + " %");
        for (const std::string& length : lengths.names()) {
          const auto cell = found->second.find({std::stoi(length), band});
          line += cell == found->second.end() ? "<td></td>" : shareCell(cell->second.mean(), "");
        }
        body += markupElement("tr", line);
      }
      out += markupElement(
          "figure", markupElement("figcaption", markupText(series)) + tableOf(headRow("depth", lengths.names()), body));
    }
    return out;
  }

  /// Share of the needles' rows that was kept, beside right and wrong answers.
  std::string survival() const {
    std::string body;
    for (const std::string& series : m_series.names()) {
      const auto found = m_kept.find(series);
      if (found == m_kept.end()) continue;
      std::string line = markupElement("th", markupText(series));
      for (const Share& one : found->second)
        line += one.count ? markupElement("td", std::to_string(one.count)) + shareCell(one.mean(), "")
                          : "<td>0</td><td></td>";
      body += markupElement("tr", line);
    }
    if (body.empty()) return {};
    return tableOf(headRow("", {"right", "rows kept, %", "in part", "rows kept, %", "wrong", "rows kept, %"}), body);
  }

  /// Every cell with its score, those of its answers, and the command that asks its first question again.
  std::string cells(std::span<const SweepRow> rows) const {
    std::string body;
    for (const SweepRow& row : rows) {
      const std::string number = std::to_string(row.index);
      std::string answers;
      for (const SweepAnswer& one : row.answers) answers += (answers.empty() ? "" : " ") + percentText(one.score);
      std::string line = markupElement("th", number);
      for (const std::string& text : {row.prompts, row.series() + budgetWords(row.budget), std::to_string(row.seed)})
        line += markupElement("td", markupText(text));
      const auto score = row.measure("score");
      line += markupElement("td",
                            row.error   ? "failed: " + markupText(row.error->text())
                                : score ? percentText(*score)
                                        : "");
      line += markupElement("td", answers);
      line += markupElement("td", row.error ? "" : markupElement("code", "kvlab sweep . --cell " + number + ":0"));
      body += markupElement("tr", line) + "\n";
    }
    const std::string head = headRow("cell", {"prompts", "settings", "seed", "score", "of its answers", "to open it"});
    return "<details class=\"cells\">" + markupElement("summary", countedText(std::ssize(rows), "cell", "cells")) +
        tableOf(head, body) + "</details>";
  }

 private:
  struct Share {
    double sum = 0;
    int count = 0;
    void add(double value) { sum += value, ++count; }
    double mean() const { return sum / count; }
  };

  void takeAnswers(const SweepRow& row) {
    const std::string series = row.series() + budgetWords(row.budget);
    for (const SweepAnswer& answer : row.answers) {
      if (answer.depth)
        m_depths[series][{row.length, std::clamp(static_cast<int>(*answer.depth * kDepthBands), 0, kDepthBands - 1)}]
            .add(answer.score);
      if (answer.kept.empty()) continue;
      double kept = 0;
      for (const double one : answer.kept) kept += one;
      m_kept[series][answer.score >= 1      ? 0
                         : answer.score > 0 ? 1
                                            : 2]
          .add(kept / static_cast<double>(answer.kept.size()));
    }
  }

  std::span<const SweepPoint> m_points;
  Order m_prompts, m_series;
  std::map<std::string, std::map<std::pair<int, int>, Share>> m_depths;  // by series; [length, band of depths]
  std::map<std::string, std::array<Share, 3>> m_kept;                    // by series; answers right, in part, wrong
};

std::string part(const char* title, const char* words, const std::string& inner) {
  if (inner.empty()) return {};
  return markupElement("h2", title) + "<p class=\"soft\">" + words + "</p>\n" + inner + "\n";
}

}  // namespace

std::string sweepHtml(const std::string& title, std::span<const SweepRow> rows, std::span<const SweepPoint> points) {
  const SweepHtml html(rows, points);
  std::int64_t failed = 0, answers = 0;
  for (const SweepRow& row : rows) {
    failed += row.error.has_value();
    answers += std::ssize(row.answers);
  }
  std::string main = markupElement("h1", markupText(title)) + "<p>" + countedText(std::ssize(rows), "cell", "cells") +
      ", " + std::to_string(failed) + " failed; " + countedText(answers, "generated answer", "generated answers") +
      ".</p>\n";
  main += part(
      "Scores",
      "Share of the wanted texts in the answers, in percent, with its 95 % interval: Wilson's where every answer is "
      "right or wrong, else a bootstrap over stories.",
      html.scores());
  main +=
      part("Depth and length",
           "Scores in percent by the place of the needle (0 % = first) and the tokens of the prompt.", html.depths());
  main +=
      part("Rows of the needle",
           "How much of the needle the cache still held when the question was asked, beside right and wrong answers: "
           "answers, and the mean share of the needle's rows over all layers.",
           html.survival());
  main += part("Against the budget", "Score or recall with 95 % intervals, and KL where it was measured.",
               "<div class=\"plot\">" + paretoSvg(title, points) + "</div>");
  main += part(
      "Cells",
      "Scores in percent. The command, in the folder of this report, asks a question of the cell again and compares "
      "the answer: the number behind the colon counts the answers from 0. With --out FILE.kvcap it keeps the "
      "session at that moment, for kvlab replay, the window, scripts and Python.",
      html.cells(rows));
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><title>" +
      markupText(title) + "</title><style>" + kSweepStyle + "</style></head><body><main>\n" + main +
      "</main></body></html>\n";
}

}  // namespace kvlab
