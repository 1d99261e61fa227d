// SPDX-License-Identifier: GPL-3.0-or-later
// Every view of the registry, on the fixture session, in both themes and at two scales, against its
// golden picture; and its dump() against its golden text. A view without goldens fails.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QScrollBar>
#include <QTreeView>

#include "filled_views.h"
#include "support/runner.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

class GoldensTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void picture_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("theme");
    QTest::addColumn<int>("scale");
    for (const ViewInfo& info : views())
      for (const char* theme : {"dark", "light"})
        for (int scale : {1, 2})
          QTest::addRow("%s_%s%s", info.id, theme, scale == 2 ? "@2" : "") << info.id << theme << scale;
  }
  void picture() {
    QFETCH(QString, id);
    QFETCH(QString, theme);
    QFETCH(int, scale);
    Theme::apply(*qApp, theme);
    FakeContext context(golden::optionsFor(id));
    context.measured = true;
    const auto view = golden::show(id, context);
    const QImage shot = view->picture(golden::sizeOf(*findView(id)), scale);
    QCOMPARE(golden::compareImage(QTest::currentDataTag(), shot), QString());
  }
  void text_data() {
    QTest::addColumn<QString>("id");
    for (const ViewInfo& info : views()) QTest::addRow("%s", info.id) << info.id;
  }
  void text() {
    QFETCH(QString, id);
    Theme::apply(*qApp, "dark");
    FakeContext context(golden::optionsFor(id));
    context.measured = true;
    QCOMPARE(golden::compareText(id, golden::show(id, context)->dump()), QString());
  }
  /// Without a session a view says what it would show, and nothing else goes wrong.
  void empty_data() { text_data(); }
  void empty() {
    QFETCH(QString, id);
    Theme::apply(*qApp, "dark");
    FakeContext context(FakeContext::Nothing{});
    const auto view = golden::show(id, context);
    QVERIFY(!view->picture(golden::sizeOf(*findView(id)), 1).isNull());
    QCOMPARE(golden::compareImage(id + "_empty", view->picture(golden::sizeOf(*findView(id)), 1)), QString());
  }
  /// The readout has all of a long note, and where a state is that the views cannot show.
  void chosenNotes() {
    FakeContext context;
    const auto view = golden::show("notes", context);
    for (const int row : {3, 4}) {
      view->findChild<QTableView*>()->selectRow(row);
      const QImage shot = view->picture(golden::sizeOf(*findView("notes")), 1);
      QCOMPARE(golden::compareImage(row == 3 ? "notes_apart" : "notes_long", shot), QString());
    }
  }
  void withoutNotes() {
    Theme::apply(*qApp, "dark");
    FakeContext context;
    std::unique_ptr<InspectorView> view(makeView(*findView("notes"), context, nullptr));
    view->resize(golden::sizeOf(*findView("notes")));
    golden::settle(*view);
    QCOMPARE(golden::compareImage("notes_none", view->picture(golden::sizeOf(*findView("notes")), 1)), QString());
  }
  /// In a dock as narrow as docks get no control is cut off and no table scrolls sideways.
  void narrow_data() { text_data(); }
  void narrow() {
    QFETCH(QString, id);
    Theme::apply(*qApp, "dark");
    FakeContext context(golden::optionsFor(id));
    const auto view = golden::show(id, context, QSize(320, 480));
    const QImage shot = view->picture({320, 480}, 1);
    for (const QWidget* child : view->findChildren<QWidget*>()) {
      if (!child->isVisibleTo(view.get())) continue;
      const auto* area = qobject_cast<const QAbstractScrollArea*>(child);
      if (area)
        QVERIFY2(area->horizontalScrollBar()->maximum() == 0 || !qobject_cast<const QAbstractItemView*>(area),
                 qPrintable(id + " scrolls sideways"));
      if (!qobject_cast<const QAbstractButton*>(child) && !qobject_cast<const QComboBox*>(child) &&
          !qobject_cast<const QAbstractSpinBox*>(child))
        continue;
      if (child->parentWidget()->inherits("QLineEdit") || child->parentWidget()->inherits("QComboBox") ||
          child->inherits("QTableCornerButton"))
        continue;
      const QRect place(child->mapTo(view.get(), QPoint()), child->size());
      QVERIFY2(view->rect().contains(place), qPrintable(id + ": " + child->accessibleName() + " is outside"));
      QVERIFY2(child->width() >= std::min(child->minimumSizeHint().width(), child->maximumWidth()),
               qPrintable(id + ": " + child->accessibleName() + " is cut off"));
    }
    QCOMPARE(golden::compareImage(id + "_narrow", shot), QString());
  }
  /// Findings are marked in every view that shows rows or layers.
  void broken_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("theme");
    for (const char* id : {"map", "strip", "ledger", "rings", "storage", "smartkv", "tree", "lanes", "events", "row"})
      for (const char* theme : {"dark", "light"}) QTest::addRow("%s_broken_%s", id, theme) << id << theme;
  }
  void broken() {
    QFETCH(QString, id);
    QFETCH(QString, theme);
    Theme::apply(*qApp, theme);
    fixture::Options options = golden::optionsFor(id);
    options.broken = true;
    FakeContext context(options);
    const auto view = golden::show(id, context);
    if (id == "ledger" || id == "storage") context.focusLayer(CacheLayer(2));
    if (auto* tree = id == "events" ? view->findChild<QTreeView*>() : nullptr)
      tree->expandAll(), tree->scrollToBottom();
    if (id == "ledger" || id == "rings" || id == "row") context.focusLedger(brokenRow(*context.snapshot()));
    golden::settle(*view);
    QCOMPARE(golden::compareImage(QTest::currentDataTag(), view->picture(golden::sizeOf(*findView(id)), 1)), QString());
    if (theme == "dark") QCOMPARE(golden::compareText(id + "_broken", view->dump()), QString());
  }
  /// Breakpoints of all sorts, the events of a row in one layer, and some ticks only.
  void filled_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("theme");
    for (const char* id : {"events", "history", "timeline", "numbers"})
      for (const char* theme : {"dark", "light"}) QTest::addRow("%s_filled_%s", id, theme) << id << theme;
  }
  void filled() {
    QFETCH(QString, id);
    QFETCH(QString, theme);
    Theme::apply(*qApp, theme);
    FakeContext context(golden::optionsFor(id));
    if (id == "events" || id == "timeline") addBreakpoints(context);
    if (id == "timeline" || id == "numbers") context.limitTicks(TickRange{Tick(6), Tick(14)});
    context.answers["story"] = [](const nlohmann::json&) { return Result<nlohmann::json>(story()); };
    const auto view = golden::show(id, context);
    if (id == "history") QVERIFY(static_cast<bool>(view->setOption("rows", "layer")));
    golden::settle(*view);
    QCOMPARE(golden::compareImage(QTest::currentDataTag(), view->picture(golden::sizeOf(*findView(id)), 1)), QString());
    if (theme == "dark") QCOMPARE(golden::compareText(id + "_filled", view->dump()), QString());
  }
  /// Two pictures of the same state are equal.
  void repeatable() {
    FakeContext one, two;
    for (const ViewInfo& info : views())
      QCOMPARE(golden::show(info.id, one)->picture({700, 400}, 1), golden::show(info.id, two)->picture({700, 400}, 1));
  }
  /// Every control can be named by a screen reader and explains itself.
  void accessible() {
    FakeContext context;
    for (const ViewInfo& info : views()) {
      const auto view = golden::show(info.id, context);
      for (QWidget* child : view->findChildren<QWidget*>()) {
        if (child->focusPolicy() == Qt::NoFocus || child->inherits("QScrollBar") || child->inherits("QHeaderView"))
          continue;
        if (child->parentWidget() != view.get() && !child->parentWidget()->objectName().startsWith("controlStrip"))
          continue;
        const QString what = QString("%1: %2 %3").arg(info.id, child->metaObject()->className(), child->objectName());
        QVERIFY2(!child->accessibleName().isEmpty(), qPrintable(what + " has no accessible name"));
        QVERIFY2(!child->toolTip().isEmpty(), qPrintable(what + " has no tool tip"));
      }
    }
  }

 private:
  static void addBreakpoints(FakeContext& context) {
    std::vector<SnapshotPtr> history = context.history();
    auto newest = std::make_shared<Snapshot>(*history.back());
    newest->breakpoints = std::make_shared<const std::vector<BreakpointView>>(std::vector<BreakpointView>{
        {.id = 1, .condition = "kl > 0.05"},
        {.id = 2, .condition = "evicted(ledger==12)", .logs = true, .hits = 3, .last = Tick(12)},
        {.id = 5, .condition = "rows(layer==3) > 700 and not wrap", .enabled = false, .hits = 1, .last = Tick(4)},
        {.id = 6, .condition = "invariant", .once = true}});
    history.back() = newest;
    context.open(history);
  }
  static nlohmann::json story() {
    const auto line = [](int tick, const char* verb, const char* event, int slot, const char* detail) {
      const bool wrote = slot >= 0 && std::string(event) != "became_stale";
      return nlohmann::json{{"tick", tick}, {"verb", verb}, {"event", event},  {"wrote", wrote},
                            {"slot", slot}, {"phase", 44},  {"detail", detail}};
    };
    return {line(8, "inject", "computed", 61, ""),
            line(11, "inject", "turned", 61, "phase 43 to 44"),
            line(11, "inject", "became_stale", 61, "context_edited"),
            line(13, "settings", "converted", 44, ""),
            line(16, "rebuild", "rebuilt", 44, ""),
            line(17, "run", "left", -1, "evicted by h2o")};
  }
  static LedgerId brokenRow(const Snapshot& s) {
    return violatedRow(s, s.alignment.findings.front().violation).value_or(LedgerId(-1));
  }
};

KV_TEST(GoldensTest)
#include "goldens_test.moc"
