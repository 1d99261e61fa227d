// SPDX-License-Identifier: Apache-2.0
#include "core/explain/html_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/api/json_values.h"
#include "core/api/markup.h"
#include "core/api/texts.h"
#include "core/explain/left_map.h"

namespace kvlab {
namespace {

constexpr const char* kReportStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1c2430;--soft:#5b6675;--line:#d9dfe6;--card:#f6f8fa;--none:#eceff3;
--fine:#d3e3ef;--l1:#fbd89c;--l2:#f4a755;--l3:#df6d38;--l4:#b5362b;--l5:#74102f;--good:#1a7f4b;--warn:#a35a00;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--page:#14181d;--text:#e3e8ee;--soft:#98a4b3;--line:#303944;--card:#1c2229;
--none:#20262d;--fine:#2b4557;--l1:#6b5122;--l2:#a8691f;--l3:#e0822f;--l4:#ff9d6b;--l5:#ffe0d2;--good:#52c78a;--warn:#e9a94e;
--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:28px 20px 40px}
h1{font-size:23px;line-height:1.3;margin:8px 0 6px;overflow-wrap:anywhere}
h2{font-size:16px;margin:30px 0 8px}
p{margin:6px 0}.soft{color:var(--soft)}
.badge{display:inline-block;padding:2px 12px;border-radius:12px;border:1.5px solid;font-weight:600;font-size:13px}
.equal{color:var(--good)}.explained{color:var(--warn)}.unexplained{color:var(--bad)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:8px 20px;margin:16px 0 0;padding:12px 16px;
background:var(--card);border:1px solid var(--line);border-radius:8px}
dt{color:var(--soft);font-size:12px}dd{margin:0;overflow-wrap:anywhere}
ol{margin:0;padding-left:22px}li{margin:4px 0}
code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:4px 10px;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;font-size:13px}th:first-child,td:first-child{text-align:left;padding-left:0}
.wide{overflow-x:auto}
summary{cursor:pointer;font-size:16px;font-weight:600;margin:30px 0 8px}
.map{display:block;max-width:100%;height:auto}.map text{font:11px system-ui,sans-serif;fill:var(--soft)}
.frame{fill:none;stroke:var(--line)}.begin{fill:none;stroke:var(--text);stroke-width:2}.halo{fill:none;
stroke:var(--page);stroke-width:5}
.none{fill:var(--none);background:var(--none)}.fine{fill:var(--fine);background:var(--fine)}
.l1{fill:var(--l1);background:var(--l1)}.l2{fill:var(--l2);background:var(--l2)}.l3{fill:var(--l3);background:var(--l3)}
.l4{fill:var(--l4);background:var(--l4)}.l5{fill:var(--l5);background:var(--l5)}
figure{margin:10px 0 18px}figcaption{font-weight:600;font-size:13px;margin-bottom:2px}
.pair{display:flex;flex-wrap:wrap;gap:10px 40px}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin:10px 0}
.key i{display:inline-block;width:14px;height:14px;margin-right:6px;vertical-align:-2px;border:1px solid var(--line)}
mark{background:none;color:var(--bad);font-weight:700}
footer{margin-top:34px;padding-top:10px;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
@media print{details{display:block}}
)";

/// A relative difference.
std::string leftText(double value) {
  if (std::isnan(value)) return "none";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value == 0 || (value >= 0.001 && value < 1000) ? "%.3g" : "%.1e", value);
  return text.data();
}

std::string shareText(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), share > 0 && share < 0.001 ? "%.2g %%" : "%.3g %%", 100 * share);
  return text.data();
}

using Fact = std::pair<std::string, std::string>;

std::string factList(const std::vector<Fact>& facts) {
  std::string out;
  for (const auto& [name, value] : facts)
    if (!value.empty())
      out += "<div>" + markupElement("dt", markupText(name)) + markupElement("dd", markupText(value)) + "</div>";
  return markupElement("dl", out);
}

/// cells: [rows][columns], escaped; the first row is the head.
std::string tableHtml(const std::vector<std::vector<std::string>>& cells) {
  std::string out;
  for (std::size_t row = 0; row < cells.size(); ++row) {
    std::string line;
    for (const std::string& cell : cells[row]) line += markupElement(row == 0 ? "th" : "td", cell);
    out += markupElement("tr", line);
  }
  return "<div class=\"wide\">" + markupElement("table", out) + "</div>";
}

std::string badge(ExplainOutcome outcome) {
  const std::string word(name(outcome));
  return "<span class=\"badge " + word + "\">" + (outcome == ExplainOutcome::Unexplained ? "not explained" : word) +
      "</span>";
}

std::vector<Fact> factsOf(const Explanation& explanation, const HtmlReportAsk& ask) {
  std::int64_t rows = 0;
  for (const ExplainedLayer& layer : explanation.layers) rows += layer.rows();
  const std::string layers = countedText(static_cast<std::int64_t>(explanation.layers.size()), "layer", "layers");
  const std::string types = explanation.keyType == explanation.valueType
      ? explanation.keyType
      : explanation.keyType + " keys, " + explanation.valueType + " values";
  return {{"Cache", ask.cache},
          {"Read as", explanation.importer},
          {"Model", ask.model},
          {"Size",
           countedText(rows, "row", "rows") + " in " + layers + ", " +
               countedText(explanation.heads, "KV head", "KV heads") + " of " + std::to_string(explanation.headDim)},
          {"Row type", types},
          {"Text", countedText(static_cast<std::int64_t>(explanation.ids.size()), "token", "tokens")},
          {"Rows were matched with tokens", explanation.alignment},
          {"Rows of no token", explanation.without > 0 ? std::to_string(explanation.without) : ""}};
}

std::string causeList(const Explanation& explanation) {
  if (explanation.causes.empty())
    return markupElement("p", explanation.outcome == ExplainOutcome::Equal ? "None is needed." : "None was found.");
  std::string out;
  for (const Cause& cause : explanation.causes) {
    std::string line =
        markupElement("b", markupText(cause.text)) + "<br/><span class=\"soft\"><code>" + markupText(cause.kind);
    if (!cause.parameters.empty())
      line += " " + markupText(cause.parameters.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    line += "</code>";
    if (cause.without > 0) line += "; without this part of the reading " + leftText(cause.without) + " would be left";
    out += markupElement("li", line + "</span>");
  }
  return markupElement("ol", out);
}

std::vector<std::string> figureLine(const std::string& title, const LeftFigures& left) {
  return {title,
          leftText(left.keys),
          leftText(left.worstKeys),
          leftText(left.values),
          leftText(left.worstValues),
          shareText(left.wrong)};
}

const std::vector<std::string> kFigureHead{
    "", "keys, middle", "keys, worst", "values, middle", "values, worst", "beyond bound"};

std::string figureTable(const Explanation& explanation) {
  std::vector<std::vector<std::string>> cells{kFigureHead, figureLine("as the file is read", explanation.plain)};
  if (!explanation.causes.empty()) cells.push_back(figureLine("left over by the causes", explanation.left));
  cells.push_back(figureLine("exact rows in the type of the file", explanation.type));
  return tableHtml(cells);
}

/// The ids around a token, the token itself marked.
std::string idsAround(const std::vector<TokenId>& ids, std::int32_t token) {
  const auto count = static_cast<std::int32_t>(ids.size());
  if (token < 0 || token >= count) return {};
  const std::int32_t first = std::max(0, token - 6), end = std::min(count, token + 7);
  std::string out = first > 0 ? "…" : "";
  for (std::int32_t i = first; i < end; ++i) {
    const std::string id = std::to_string(ids[static_cast<std::size_t>(i)].value());
    out += " " + (i == token ? markupElement("mark", id) : id);
  }
  return markupElement("code", out + (end < count ? " …" : ""));
}

std::string beginning(const Explanation& explanation) {
  if (!explanation.begins) return {};
  const ExplainedPlace& at = *explanation.begins;
  const std::string place = "The first row in the order of computation: " + std::string(name(at.side)) + " of layer " +
      std::to_string(at.layer) + ", KV head " + std::to_string(at.head) + ", row " + std::to_string(at.row) +
      ", token " + std::to_string(at.token) + ". They differ by " + leftText(at.figure) + "; rounding accounts for " +
      leftText(at.bound) + ".";
  const std::string around = idsAround(explanation.ids, at.token);
  return markupElement("h2", "Where it begins") + markupElement("p", place) +
      (around.empty() ? "" : markupElement("p", "Ids there: " + around));
}

std::string figureHtml(const std::string& caption, const std::string& picture) {
  return picture.empty() ? "" : markupElement("figure", markupElement("figcaption", caption) + picture);
}

std::string maps(const Explanation& explanation) {
  std::string key;
  for (const LeftClass& one : leftClasses())
    key += "<span><i class=\"" + std::string(one.name) + "\"></i>" + std::string(one.text) + "</span>";
  return markupElement("h2", "What is left") +
      markupElement(
             "p",
             "Layers downwards, rows to the right. A cell is the worst KV head; its colour is |theirs - ours| / |ours| "
             "where rounding does not account for it. The ring is where it begins.") +
      "<div class=\"key\">" + key + "</div>" + figureHtml("Keys", rowsMap(explanation, Side::Keys)) +
      figureHtml("Values", rowsMap(explanation, Side::Values)) + "<div class=\"pair\">" +
      figureHtml("Keys by KV head, worst row", headsMap(explanation, Side::Keys)) +
      figureHtml("Values by KV head, worst row", headsMap(explanation, Side::Values)) + "</div>";
}

std::string causesInWords(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& cause : causes) out += (out.empty() ? "" : "; ") + markupText(cause.text);
  return out.empty() ? "none" : out;
}

std::string rivals(const Explanation& explanation) {
  if (explanation.rivals.empty()) return {};
  std::vector<std::vector<std::string>> cells{{"causes", "leaves over", "heads above their bounds"}};
  for (const Rival& rival : explanation.rivals)
    cells.push_back({causesInWords(rival.causes), leftText(std::max(rival.left.keys, rival.left.values)),
                     rival.left.wrong >= 0 ? numberWords(100 * rival.left.wrong, 3) + " %" : ""});
  return "<details open=\"open\"><summary>Other explanations that were tried</summary>" + tableHtml(cells) +
      "</details>";
}

/// Middle and greatest figure, and how many lie above their bound.
struct LayerSummary {
  double middle = 0, worst = 0;
  std::int64_t wrong = 0;
};

LayerSummary summed(const std::vector<float>& figures, const std::vector<float>& bounds) {
  LayerSummary out;
  std::vector<float> known;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (std::isnan(figures[i])) continue;
    known.push_back(figures[i]);
    out.wrong += i < bounds.size() && figures[i] > bounds[i];
  }
  if (known.empty()) return out;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::ranges::nth_element(known, middle);
  out.middle = *middle;
  out.worst = *std::ranges::max_element(known);
  return out;
}

std::string layerTable(const Explanation& explanation) {
  std::vector<std::vector<std::string>> cells{
      {"layer", "rows", "keys, middle", "keys, worst", "wrong", "values, middle", "values, worst", "wrong"}};
  for (const ExplainedLayer& layer : explanation.layers) {
    const LayerSummary keys = summed(layer.keys, layer.keyBounds), values = summed(layer.values, layer.valueBounds);
    std::string number = std::to_string(layer.layer);
    if (layer.own != layer.layer) number += " (the model's " + std::to_string(layer.own) + ")";
    cells.push_back({number, std::to_string(layer.rows()), leftText(keys.middle), leftText(keys.worst),
                     std::to_string(keys.wrong), leftText(values.middle), leftText(values.worst),
                     std::to_string(values.wrong)});
  }
  return "<details><summary>Layer by layer</summary>" + tableHtml(cells) + "</details>";
}

std::string notes(const Explanation& explanation) {
  std::string out;
  for (const std::string& note : explanation.notes) out += markupElement("li", markupText(note));
  return out.empty() ? "" : markupElement("h2", "Notes") + markupElement("ul", out);
}

}  // namespace

std::string htmlReport(const Explanation& explanation, const HtmlReportAsk& ask) {
  const std::string title = markupText(explanation.verdict);
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", explanation.seconds);
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
         "content=\"width=device-width\"/><title>" +
      title + "</title><style>" + kReportStyle + "</style></head><body><main>" + badge(explanation.outcome) +
      markupElement("h1", title) + factList(factsOf(explanation, ask)) + markupElement("h2", "Causes") +
      causeList(explanation) + markupElement("h2", "Figures") +
      markupElement(
             "p",
             "Relative L2 differences of a row's KV head from the model's exact one; middle: half of all lie below.") +
      figureTable(explanation) + beginning(explanation) + maps(explanation) + rivals(explanation) +
      layerTable(explanation) + notes(explanation) + "<footer>kvlab " + markupText(ask.version) + "; the search took " +
      seconds.data() + "</footer></main></body></html>\n";
}

}  // namespace kvlab
