// SPDX-License-Identifier: GPL-3.0-or-later
// Events, Invariants, Model and Numbers on the fake context: real clicks and keys, and the requests of the views to the
// engine.
#include <QClipboard>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QToolButton>
#include <cmath>
#include <fstream>
#include <set>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/views/events/events_view.h"
#include "widgets/views/invariants/invariants_view.h"
#include "widgets/views/model/model_view.h"
#include "widgets/views/numbers/numbers_view.h"
#include "widgets/views/numbers/pixel_columns.h"

#include <QSpinBox>

using namespace kvlab;
using nlohmann::json;

namespace {

std::vector<SnapshotPtr> withBreaks(std::vector<SnapshotPtr> history, std::vector<BreakpointView> all) {
  auto newest = std::make_shared<Snapshot>(*history.back());
  newest->breakpoints = std::make_shared<const std::vector<BreakpointView>>(std::move(all));
  history.back() = newest;
  return history;
}

}  // namespace

class EvidenceViewsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void stepButtonsRunCommands() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    for (const char* name : {"Into", "Over", "Out", "Back", "Run"})
      QTest::mouseClick(named<QToolButton>(*view, name), Qt::LeftButton);
    QStringList ids;
    for (const auto& command : context.commands) ids << QString::fromStdString(command.verb);
    QCOMPARE(ids, (QStringList{"step_into", "step", "step_out", "step_back", "run"}));
  }

  void ticksArePicked() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    auto* strip = view->findChild<TickStrip*>();
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mouseClick(strip, Qt::LeftButton, {}, {30, 40});
    QCOMPARE(context.snapshot()->tick, *strip->tickAt({30, 40}));
    QVERIFY(said.count() == 1 && said[0][0].toString().startsWith("view.focus({tick: "));
    const Tick before = context.snapshot()->tick;
    QTest::keyClick(strip, Qt::Key_Right);
    QCOMPARE(context.snapshot()->tick.value(), before.value() + 1);
    QTest::keyClick(strip, Qt::Key_End);
    QCOMPARE(context.snapshot()->tick, Tick(20));
    QTest::keyClick(strip, Qt::Key_Home);
    QCOMPARE(context.snapshot()->tick, Tick(0));
    QVERIFY(view->dump().startsWith("events: no tick"));
  }

  /// Ticks that the history forgot leave the strip, and a tick that was published again stands there once.
  void ticksFollowTheHistory() {
    FakeContext context;
    TickStrip strip(nullptr);
    strip.resize(2000, 64);
    const auto first = [&] { return strip.tickAt({Theme::kMedium + 1, 40}).value_or(Tick(-1)); };
    const auto known = [&] {
      std::set<std::int64_t> ticks;
      for (int x = 0; x < strip.width(); ++x)
        if (const auto tick = strip.tickAt({static_cast<double>(x), 40})) ticks.insert(tick->value());
      return ticks.size();
    };
    auto history = context.history();
    strip.show(history, history.back()->tick);
    QCOMPARE(known(), history.size());
    history.push_back(std::make_shared<Snapshot>(*history.back()));  // published again
    strip.show(history, history.back()->tick);
    QCOMPARE(known(), history.size() - 1);
    history.erase(history.begin(), history.begin() + 5);
    strip.show(history, history.back()->tick);
    QCOMPARE(known(), history.size() - 1);
    QCOMPARE(first(), history.front()->tick);
    strip.show({}, Tick(-1));
    QCOMPARE(known(), std::size_t(0));
  }

  /// Return asks; the ticks that hold can be gone to, and the others are dim. Another branch takes the marks away.
  void ticksWhere() {
    FakeContext context;
    context.answers["ticksWhere"] = [](const json& args) -> Result<json> {
      if (args["condition"] == "length >") return Error("bad_condition", "a", "b", "c");
      return json{2, 4};
    };
    const auto view = open<EventsView>(context);
    auto* line = view->findChild<QLineEdit*>("where");
    const auto dump = [&] { return view->dump().section('\n', 0, 0); };
    const auto colourOf = [&](Tick tick) {
      auto* strip = view->findChild<TickStrip*>();
      const QImage picture = strip->grab().toImage();
      for (int x = 0; x < picture.width(); ++x)
        if (strip->tickAt({x + 3.0, 40}) == tick) return picture.pixelColor(x + 3, strip->height() - 14);
      return QColor();
    };
    QTest::keyClicks(line, "length >");
    QTest::keyClick(line, Qt::Key_Return);
    QTRY_COMPARE(context.commands.back().args, (json{{"condition", "length >"}}));
    QCOMPARE(line->text(), QString("length >"));
    line->setText("length > 3");
    QTest::keyClick(line, Qt::Key_Return);
    const Tick newest = context.history().back()->tick;
    QTRY_VERIFY2(dump().startsWith(QString("events: 2 ticks where length > 3, up to tick %1 · ").arg(newest.value())),
                 qPrintable(dump()));
    QVERIFY(colourOf(Tick(3)).isValid() && colourOf(Tick(3)) != colourOf(Tick(4)));
    const auto act = [&](const char* name) {
      for (QAction* one : view->viewActions())
        if (one->text() == name) one->trigger();
    };
    act("Previous Tick That Holds");
    QCOMPARE(context.snapshot()->tick, Tick(4));
    act("Previous Tick That Holds");
    QCOMPARE(context.snapshot()->tick, Tick(2));
    act("Previous Tick That Holds");
    QCOMPARE(context.snapshot()->tick, Tick(2));
    act("Next Tick That Holds");
    QCOMPARE(context.snapshot()->tick, Tick(4));
    context.showTick(newest);
    auto leapt = std::make_shared<Snapshot>(*context.history().back());
    ++leapt->leaps;
    context.push(leapt);
    QVERIFY2(!dump().contains("where"), qPrintable(dump()));
    QCOMPARE(line->text(), QString("length > 3"));
    QCOMPARE(colourOf(Tick(3)), colourOf(Tick(2)));
  }

  void eventsZoom() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    auto* tree = view->findChild<TimelineTree*>();
    tree->setCurrentIndex(tree->model()->index(1, 0, tree->model()->index(0, 0)));
    QTest::keyClick(tree, Qt::Key_Z);
    QVERIFY(tree->timeline().axis.zoomed());
    QTest::keyClick(tree, Qt::Key_0);
    QVERIFY(!tree->timeline().axis.zoomed());
    const QPoint inside(tree->columnViewportPosition(EventModel::Timeline) + 60, 40);
    QWheelEvent wheel(inside, tree->viewport()->mapToGlobal(inside), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(tree->viewport(), &wheel);
    QVERIFY(tree->timeline().axis.zoomed());
  }

  void eventsCopy() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    auto* tree = view->findChild<TimelineTree*>();
    tree->setCurrentIndex(tree->model()->index(0, 0, tree->model()->index(0, 0)));
    tree->setFocus();
    view->copySelection();
    const QStringList lines = qApp->clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 2);
    QVERIFY(lines[1].startsWith("  generate"));
    QVERIFY(view->tsv().contains("compute_rows"));
  }

  /// The newest snapshot says which breakpoints there are; the panel only asks for changes.
  void breakpoints() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    auto* panel = view->findChild<BreakPanel*>();
    auto* edit = panel->findChild<QComboBox*>();
    QTest::keyClicks(edit, "kl > 0.1");
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(context.commands.back().verb, std::string("break_add"));
    QCOMPARE(context.commands.back().args["condition"], "kl > 0.1");
    QCOMPARE(edit->currentText(), QString("kl > 0.1"));
    context.open(withBreaks(context.history(),
                            {{.id = 1, .condition = "kl > 0.1"},
                             {.id = 4, .condition = "invariant", .logs = true, .hits = 3, .last = Tick(12)}}));
    QCOMPARE(panel->conditions(), (QStringList{"kl > 0.1", "invariant"}));
    QVERIFY(edit->currentText().isEmpty());
    auto* list = panel->findChild<QListWidget*>();
    QCOMPARE(list->item(1)->text(), QString("invariant  ×3  log"));
    QVERIFY(list->item(1)->toolTip().contains("last at tick 12"));
    list->item(1)->setCheckState(Qt::Unchecked);
    QCOMPARE(context.commands.back().verb, std::string("break_change"));
    QCOMPARE(context.commands.back().args, (json{{"id", 4}, {"enabled", false}}));
    list->setCurrentRow(0);
    QTest::keyClick(list, Qt::Key_Delete);
    QCOMPARE(context.commands.back().verb, std::string("break_clear"));
    QCOMPARE(context.commands.back().args, (json{{"id", 1}}));
    context.open(withBreaks(context.history(), {}));
    QVERIFY(panel->conditions().isEmpty());
  }

  void refusedBreakpoint() {
    FakeContext context;
    context.answers["break"] = [](const json&) -> Result<json> {
      return Error("bad_condition", "the condition was refused", "k > is no condition", "try kl > 0.05");
    };
    const auto view = open<EventsView>(context);
    QSignalSpy failed(&context, &InspectorContext::failed);
    view->findChild<BreakPanel*>()->add("k >");
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(view->findChild<BreakPanel*>()->conditions().isEmpty());
  }

  void traceFile() {
    FakeContext context;
    const auto view = open<EventsView>(context);
    QTemporaryDir folder;
    const QString path = folder.filePath("trace.json");
    QVERIFY(static_cast<bool>(view->exportTrace(path)));
    std::ifstream file(path.toStdString());
    QVERIFY(json::parse(file)["traceEvents"].size() > 200);
    const Status refused = view->exportTrace(folder.filePath("none/trace.json"));
    QVERIFY(!refused && refused.error().code == "io");
  }

  void checkAll() {
    FakeContext context;
    context.answers["invariants"] = [](const json&) {
      return Result<json>(json::parse(
          R"([{"id":"tags","title":"Row tags equal the residency map","ok":false,"detail":"layer 1 index 2"}])"));
    };
    const auto view = open<InvariantsView>(context);
    QVERIFY(!named<QPushButton>(*view, "Go to failure")->isEnabled());
    QTest::mouseClick(named<QPushButton>(*view, "Check all now"), Qt::LeftButton);
    QVERIFY(!view->ready());
    QTRY_VERIFY(view->ready());
    QVERIFY(view->dump().startsWith("invariants: 1 of 6 invariants is broken, first at tick 20"));
    QVERIFY(named<QPushButton>(*view, "Go to failure")->isEnabled());
  }

  /// Findings of a full check in one session are not shown for another one at the same tick.
  void checksOfAnotherSessionAreForgotten() {
    FakeContext context;
    context.answers["invariants"] = [](const json&) {
      return Result<json>(json::parse(
          R"([{"id":"tags","title":"Row tags equal the residency map","ok":false,"detail":"layer 1 index 2"}])"));
    };
    const auto view = open<InvariantsView>(context);
    const QString before = view->dump();
    view->checkAll();
    QTRY_VERIFY(view->ready());
    QVERIFY(view->dump() != before);
    context.open(context.history());
    QCOMPARE(view->dump(), before);
    view->checkAll();
    context.open(context.history());
    QVERIFY(view->ready());
    QCoreApplication::processEvents();
    QCOMPARE(view->dump(), before);
  }

  void figuresOfAnotherSessionAreForgotten() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    const QString before = view->dump();
    auto longer = std::make_shared<Snapshot>(*context.history().back());
    auto report = std::make_shared<TickReport>(*longer->report);
    for (Event& event : report->events) event.us = 1000;
    longer->report = report;
    std::vector<SnapshotPtr> history = context.history();
    history.back() = longer;  // has the same serial
    context.open(history);
    QTRY_VERIFY(view->ready());
    QVERIFY(view->dump() != before);
  }

  void jumpToFailure() {
    FakeContext context(fixture::Options{true});
    const auto view = open<InvariantsView>(context);
    QTest::mouseClick(named<QPushButton>(*view, "Go to failure"), Qt::LeftButton);
    QCOMPARE(context.snapshot()->tick, Tick(17));
    QCOMPARE(context.focus().layer, CacheLayer(2));
    const LedgerId expected = context.snapshot()->report->violations[1].ledger.value();
    QCOMPARE(context.focus().ledger, expected);
  }

  void moreTokens() {
    FakeContext context;
    context.answers["topk"] = [](const json& args) {
      json list = json::array();
      for (int i = 0; i < args.value("k", 0); ++i)
        list.push_back({{"id", i}, {"text", QString::number(i).toStdString()}, {"p", 1.0 / (i + 2)}});
      return Result<json>(list);
    };
    const auto view = open<ModelView>(context);
    QCOMPARE(context.queried.back().args["k"], 10);
    view->findChild<QSpinBox*>()->setValue(20);
    QTRY_VERIFY(view->ready());
    QVERIFY(view->dump().startsWith("model: 20 tokens cover"));
    context.showTick(Tick(3));  // an older tick has only what its snapshot kept
    QVERIFY(view->dump().startsWith("model: 6 tokens cover"));
  }

  /// What would be the next token without some rows, and what it owes to each.
  void rowsThatWereKnockedOut() {
    auto known = std::make_shared<Snapshot>(*FakeContext().snapshot());
    const LedgerId one = known->context[3], two = known->context[5];
    const TokenId first = known->topk[0].id, second = known->topk[1].id;
    known->serial += 1;
    known->knockOut = std::make_shared<const KnockOut>(
        KnockOut{{one, two},
                 0.25,
                 {{first, std::log(0.5), std::log(0.125)}, {second, std::log(0.25), std::log(0.75)}},
                 {{one, 0.001, first}, {two, 0.2, second}}});
    FakeContext context;
    const auto view = open<ModelView>(context);
    QVERIFY(!view->dump().contains("without"));
    context.push(known);
    const QString dump = view->dump();
    QVERIFY2(dump.startsWith("model: 2 tokens cover 75") && dump.contains("without 2 rows: KL 0.25"), qPrintable(dump));
    QVERIFY2(dump.contains("▼ 37.50") && dump.contains("▲ 50.00"), qPrintable(dump));
    auto* rows = view->findChild<SortedTable*>();
    QVERIFY(rows->isVisibleTo(view.get()));
    QTest::mouseClick(rows->viewport(), Qt::LeftButton, {}, rows->visualRect(rows->model()->index(0, 1)).center());
    QCOMPARE(context.focus().ledger, two);  // the most important one stands first
    for (QAction* action : view->viewActions())
      if (action->text() == "Compare with the tick before") action->trigger();
    QCOMPARE(context.commands.back().args, json({{"ledger", json::array()}}));
    auto later = std::make_shared<Snapshot>(*known);
    later->serial += 1;
    later->knockOut = nullptr;
    context.push(later);
    QVERIFY(!view->dump().contains("without") && rows->isHidden());
  }

  /// Logits that are not finite give no probabilities and no KL divergence.
  void oddLogits() {
    auto odd = std::make_shared<Snapshot>(*FakeContext().snapshot());
    odd->topk = {{TokenId(1), std::nanf(""), "a"}};
    odd->kl = std::nan("");
    FakeContext context(odd);
    context.answers["topk"] = [](const json&) { return Result<json>(json::array()); };
    const auto view = open<ModelView>(context);
    const QString dump = view->dump();
    QVERIFY2(dump.startsWith("model: 1 token cover –\n") && dump.contains("KL to a rebuild: –\n"), qPrintable(dump));
    QVERIFY2(!dump.contains("nan"), qPrintable(dump));
  }

  /// A double click and Return append the token of the line.
  void tokensAreAppended() {
    FakeContext context;
    const auto view = open<ModelView>(context);
    auto* table = named<DataTable>(*view, "Next tokens");
    const auto& known = context.snapshot()->topk;
    const QPoint second = table->visualRect(table->model()->index(1, 1)).center();
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, second);
    QVERIFY(context.commands.empty());
    QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, second);
    QTest::mouseRelease(table->viewport(), Qt::LeftButton, {}, second);  // mouseDClick leaves the button down
    QTest::keyClick(table, Qt::Key_Up);
    QTest::keyClick(table, Qt::Key_Return);
    QCOMPARE(context.commands.size(), std::size_t{2});
    for (std::size_t i = 0; i < 2; ++i) {
      QCOMPARE(context.commands[i].verb, std::string("take_token"));
      QCOMPARE(context.commands[i].args, json({{"id", known[1 - i].id.value()}}));
    }
  }

  void staleLogits() {
    FakeContext context;
    auto snapshot = std::make_shared<Snapshot>(*context.snapshot());
    snapshot->logitsStale = true;
    snapshot->serial = 99;
    const auto view = open<ModelView>(context);
    QVERIFY(!view->dump().contains("stale"));
    context.push(snapshot);
    QVERIFY(view->dump().contains("(stale logits)"));
  }

  void plotCursorAndPick() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    auto* plot = view->findChild<NumberPlot*>();
    QCOMPARE(plot->panels(), 3);
    const QPoint at = plot->pointOf(8).toPoint();
    auto* inner = plot->childAt(at);
    QTest::mouseMove(inner, at);
    QCOMPARE(plot->cursor(), 8);
    QVERIFY(view->dump().startsWith("numbers: values at tick 8"));
    QTest::mouseClick(inner, Qt::LeftButton, {}, at);
    QCOMPARE(context.snapshot()->tick, Tick(8));
    QTest::keyClick(plot, Qt::Key_Right);
    QTest::keyClick(plot, Qt::Key_Return);
    QCOMPARE(context.snapshot()->tick, Tick(9));
  }

  /// A prompt takes a hundred times as long as a tick: its peak must not flatten the others.
  void peaksAreClippedAndNamed() {
    FakeContext context;
    std::vector<SnapshotPtr> history = context.history();
    auto slow = std::make_shared<Snapshot>(*history[5]);
    auto report = std::make_shared<TickReport>(*slow->report);
    for (Event& event : report->events) event.us *= 1000;
    slow->report = report;
    history[5] = slow;
    const auto view = open<NumbersView>(context);
    auto* plot = view->findChild<NumberPlot*>();
    const double before = plot->top(0);
    QCOMPARE(plot->panelTitle(0), QString("Latency by step"));
    context.open(history);
    QTRY_VERIFY(view->ready());
    QVERIFY2(plot->top(0) < 4 * before, qPrintable(QString::number(plot->top(0))));
    QVERIFY2(plot->panelTitle(0).contains("▲ tick " + QString::number(slow->tick.value())),
             qPrintable(plot->panelTitle(0)));
    QTest::mouseClick(named<QToolButton>(*view, "Clip peaks"), Qt::LeftButton);
    QVERIFY(plot->top(0) > 100 * before);
    QCOMPARE(plot->panelTitle(0), QString("Latency by step"));
    QVERIFY(view->setOption("clip", true).operator bool());
    QVERIFY(plot->top(0) < 4 * before);
  }

  /// Ticks of microseconds beside a prompt of milliseconds, on one axis.
  void timesOnLogarithmicAxes() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    auto* plot = view->findChild<NumberPlot*>();
    QVERIFY(!plot->logarithmic(0));
    QTest::mouseClick(named<QToolButton>(*view, "Log scale"), Qt::LeftButton);
    QVERIFY(plot->logarithmic(0));
    QCOMPARE(plot->panelTitle(1), QString("Rows"));
    QVERIFY(!plot->logarithmic(1));
    double least = INFINITY, most = 0;
    for (const SnapshotPtr& one : context.history()) {
      std::map<std::string, double> steps;
      if (one->report)
        for (const Event& event : one->report->events)
          if (event.depth == 0) steps[event.name] += event.us;
      for (const auto& [name, us] : steps)
        if (view->series().chosen().end() !=
            std::find(view->series().chosen().begin(), view->series().chosen().end(),
                      "us." + QString::fromStdString(name)))
          least = std::min(least, us), most = std::max(most, us);
    }
    QVERIFY2(plot->bottom(0) > 0 && plot->bottom(0) <= least, qPrintable(QString::number(plot->bottom(0))));
    QVERIFY(plot->bottom(0) >= least / 2);
    QVERIFY(plot->top(0) >= most);
    QVERIFY(view->setOption("log", false).operator bool());
    QVERIFY(!plot->logarithmic(0));
    QCOMPARE(plot->bottom(0), 0.0);
  }

  void editsAreKnown() {
    FakeContext context;
    TickSeries series;
    series.update(context.history());
    std::vector<double> expected;
    for (const SnapshotPtr& one : context.history())
      if (one->report && one->report->tick == one->tick)
        for (const Action& action : one->report->actions)
          if (!std::holds_alternative<Add>(action) &&
              (expected.empty() || expected.back() != static_cast<double>(one->tick.value())))
            expected.push_back(static_cast<double>(one->tick.value()));
    QVERIFY(!expected.empty());
    QCOMPARE(series.edits(), expected);
    auto twice = context.history();  // a tick that is published again
    for (std::size_t i = twice.size(); i-- > 0;) twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), twice[i]);
    TickSeries again;
    again.update(twice);
    QCOMPARE(again.edits(), expected);
    auto shorter = context.history();
    while (static_cast<double>(shorter.back()->tick.value()) >= expected.back()) shorter.pop_back();
    series.update(shorter);
    expected.pop_back();
    QCOMPARE(series.edits(), expected);
  }

  /// A long run forgets its oldest ticks; samples of the others stay, and they are not read again.
  void forgottenTicksLeaveTheOthers() {
    FakeContext context;
    TickSeries series;
    auto history = context.history();
    series.update(history);
    series.sample("brightness.mean", history[8]->tick, 7);
    history.erase(history.begin(), history.begin() + 5);
    history.push_back(std::make_shared<Snapshot>(*history.back()));
    std::const_pointer_cast<Snapshot>(history.back())->tick = Tick(history.back()->tick.value() + 1);
    QVERIFY(series.update(history));
    QCOMPARE(series.ticks().size(), history.size());
    QCOMPARE(series.ticks().front(), static_cast<double>(history.front()->tick.value()));
    for (const Series& one : series.series()) QCOMPARE(one.values.size(), history.size());
    QCOMPARE(series.find("brightness.mean")->values[3], 7.0);
    QCOMPARE(series.find("rows.length")->values[3], static_cast<double>(history[3]->length()));
    QVERIFY(!series.update(history));
  }

  /// A column keeps its least and its greatest value, whatever else falls into it.
  void pixelsShowExtremes() {
    std::vector<double> ticks;
    QVector<double> values;
    for (int i = 0; i < 10'000; ++i) ticks.push_back(i), values.push_back(i % 100);
    values[4321] = 1e6, values[8765] = -1;
    for (int i = 6000; i < 6100; ++i) values[i] = NAN;
    const auto columns = pixelColumns(ticks, -0.5, 9999.5, 200);
    QCOMPARE(columns.size(), std::size_t(200));
    QCOMPARE(columns.front().first, 0);
    QCOMPARE(columns.back().end, 10'000);
    for (std::size_t i = 1; i < columns.size(); ++i) QCOMPARE(columns[i].first, columns[i - 1].end);
    const auto places = extremes(values, columns);
    QVERIFY(places.size() <= 400 && std::is_sorted(places.begin(), places.end()));
    QVERIFY(std::count(places.begin(), places.end(), 4321) == 1 && std::count(places.begin(), places.end(), 8765) == 1);
    QVERIFY(std::any_of(places.begin(), places.end(), [&](int at) { return std::isnan(values[at]); }));
    QCOMPARE(highest(values, columns).size(), std::size_t(200));
    QCOMPARE(highest(values, columns)[86], 4321);
    const auto few = pixelColumns(ticks, 100, 150, 200);  // and one tick beyond each end
    QCOMPARE(few.size(), std::size_t(53));
    QCOMPARE(few.front(), (PixelColumn{99, 100}));
    QCOMPARE(few.back(), (PixelColumn{151, 152}));
    QVERIFY(pixelColumns({}, 0, 1, 10).empty());
  }

  void plotZoom() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    auto* plot = view->findChild<NumberPlot*>();
    const double before = plot->pointOf(10).x() - plot->pointOf(9).x();
    QTest::keyClick(plot, Qt::Key_Plus);
    QVERIFY(plot->pointOf(10).x() - plot->pointOf(9).x() > before);
    QTest::mouseClick(named<QToolButton>(*view, "Show all ticks"), Qt::LeftButton);
    QCOMPARE(plot->pointOf(10).x() - plot->pointOf(9).x(), before);
  }

  void seriesToggle() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    auto* list = view->findChild<DataTable*>();
    QVERIFY(!view->csv().contains("bytes.tick"));
    for (int row = 0; row < list->model()->rowCount(); ++row)
      if (list->model()->index(row, 0).data(SeriesModel::IdRole) == "bytes.tick") {
        list->scrollTo(list->model()->index(row, 0));
        QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                          list->visualRect(list->model()->index(row, 0)).center());
        QVERIFY(view->csv().startsWith("tick,us.generate") && view->csv().contains("bytes.tick"));
        list->setCurrentIndex(list->model()->index(row, 0));
        QTest::keyClick(list, Qt::Key_Space);
      }
    QVERIFY(!view->csv().contains("bytes.tick"));
    QCOMPARE(view->findChild<NumberPlot*>()->panels(), 3);
  }

  void brightnessComesFromTiles() {
    FakeContext context;
    const auto view = open<NumbersView>(context);
    QTRY_VERIFY(view->ready());
    view->series().setOn("brightness.mean", true);
    const QString last = view->csv().trimmed().section('\n', -1);
    QVERIFY(last.section(',', -2, -2).toDouble() > 0);
    QCOMPARE(context.fetched.back().quantity, Quantity::Brightness);
  }
};

KV_TEST(EvidenceViewsTest)
#include "evidence_views_test.moc"
