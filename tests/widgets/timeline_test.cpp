// SPDX-License-Identifier: GPL-3.0-or-later
// The time line on the fake context: real clicks and keys, its requests to the engine, the ways through its tree
// against walks along parents, marks on columns of pixels, limits that other views obey, and the time that painting
// takes.
#include <QClipboard>
#include <QElapsedTimer>
#include <QMenu>
#include <QPainter>
#include <QToolButton>
#include <ctime>
#include <random>

#include "open_view.h"
#include "support/runner.h"
#include "timeline_fixture.h"
#include "widgets/base/notices.h"
#include "widgets/views/events/events_view.h"
#include "widgets/views/history/history_view.h"
#include "widgets/views/numbers/numbers_view.h"
#include "widgets/views/rings/rings_view.h"
#include "widgets/views/timeline/time_line_view.h"

using namespace kvlab;
using nlohmann::json;

namespace {

TickTree treeOf(const fixture::Branching& history) {
  TickTree tree;
  const Result<bool> taken = tree.take(history.reply(0, true));
  QTest::qVerify(taken && *taken, "taken", taken ? "" : taken.error().text().c_str(), __FILE__, __LINE__);
  return tree;
}

fixture::Branching randomHistory(unsigned seed) {
  std::mt19937 random(seed);
  fixture::Branching out;
  for (int i = 0; i < 60; ++i) {
    if (random() % 6 == 0) {
      const int branch = static_cast<int>(random() % out.branches.size());
      int entry = out.branches[static_cast<std::size_t>(branch)].tip;
      for (unsigned back = random() % 8; back > 0 && entry > 0; --back)
        entry = out.entries[static_cast<std::size_t>(entry)].parent;
      out.goTo(entry, branch);
    }
    const std::int64_t tick = out.entries[static_cast<std::size_t>(out.current)].tick + (random() % 4 ? 1 : 0);
    out.commit(tick, "edit", random() % 3 ? "" : "edit", static_cast<int>(random() % 2));
  }
  return out;
}

/// From the opening.
std::vector<int> wayTo(const fixture::Branching& history, int entry) {
  std::vector<int> out;
  for (; entry >= 0; entry = history.entries[static_cast<std::size_t>(entry)].parent) out.insert(out.begin(), entry);
  return out;
}

void turn(QWidget& over, QPoint at, int by) {
  QWheelEvent event(at, over.mapToGlobal(at), {}, {0, by}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
  QApplication::sendEvent(&over, &event);
}

FakeContext::Call lastOf(const FakeContext& context) {
  return context.commands.empty() ? FakeContext::Call() : context.commands.back();
}

void trigger(TimeLineView& view, const QString& text) {
  for (QAction* action : view.viewActions())
    if (action->text() == text) return action->trigger();
  QTest::qFail(qPrintable("no action " + text), __FILE__, __LINE__);
}

}  // namespace

class TimelineTest : public QObject {
  Q_OBJECT
 private:
  /// Smooth edges of thin rings are not of the full colour.
  static bool alike(QRgb a, QRgb b) {
    return std::max({std::abs(qRed(a) - qRed(b)), std::abs(qGreen(a) - qGreen(b)), std::abs(qBlue(a) - qBlue(b))}) < 24;
  }

 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void waysAreThoseOfTheTree() {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const fixture::Branching history = randomHistory(seed);
      const TickTree tree = treeOf(history);
      QCOMPARE(tree.lanes().size(), history.branches.size());
      for (int lane = 0; lane < static_cast<int>(tree.lanes().size()); ++lane) {
        const std::vector<int> way = wayTo(history, tree.lanes()[static_cast<std::size_t>(lane)].tip);
        for (int entry = 0; entry < tree.size(); ++entry)
          QCOMPARE(tree.leadsTo(entry, way.back()), std::ranges::binary_search(way, entry));
        for (std::int64_t tick = -1; tick <= tree.lastTick() + 1; ++tick) {
          int at = 0;
          std::optional<std::int64_t> beside[2][2];  // [behind][edits]
          for (const int id : way) {
            const std::int64_t one = history.entries[static_cast<std::size_t>(id)].tick;
            const bool edit = !history.entries[static_cast<std::size_t>(id)].words.empty();
            if (one <= tick) at = id;
            for (const bool edits : {false, true}) {
              if (edits && !edit) continue;
              if (one < tick) beside[0][edits] = one;
              if (one > tick && !beside[1][edits]) beside[1][edits] = one;
            }
          }
          QCOMPARE(tree.entryAt(lane, tick), at);
          for (const bool behind : {false, true})
            for (const bool edits : {false, true})
              QVERIFY(tree.tickBeside(lane, tick, behind, edits) == beside[behind][edits]);
        }
      }
    }
  }

  /// Every entry lies on one lane: that of the oldest branch that has it.
  void lanesShareNothing() {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const fixture::Branching history = randomHistory(seed);
      const TickTree tree = treeOf(history);
      std::vector<int> lanes(history.entries.size(), -1);
      for (std::size_t lane = history.branches.size(); lane-- > 0;)
        for (const int id : wayTo(history, history.branches[lane].tip))
          lanes[static_cast<std::size_t>(id)] = static_cast<int>(lane);
      std::size_t entries = 0, edits = 0;
      for (const TickLane& lane : tree.lanes()) entries += lane.entries.size(), edits += lane.edits.size();
      QCOMPARE(entries, history.entries.size());
      QCOMPARE(edits, tree.edits());
      for (int id = 0; id < tree.size(); ++id) {
        QCOMPARE(tree.laneOf(id), lanes[static_cast<std::size_t>(id)]);
        QCOMPARE(tree.kept(id), id >= history.keptFrom);
      }
    }
  }

  void repliesThatDoNotFitAreRefused() {
    const json good = fixture::longHistory(40, 4).reply(0);
    const auto refused = [&](const char* field, const json& value) {
      json bad = good;
      bad[field] = value;
      TickTree tree;
      const Result<bool> taken = tree.take(bad);
      return !taken && taken.error().code == "bad_reply" && tree.size() == 0;
    };
    QVERIFY(refused("parent", json::array()) && refused("tick", "none") && refused("current", 99));
    QVERIFY(refused("branches", json::array()) && refused("branches", {{{"name", "main"}, {"tip", 99}}}));
    QVERIFY(refused("kept", {3, 1}) && refused("size", 50) && refused("edits", nullptr));
    json bad = good;
    bad["parent"][7] = 9;
    TickTree tree;
    QVERIFY(!tree.take(bad) && !tree.take(nullptr) && tree.take(good));
  }

  /// Every edit in sight is on its column, at any zoom, and every sort of every column is seen in its colour.
  void noMarkIsLostBetweenPixels() {
    std::mt19937 random(5);
    const auto theme = Theme::current();
    for (const double zoom : {1.0, 3.0, 40.0, 900.0}) {
      AxisMap axis;
      axis.maxScale = 40;
      axis.resize(30000, 700);
      axis.zoom(350, zoom);
      MarkColumns columns(700);
      std::vector<TimeMark> marks;
      for (int i = 0; i < 4000; ++i)
        marks.push_back({static_cast<std::int64_t>(random() % 30000), static_cast<MarkSort>(random() % kMarkSorts)});
      for (const TimeMark& one : marks) addMark(columns, axis, one.tick, one.sort);
      MarkColumns wanted(700);
      for (const TimeMark& one : marks)
        for (std::size_t x = 0; x < wanted.size(); ++x) {
          const double middle = axis.pixel(static_cast<double>(one.tick) + 0.5);
          if (static_cast<double>(x) <= middle && middle < static_cast<double>(x + 1))
            wanted[x] |= static_cast<std::uint16_t>(1 << static_cast<int>(one.sort));
        }
      QVERIFY(columns == wanted);
      QImage image(720, 40, QImage::Format_RGB32);
      image.fill(theme->surface);
      QPainter painter(&image);
      paintMarks(painter, {10, 20}, columns, *theme);
      painter.end();
      for (int x = 0; x < 700; ++x)
        for (int sort = 0; sort < kMarkSorts; ++sort) {
          if (!(columns[static_cast<std::size_t>(x)] >> sort & 1)) continue;
          const QRgb colour = colourOf(static_cast<MarkSort>(sort), *theme).rgb();
          bool seen = false;
          for (int y = 10; y < 30 && !seen; ++y)
            for (int beside = -4; beside <= 4 && !seen; ++beside) seen = alike(image.pixel(10 + x + beside, y), colour);
          QVERIFY2(seen, qPrintable(QString("sort %1 at %2").arg(sort).arg(x)));
        }
    }
  }

  void aClickShowsItsTick() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mouseClick(&view->line(), Qt::LeftButton, {}, view->line().pointOf(0, 9));
    QCOMPARE(context.snapshot()->tick, Tick(9));
    QCOMPARE(said.last()[0].toString(), QString("view.focus({tick: 9})"));
    QVERIFY(context.commands.empty());
    QVERIFY(view->line().readout().startsWith("tick 9"));
  }

  void aClickOnAnotherBranchGoesThere() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    QTest::mouseClick(&view->line(), Qt::LeftButton, {}, view->line().pointOf(1, 12));
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("go_to_tick"));
    QCOMPARE(context.commands[0].args, (json{{"tick", 12}, {"branch", "branch-1"}}));
    QTest::mouseClick(&view->line(), Qt::LeftButton, {}, view->line().nameBox(3).center());
    QCOMPARE(lastOf(context).args, (json{{"tick", 15}, {"branch", "branch-3"}}));
    QTest::mouseClick(&view->line(), Qt::LeftButton, {}, view->line().pointOf(1, 5));  // before the branch parts
    QCOMPARE(context.snapshot()->tick, Tick(5));
    QCOMPARE(context.commands.size(), std::size_t{2});
  }

  /// A tick of this way whose snapshot the window has forgotten is shown, and the session stays.
  void ticksWithoutSnapshotsAreShown() {
    FakeContext context;
    std::vector<SnapshotPtr> history = context.history();
    const fixture::Branching all = fixture::branched(history);
    history.erase(history.begin(), history.begin() + 10);
    context.answers["timeline"] = [&](const json&) { return Result<json>(all.reply(0)); };
    context.open(history);
    const auto view = open<TimeLineView>(context);
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mouseClick(&view->line(), Qt::LeftButton, {}, view->line().pointOf(0, 4));
    QCOMPARE(said.last()[0].toString(), QString("view.focus({tick: 4})"));
    QVERIFY(context.commands.empty());
  }

  void keysWalk() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    TimeStrip* line = &view->line();
    const auto press = [&](Qt::Key key, Qt::KeyboardModifiers with = Qt::NoModifier) {
      QTest::keyClick(line, key, with);
      return context.snapshot()->tick.value();
    };
    QCOMPARE(press(Qt::Key_Left), 19);
    QCOMPARE(press(Qt::Key_Left, Qt::ControlModifier), 17);
    QCOMPARE(press(Qt::Key_Left, Qt::ControlModifier), 15);
    QCOMPARE(press(Qt::Key_Right), 16);
    QCOMPARE(press(Qt::Key_Right, Qt::ControlModifier), 17);
    QCOMPARE(press(Qt::Key_Home), 0);
    QCOMPARE(press(Qt::Key_Left), 0);
    QCOMPARE(press(Qt::Key_End), 20);
    QVERIFY(context.commands.empty());
    press(Qt::Key_Down);
    QCOMPARE(lastOf(context).args, (json{{"tick", 16}, {"branch", "branch-1"}}));
    const double before = line->axis().scale;
    press(Qt::Key_Plus);
    QVERIFY(line->axis().scale > before);
    press(Qt::Key_Minus);
    press(Qt::Key_0);
    QVERIFY(line->axis().fitted);
  }

  void theWheelZoomsAndSaysItsRange() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    view->setObjectName("timeline");
    QSignalSpy said(&context, &InspectorContext::scripted);
    QCOMPARE(view->options()["to"], json("all"));
    turn(view->line(), view->line().pointOf(0, 10), 240);
    QVERIFY(!view->line().axis().fitted && view->options()["to"].is_number());
    QTRY_COMPARE(said.count(), 1);
    QVERIFY(said[0][0].toString().startsWith("view.set(\"timeline\", {from: "));
    QVERIFY(view->setOption("to", "all") && view->line().axis().fitted);
    QVERIFY(!view->setOption("to", "some") && !view->setOption("from", -3));
  }

  void draggingWithShiftLimits() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    const QPoint from = view->line().pointOf(0, 4), to = view->line().pointOf(0, 11);
    const double first = view->line().axis().first;
    QTest::mousePress(&view->line(), Qt::LeftButton, Qt::ShiftModifier, from);
    for (const QPoint& at : {from + QPoint(20, 0), to}) {
      QMouseEvent move(QEvent::MouseMove, at, view->line().mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                       Qt::ShiftModifier);
      QApplication::sendEvent(&view->line(), &move);
    }
    QVERIFY(context.commands.empty());
    QTest::mouseRelease(&view->line(), Qt::LeftButton, Qt::ShiftModifier, to);
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("limit_ticks"));
    QCOMPARE(QString::fromStdString(context.commands[0].args.dump()), QString("{\"first\":4,\"last\":11}"));
    QCOMPARE(view->line().axis().first, first);  // did not pan
    QCOMPARE(context.snapshot()->tick, Tick(20));
    QTest::mouseClick(named<QToolButton>(*view, "Limit to visible ticks"), Qt::LeftButton);
    QCOMPARE(lastOf(context).args, (json{{"first", 0}, {"last", 21}}));
  }

  void allViewsObeyTheLimits() {
    FakeContext context;
    context.focusPosition(Position(44));
    const auto numbers = open<NumbersView>(context);
    const auto history = open<HistoryView>(context);
    const auto events = open<EventsView>(context);
    const QString all = numbers->csv();
    const int lines = history->model().rowCount();
    auto* strip = events->findChild<TickStrip*>();
    auto* note = numbers->findChild<TickLimitNote*>();
    QVERIFY(!note->isVisible());
    context.limitTicks(TickRange{Tick(6), Tick(9)});
    QTRY_COMPARE(numbers->csv().count('\n'), 5);
    QVERIFY(numbers->csv().contains("\n6,") && numbers->csv().contains("\n9,") && !numbers->csv().contains("\n10,"));
    for (const HistoryEvent& one : history->model().events()) QVERIFY(one.tick >= Tick(6) && one.tick <= Tick(9));
    QVERIFY(history->model().rowCount() < lines);
    std::set<std::int64_t> picked;
    for (int x = 0; x < strip->width(); ++x)
      if (const auto tick = strip->tickAt(QPointF(x, 30))) picked.insert(tick->value());
    QCOMPARE(picked, (std::set<std::int64_t>{6, 7, 8, 9}));
    QVERIFY(note->isVisible() && note->text().contains("ticks 6–9"));
    QTest::mouseClick(note, Qt::LeftButton);
    QCOMPARE(lastOf(context).verb, std::string("all_ticks"));
    context.limitTicks(TickRange{Tick(500), Tick(501)});
    QTRY_COMPARE(numbers->dump(), QString("numbers: no tick\n"));
    QVERIFY(!strip->tickAt(QPointF(20, 30)));
    context.limitTicks({});
    QTRY_COMPARE(numbers->csv(), all);  // samples included
    QCOMPARE(history->model().rowCount(), lines);
    QVERIFY(!note->isVisible() && strip->tickAt(QPointF(20, 30)));
  }

  void ringsObeyTheLimits() {
    fixture::Options options;
    options.mixed = true;
    FakeContext context(options);
    context.focusLayer(CacheLayer(2));
    const auto view = open<RingsView>(context);
    auto* strip = view->findChild<WrapStrip*>();
    context.limitTicks(TickRange{Tick(12), Tick(13)});
    std::set<std::int64_t> picked;
    for (int x = 0; x < strip->width(); ++x)
      if (const auto tick = strip->tickAt(QPointF(x, 30))) picked.insert(tick->value());
    QCOMPARE(picked, (std::set<std::int64_t>{12, 13}));
  }

  void anotherSessionHasNoLimits() {
    FakeContext context;
    context.limitTicks(TickRange{Tick(3), Tick(4)});
    QCOMPARE(context.historyInLimits().size(), std::size_t{2});
    context.open(context.history());
    QVERIFY(!context.tickLimits());
    QCOMPARE(context.historyInLimits().size(), context.history().size());
  }

  /// Only for new entries, one question at a time, and nothing while the view is hidden.
  void asksForWhatIsNew() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    const auto asked = [&] {
      std::vector<int> out;
      for (const auto& call : context.queried)
        if (call.verb == "timeline") out.push_back(call.args["since"]);
      return out;
    };
    const int known = view->tree().size();
    QCOMPARE(asked(), std::vector<int>{0});
    const auto next = [&](std::int64_t tick) {
      auto snapshot = std::make_shared<Snapshot>(*context.history().back());
      snapshot->tick = Tick(tick);
      ++snapshot->serial;
      snapshot->report = nullptr;
      context.push(snapshot);
    };
    for (int tick = 21; tick < 25; ++tick) next(tick);
    QVERIFY(!view->ready());
    QCOMPARE(asked(), (std::vector<int>{0, known}));
    golden::settle(*view);
    QCOMPARE(view->tree().size(), known + 4);
    QVERIFY(asked().size() <= 3);
    view->setInFront(false);
    const std::size_t before = asked().size();
    next(25);
    QTest::qWait(20);
    QCOMPARE(asked().size(), before);
    view->setInFront(true);
    golden::settle(*view);
    QCOMPARE(view->tree().size(), known + 5);
  }

  void aResetBeginsAnew() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    QVERIFY(view->tree().size() > 30);
    fixture::Branching other;
    other.starts = 2;
    for (int tick = 0; tick < 4; ++tick) other.commit(tick);
    context.answers["timeline"] = [&](const json& args) { return Result<json>(other.reply(args["since"])); };
    auto snapshot = std::make_shared<Snapshot>(*context.history().back());
    ++snapshot->serial;
    context.push(snapshot);
    golden::settle(*view);
    QCOMPARE(view->tree().size(), 5);
  }

  void refusalsAreSaid() {
    FakeContext context;
    context.answers["timeline"] = [](const json&) -> Result<json> {
      return Error("unsupported", "no history", "this engine has none", "open another session");
    };
    const auto view = open<TimeLineView>(context);
    QCOMPARE(view->dump(), QString("timeline: empty\n"));
    bool said = false;
    for (const QWidget* child : view->findChildren<QWidget*>())
      said = said || (child->isVisible() && child->accessibleDescription().contains("this engine has none"));
    QVERIFY(said);
  }

  void rowEventsAndBreakpointsAreMarked() {
    FakeContext context;
    std::vector<SnapshotPtr> history = context.history();
    auto newest = std::make_shared<Snapshot>(*history.back());
    newest->breakpoints = std::make_shared<const std::vector<BreakpointView>>(std::vector<BreakpointView>{
        {.id = 1, .condition = "kl > 0.05", .hits = 2, .last = Tick(7)}, {.id = 2, .condition = "wrap"}});
    NoteView here{.id = 1, .text = "look here", .tick = Tick(5)}, elsewhere{.id = 2, .text = "there", .tick = Tick(6)};
    here.here = true;
    newest->notes = std::make_shared<const std::vector<NoteView>>(std::vector<NoteView>{here, elsewhere});
    history.back() = newest;
    context.open(history);
    context.focusPosition(Position(44));
    const auto view = open<TimeLineView>(context);
    QCOMPARE(view->line().marks().at("notes").size(), std::size_t{1});
    QVERIFY(view->line().describe({-1, 5}).contains("note: look here"));
    const auto& marks = view->line().marks();
    QVERIFY(marks.contains("breakpoints") && marks.contains("row"));
    QCOMPARE(marks.at("breakpoints").size(), std::size_t{1});
    QVERIFY(marks.at("breakpoints")[0].tick == 7 && marks.at("breakpoints")[0].sort == MarkSort::Stop);
    QVERIFY(view->line().describe({-1, 7}).contains("kl > 0.05 held, the last of 2 times"));
    QVERIFY(!marks.at("row").empty() && marks.at("row")[0].words == "born");
    QTest::mouseClick(named<QToolButton>(*view, "Row events"), Qt::LeftButton);
    QVERIFY(!marks.contains("row"));
    QVERIFY(view->setOption("row_events", true));
    golden::settle(*view);
    QVERIFY(marks.contains("row"));
  }

  void theMenuCopiesALine() {
    FakeContext context;
    const auto view = open<TimeLineView>(context);
    QTest::mousePress(&view->line(), Qt::RightButton, {}, view->line().pointOf(1, 12));
    trigger(*view, "Copy script line");
    QCOMPARE(QGuiApplication::clipboard()->text(), QString("s.goto(12, \"branch-1\")"));
    trigger(*view, "Go here");
    QCOMPARE(lastOf(context).args, (json{{"tick", 12}, {"branch", "branch-1"}}));
    trigger(*view, "Show row events");
    QCOMPARE(lastOf(context).verb, std::string("show_history"));
    QVERIFY(view->tsv().contains("branch-1\t10\tedit\treplace"));
  }

  void manyBranchesScroll() {
    FakeContext context;
    const fixture::Branching many = fixture::longHistory(3000, 60);
    context.answers["timeline"] = [&](const json& args) { return Result<json>(many.reply(args["since"], true)); };
    const auto view = open<TimeLineView>(context, {900, 260});
    const auto& lanes = view->tree().lanes();
    QVERIFY(lanes.size() > 40);
    const int last = view->tree().lane();
    QVERIFY(view->line().nameBox(last).intersects(view->line().rect()));  // the branch that the session is on
    const QPoint from = view->line().rect().center();
    QTest::mousePress(&view->line(), Qt::LeftButton, {}, from);
    for (const int by : {40, 400, 4000}) {
      const QPoint at = from + QPoint(0, by);
      QMouseEvent move(QEvent::MouseMove, at, view->line().mapToGlobal(at), Qt::NoButton, Qt::LeftButton, {});
      QApplication::sendEvent(&view->line(), &move);
    }
    QTest::mouseRelease(&view->line(), Qt::LeftButton, {}, from);
    QVERIFY(view->line().nameBox(0).intersects(view->line().rect()));
    QVERIFY(context.commands.empty());
  }

  /// 100 000 ticks, 1600 pixels wide at scale 2: a frame of the screen is enough, whether branches are short or long,
  /// and marks stand alone or side by side.
  void paintingIsQuick_data() {
    QTest::addColumn<int>("branches");
    QTest::addColumn<int>("every");
    QTest::newRow("200 branches one behind another") << 200 << 0;
    QTest::newRow("200 branches, an edit in every tick") << 200 << 1;
    QTest::newRow("200 branches, marks") << 200 << 4;
    QTest::newRow("14 branches, marks") << 14 << 44;
    QTest::newRow("one branch, an edit in every third tick") << 1 << 3;
  }
  void paintingIsQuick() {
    QFETCH(int, branches);
    QFETCH(int, every);
    FakeContext context;
    const fixture::Branching many =
        every ? fixture::wideHistory(100000, branches, every) : fixture::longHistory(100000, branches);
    context.answers["timeline"] = [&](const json& args) { return Result<json>(many.reply(args["since"], true)); };
    const auto view = open<TimeLineView>(context, {1600, 400});
    QCOMPARE(view->tree().size(), static_cast<int>(many.entries.size()));
    QVERIFY(view->tree().size() > 99900 && static_cast<int>(view->tree().lanes().size()) >= branches);
    QImage image(view->line().size() * 2, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(2);
    for (const double zoom : {1.0, 4.0, 40.0, 400.0}) {
      view->line().fit();
      view->line().zoomBy(zoom);
      std::vector<double> ms;
      for (int i = 0; i < 9; ++i) {
        const std::clock_t begin = std::clock();  // of the processor: other work of the machine does not count
        view->line().render(&image);
        ms.push_back(1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
      }
      std::ranges::nth_element(ms, ms.begin() + 4);
      qInfo("zoom %g: %.2f ms", zoom, ms[4]);
#ifdef NDEBUG
      if (!test::kSanitized) QVERIFY2(ms[4] <= 16, qPrintable(QString::number(ms[4])));
#endif
    }
    TickTree tree;
    for (const int since : {0, static_cast<int>(many.entries.size())}) {
      const json reply = many.reply(since, true);
      QElapsedTimer timer;
      timer.start();
      const Result<bool> taken = tree.take(reply);
      QVERIFY(taken && *taken);
      qInfo("taking a reply from %d: %.2f ms", since, static_cast<double>(timer.nsecsElapsed()) / 1e6);
    }
  }
};

KV_TEST(TimelineTest)
#include "timeline_test.moc"
