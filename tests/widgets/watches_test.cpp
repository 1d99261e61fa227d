// SPDX-License-Identifier: GPL-3.0-or-later
// The view Watches shows the values of the newest and of the shown tick, adds and removes by keys, and completes facts.
#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>
#include <QToolButton>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/expression_edit.h"
#include "widgets/views/watches/watches_view.h"

using namespace kvlab;
using nlohmann::json;

class WatchesViewTest : public QObject {
  Q_OBJECT
 private:
  static fixture::Options watched() {
    fixture::Options options;
    options.watches = true;
    return options;
  }

 private Q_SLOTS:
  void showsBothTicks() {
    FakeContext context(watched());
    const auto view = open<WatchesView>(context);
    const auto cell = [&](int row, const char* column) {
      return view->table().model()->index(row, view->table().columnOf(column)).data().toString();
    };
    QCOMPARE(view->table().model()->rowCount(), static_cast<int>(context.snapshot()->watches->size()));
    QCOMPARE(cell(0, "now"), cell(0, "shown"));
    const QString now = cell(0, "now");
    context.showTick(Tick(context.snapshot()->tick.value() - 6));
    QCOMPARE(cell(0, "now"), now);
    QVERIFY(cell(0, "shown") != now);
    const auto course = view->table().model()->index(0, 3).data(WatchModel::CourseRole).value<QList<double>>();
    QCOMPARE(static_cast<std::size_t>(course.size()), std::min(context.history().size(), WatchModel::kTicks));
    QCOMPARE(watchText(course.back()), now);
  }

  /// A watch that is new has no course; the table of ticks fills it in.
  void thePastIsFilledIn() {
    FakeContext context(watched());
    auto newest = std::make_shared<Snapshot>(*context.snapshot());
    newest->tick = Tick(newest->tick.value() + 1);
    newest->watches = std::make_shared<const std::vector<WatchView>>(std::vector<WatchView>{{99, "length", 7.0}});
    const Tick before = context.snapshot()->tick;
    context.push(newest);
    const auto view = open<WatchesView>(context);
    const auto course = [&] {
      return view->table().model()->index(0, 3).data(WatchModel::CourseRole).value<QList<double>>();
    };
    QVERIFY(std::isnan(course()[course().size() - 2]));
    context.answers["ticks"] = [&](const json&) {
      return json::array({json{{"tick", before.value()}, {"length", 5.0}}});
    };
    QTest::mouseClick(named<QToolButton>(*view, "Fill in the past"), Qt::LeftButton);
    QTRY_COMPARE(course()[course().size() - 2], 5.0);
    QCOMPARE(context.queried.back().verb, std::string("ticks"));
    QCOMPARE(course().back(), 7.0);
    context.showTick(before);
    QCOMPARE(view->table().model()->index(0, 2).data().toString(), QString("5"));
  }

  void addsAndRemoves() {
    FakeContext context(watched());
    const auto view = open<WatchesView>(context);
    auto* line = named<QLineEdit>(*view, "Expression to watch");
    line->setFocus();
    QTest::keyClicks(line, "length + 1");
    QTest::keyClick(line, Qt::Key_Return);
    QCOMPARE(context.commands.back().verb, std::string("watch_add"));
    QCOMPARE(context.commands.back().args, json({{"expression", "length + 1"}}));
    QTRY_VERIFY(line->text().isEmpty());
    // A refused condition stays in the line.
    context.answers["watch"] = [](const json&) -> Result<json> {
      return Error("bad_condition", "no", "there is no fact lenght", "the nearest is length");
    };
    QSignalSpy failed(&context, &InspectorContext::failed);
    QTest::keyClicks(line, "lenght");
    QTest::keyClick(line, Qt::Key_Return);
    QTRY_COMPARE(failed.size(), 1);
    QCOMPARE(line->text(), QString("lenght"));
    auto* remove = named<QToolButton>(*view, "Remove watch");
    QVERIFY(!remove->isEnabled());
    QTest::mouseClick(view->table().viewport(), Qt::LeftButton, {},
                      view->table().visualRect(view->table().model()->index(1, 0)).center());
    QVERIFY(remove->isEnabled());
    QTest::keyClick(&view->table(), Qt::Key_Delete);
    QCOMPARE(context.commands.back().verb, std::string("watch_remove"));
    QCOMPARE(context.commands.back().args, json({{"id", (*context.snapshot()->watches)[1].id}}));
    for (QAction* action : view->viewActions())
      if (action->text() == "Break when it changes") action->trigger();
    QCOMPARE(context.commands.back().args,
             json({{"condition", "changed(" + (*context.snapshot()->watches)[1].expression + ")"}}));
  }

  void completesFacts() {
    FakeContext context(watched());
    context.answers["facts"] = [](const json&) {
      const auto fact = [](const char* name, const char* keys) {
        return json{{"name", name}, {"keys", keys}, {"type", "number"}, {"help", std::string("what it says")}};
      };
      return Result<json>(json::array({fact("brightness", "ledger"), fact("rows", "layer"), fact("read", "layer")}));
    };
    const auto view = open<WatchesView>(context);
    auto* line = named<QLineEdit>(*view, "Expression to watch");
    line->setFocus();
    golden::settle(*view);
    auto* completer = line->findChild<QCompleter*>();
    QTRY_VERIFY(completer->model()->rowCount() > 3);
    QTest::keyClicks(line, "1 + br");
    QVERIFY(completer->popup()->isVisible());
    QCOMPARE(completer->completionCount(), 1);
    QVERIFY(completer->popup()->model()->index(0, 0).data(Qt::ToolTipRole).toString().contains("Takes: ledger"));
    QTest::keyClick(completer->popup(), Qt::Key_Down);
    QTest::keyClick(completer->popup(), Qt::Key_Return);
    QCOMPARE(line->text(), QString("1 + brightness"));
    QVERIFY(!completer->popup()->isVisible());
    QTest::keyClicks(line, "(");
    QVERIFY(!completer->popup()->isVisible());
    QCOMPARE(std::ranges::count(context.queried, std::string("facts"), &FakeContext::Call::verb), 1);
  }

  void says() {
    FakeContext context;
    const auto view = open<WatchesView>(context);
    QCOMPARE(view->dump(), QString("watches: none\n"));
  }
};

KV_TEST(WatchesViewTest)
#include "watches_test.moc"
