// SPDX-License-Identifier: Apache-2.0
#include "core/api/sweep_table.h"

#include <algorithm>
#include <cmath>

namespace kvlab {

using Json = nlohmann::ordered_json;

namespace {

constexpr SweepMeasure kMeasures[] = {
    {"stories", "recall", "Stories", "count"},
    {"questions", "recall", "Questions", "count"},
    {"right", "recall", "Questions answered right", "count"},
    {"recall", "recall", "Recall", "share"},
    {"recall_low", "recall", "Recall, lower end", "share"},
    {"recall_high", "recall", "Recall, upper end", "share"},
    {"recall_forced", "recall", "Recall with the reply begun", "share"},
    {"kl_mean", "kl", "KL against the reference, mean", "nats"},
    {"kl_median", "kl", "KL, median", "nats"},
    {"kl_p99", "kl", "KL, 99th percentile", "nats"},
    {"kl_answer", "kl", "KL where the answer is due, mean", "nats"},
    {"dnll", "kl", "Change of the answer's negative log-likelihood", "nats"},
    {"top1", "kl", "Same likeliest token", "share"},
    {"attention_kept", "attention", "Attention mass kept", "share"},
    {"needle_survival", "needles", "Rows of the fact kept", "share"},
    {"needle_answer", "needles", "Rows of the deciding token kept", "share"},
    {"rows_prompt", "bytes", "Rows of the prompt", "rows"},
    {"rows_kept", "bytes", "Rows kept per layer after the prompt", "rows"},
    {"bytes_live", "bytes", "Bytes of resident rows after the prompt", "bytes"},
    {"bytes_reference", "bytes", "The same of the reference", "bytes"},
    {"answers", "answers", "Generated answers", "count"},
    {"score", "answers", "Wanted texts in the answer", "share"},
    {"score_low", "answers", "The same, lower end", "share"},
    {"score_high", "answers", "The same, upper end", "share"},
    {"score_part", "answers", "Answers with one of the wanted texts", "share"},
    {"answer_nll", "answers", "Negative log-likelihood of the wanted answer, mean over tokens", "nats"},
    {"answer_tokens", "answers", "Tokens of an answer", "count"},
};

Error badRow(const std::string& place, const std::string& why) {
  return Error("bad_results", "the results were not read", place + " " + why,
               "open a results.jsonl that kvlab sweep wrote");
}

std::string csvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out(1, '"');
  for (const char c : text) {
    if (c == '"') out.push_back(c);
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

/// One line of RFC 4180, with its end.
std::string csvLine(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) out.push_back(',');
    out += csvField(field);
  }
  out.push_back('\n');
  return out;
}

Json numberJson(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

/// Value of a name in a list of pairs; null = the list has no such name.
template <class Value>
const Value* valueOf(const std::vector<std::pair<std::string, Value>>& pairs, const std::string& name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == name; });
  return found == pairs.end() ? nullptr : &found->second;
}

/// All names of a list of pairs that the rows have, in the order in which they come.
template <class Value>
std::vector<std::string> namesIn(std::span<const SweepRow> rows,
                                 std::vector<std::pair<std::string, Value>> SweepRow::*pairs) {
  std::vector<std::string> out;
  for (const SweepRow& row : rows)
    for (const auto& [name, value] : row.*pairs)
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  return out;
}

/// A field of a CSV file; empty = does not apply.
std::string fieldOf(const TableColumn& column, std::size_t row) {
  if (!column.has(row)) return {};
  if (column.type == ColumnType::Number) return numberJson(column.numbers[row]).dump();
  const nlohmann::json value = column.at(row);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string csvOf(const std::vector<TableColumn>& columns) {
  std::vector<std::string> fields;
  for (const TableColumn& one : columns) fields.push_back(one.name);
  std::string out = csvLine(fields);
  for (std::size_t row = 0; row < columns.front().rows; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) fields[i] = fieldOf(columns[i], row);
    out += csvLine(fields);
  }
  return out;
}

/// Adds a column, a cell for each of the rows.
template <class Row, class Cell>
void addColumn(std::vector<TableColumn>& to, std::span<const Row> rows, std::string name, ColumnType type,
               const Cell& cell) {
  TableColumn& column = to.emplace_back(std::move(name), type);
  for (const Row& row : rows) column.add(cell(row));
}

TableCell budgetCell(const std::optional<SweepBudget>& budget, bool ratio) {
  return budget && budget->ratio == ratio ? TableCell(budget->value) : TableCell();
}

/// The value of a name in a list of pairs.
template <class Value>
TableCell cellIn(const std::vector<std::pair<std::string, Value>>& pairs, const std::string& name) {
  const Value* value = valueOf(pairs, name);
  return value ? TableCell(*value) : TableCell();
}

bool isText(const Json& from, const char* key) { return from.contains(key) && from[key].is_string(); }
bool isWhole(const Json& from, const char* key) { return from.contains(key) && from[key].is_number_integer(); }
bool areCounts(const Json& list, std::size_t n) {
  return list.is_array() && list.size() == n &&
      std::all_of(list.begin(), list.end(), [](const Json& v) { return v.is_number_integer(); });
}

std::optional<std::string> readMeasures(const Json& from, SweepRow& row) {
  for (std::size_t i = 0; i < std::size(kMeasures); ++i) {
    const auto found = from.find(std::string(kMeasures[i].name));
    if (found == from.end() || found->is_null()) continue;
    if (!found->is_number()) return std::string(kMeasures[i].name) + " is not a number";
    row.measures[i] = found->get<double>();
  }
  const Json expressions = from.value("expressions", Json::object());
  if (!expressions.is_object()) return "has expressions that are no object";
  for (const auto& [text, value] : expressions.items()) {
    if (!value.is_number() && !value.is_null()) return "has an expression " + text + " that is not a number";
    row.expressions.emplace_back(text, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  for (const Json& pair : from.value("by_story", Json::array())) {
    if (!areCounts(pair, 2)) return "by_story does not hold pairs of counts";
    row.byStory.emplace_back(pair[0].get<int>(), pair[1].get<int>());
  }
  for (const Json& pair : from.value("by_score", Json::array())) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number_integer())
      return "by_score does not hold pairs of a sum and a count";
    row.byScore.emplace_back(pair[0].get<double>(), pair[1].get<int>());
  }
  for (const Json& three : from.value("by_distance", Json::array())) {
    if (!areCounts(three, 3)) return "by_distance does not hold three numbers each";
    row.byDistance.push_back({three[0].get<int>(), three[1].get<int>(), three[2].get<int>()});
  }
  return std::nullopt;
}

std::optional<std::string> readHead(const Json& from, SweepRow& row) {
  if (!from.is_object()) return "is no object";
  if (!isWhole(from, "schema") || from["schema"] != kSweepSchema)
    return "is not of schema " + std::to_string(kSweepSchema);
  for (const char* key : {"index", "seed"})
    if (!isWhole(from, key)) return std::string("has no whole number ") + key;
  for (const char* key : {"id", "prompts", "ask"})
    if (!isText(from, key)) return std::string("has no text ") + key;
  row.index = from["index"].get<std::int64_t>();
  row.seed = from["seed"].get<std::int64_t>();
  row.id = from["id"].get<std::string>();
  row.prompts = from["prompts"].get<std::string>();
  row.ask = from["ask"].get<std::string>();
  if (from.contains("task")) {
    if (!isText(from, "task") || !isWhole(from, "length"))
      return "has a task that is no text, or no whole number length";
    row.task = from["task"].get<std::string>();
    row.length = from["length"].get<int>();
  }
  const Json axes = from.value("axes", Json::object());
  if (!axes.is_object()) return "has axes that are no object";
  for (const auto& [name, label] : axes.items()) {
    if (!label.is_string()) return "has an axis " + name + " without a label";
    row.axes.emplace_back(name, label.get<std::string>());
  }
  return std::nullopt;
}

std::optional<std::string> readBudget(const Json& from, SweepRow& row) {
  const auto found = from.find("budget");
  if (found == from.end()) return std::nullopt;
  const bool ratio = found->is_object() && found->contains("ratio");
  const Json value = found->is_object() ? found->value(ratio ? "ratio" : "tokens", Json()) : Json();
  if (!value.is_number()) return "has a budget that is neither ratio nor tokens";
  row.budget = SweepBudget{ratio, value.get<double>()};
  return std::nullopt;
}

std::optional<std::string> readError(const Json& from, SweepRow& row) {
  const auto found = from.find("error");
  if (found == from.end()) return std::nullopt;
  for (const char* key : {"code", "what", "why", "remedy"})
    if (!found->is_object() || !isText(*found, key)) return std::string("has an error without a text ") + key;
  row.error = Error((*found)["code"].get<std::string>(), (*found)["what"].get<std::string>(),
                    (*found)["why"].get<std::string>(), (*found)["remedy"].get<std::string>());
  return std::nullopt;
}

/// The journal's lines carry a checksum in front and the row inside.
std::string_view lineBody(std::string_view line) {
  const auto brace = line.find('{');
  return brace == std::string_view::npos ? line : line.substr(brace);
}

constexpr int kResamples = 2000;

/// splitmix64 (Steele, Lea, Flood 2014) from a fixed start.
class Draws {
 public:
  std::size_t below(std::size_t n) {
    m_state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t m_state = 1;
};

using StorySum = std::pair<double, int>;  // of scores, and their number

std::pair<double, double> bootstrap(std::span<const StorySum> stories) {
  Draws draws;
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    double sum = 0;
    int asked = 0;
    for (std::size_t k = 0; k < stories.size(); ++k) {
      const StorySum& story = stories[draws.below(stories.size())];
      sum += story.first;
      asked += story.second;
    }
    means.push_back(asked ? sum / asked : 0);
  }
  std::sort(means.begin(), means.end());
  return {means[kResamples * 25 / 1000], means[kResamples * 975 / 1000 - 1]};
}

class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    m_sum += *value;
    ++m_count;
  }
  std::optional<double> value() const { return m_count ? std::optional(m_sum / m_count) : std::nullopt; }

 private:
  double m_sum = 0;
  int m_count = 0;
};

SweepPoint together(const std::vector<const SweepRow*>& rows) {
  const SweepRow& first = *rows.front();
  SweepPoint point{first.prompts, first.ask, first.series(), first.budget, first.task, first.length};
  std::vector<StorySum> stories, scores;
  Mean kl, answer, bytes, share;
  for (const SweepRow* row : rows) {
    ++point.cells;
    point.failed += row->error.has_value();
    stories.insert(stories.end(), row->byStory.begin(), row->byStory.end());
    scores.insert(scores.end(), row->byScore.begin(), row->byScore.end());
    kl.add(row->measure("kl_mean"));
    answer.add(row->measure("kl_answer"));
    bytes.add(row->measure("bytes_live"));
    const auto live = row->measure("bytes_live"), all = row->measure("bytes_reference");
    if (live && all && *all > 0) share.add(*live / *all);
  }
  point.stories = static_cast<int>(stories.size());
  for (const auto& [right, asked] : stories) {
    point.right += static_cast<int>(right);
    point.asked += asked;
  }
  if (point.asked) {
    point.recall = static_cast<double>(point.right) / point.asked;
    std::tie(point.low, point.high) = meanInterval(stories);
  }
  double sum = 0;
  for (const auto& [score, answers] : scores) {
    sum += score;
    point.answers += answers;
  }
  if (point.answers) {
    point.score = sum / point.answers;
    std::tie(point.scoreLow, point.scoreHigh) = meanInterval(scores);
  }
  point.kl = kl.value();
  point.klAnswer = answer.value();
  point.bytes = bytes.value();
  point.share = share.value();
  return point;
}

}  // namespace

std::span<const SweepMeasure> sweepMeasures() { return kMeasures; }

std::vector<std::string> sweepGroups() {
  std::vector<std::string> out;
  for (const SweepMeasure& one : kMeasures)
    if (out.empty() || out.back() != one.group) out.emplace_back(one.group);
  return out;
}

int sweepMeasure(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kMeasures); ++i)
    if (kMeasures[i].name == name) return static_cast<int>(i);
  return -1;
}

std::vector<std::string> sweepExpressions(std::span<const SweepRow> rows) {
  return namesIn(rows, &SweepRow::expressions);
}

std::optional<double> SweepRow::expression(const std::string& text) const {
  const std::optional<double>* mean = valueOf(expressions, text);
  return mean ? *mean : std::nullopt;
}

std::optional<double> SweepRow::measure(std::string_view name) const {
  const int at = sweepMeasure(name);
  return at < 0 || static_cast<std::size_t>(at) >= measures.size() ? std::nullopt
                                                                   : measures[static_cast<std::size_t>(at)];
}

void SweepRow::setMeasure(std::string_view name, double value) {
  measures.resize(std::size(kMeasures));
  if (const int at = sweepMeasure(name); at >= 0) measures[static_cast<std::size_t>(at)] = value;
}

std::string SweepRow::series() const {
  std::string out;
  for (const auto& [name, label] : axes)
    if (name != "budget") out += (out.empty() ? "" : " / ") + label;
  return out.empty() ? "all" : out;
}

std::string sweepLine(const SweepRow& row) {
  Json out{{"schema", kSweepSchema}, {"index", row.index}, {"id", row.id}, {"prompts", row.prompts}};
  if (!row.task.empty()) out.update({{"task", row.task}, {"length", row.length}});
  out.update({{"ask", row.ask}, {"seed", row.seed}});
  out["axes"] = Json::object();
  for (const auto& [name, label] : row.axes) out["axes"][name] = label;
  if (row.budget) out["budget"] = {{row.budget->ratio ? "ratio" : "tokens", numberJson(row.budget->value)}};
  if (row.error) {
    out["error"] = {
        {"code", row.error->code}, {"what", row.error->what}, {"why", row.error->why}, {"remedy", row.error->remedy}};
    return out.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  for (std::size_t i = 0; i < row.measures.size(); ++i)
    if (row.measures[i]) out[std::string(kMeasures[i].name)] = numberJson(*row.measures[i]);
  for (const auto& [text, value] : row.expressions) out["expressions"][text] = value ? numberJson(*value) : Json();
  if (!row.byStory.empty()) out["by_story"] = row.byStory;
  if (!row.byScore.empty()) out["by_score"] = row.byScore;
  if (!row.byDistance.empty()) out["by_distance"] = row.byDistance;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<SweepRow> sweepRow(const Json& from, const std::string& place) {
  SweepRow row;
  row.measures.resize(std::size(kMeasures));
  for (auto* read : {&readHead, &readBudget, &readMeasures, &readError})
    if (const auto why = (*read)(from, row)) return badRow(place, *why);
  return row;
}

Result<std::vector<SweepRow>> sweepRows(std::string_view text, const std::string& file) {
  std::vector<SweepRow> rows;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string place = file + ", line " + std::to_string(number);
    if (line.empty()) continue;
    const bool journal = line.front() != '{';
    const Json parsed = Json::parse(lineBody(line), nullptr, false);
    if (journal && (parsed.is_discarded() || !parsed.is_object())) continue;  // the torn tail of a running sweep
    if (journal && !parsed.contains("row")) continue;                         // its head
    if (parsed.is_discarded()) return badRow(place, "is no JSON");
    rows.push_back(KV_TRY(sweepRow(journal ? parsed["row"] : parsed, place)));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SweepRow& a, const SweepRow& b) { return a.index < b.index; });
  return rows;
}

std::vector<TableColumn> sweepColumns(std::span<const SweepRow> rows) {
  using enum ColumnType;
  std::vector<TableColumn> out;
  const auto add = [&](std::string name, ColumnType type, const auto& cell) {
    addColumn(out, rows, std::move(name), type, cell);
  };
  add("index", Integer, [](const SweepRow& row) { return TableCell(row.index); });
  add("id", Text, [](const SweepRow& row) { return TableCell(row.id); });
  add("prompts", Text, [](const SweepRow& row) { return TableCell(row.prompts); });
  add("ask", Text, [](const SweepRow& row) { return TableCell(row.ask); });
  add("seed", Integer, [](const SweepRow& row) { return TableCell(row.seed); });
  if (std::any_of(rows.begin(), rows.end(), [](const SweepRow& row) { return !row.task.empty(); })) {
    add("task", Text, [](const SweepRow& row) { return row.task.empty() ? TableCell() : TableCell(row.task); });
    add("length", Integer, [](const SweepRow& row) { return row.task.empty() ? TableCell() : TableCell(row.length); });
  }
  for (const std::string& name : namesIn(rows, &SweepRow::axes))
    add("axis." + name, Text, [&](const SweepRow& row) { return cellIn(row.axes, name); });
  add("budget_ratio", Number, [](const SweepRow& row) { return budgetCell(row.budget, true); });
  add("budget_tokens", Number, [](const SweepRow& row) { return budgetCell(row.budget, false); });
  for (const SweepMeasure& measure : kMeasures)
    add(std::string(measure.name), Number,
        [&](const SweepRow& row) { return row.error ? TableCell() : TableCell(row.measure(measure.name)); });
  for (const std::string& text : sweepExpressions(rows))
    add("expression." + text, Number,
        [&](const SweepRow& row) { return row.error ? TableCell() : cellIn(row.expressions, text); });
  TableColumn& errors = out.emplace_back("error", Text);
  for (const SweepRow& row : rows)
    errors.add(row.error ? TableCell(std::string(row.error->code).append(": ").append(row.error->text()))
                         : TableCell());
  return out;
}

std::string sweepCsv(std::span<const SweepRow> rows) { return csvOf(sweepColumns(rows)); }

std::optional<SweepPoint::Shown> SweepPoint::shown() const {
  if (answers) return Shown{score, scoreLow, scoreHigh};
  return asked ? std::optional(Shown{recall, low, high}) : std::nullopt;
}

std::vector<SweepPoint> sweepPoints(std::span<const SweepRow> rows) {
  std::vector<std::vector<const SweepRow*>> groups;
  const auto same = [](const SweepRow& a, const SweepRow& b) {
    return a.prompts == b.prompts && a.ask == b.ask && a.axes == b.axes;
  };
  for (const SweepRow& row : rows) {
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return same(*group.front(), row); });
    if (found == groups.end()) groups.push_back({&row});
    else found->push_back(&row);
  }
  std::vector<SweepPoint> out;
  for (const auto& group : groups) out.push_back(together(group));
  return out;
}

std::pair<double, double> meanInterval(std::span<const std::pair<double, int>> stories) {
  if (stories.empty()) return {0, 1};
  const bool proportion = std::ranges::all_of(
      stories, [](const StorySum& one) { return one.second == 1 && (one.first == 0 || one.first == 1); });
  if (!proportion) return bootstrap(stories);
  const auto right = std::ranges::count_if(stories, [](const StorySum& one) { return one.first == 1; });
  return wilson(static_cast<int>(right), static_cast<int>(stories.size()));
}

std::pair<double, double> wilson(int right, int asked) {
  if (asked <= 0) return {0, 1};
  constexpr double z = 1.959963984540054;
  const double n = asked, p = right / n, z2 = z * z;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

std::vector<TableColumn> summaryColumns(std::span<const SweepPoint> points) {
  using enum ColumnType;
  using Point = SweepPoint;
  std::vector<TableColumn> out;
  const auto add = [&](const char* name, ColumnType type, const auto& cell) {
    addColumn(out, points, name, type, cell);
  };
  add("prompts", Text, [](const Point& p) { return TableCell(p.prompts); });
  add("ask", Text, [](const Point& p) { return TableCell(p.ask); });
  add("series", Text, [](const Point& p) { return TableCell(p.series); });
  add("budget_ratio", Number, [](const Point& p) { return budgetCell(p.budget, true); });
  add("budget_tokens", Number, [](const Point& p) { return budgetCell(p.budget, false); });
  static constexpr std::pair<const char*, int Point::*> kCounts[] = {{"cells", &Point::cells},
                                                                     {"failed", &Point::failed},
                                                                     {"stories", &Point::stories},
                                                                     {"asked", &Point::asked},
                                                                     {"right", &Point::right}};
  for (const auto& [name, count] : kCounts)
    add(name, Integer, [of = count](const Point& p) { return TableCell(p.*of); });
  static constexpr std::pair<const char*, double Point::*> kRecalls[] = {
      {"recall", &Point::recall}, {"recall_low", &Point::low}, {"recall_high", &Point::high}};
  for (const auto& [name, recall] : kRecalls)
    add(name, Number, [of = recall](const Point& p) { return p.asked ? TableCell(p.*of) : TableCell(); });
  static constexpr std::pair<const char*, std::optional<double> Point::*> kMeans[] = {{"kl_mean", &Point::kl},
                                                                                      {"kl_answer", &Point::klAnswer},
                                                                                      {"bytes_live", &Point::bytes},
                                                                                      {"bytes_share", &Point::share}};
  for (const auto& [name, mean] : kMeans) add(name, Number, [of = mean](const Point& p) { return TableCell(p.*of); });
  if (std::none_of(points.begin(), points.end(), [](const Point& p) { return p.answers || !p.task.empty(); }))
    return out;
  add("task", Text, [](const Point& p) { return p.task.empty() ? TableCell() : TableCell(p.task); });
  add("length", Integer, [](const Point& p) { return p.task.empty() ? TableCell() : TableCell(p.length); });
  add("answers", Integer, [](const Point& p) { return TableCell(p.answers); });
  static constexpr std::pair<const char*, double Point::*> kScores[] = {
      {"score", &Point::score}, {"score_low", &Point::scoreLow}, {"score_high", &Point::scoreHigh}};
  for (const auto& [name, score] : kScores)
    add(name, Number, [of = score](const Point& p) { return p.answers ? TableCell(p.*of) : TableCell(); });
  return out;
}

std::string summaryCsv(std::span<const SweepPoint> points) { return csvOf(summaryColumns(points)); }

}  // namespace kvlab
