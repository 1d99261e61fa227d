// SPDX-License-Identifier: GPL-3.0-or-later
// The view Notes: clicks, keys and the line to type in, and the commands that they run. Notes from the menu of a row.
#include <QToolButton>

#include "notes_fixture.h"
#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/note_place.h"
#include "widgets/base/row_actions.h"
#include "widgets/base/word_edit.h"
#include "widgets/views/ledger/ledger_view.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/notes/notes_view.h"

using namespace kvlab;
using nlohmann::json;

namespace {

QString cell(NotesView& view, int row, const char* column) {
  return view.table().model()->index(row, view.table().columnOf(column)).data().toString();
}

QPoint at(NotesView& view, int row, const char* column = "text") {
  return view.table().visualRect(view.table().model()->index(row, view.table().columnOf(column))).center();
}

void click(NotesView& view, int row, Qt::KeyboardModifiers held = {}) {
  QTest::mouseClick(view.table().viewport(), Qt::LeftButton, held, at(view, row));
}

WordEdit* line(QWidget& view) { return view.findChild<WordEdit*>(); }

std::string lastCall(const FakeContext& context) {
  return context.commands.empty() ? "" : context.commands.back().verb + context.commands.back().args.dump();
}

}  // namespace

class NotesViewTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() { Theme::apply(*qApp, "dark"); }

  void listsThemByTick() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    QStringList ticks, texts, apart;
    for (int row = 0; row < view->table().model()->rowCount(); ++row) {
      ticks << cell(*view, row, "tick");
      texts << cell(*view, row, "text").left(8);
      apart << cell(*view, row, "apart");
    }
    QCOMPARE(ticks, QStringList({"3", "6", "8", "14", "20", "27"}));
    QCOMPARE(texts, QStringList({"bookmark", "the key ", "before t", "greedy s", "the answ", "rows beh"}));
    QCOMPARE(apart, QStringList({"", "", "not in this history", "on branch-1", "", "ahead on main"}));
    QVERIFY(cell(*view, 1, "place").startsWith("layer 2 · row 45 “"));
    QCOMPARE(cell(*view, 3, "place"), QString("layer 3 · KV head 1"));
    QVERIFY(view->dump().startsWith("notes: 6\n"));
  }

  void aClickShowsThePlace() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    QSignalSpy said(&context, &InspectorContext::scripted);
    click(*view, 1);
    QCOMPARE(context.snapshot()->tick, Tick(6));
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(context.focus().ledger, LedgerId(45));
    QCOMPARE(said.last()[0].toString(), QString("view.focus({tick: 6, layer: 2, ledger: 45})"));
    QVERIFY(context.commands.empty());
    QCOMPARE(view->table().model()->rowCount(), 6);  // looking back hides none
    QTest::keyClick(&view->table(), Qt::Key_Down);
    QTest::keyClick(&view->table(), Qt::Key_Down);  // on another branch: only its words are shown
    QCOMPARE(context.snapshot()->tick, Tick(6));
    QVERIFY(view->findChild<QLabel*>("readout")->text().contains("Return brings the session there"));
    QTest::keyClick(&view->table(), Qt::Key_Return);
    QCOMPARE(lastCall(context), std::string(R"(note_go{"id":3})"));
  }

  void ofAStateThatIsGone() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    click(*view, 2);
    QCOMPARE(context.snapshot()->tick, Tick(20));
    QVERIFY(view->findChild<QLabel*>("readout")->text().contains("does not have the state"));
  }

  /// A long note leaves the table its room.
  void aLongText() {
    FakeContext context;
    const std::string much(kMostNoteBytes, 'x');
    fixture::setNotes(context, {{.id = 1, .text = much, .tick = Tick(3), .branch = "main", .entry = 3, .here = true}});
    const auto view = open<NotesView>(context);
    click(*view, 0);
    QVERIFY(view->findChild<QLabel*>("readout")->text().endsWith("…"));
    QTRY_VERIFY(view->findChild<QLabel*>("readout")->height() < view->height() / 2);
  }

  void textIsChangedInItsLine() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    click(*view, 1);
    QTest::keyClick(&view->table(), Qt::Key_F2);
    QVERIFY(line(*view));
    QVERIFY(line(*view)->text().startsWith("the key moves"));
    QTest::keyClicks(line(*view), "it stays");  // in place of the selected words
    QTest::keyClick(line(*view), Qt::Key_Return);
    QCOMPARE(lastCall(context), std::string(R"(note_change{"id":1,"text":"it stays"})"));
    context.commands.clear();
    click(*view, 0);
    QTest::mouseDClick(view->table().viewport(), Qt::LeftButton, {}, at(*view, 0));
    QTRY_VERIFY2(line(*view) && line(*view)->text().isEmpty(), line(*view) ? qPrintable(line(*view)->text()) : "none");
    QTest::keyClicks(line(*view), "x");
    QTest::keyClick(line(*view), Qt::Key_Escape);
    QTRY_VERIFY(!line(*view));
    QTest::keyClick(&view->table(), Qt::Key_F2);
    QTest::keyClick(line(*view), Qt::Key_Return);  // the same text
    QVERIFY(context.commands.empty());
  }

  void deleteRemoves() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    click(*view, 3);
    QTest::keyClick(&view->table(), Qt::Key_Delete);
    QCOMPARE(lastCall(context), std::string(R"(note_remove{"id":3})"));
    click(*view, 4, Qt::ShiftModifier);
    context.commands.clear();
    QTest::mouseClick(named<QToolButton>(*view, "Remove"), Qt::LeftButton);
    QCOMPARE(context.commands.size(), std::size_t(2));
    QCOMPARE(lastCall(context), std::string(R"(note_remove{"id":7})"));
  }

  void buttonsRunCommands() {
    FakeContext context;
    fixture::setNotes(context, fixture::notes());
    const auto view = open<NotesView>(context);
    QVERIFY(!named<QToolButton>(*view, "Remove")->isEnabled());
    for (const char* name : {"Bookmark", "Note", "Export"})
      QTest::mouseClick(named<QToolButton>(*view, name), Qt::LeftButton);
    QStringList ids;
    for (const auto& command : context.commands) ids << QString::fromStdString(command.verb);
    QCOMPARE(ids, (QStringList{"bookmark", "note", "notes_export"}));
  }

  /// The line stands before the note is written, also where there is no note yet, and no word is lost: the note is
  /// written with Return, and where the keyboard goes elsewhere. Esc writes nothing.
  void aNewNoteIsTypedHere() {
    FakeContext context;
    const auto view = open<NotesView>(context);
    const auto ask = [&] { Q_EMIT context.noteAsked({{"tick", 3}}); };
    ask();
    QVERIFY(line(*view) && line(*view)->hasFocus());
    QTest::keyClicks(line(*view), "why here");
    QTest::keyClick(line(*view), Qt::Key_Return);
    QCOMPARE(lastCall(context), std::string(R"(note{"text":"why here","tick":3})"));
    QTRY_VERIFY(!line(*view));
    ask();
    QTest::keyClicks(line(*view), "and here");
    view->setFocus(Qt::MouseFocusReason);
    QCOMPARE(lastCall(context), std::string(R"(note{"text":"and here","tick":3})"));
    QTRY_VERIFY(!line(*view));
    ask();
    QTest::keyClicks(line(*view), "not this");
    QTest::keyClick(line(*view), Qt::Key_Escape);
    QCOMPARE(context.commands.size(), std::size_t(2));
  }

  void saysWhatItWouldShow() {
    FakeContext context;
    const auto view = open<NotesView>(context);
    QVERIFY(named<QToolButton>(*view, "Bookmark")->isEnabled());
    QVERIFY(!named<QToolButton>(*view, "Export")->isEnabled());
    QCOMPARE(view->dump(), QString("notes: 0\n"));
    FakeContext nothing{FakeContext::Nothing{}};
    const auto empty = open<NotesView>(nothing);
    QVERIFY(!named<QToolButton>(*empty, "Bookmark")->isEnabled());
    QVERIFY(empty->tsv().isEmpty());
  }

  void aRowHasItInItsMenu() {
    FakeContext context;
    const auto map = open<MapView>(context, {900, 300});
    context.focusLayer(CacheLayer(1));
    context.focusPosition(Position(20));
    map->rowActions()->action("note")->trigger();
    QTRY_VERIFY(line(*map));
    QTest::keyClicks(line(*map), "look");
    QTest::keyClick(line(*map), Qt::Key_Return);
    const json args{{"ledger", context.focus().ledger.value()}, {"layer", 1}, {"text", "look"}, {"tick", 20}};
    QCOMPARE(lastCall(context), "note" + args.dump());
  }

  /// A row that has left the context has no place in the view, and gets its note all the same.
  void aRowThatHasLeft() {
    FakeContext context;
    const auto map = open<MapView>(context, {900, 300});
    const Snapshot& s = *context.snapshot();
    LedgerId gone(0);
    while (std::ranges::find(s.context, gone) != s.context.end()) ++gone;
    context.focusLedger(gone);
    QVERIFY(context.chosenRows().empty());
    map->rowActions()->action("note")->trigger();
    QVERIFY(line(*map));
    QTest::keyClick(line(*map), Qt::Key_Return);
    QCOMPARE(context.commands.back().args["ledger"], json(gone.value()));
    QCOMPARE(context.commands.back().args["text"], json(""));
  }

  void placesInWords() {
    FakeContext context;
    context.focusPosition(Position(-1));
    QCOMPARE(notePlace(context), (json{{"tick", 20}}));
    const NoteView far{.id = 1, .text = {}, .tick = Tick(2), .layer = Layer(77), .ledger = LedgerId(5000)};
    QCOMPARE(placeText(*context.snapshot(), far), QString("layer 77 · row 5000"));
    QCOMPARE(focusLine(*context.snapshot(), far), QString());
    focusNote(context, far);  // nothing to focus
    QCOMPARE(context.focus().ledger, LedgerId(-1));
  }
};

KV_TEST(NotesViewTest)
#include "notes_test.moc"
