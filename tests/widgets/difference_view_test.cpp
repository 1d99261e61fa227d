// SPDX-License-Identifier: GPL-3.0-or-later
// The view Difference asks the engine for the person's choice, shows the answer, and leads to the rows.
#include <QComboBox>
#include <QLineEdit>
#include <QToolButton>

#include "difference_fixture.h"
#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/notices.h"
#include "widgets/views/difference/difference_view.h"

using namespace kvlab;
using nlohmann::json;

class DifferenceViewTest : public QObject {
  Q_OBJECT
 private:
  static const FakeContext::Call& last(const FakeContext& context) { return context.queried.back(); }

 private Q_SLOTS:
  void showsWhatWasFound() {
    FakeContext context;
    const auto view = open<DifferenceView>(context);
    QCOMPARE(last(context).verb, std::string("difference"));
    QCOMPARE(last(context).args, json::object());
    const json reply = fixture::difference(*context.snapshot());
    QCOMPARE(view->layers().model()->rowCount(), static_cast<int>(reply["layers"].size()));
    context.focusLayer(CacheLayer(2));
    const json& layer = reply["layers"][2];
    QCOMPARE(view->rows().model()->rowCount(),
             static_cast<int>(layer["changed"].size() + layer["onlyThen"].size() + layer["onlyNow"].size()));
    QVERIFY2(view->dump().contains(QString::fromUtf8("\u00b7harbour")), qPrintable(view->dump()));
    QVERIFY(view->dump().contains("KL 0.0137"));
    // Rows of which only the exactness differs stand in the last layer.
    context.focusLayer(CacheLayer(3));
    QVERIFY(view->dump().contains("exact to context-edited"));
  }

  void clicksGoThere() {
    FakeContext context;
    const auto view = open<DifferenceView>(context);
    const auto click = [](DataTable& table, int row) {
      QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(table.model()->index(row, 0)).center());
    };
    click(view->layers(), 1);
    QCOMPARE(context.focus().layer, CacheLayer(1));
    const auto idAt = [&](int row) {
      return LedgerId(view->rows().model()->index(row, view->rows().columnOf("ledger")).data().toInt());
    };
    click(view->rows(), 4);
    QCOMPARE(context.focus().ledger, idAt(4));
    // A row of the other state that this ledger does not have leads nowhere.
    context.focusLayer(CacheLayer(2));
    for (int row = 0; row < view->rows().model()->rowCount(); ++row)
      if (idAt(row) == LedgerId(300)) click(view->rows(), row);
    QVERIFY(context.focus().ledger != LedgerId(300));
    auto* colour = named<QToolButton>(*view, "Colour the map");
    QTest::mouseClick(colour, Qt::LeftButton);
    QCOMPARE(context.quantity(), Quantity::DifferenceK);
  }

  void asksForWhatIsChosen() {
    FakeContext context;
    const auto view = open<DifferenceView>(context);
    auto* place = named<QLineEdit>(*view, "Which tick, branch, lane or file");
    QVERIFY(!place->isVisible());
    auto* choice = named<QComboBox>(*view, "Other state");
    QStringList said;
    connect(&context, &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
    const auto choose = [&](const char* with, const char* where) {
      choice->setFocus();
      choice->setCurrentIndex(choice->findText(with));
      emit choice->activated(choice->currentIndex());
      QVERIFY(place->isVisible() && place->text().isEmpty());
      QTest::keyClicks(place, where);
      QTest::keyClick(place, Qt::Key_Return);
      golden::settle(*view);
    };
    choose("tick", "5");
    QCOMPARE(last(context).args, json({{"tick", 5}}));
    choose("branch", "branch-1");
    QCOMPARE(last(context).args, json({{"branch", "branch-1"}}));
    choose("branch", "branch-1 7");
    QCOMPARE(last(context).args, json({{"branch", "branch-1"}, {"tick", 7}}));
    choose("file", "/tmp/a.kvcap");
    QCOMPARE(last(context).verb, std::string("differenceFrom"));
    QCOMPARE(last(context).args, json({{"path", "/tmp/a.kvcap"}}));
    QVERIFY2(said.last().endsWith("{with: \"file /tmp/a.kvcap\"})"), qPrintable(said.last()));
    // The view names a question that cannot be asked, and asks nothing.
    const auto asked = context.queried.size();
    for (const auto& [with, where] :
         {std::pair{"tick", "five"}, {"tick", "-1"}, {"branch", ""}, {"branch", "b x"}, {"lane", "1"}, {"file", ""}}) {
      choose(with, where);
      QVERIFY2(view->dump().contains("nothing compared"), with);
      QVERIFY(view->findChild<EmptyNotice*>()->isVisible());
    }
    QCOMPARE(context.queried.size(), asked);
    for (const json& bad : {json(3), json("soon"), json("")}) QVERIFY(!view->setOption("with", bad));
    QVERIFY(static_cast<bool>(view->setOption("with", "branch main 3")));
    QCOMPARE(view->options()["with"], json("branch main 3"));
    golden::settle(*view);
    QCOMPARE(last(context).args, json({{"branch", "main"}, {"tick", 3}}));
    // An older tick gives the answer of its own time.
    choose("tick", "5");
    context.showTick(Tick(context.snapshot()->tick.value() - 2));
    golden::settle(*view);
    QCOMPARE(last(context).verb, std::string("at"));
    QCOMPARE(last(context).args["args"], json({{"tick", 5}}));
    QVERIFY(!named<QToolButton>(*view, "Colour the map")->isEnabled());
  }

  /// The cache of another program comes with its causes, what they leave, and what its type alone explains.
  void showsWhatExplains() {
    FakeContext context;
    context.answers["differenceFrom"] = [&](const json&) {
      return Result<json>(fixture::explainedDifference(*context.snapshot()));
    };
    const auto view = open<DifferenceView>(context);
    const int typed = view->rows().columnOf("typed");
    QVERIFY(!view->causes().isVisible() && view->rows().isColumnHidden(typed));
    QVERIFY(view->setOption("with", "file /tmp/a.ggsq"));
    golden::settle(*view);
    QVERIFY(view->causes().isVisible() && !view->rows().isColumnHidden(typed));
    QCOMPARE(view->causes().model()->rowCount(), 5);  // two causes, what is left, the type, a rival
    for (const char* text :
         {"within blocks of 32 rows", "stale since an edit", "exact rows in q8_0/f16", "keys are multiplied by 0.7"})
      QVERIFY2(view->dump().contains(text), qPrintable(view->dump()));
    context.answers["differenceFrom"] = [&](const json&) {
      json broken = fixture::explainedDifference(*context.snapshot());
      broken["explanation"].erase("left");
      return Result<json>(broken);
    };
    QVERIFY(view->setOption("with", "file /tmp/b.ggsq"));
    golden::settle(*view);
    QVERIFY(view->dump().contains("nothing compared"));
    QVERIFY(view->setOption("with", "edit"));
    golden::settle(*view);
    QVERIFY(!view->causes().isVisible() && view->rows().isColumnHidden(typed));
  }

  /// A line of the explanation marks its rows in all views, and says what stays unexplained.
  void linesAreClickedThrough() {
    FakeContext context;
    json reply;
    context.answers["differenceFrom"] = [&](const json&) {
      return Result<json>(reply = fixture::explainedDifference(*context.snapshot()));
    };
    const auto view = open<DifferenceView>(context);
    QVERIFY(view->setOption("with", "file /tmp/a.ggsq"));
    golden::settle(*view);
    DataTable& causes = view->causes();
    QVERIFY(!view->dump().contains("marked: "));
    const auto rowsOf = [](const json& reach) {
      std::vector<LedgerId> out;
      for (const json& row : reach["rows"]) out.push_back(LedgerId(row.get<int>()));
      return out;
    };
    const auto marks = [](DataTable& table) {
      int out = 0;
      for (int line = 0; line < table.model()->rowCount(); ++line)
        out += table.model()->index(line, 0).data(kFillRole).isValid();
      return out;
    };
    QStringList said;
    connect(&context, &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
    QTest::mouseClick(causes.viewport(), Qt::LeftButton, {}, causes.visualRect(causes.model()->index(1, 0)).center());
    std::vector<LedgerId> stale = rowsOf(reply["explanation"]["causes"][1]["reach"]);
    const LedgerId first = stale.front();  // of the text
    std::ranges::sort(stale);
    QVERIFY(context.selection() == stale);
    QCOMPARE(context.focus().ledger, first);
    QCOMPARE(context.focus().layer, CacheLayer(1));
    QCOMPARE(context.focus().head, Head(4));  // the first that reads KV head 1
    QVERIFY2(view->dump().contains("marked: accounts for tokens 40 to "), qPrintable(view->dump()));
    QVERIFY(view->dump().contains("in layers 1 to 3, KV head 1  \u00b7  unexplained: token 44 in layer 2, KV head 0"));
    QCOMPARE(marks(view->layers()), 3);
    QVERIFY(marks(view->rows()) > 0);
    QVERIFY(said.last().contains("layer: 1, row: 40, rows: [40, 41, "));
    context.focusLayer(CacheLayer(0));  // another layer may be looked at
    QVERIFY(context.selection() == stale && view->dump().contains("marked: "));
    QCOMPARE(marks(view->rows()), 0);
    // What is left over: one row, which the focus marks.
    QTest::keyClick(&causes, Qt::Key_Down);
    QVERIFY(context.selection().empty());
    QCOMPARE(context.focus().ledger, rowsOf(reply["explanation"]["unexplained"]).front());
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(marks(view->layers()), 1);
    for (const char* text : {"as the engine computes: rounding", "would leave more over: keys are multiplied by 0.7"}) {
      QTest::keyClick(&causes, Qt::Key_Down);
      QVERIFY(view->dump().contains(text) && context.selection().empty() && marks(view->layers()) == 0);
    }
    for (int i = 0; i < 4; ++i) QTest::keyClick(&causes, Qt::Key_Up);
    QCOMPARE(static_cast<int>(context.selection().size()), context.snapshot()->length());
    QVERIFY(view->dump().contains("in all layers  "));
    QTest::keyClick(&causes, Qt::Key_Escape);
    QVERIFY(context.selection().empty() && !causes.currentIndex().isValid() && !view->dump().contains("marked: "));
    QCOMPARE(marks(view->layers()), 0);
    // Whoever chooses other rows leaves the line.
    QTest::keyClick(&causes, Qt::Key_Down);
    QVERIFY(view->dump().contains("marked: "));
    context.focusPosition(Position(3));
    QVERIFY(!view->dump().contains("marked: ") && !causes.currentIndex().isValid());
  }

  /// One question for a state; none while the engine runs and something is shown; a refusal is told.
  void asksOnce() {
    FakeContext context;
    const auto view = open<DifferenceView>(context);
    const auto asked = context.queried.size();
    context.focusPosition(Position(3));
    context.focusLayer(CacheLayer(1));
    QCOMPARE(context.queried.size(), asked);
    auto measured = std::make_shared<Snapshot>(*context.snapshot());
    ++measured->serial;  // the comparison itself publishes
    context.push(measured);
    QCOMPARE(context.queried.size(), asked);
    context.isBusy = true;
    auto next = std::make_shared<Snapshot>(*context.snapshot());
    next->tick = Tick(next->tick.value() + 1), ++next->entry;
    context.push(next);
    QCOMPARE(context.queried.size(), asked);
    context.isBusy = false;
    emit context.busyChanged();
    QCOMPARE(context.queried.size(), asked + 1);
    context.answers["difference"] = [](const json&) -> Result<json> {
      return Error("no_edit", "there is nothing to compare with", "the session has only generated so far",
                   "edit first");
    };
    auto later = std::make_shared<Snapshot>(*next);
    ++later->entry;
    context.push(later);
    golden::settle(*view);
    QVERIFY(view->dump().contains("nothing compared"));
    for (const json& bad : {json(), json(3), json{{"then", "x"}}}) {
      context.answers["difference"] = [bad](const json&) { return Result<json>(bad); };
      later = std::make_shared<Snapshot>(*later);
      ++later->entry;
      context.push(later);
      golden::settle(*view);
      QVERIFY(view->dump().contains("nothing compared"));
    }
  }
};

KV_TEST(DifferenceViewTest)
#include "difference_view_test.moc"
