// SPDX-License-Identifier: GPL-3.0-or-later
// The models behind events, invariants, edits, next tokens, figures and the log: their contents on
// the fixture session and on small inputs made here, each under QAbstractItemModelTester.
#include <QAbstractItemModelTester>
#include <cmath>

#include "fake_context.h"
#include "support/runner.h"
#include "widgets/base/format.h"
#include "widgets/base/line_history.h"
#include "widgets/base/tokens.h"
#include "widgets/table/data_table.h"
#include "widgets/views/compose/json_editor.h"
#include "widgets/views/compose/plan_model.h"
#include "widgets/views/events/event_model.h"
#include "widgets/views/events/timeline.h"
#include "widgets/views/invariants/invariants_view.h"
#include "widgets/views/log/log_view.h"
#include "widgets/views/model/model_view.h"
#include "widgets/views/numbers/numbers_view.h"

using namespace kvlab;
using nlohmann::json;

namespace {
TickReport smallReport() {
  TickReport report;
  report.tick = Tick(7);
  report.events = {{"generate", 0, {}, 0, 10, 0, "greedy"},  {"apply", 0, {}, 10, 80, 300, ""},
                   {"replace_pair", 1, {}, 10, 50, 200, ""}, {"compute_rows", 2, Layer(0), 12, 20, 80, ""},
                   {"checksum", 2, Layer(0), 32, 2, 8, ""},  {"compute_rows", 2, Layer(1), 34, 20, 80, ""},
                   {"add", 1, {}, 60, 30, 100, ""},          {"compute_rows", 2, Layer(0), 61, 20, 80, ""},
                   {"verify", 0, {}, 90, 10, 40, ""}};
  return report;
}

SnapshotPtr withReport(const TickReport& report, std::uint64_t serial) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->tick = report.tick;
  snapshot->serial = serial;
  snapshot->report = std::make_shared<const TickReport>(report);
  return snapshot;
}

QStringList column(const QAbstractItemModel& model, int c, const QModelIndex& parent = {}) {
  QStringList texts;
  for (int r = 0; r < model.rowCount(parent); ++r) texts << model.index(r, c, parent).data().toString();
  return texts;
}

QStringList cells(const HeadedModel& model, const char* id) { return column(model, model.columnOf(id)); }
}  // namespace

class EvidenceModelsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void formats() {
    QCOMPARE(formatMicroseconds(0), QStringLiteral("0 µs"));
    QCOMPARE(formatMicroseconds(0.83), QStringLiteral("830 ns"));
    QCOMPARE(formatMicroseconds(12.34), QStringLiteral("12.3 µs"));
    QCOMPARE(formatMicroseconds(999.6), QStringLiteral("1.00 ms"));
    QCOMPARE(formatMicroseconds(3.2e6), QStringLiteral("3.20 s"));
    QCOMPARE(formatBytes(832), QStringLiteral("832 B"));
    QCOMPARE(formatBytes(12 * 1024 + 410), QStringLiteral("12.4 KiB"));
    QCOMPARE(formatBytes(-(qint64{3} << 30)), QStringLiteral("-3.00 GiB"));
    QCOMPARE(formatRate(1000, 1), QStringLiteral("1.00"));
    QCOMPARE(formatRate(0, 1), QString());
    QCOMPARE(formatRate(1, 0), QString());
    QCOMPARE(formatNumber(0.125), QStringLiteral("0.125"));
    for (const double odd : {std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL})
      for (const auto format : {formatNumber, figureText, shareText}) QCOMPARE(format(odd), QStringLiteral("–"));
    QCOMPARE(ranges({5, 3, 4, 9}), QStringLiteral("3–5, 9"));
    QCOMPARE(ranges({}), QString());
    QCOMPARE(visibleText(QStringLiteral(" a\n")), QStringLiteral("·a↵"));
  }

  void timeAxis() {
    TimeAxis axis;
    axis.setFull(0, 1000);
    QCOMPARE(axis.toX(250, 400), 100.0);
    QCOMPARE(axis.marks(400, 90), (std::vector<double>{0, 500, 1000}));
    axis.zoom(0.5, 100, 400);
    QVERIFY(axis.zoomed());
    QCOMPARE(axis.toUs(100, 400), 250.0);  // the point under the pointer stays
    axis.setFull(0, 1200);
    QVERIFY(axis.zoomed());
    axis.pan(1e9, 400);
    QCOMPARE(axis.begin, 0.0);
    axis.pan(-1e9, 400);
    QCOMPARE(axis.end, 1200.0);
    axis.show(600, 601);
    QVERIFY(axis.begin < 600 && axis.end > 601 && axis.span() < 1.2);
    for (int i = 0; i < 200; ++i) axis.zoom(0.5, 200, 400);
    QVERIFY(axis.span() > 0 && axis.begin < axis.end);
    axis.reset();
    QCOMPARE(axis.span(), 1200.0);
  }

  void eventTree() {
    const EventTree tree = EventTree::of(smallReport());
    QCOMPARE(tree.endUs, 100.0);
    EventModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setTree(tree);
    const QModelIndex tick = model.index(0, 0);
    QCOMPARE(tick.data().toString(), QStringLiteral("tick 7"));
    QCOMPARE(column(model, 0, tick), (QStringList{"generate  greedy", "apply", "verify"}));
    const QModelIndex pair = model.index(0, 0, model.index(1, 0, tick));
    QCOMPARE(pair.data().toString(), QStringLiteral("replace_pair"));
    QCOMPARE(column(model, 0, pair), (QStringList{"compute_rows", "checksum"}));
    const QModelIndex rows = model.index(0, 0, pair);
    QCOMPARE(column(model, 0, rows), (QStringList{"layer 0", "layer 1"}));
    QCOMPARE(model.node(rows)->us, 40.0);  // the sum of its layers, not their hull
    QCOMPARE(model.node(rows)->bytes, qint64{160});
    QCOMPARE(rows.siblingAtColumn(EventModel::Rate).data().toString(), QStringLiteral("0.004"));
    QCOMPARE(model.parent(rows), pair);
    QCOMPARE(tickBytes(smallReport()), qint64{340});
    model.setTree({});
    QCOMPARE(model.rowCount(), 0);
  }

  void chromeTraceNests() {
    TickReport next = smallReport();
    next.tick = Tick(8);
    const json trace = chromeTrace({withReport(smallReport(), 1), nullptr, withReport(next, 2)});
    std::vector<std::pair<double, double>> ticks;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const double from = event["ts"], to = from + event["dur"].get<double>();
      if (event["cat"] == "tick") ticks.push_back({from, to});
      else QVERIFY(from >= ticks.back().first && to <= ticks.back().second);
    }
    QCOMPARE(ticks, (std::vector<std::pair<double, double>>{{0, 100}, {100, 200}}));
    QCOMPARE(trace["traceEvents"][2]["args"]["tick"], 7);
    QVERIFY(chromeTrace({})["traceEvents"].is_array());
  }

  void invariants() {
    FakeContext context(fixture::Options{true});
    InvariantModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show(*context.snapshot());
    QCOMPARE(model.failures(), 2);
    QCOMPARE(cells(model, "state").first(2), (QStringList{"broken", "broken"}));
    QVERIFY(model.summary().startsWith("2 of 6 invariants are broken, first at tick 17"));
    QVERIFY(model.lines()[1].violation->ledger.has_value());
    QVERIFY(model.index(0, 0).data(kBadRole).toBool());
    model.showFull(json::parse(R"([{"id":"slots","title":"No slot is used twice","ok":false,"detail":"slot 3"},
                                   {"id":"fresh","title":"A new one","ok":true,"detail":""}])"),
                   Tick(20));
    QCOMPARE(model.failures(), 3);
    QCOMPARE(model.rowCount(), 6);  // a line for each invariant, which snapshots have
    QVERIFY(model.summary().contains("full check at tick 20"));
    model.show(*context.snapshot());  // the same tick again: the full check says more
    QCOMPARE(model.failures(), 3);
  }

  void invariantsInOrder() {
    FakeContext context;
    InvariantModel model;
    model.show(*context.snapshot());
    QCOMPARE(model.summary(), QStringLiteral("6 invariants hold"));
    Snapshot some = *context.snapshot();
    some.invariants[1].lastPass = Tick(-1);
    model.show(some);
    QCOMPARE(model.summary(), QStringLiteral("5 invariants hold, 1 not checked yet"));
    QCOMPARE(cells(model, "state").first(2), (QStringList{"holds", "not checked"}));
    model.show(Snapshot());
    QCOMPARE(model.rowCount(), 0);
  }

  void drafts() {
    QVERIFY(checkDraft("  \n").empty());
    const QString text = "[ {\"action\":\"delete\",\"position\":3},\n {\"action\":\"add\",\"token_id\":[]} ]";
    const DraftCheck bad = checkDraft(text);
    QVERIFY(!bad.ok());
    QCOMPARE(bad.place, std::optional<int>(1));
    QCOMPARE(bad.spans.size(), std::size_t{2});
    QCOMPARE(text.mid(bad.spans[0].begin, bad.spans[0].length),
             QStringLiteral("{\"action\":\"delete\",\"position\":3}"));
    QCOMPARE(text.mid(bad.spans[1].begin, bad.spans[1].length), QStringLiteral("{\"action\":\"add\",\"token_id\":[]}"));
    const DraftCheck cut = checkDraft("[\n  {\"action\": \"add\",");
    QVERIFY(cut.offset && cut.problem.contains("line 2"));
    const DraftCheck typo = checkDraft("[\n  {\"ä\" 1}]");
    QCOMPARE(typo.offset, std::optional<int>(9));
    QVERIFY(typo.problem.contains("line 2, column 8"));
    QVERIFY(!checkDraft("{}").ok());
    QVERIFY(!checkDraft("7").ok());
  }

  void draftSpansSkipStrings() {
    const QString text = QStringLiteral("[{'a':'],[{\\''},{'b':[1,2]} , 3]").replace('\'', '"');
    const DraftCheck check = checkDraft(text);
    QStringList parts;
    for (const TextSpan& span : check.spans) parts << text.mid(span.begin, span.length);
    QCOMPARE(parts, (QStringList{"{\"a\":\"],[{\\\"\"}", "{\"b\":[1,2]}", "3"}));
  }

  void draftsGrowAndShrink() {
    QString text = appended({}, Delete{Position(3)});
    text = appended(text, Add{TokenId(5)});
    QCOMPARE(checkDraft(text).actions.size(), std::size_t{2});
    QCOMPARE(appended("not json", Add{TokenId(5)}), QStringLiteral("not json"));
    QCOMPARE(draftText(listOf(checkDraft(text).actions)), text);
    QCOMPARE(tokensOf(Add{TokenId(5)}), std::vector<TokenId>{TokenId(5)});
    QVERIFY(tokensOf(Delete{Position(5)}).empty());
    QCOMPARE(withTokens(Add{TokenId(5)}, {TokenId(6), TokenId(7)}).size(), std::size_t{2});
    const std::vector<Action> other = withTokens(Insert{Position(3), {TokenId(5)}}, {TokenId(6), TokenId(7)});
    QCOMPARE(std::get<Insert>(other.at(0)).tokenIds, (std::vector<TokenId>{TokenId(6), TokenId(7)}));
  }

  void plan() {
    FakeContext context;
    PlanModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    const json list = json::parse(R"([{"action":"replace_pair","original_pos1":1,"original_pos2":4,"new_token_ids":[6]},
                                      {"action":"insert","position":96,"token_ids":[7,8]},{"action":"jump"}])");
    model.setList(list, context.snapshot());
    QVERIFY(cells(model, "what")[0].startsWith("Replace the pair “"));
    QVERIFY(cells(model, "what")[0].contains(QStringLiteral(" … ")));
    QVERIFY(cells(model, "what")[1].startsWith("Insert “") && cells(model, "what")[1].endsWith("” at the end"));
    QCOMPARE(cells(model, "what")[2], QString("jump"));
    QCOMPARE(cells(model, "where").first(2), (QStringList{"1, 4", "end"}));
    QVERIFY(model.index(2, 0).data(kBadRole).toBool());
    model.setPlan(json::parse(R"({"lengthAfter":95,"stale":40,"newRows":3,"bytes":2048,
      "actions":[{"place":1,"finalPosition":[93,94],"newLedger":[101,102]},{"place":0,"finalPosition":1,"newLedger":[100]},{"place":99}]})"));
    QCOMPARE(cells(model, "lands_at").first(2), (QStringList{"1", "93–94"}));
    QCOMPARE(cells(model, "new_ledger").first(2), (QStringList{"100", "101–102"}));
    QVERIFY(model.figures()->text().startsWith("96 → 95 positions"));
    model.setError({"range", "action 1 was refused", "beyond the end", "choose less", 1});
    QVERIFY(model.lines()[1].error.contains("beyond the end"));
    QVERIFY(!model.figures());
  }

  void chances() {
    ChanceModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show({{TokenId(4), 0.5f, " attic"}, {TokenId(9), 0.25f, "\n"}}, {{TokenId(4), 0.4f, " attic"}});
    QCOMPARE(cells(model, "token"), (QStringList{"·attic", "↵"}));
    QCOMPARE(cells(model, "change"), (QStringList{"▲ 10.00", "new"}));
    QCOMPARE(model.covered(), 0.75);
    model.show({{TokenId(4), 0.5f, " attic"}}, {});
    QCOMPARE(cells(model, "change"), QStringList{QString()});  // nothing to compare with
    model.show({{TokenId(4), std::nanf(""), " attic"}}, {{TokenId(4), 0.4f, " attic"}});
    QCOMPARE(cells(model, "probability"), QStringList{"–"});
    QCOMPARE(cells(model, "change"), QStringList{"–"});
    QVERIFY(model.index(0, 0).data(Qt::ToolTipRole).toString().endsWith("p = –"));
  }

  void series() {
    FakeContext context;
    TickSeries series;
    QVERIFY(series.update(context.history()));
    QVERIFY(!series.update(context.history()));
    QCOMPARE(series.ticks().size(), std::size_t{21});
    const Series* total = series.find("us.total");
    double steps = 0;
    for (const Event& event : context.snapshot()->report->events) steps += event.depth == 0 ? event.us : 0;
    QVERIFY(total->values.back() > 0 && std::isnan(total->values.front()));
    double listed = 0;
    for (const char* step : {"generate", "observe", "plan", "apply", "commit", "verify", "publish"})
      listed += series.find(QStringLiteral("us.") + step)->values.back();
    QVERIFY(std::abs(listed - steps) < 1e-9);
    QCOMPARE(series.find("rows.length")->values.back(), 96.0);
    QCOMPARE(series.find("nothing"), nullptr);
    series.sample("brightness.mean", Tick(20), 120);
    series.sample("brightness.mean", Tick(99), 7);
    QCOMPARE(series.find("brightness.mean")->values.back(), 120.0);
    QCOMPARE(series.nearest(19.6), 20);
    QCOMPARE(series.nearest(-5), 0);
    QVERIFY(series.csv({"rows.length", "brightness.mean"}).endsWith("20,96,120\n"));
  }

  /// Scales of a tick's rows are series of their own; other ticks have none.
  void conversionsAreSeries() {
    FakeContext context;
    std::vector<SnapshotPtr> history = context.history();
    TickSeries series;
    series.update(history);
    QVERIFY(!series.find("scale.max"));
    auto next = std::make_shared<Snapshot>(*history.back());
    auto report = std::make_shared<TickReport>();
    report->tick = next->tick = Tick(21);
    next->serial += 1;
    const Conversions k{.values = 100, .atMax = 4, .scales = 2, .scaleMin = 0.25, .scaleMean = 0.5, .scaleMax = 0.75};
    const Conversions v{
        .values = 300, .nonFinite = 1, .atMax = 4, .scales = 6, .scaleMin = 0.125, .scaleMean = 0.25, .scaleMax = 0.5};
    report->conversions = {{CacheLayer(0), k, {}}, {CacheLayer(1), {}, v}};
    next->report = report;
    history.push_back(next);
    QVERIFY(series.update(history));
    for (const auto& [id, value] : {std::pair("scale.min", 0.125),
                                    {"scale.mean", 0.3125},
                                    {"scale.max", 0.75},
                                    {"share.saturated", 0.02},
                                    {"share.nonfinite", 0.0025}}) {
      const Series* one = series.find(id);
      QVERIFY2(one && one->panel == Panel::Scales && std::isnan(one->values.front()), id);
      QCOMPARE(one->values.back(), value);
    }
    QVERIFY(series.csv({"scale.max", "share.saturated"}).endsWith("21,0.75,0.02\n"));
  }

  /// Ops lie several depths below the step they ran in, beside one another.
  void opsLieBesideOneAnother() {
    TickReport report;
    report.events = {{.name = "verify", .depth = 0, .us = 9},
                     {.name = "matchTags", .depth = 3, .startUs = 1, .us = 1, .bytes = 640},
                     {.name = "verifyRows", .depth = 3, .startUs = 3, .us = 1, .bytes = 320},
                     {.name = "publish", .depth = 0, .startUs = 9, .us = 1}};
    const EventTree tree = EventTree::of(report);
    QCOMPARE(tree.nodes[0].children.size(), std::size_t{2});
    const EventNode& verify = tree.nodes[static_cast<std::size_t>(tree.nodes[0].children[0])];
    QCOMPARE(verify.name, QStringLiteral("verify"));
    QCOMPARE(verify.children.size(), std::size_t{2});
    QCOMPARE(tickBytes(report), qint64{0});  // bytes that ops move are told apart from those of operations
  }

  /// An undo rewinds: later values of the old branch are not drawn over the new ones.
  void seriesRewind() {
    FakeContext context;
    std::vector<SnapshotPtr> history = context.history();
    TickSeries series;
    series.update(history);
    auto back = std::make_shared<Snapshot>(*history[10]);
    back->serial = 900;
    history.push_back(back);
    series.update(history);
    QCOMPARE(series.ticks().back(), 10.0);
    QCOMPARE(series.ticks().size(), std::size_t{11});
    for (const Series& one : series.series()) QCOMPARE(one.values.size(), series.ticks().size());
    history.erase(history.begin(), history.begin() + 5);  // the oldest are dropped: read anew
    QVERIFY(series.update(history));
    QCOMPARE(series.ticks().front(), 5.0);
    QVERIFY(TickSeries().ticks().empty());
    QCOMPARE(TickSeries().nearest(3), -1);
  }

  void seriesChoice() {
    FakeContext context;
    TickSeries series;
    series.update(context.history());
    SeriesModel model(nullptr);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show(series, 20);
    QVERIFY(column(model, 0).contains("Latency by step"));
    const std::vector<QString> first = model.chosen();
    QVERIFY(std::find(first.begin(), first.end(), "us.apply") != first.end());
    QSignalSpy changed(&model, &SeriesModel::chosenChanged);
    model.setOn("us.apply", false);  // the others stay
    QCOMPARE(changed.count(), 1);
    QCOMPARE(model.chosen().size(), first.size() - 1);
    for (int row = 0; row < model.rowCount(); ++row)
      if (model.index(row, 0).data(SeriesModel::HeadingRole).toBool())
        QVERIFY(!model.setData(model.index(row, 0), Qt::Checked, Qt::CheckStateRole));
  }

  void logKeepsTheNewest() {
    LogModel model;
    LogFilter filter;
    filter.setSourceModel(&model);
    for (int i = 0; i <= LogModel::kLimit; ++i)
      model.append({QDateTime::fromSecsSinceEpoch(i), i % kLogLevels, QStringLiteral("line %1").arg(i)});
    QVERIFY(model.rowCount() <= LogModel::kLimit);
    QCOMPARE(model.dropped(), qint64{LogModel::kLimit / 10});
    QCOMPARE(model.line(model.rowCount() - 1).text, QStringLiteral("line 10000"));
    filter.setLeast(5);
    filter.setNeedle("LINE 9999");
    QCOMPARE(filter.rowCount(), 0);
    filter.setLeast(0);
    QCOMPARE(filter.rowCount(), 1);
    QCOMPARE(logLevelName(99), QStringLiteral("critical"));
    QCOMPARE(logLevelName(-1), QStringLiteral("trace"));
  }

  void logChanges() {
    LogModel model;
    LogFilter filter;
    QAbstractItemModelTester lines(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    filter.setSourceModel(&model);
    QAbstractItemModelTester filtered(&filter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    for (int i = 0; i < 30; ++i) model.append({QDateTime(), i % kLogLevels, QString::number(i)});
    filter.setLeast(3);
    QCOMPARE(filter.rowCount(), 15);
    QVERIFY(model.index(4, model.columnOf("text")).data(kBadRole).toBool());
    model.clear();
    QCOMPARE(filter.rowCount(), 0);
  }

  void lineHistory() {
    LineHistory past;
    for (const char* line : {"s.step()", "s.topk(3)", "s.topk(3)", "  ", "log(1)"}) past.add(line);
    QCOMPARE(past.lines(), (QStringList{"s.step()", "s.topk(3)", "log(1)"}));
    QCOMPARE(past.older("s."), QStringLiteral("s.topk(3)"));  // only lines that begin as typed
    QCOMPARE(past.older("s.topk(3)"), QStringLiteral("s.step()"));
    QCOMPARE(past.older("s.step()"), QStringLiteral("s.step()"));
    QCOMPARE(past.newer("s.step()"), QStringLiteral("s.topk(3)"));
    QCOMPARE(past.newer("s.topk(3)"), QStringLiteral("s."));  // back to the line that was being typed
    QCOMPARE(past.newer("s."), QStringLiteral("s."));
    for (int i = 0; i < 2 * LineHistory::kLimit; ++i) past.add(QString::number(i));
    QCOMPARE(past.lines().size(), qsizetype{LineHistory::kLimit});
  }
};

KV_TEST(EvidenceModelsTest)
#include "evidence_models_test.moc"
