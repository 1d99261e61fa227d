// SPDX-License-Identifier: GPL-3.0-or-later
// One selection for all views, and the actions on it: real clicks, keys and menus on map and strip, and the commands
// that they run.
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QMenu>
#include <QMimeData>

#include "core/api/wlod_view.h"
#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/row_actions.h"
#include "widgets/base/word_edit.h"
#include "widgets/views/compose/compose_view.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;
using nlohmann::json;
using Choice = InspectorContext::Choice;

namespace {

std::vector<int> chosen(const FakeContext& context) {
  std::vector<int> out;
  for (Position row : context.chosenRows()) out.push_back(row.value());
  return out;
}

void clickPosition(StripView& view, int position, Qt::KeyboardModifiers held = {},
                   Qt::MouseButton button = Qt::LeftButton) {
  const auto& chips = view.text().chips();
  for (std::size_t i = 0; i < chips.size(); ++i)
    if (chips[i].position == position)
      return QTest::mouseClick(view.text().viewport(), button, held,
                               view.text().chipRect(static_cast<int>(i)).center());
  QFAIL("no such position");
}

QAction* action(InspectorView& view, const QString& begins) {
  for (QAction* one : view.viewActions())
    if (one->text().startsWith(begins)) return one;
  return nullptr;
}

json actionsOf(const FakeContext::Call& call) { return call.args.at("actions"); }

}  // namespace

class RowActionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() { Theme::apply(*qApp, "dark"); }

  void clicksChooseTogether() {
    FakeContext context;
    context.choose(Position(4), Choice::Only);
    QCOMPARE(chosen(context), (std::vector<int>{4}));
    QVERIFY(context.selection().empty());
    context.choose(Position(7), Choice::Extend);
    QCOMPARE(chosen(context), (std::vector<int>{4, 5, 6, 7}));
    QCOMPARE(context.focus().position, Position(7));
    context.choose(Position(2), Choice::Extend);  // from where it began
    QCOMPARE(chosen(context), (std::vector<int>{2, 3, 4}));
    context.choose(Position(9), Choice::Toggle);
    QCOMPARE(chosen(context), (std::vector<int>{2, 3, 4, 9}));
    context.choose(Position(3), Choice::Toggle);
    QCOMPARE(chosen(context), (std::vector<int>{2, 4, 9}));
    context.choose(Position(2), Choice::Toggle);
    context.choose(Position(9), Choice::Toggle);  // the last one that is left is the focus
    QCOMPARE(chosen(context), (std::vector<int>{4}));
    QCOMPARE(context.focus().position, Position(4));
    context.choose(Position(1), Choice::Toggle);
    context.focusLedger(context.snapshot()->context[8]);
    QCOMPARE(chosen(context), (std::vector<int>{8}));
    context.choose(Position(500), Choice::Only);
    context.choose(Position(-1), Choice::Extend);
    QCOMPARE(chosen(context), (std::vector<int>{8}));
    context.choose(Position(10), Choice::Extend);
    context.open(context.history());
    QVERIFY2(context.selection().empty(), "the selection of the session before stayed");
  }

  /// Rows that have left the context are chosen no more, and come back with them.
  void editsTakeRowsOutOfTheSelection() {
    FakeContext context;
    context.choose(Position(4), Choice::Only);
    context.choose(Position(6), Choice::Extend);
    auto shorter = std::make_shared<Snapshot>(*context.snapshot());
    std::vector<LedgerId> rest(shorter->context.begin(), shorter->context.end());
    rest.erase(rest.begin() + 5);
    shorter->context = Column<LedgerId>(std::span<const LedgerId>(rest));
    const SnapshotPtr before = context.snapshot();
    context.push(shorter);
    QCOMPARE(chosen(context), (std::vector<int>{4, 5}));
    context.push(before);
    QCOMPARE(chosen(context), (std::vector<int>{4, 5, 6}));
  }

  /// The actions delete or replace tokens; each has a row in every layer that holds it.
  void theMenuCountsTokens() {
    FakeContext context;
    const auto strip = open<StripView>(context);
    clickPosition(*strip, 10);
    clickPosition(*strip, 12, Qt::ShiftModifier);
    QContextMenuEvent asks(QContextMenuEvent::Keyboard, QPoint(5, 5), strip->mapToGlobal(QPoint(5, 5)));
    QCoreApplication::sendEvent(strip.get(), &asks);
    auto* menu = strip->findChild<QMenu*>();
    QVERIFY(menu);
    menu->close();
    QVERIFY(action(*strip, "Delete 3 tokens") && action(*strip, "Replace 3 tokens…"));
  }

  void allViewsShareTheSelection() {
    FakeContext context;
    const auto strip = open<StripView>(context);
    const auto map = open<MapView>(context);
    const auto compose = open<ComposeView>(context);
    QSignalSpy said(&context, &InspectorContext::scripted);
    const QImage before = map->picture(map->size(), 1);
    clickPosition(*strip, 10);
    clickPosition(*strip, 12, Qt::ShiftModifier);
    QCOMPARE(chosen(context), (std::vector<int>{10, 11, 12}));
    QVERIFY(said.last()[0].toString().endsWith("row: 12, rows: [10, 11, 12]})"));
    QVERIFY(map->picture(map->size(), 1) != before);
    bool told = false;
    for (const QLabel* label : compose->findChildren<QLabel*>())
      told = told || label->text().startsWith("selected 10–12");
    QVERIFY(told);
    const QPoint at(34 + static_cast<int>(map->canvas().axis().pixel(20.5)), 200);
    QTest::mouseClick(&map->canvas(), Qt::LeftButton, Qt::ControlModifier, at);
    QCOMPARE(chosen(context), (std::vector<int>{10, 11, 12, 20}));
    QTest::keyClick(&map->canvas(), Qt::Key_Right, Qt::ShiftModifier);
    QCOMPARE(chosen(context), (std::vector<int>{20, 21}));
    QTest::keyClick(&map->canvas(), Qt::Key_Right, Qt::ControlModifier);
    QCOMPARE(chosen(context), (std::vector<int>{31}));
  }

  void draggingInTheStripChoosesRows() {
    FakeContext context;
    const auto strip = open<StripView>(context);
    const auto& chips = strip->text().chips();
    const auto centre = [&](int position) {
      for (std::size_t i = 0; i < chips.size(); ++i)
        if (chips[i].position == position) return strip->text().chipRect(static_cast<int>(i)).center();
      return QPoint();
    };
    QWidget* area = strip->text().viewport();
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mousePress(area, Qt::LeftButton, {}, centre(3));
    QMouseEvent move(QEvent::MouseMove, centre(6), area->mapToGlobal(centre(6)), Qt::NoButton, Qt::LeftButton, {});
    QCoreApplication::sendEvent(area, &move);
    QTest::mouseRelease(area, Qt::LeftButton, {}, centre(6));
    QCOMPARE(chosen(context), (std::vector<int>{3, 4, 5, 6}));
    QVERIFY(said.last()[0].toString().contains("rows: [3, 4, 5, 6]"));
    strip->copySelection();
    QVERIFY(!QGuiApplication::clipboard()->text().isEmpty());
    QTest::keyClick(&strip->text(), Qt::Key_A, Qt::ControlModifier);
    QCOMPARE(static_cast<int>(chosen(context).size()), context.snapshot()->length());
  }

  /// Two clicks and a key delete three rows.
  void delDeletes() {
    FakeContext context;
    const auto strip = open<StripView>(context);
    clickPosition(*strip, 10);
    clickPosition(*strip, 12, Qt::ShiftModifier);
    QTest::keyClick(&strip->text(), Qt::Key_Delete);
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("inject"));
    QCOMPARE(context.commands[0].args.at("now"), json(true));
    QCOMPARE(actionsOf(context.commands[0]), json::parse(R"([{"action":"delete","position":10},
      {"action":"delete","position":11},{"action":"delete","position":12}])"));
  }

  /// Return opens a line over the row; the line has its text, and typing keeps the blank before it.
  void returnReplacesInPlace() {
    FakeContext context;
    context.answers["tokenise"] = [](const json& args) -> Result<json> {
      return args["text"] == " attic" ? json::array({77}) : json::array({1, 2});
    };
    const auto strip = open<StripView>(context);
    clickPosition(*strip, 10);
    QTest::keyClick(&strip->text(), Qt::Key_Return);
    auto* edit = strip->findChild<WordEdit*>();
    QVERIFY(edit && edit->hasFocus());
    QVERIFY(strip->rect().contains(edit->geometry()));
    const SnapshotPtr s = context.snapshot();
    const QString old = QString::fromStdString(s->info->tokenTexts[at(s->ledger[s->context[10]].token.value())]);
    QCOMPARE(edit->text(), old);
    QCOMPARE(edit->selectedText(), old.trimmed());
    QAction windows("of the window");
    windows.setShortcut(Qt::Key_F10);
    strip->addAction(&windows);
    QSignalSpy taken(&windows, &QAction::triggered);
    QTest::keyClick(edit, Qt::Key_F10);
    QVERIFY2(taken.isEmpty(), "a shortcut of the window took a key from the line");
    QTest::keyClicks(edit, "attic");  // in place of the selected part
    QTest::keyClick(edit, Qt::Key_Return);
    QTRY_COMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(actionsOf(context.commands[0]),
             json::parse(R"([{"action":"replace","positions":[10],"new_token_ids":[77]}])"));
    QVERIFY(strip->text().hasFocus());
    QTest::keyClick(&strip->text(), Qt::Key_F2);
    QTest::keyClick(strip->findChild<WordEdit*>(), Qt::Key_Escape);
    QTest::qWait(10);
    QCOMPARE(context.commands.size(), std::size_t{1});
    auto* colour = strip->findChild<QComboBox*>();
    colour->setFocus();
    action(*strip, "Replace")->trigger();
    QTest::keyClick(strip->findChild<WordEdit*>(), Qt::Key_Escape);
    QVERIFY2(colour->hasFocus(), "the keyboard did not go back to where it was");
  }

  /// One click on the row with the right button, one on the menu's line.
  void theMenuEvicts() {
    FakeContext context;
    const auto map = open<MapView>(context);
    context.choose(Position(3), Choice::Only);
    context.choose(Position(5), Choice::Extend);
    const QPoint at(34 + static_cast<int>(map->canvas().axis().pixel(40.5)), 200);
    QTest::mousePress(&map->canvas(), Qt::RightButton, {}, at);
    QCOMPARE(chosen(context), (std::vector<int>{40}));  // a row outside the selection is meant alone
    QContextMenuEvent asks(QContextMenuEvent::Mouse, at, map->canvas().mapToGlobal(at));
    QCoreApplication::sendEvent(map.get(), &asks);
    auto* menu = map->findChild<QMenu*>();
    QVERIFY(menu);
    QVERIFY(action(*map, "Replace “"));
    QAction* evict = action(*map, "Evict in layer");
    QVERIFY(evict && evict->isEnabled());
    evict->trigger();
    QCOMPARE(context.commands.back().verb, std::string("inject"));
    const json one = actionsOf(context.commands.back())[0];
    QCOMPARE(one["action"], json("evict"));
    QCOMPARE(one["layer"], json(context.focus().layer.value()));
    QCOMPARE(one["ledger"], json::array({context.snapshot()->context[40].value()}));
    menu->close();
  }

  void allOtherActionsRunCommands() {
    FakeContext context;
    const auto map = open<MapView>(context);
    context.choose(Position(30), Choice::Only);
    const int row = context.snapshot()->context[30].value();
    const auto last = [&](const char* title) {
      action(*map, title)->trigger();
      return context.commands.empty() ? FakeContext::Call() : context.commands.back();
    };
    std::size_t resident = 0;
    for (const auto& layer : context.snapshot()->layers)
      resident += std::find(layer->ledger.begin(), layer->ledger.end(), LedgerId(row)) != layer->ledger.end();
    QVERIFY(resident > 1);
    QCOMPARE(actionsOf(last("Evict in all")).size(), resident);
    QCOMPARE(last("Pin").args, (json{{"ledger", row}, {"on", true}}));
    const QMenu* breaks = action(*map, "Break when")->menu();
    QVERIFY(breaks && breaks->actions().size() == 5);
    const char* const subjects[] = {"evicted", "stage(prune) and evicted", "changed", "read", "stale"};
    for (int i = 0; i < 5; ++i) {
      breaks->actions()[i]->trigger();
      QCOMPARE(context.commands.back().verb, std::string("break_add"));
      QCOMPARE(context.commands.back().args,
               (json{{"condition", std::string(subjects[i]) + "(ledger==" + std::to_string(row) + ")"}}));
    }
    QCOMPARE(last("Show values").verb, std::string("show_row"));
    QCOMPARE(last("Show history").verb, std::string("show_history"));
    action(*map, "Set brightness")->trigger();
    QTest::keyClicks(map->findChild<WordEdit*>(), "128");
    QTest::keyClick(map->findChild<WordEdit*>(), Qt::Key_Return);
    QCOMPARE(context.commands.back().args, (json{{"ledger", row}, {"value", 128.0}}));
    QSignalSpy failed(&context, &InspectorContext::failed);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    action(*map, "Set brightness")->trigger();
    QTest::keyClicks(map->findChild<WordEdit*>(), "much");
    QTest::keyClick(map->findChild<WordEdit*>(), Qt::Key_Return);
    QCOMPARE(failed.count(), 1);
  }

  /// From the map to the choice of a layer: a right click and an entry of the menu.
  void whyALayerDroppedARow() {
    FakeContext context(fixture::withPolicies());
    const auto map = open<MapView>(context);
    const SnapshotPtr s = context.snapshot();
    const auto& held = s->layers[1]->ledger;
    int lost = 0;
    while (std::find(held.begin(), held.end(), s->context[static_cast<std::size_t>(lost)]) != held.end()) ++lost;
    context.focusLayer(CacheLayer(1));
    context.choose(Position(lost), Choice::Only);
    QMenu menu;
    map->findChild<RowActions*>()->attend(menu);
    QAction* why = action(*map, "Why did layer 1 drop it?");
    QVERIFY(why && why->isEnabled());
    why->trigger();
    QCOMPARE(context.commands.back().verb, std::string("show_smartkv"));
    QCOMPARE(context.focus().layer, CacheLayer(1));
    const int last = s->length() - 1;
    context.choose(Position(last), Choice::Only);
    map->findChild<RowActions*>()->attend(menu);
    QVERIFY2(!why->isEnabled() && why->toolTip().contains("layer 1 has the row"), qPrintable(why->toolTip()));
  }

  /// A run can stop between a policy's decision about a row and its effect.
  void aRunStopsBeforeARowIsDropped() {
    FakeContext context;
    const auto map = open<MapView>(context);
    context.choose(Position(4), Choice::Only);
    QAction* before = map->findChild<RowActions*>()->action("pruned");
    QVERIFY(before);
    before->trigger();
    QCOMPARE(context.commands.back().verb, std::string("break_add"));
    QCOMPARE(context.commands.back().args["condition"].get<std::string>(),
             "stage(prune) and evicted(ledger==" + std::to_string(context.snapshot()->context[4].value()) + ")");
  }

  /// One entry hides the chosen rows; the view of the next token shows what comes of it.
  void whatTheNextTokenOwesToRows() {
    FakeContext context;
    const auto map = open<MapView>(context);
    context.choose(Position(4), Choice::Only);
    context.choose(Position(6), Choice::Extend);
    QMenu menu;
    map->findChild<RowActions*>()->attend(menu);
    QAction* without = action(*map, "Next token without 3 tokens");
    QVERIFY(without && without->isEnabled());
    without->trigger();
    const SnapshotPtr s = context.snapshot();
    QCOMPARE(context.commands.back().verb, std::string("knock_out"));
    QCOMPARE(context.commands.back().args,
             (json{{"ledger", {s->context[4].value(), s->context[5].value(), s->context[6].value()}}}));
  }

  /// An action that does not apply is off in the menu, and its tip says why; a key says the same.
  void theMenuSaysWhatDoesNotApply() {
    FakeContext context;
    const auto map = open<MapView>(context);
    context.choose(Position(30), Choice::Only);
    QMenu menu;
    map->findChild<RowActions*>()->attend(menu);
    const auto off = [&](const char* title) {
      const QAction* one = action(*map, title);
      return one && !one->isEnabled() ? one->toolTip() : QString("on");
    };
    QVERIFY2(off("Evict for one head").contains("residency kv_head"), qPrintable(off("Evict for one head")));
    QVERIFY2(off("Expand").contains("no wLOD tree"), qPrintable(off("Expand")));
    QVERIFY2(off("Collapse").contains("no wLOD tree"), qPrintable(off("Collapse")));
    QCOMPARE(off("Delete"), QString("on"));
    emit menu.aboutToHide();
    QCOMPARE(off("Collapse"), QString("on"));  // a key works at any time
    QSignalSpy failed(&context, &InspectorContext::failed);
    action(*map, "Collapse")->trigger();
    QCOMPARE(failed.count(), 1);
    QVERIFY(context.commands.empty());
  }

  /// If residency is by KV head, one head alone loses the rows, or all heads of the layer lose them.
  void evictsByHead() {
    FakeContext context;
    auto byHead = std::make_shared<Snapshot>(*context.snapshot());
    auto info = std::make_shared<SessionInfo>(*byHead->info);
    info->cacheLayers = {2, 2};
    byHead->info = info;
    context.push(byHead);
    const auto map = open<MapView>(context);
    context.focusLayer(CacheLayer(3));
    context.choose(Position(50), Choice::Only);
    QMenu menu;
    map->findChild<RowActions*>()->attend(menu);
    QVERIFY(action(*map, "Evict for KV head 1 of layer 1"));
    action(*map, "Evict for KV head")->trigger();
    const json row = json::array({context.snapshot()->context[50].value()});
    QCOMPARE(actionsOf(context.commands.back()),
             (json::array({{{"action", "evict"}, {"layer", 1}, {"kv_head", 1}, {"ledger", row}}})));
    action(*map, "Evict in layer 1")->trigger();
    QCOMPARE(actionsOf(context.commands.back()),
             (json::array({{{"action", "evict"}, {"layer", 1}, {"kv_head", 0}, {"ledger", row}},
                           {{"action", "evict"}, {"layer", 1}, {"kv_head", 1}, {"ledger", row}}})));
  }

  /// A row gives way to the gist of its block; a gist of the highest level cannot.
  void theTreeTurnsBothWays() {
    FakeContext context(fixture::Options{.wlod = true});
    const auto map = open<MapView>(context);
    const auto& entries = context.snapshot()->wlod->entries;
    std::int32_t gist = 0, token = 0;
    while (entries[at(gist)].level != 1) ++gist;
    while (entries[at(token)].level != 0) ++token;
    context.choose(Position(token), Choice::Only);
    action(*map, "Collapse")->trigger();
    QCOMPARE(context.commands.back().verb, std::string("wlod_collapse"));
    QCOMPARE(context.commands.back().args, (json{{"node", entries[at(token)].at(1).id().value()}}));
    QSignalSpy failed(&context, &InspectorContext::failed);
    action(*map, "Expand")->trigger();
    QCOMPARE(failed.count(), 1);
    context.choose(Position(gist), Choice::Only);
    action(*map, "Expand")->trigger();
    QCOMPARE(context.commands.back().verb, std::string("wlod_expand"));
    QCOMPARE(context.commands.back().args, (json{{"node", entries[at(gist)].id().value()}}));
  }

  /// Ctrl+V inserts the clipboard's text before the first chosen row, in strip and map; without a row, at the end.
  void ctrlVInsertsText() {
    FakeContext context;
    context.answers["tokenise"] = [](const json& args) -> Result<json> {
      return args["text"] == "old barn" ? json::array({7, 8}) : json::array();
    };
    const auto strip = open<StripView>(context);
    QGuiApplication::clipboard()->setText("old barn");
    clickPosition(*strip, 10);
    clickPosition(*strip, 12, Qt::ShiftModifier);
    QTest::keyClick(&strip->text(), Qt::Key_V, Qt::ControlModifier);
    QTRY_COMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].args.at("now"), json(true));
    QCOMPARE(actionsOf(context.commands[0]), json::parse(R"([{"action":"insert","position":10,"token_ids":[7,8]}])"));
    const auto map = open<MapView>(context);
    context.setFocus({});
    context.select({});
    QTest::keyClick(&map->canvas(), Qt::Key_V, Qt::ControlModifier);
    QTRY_COMPARE(context.commands.size(), std::size_t{2});
    QCOMPARE(actionsOf(context.commands[1])[0]["position"], json(context.snapshot()->length()));
    QSignalSpy failed(&context, &InspectorContext::failed);
    for (const char* text : {"", " "}) {
      QGuiApplication::clipboard()->setText(text);
      QTest::keyClick(&map->canvas(), Qt::Key_V, Qt::ControlModifier);
    }
    QTRY_COMPARE(failed.count(), 2);
    QCOMPARE(context.commands.size(), std::size_t{2});
  }

  /// Text that is dragged from outside goes before the chip whose left half it is over; the mark shows where.
  void droppedTextInserts() {
    FakeContext context;
    context.answers["tokenise"] = [](const json&) -> Result<json> { return json::array({7}); };
    const auto strip = open<StripView>(context);
    const auto& chips = strip->text().chips();
    int chip = 0;
    while (chips[at(chip)].position != 20) ++chip;
    const QRect box = strip->text().chipRect(chip);
    QMimeData text;
    text.setText("barn");
    QWidget* area = strip->text().viewport();
    const auto drag = [&](QPoint at, const QMimeData& data) {
      QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
      QCoreApplication::sendEvent(area, &enter);
      QDragMoveEvent move(at, Qt::CopyAction, &data, Qt::LeftButton, {});
      QCoreApplication::sendEvent(area, &move);
      return enter.isAccepted();
    };
    const auto drop = [&](QPoint at) {
      drag(at, text);
      QDropEvent event(at, Qt::CopyAction, &text, Qt::LeftButton, {});
      QCoreApplication::sendEvent(area, &event);
      return event.isAccepted();
    };
    const QImage before = strip->picture(strip->size(), 1);
    QVERIFY(drag(box.center() - QPoint(box.width() / 4, 0), text));
    const QImage marked = strip->picture(strip->size(), 1);
    QVERIFY2(marked != before, "no mark shows where the text would go");
    QDragLeaveEvent leave;
    QCoreApplication::sendEvent(area, &leave);
    QCOMPARE(strip->picture(strip->size(), 1), before);
    QVERIFY(drop(box.center() - QPoint(box.width() / 4, 0)));
    QTRY_COMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(actionsOf(context.commands[0]), json::parse(R"([{"action":"insert","position":20,"token_ids":[7]}])"));
    QVERIFY(drop(box.center() + QPoint(box.width() / 4, 0)));
    QTRY_COMPARE(context.commands.size(), std::size_t{2});
    QCOMPARE(actionsOf(context.commands[1])[0]["position"], json(21));
    QVERIFY(drop({area->width() / 2, area->height() - 2}));  // below the text
    QTRY_COMPARE(context.commands.size(), std::size_t{3});
    QCOMPARE(actionsOf(context.commands[2])[0]["position"], json(context.snapshot()->length()));
    QMimeData file;
    file.setUrls({QUrl::fromLocalFile("/x.json")});
    QVERIFY2(!drag(box.center(), file), "a file is the window's");
    QSignalSpy failed(&context, &InspectorContext::failed);
    context.isBusy = true;
    drop(box.center());
    QTRY_COMPARE(failed.count(), 1);
    QCOMPARE(context.commands.size(), std::size_t{3});
  }

  void keysSayWhyTheyCannot() {
    FakeContext context;
    const auto strip = open<StripView>(context);
    QSignalSpy failed(&context, &InspectorContext::failed);
    const auto why = [&] { return QString::fromStdString(failed.last()[0].value<Error>().why); };
    context.setFocus({});
    QTest::keyClick(&strip->text(), Qt::Key_Delete);
    QCOMPARE(why(), QString("no row of the context is chosen"));
    context.showTick(Tick(4));
    context.choose(Position(1), Choice::Only);
    QTest::keyClick(&strip->text(), Qt::Key_Delete);
    QCOMPARE(why(), QString("an older tick is shown"));
    context.showTick(context.history().back()->tick);
    context.isBusy = true;
    QTest::keyClick(&strip->text(), Qt::Key_Delete);
    QCOMPARE(why(), QString("the engine is working"));
    QVERIFY(context.commands.empty());
  }
};

KV_TEST(RowActionsTest)
#include "row_actions_test.moc"
