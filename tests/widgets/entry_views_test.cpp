// SPDX-License-Identifier: GPL-3.0-or-later
// Compose, Console and Log on the fake context: real clicks and keys, and the requests of the views to the engine;
// pictures and texts of their filled states.
#include <QAbstractItemView>
#include <QClipboard>
#include <QComboBox>
#include <QScrollBar>
#include <QToolButton>

#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/word_edit.h"
#include "widgets/views/compose/compose_view.h"
#include "widgets/views/console/console_view.h"
#include "widgets/views/log/log_view.h"

using namespace kvlab;
using nlohmann::json;

namespace {
void tokenises(FakeContext& context) {
  context.answers["tokenise"] = [](const json& args) -> Result<json> {
    json ids = json::array();
    for (const QString& word : QString::fromStdString(args["text"]).split(' ', Qt::SkipEmptyParts))
      ids.push_back(10 + word.size());
    return ids;
  };
}

void fill(ConsoleView& view, FakeContext& context) {
  auto* input = view.findChild<ScriptInput*>();
  emit context.scripted("view.focus({layer: 2, row: 52})");
  for (const char* line : {"s.topk(3)", "for (let i = 0; i < 3; i++)\n  s.step()", "throw 3"}) {
    input->setPlainText(line);
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY(view.ready());
  }
  emit context.scripted("s.rebuild()");
}

void fill(LogView& view) {
  view.setClock([n = 0]() mutable { return QDateTime(QDate(2024, 5, 1), QTime(9, 30).addMSecs(417 * n++)); });
  view.append(2, "session opened: demo, 4 layers, cpu");
  view.append(1, "tile cache: 12 tiles");
  view.append(3, "logits are stale; the next step computes them again");
  view.append(4, "action 0 was refused: original_pos1 is not below the length; choose a position below 96");
  view.append(2, "tick 1: 712 µs, 12 KiB moved");
}

const char* const kDraft =
    "[\n  {\"action\":\"replace_pair\",\"original_pos1\":36,\"original_pos2\":37,\"new_token_ids\":[12,30]},\n"
    "  {\"action\":\"delete\",\"position\":50},\n  {\"action\":\"add\",\"token_id\":13}\n]";
}  // namespace

class EntryViewsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() { Theme::apply(*qApp, "dark"); }

  void planBeforeApply() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    view->setDraft(kDraft);
    QVERIFY(!view->ready());
    QTRY_VERIFY(view->ready());
    QCOMPARE(context.queried.back().verb, std::string("plan"));
    QVERIFY(view->dump().contains("54 rows go stale"));
    QVERIFY(context.submitted.empty());  // nothing has been changed yet
    QTest::mouseClick(named<QPushButton>(*view, "Apply now"), Qt::LeftButton);
    QTRY_VERIFY(view->ready());
    QVERIFY(context.submitted.empty());
    QCOMPARE(context.commands.size(), std::size_t{1});  // between two of them a tick could take the list
    QCOMPARE(context.commands[0].verb, std::string("inject"));
    QCOMPARE(context.commands[0].args["actions"].size(), std::size_t{3});
    QCOMPARE(context.commands[0].args["now"], json(true));
    QCOMPARE(context.commands[0].args["instead"], json(true));
    QCOMPARE(view->options()["draft"], json(""));  // the text follows the queue again
  }

  void queueOnly() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    view->setDraft("[{\"action\":\"add\",\"token_id\":13}]");
    QTRY_VERIFY(view->ready());
    QTest::mouseClick(named<QPushButton>(*view, "Queue"), Qt::LeftButton);
    QTRY_VERIFY(view->ready());
    QCOMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].args, (json{{"actions", {{{"action", "add"}, {"token_id", 13}}}}, {"instead", true}}));
    QTest::mouseClick(named<QPushButton>(*view, "Clear queue"), Qt::LeftButton);
    QCOMPARE(context.commands.back().verb, std::string("clear_pending"));
  }

  /// Without a list, Apply commits the pending actions.
  void applyPending() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    QVERIFY(named<QPushButton>(*view, "Apply now")->isEnabled());
    QTest::mouseClick(named<QPushButton>(*view, "Apply now"), Qt::LeftButton);
    QCOMPARE(context.commands.back().verb, std::string("apply"));
  }

  void pairAtFocus() {
    FakeContext context;
    tokenises(context);
    const auto view = open<ComposeView>(context, {560, 640});
    context.focusPosition(Position(48));
    QTest::keyClicks(named<QLineEdit>(*view, "Replacement words"), "attic");
    QTest::mouseClick(named<QPushButton>(*view, "Replace pair"), Qt::LeftButton);  // before the tokens are known
    QTRY_COMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("inject"));
    QCOMPARE(
        context.commands[0].args,
        json::parse(
            R"({"actions":[{"action":"replace_pair","original_pos1":48,"original_pos2":49,"new_token_ids":[15]}]})"));
  }

  void selectedRowsAndIds() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    for (int position : {60, 20}) context.choose(Position(position), InspectorContext::Choice::Toggle);
    QTest::keyClicks(named<QLineEdit>(*view, "Replacement words"), "#12 #7");
    QTest::mouseClick(named<QPushButton>(*view, "Replace"), Qt::LeftButton);
    context.focusPosition(Position(5));
    QTest::mouseClick(named<QPushButton>(*view, "Evict"), Qt::LeftButton);
    QCOMPARE(context.commands.size(), std::size_t{2});
    QCOMPARE(context.commands[0].args["actions"][0],
             json::parse(R"({"action":"replace","positions":[20,60],"new_token_ids":[12,7]})"));
    QCOMPARE(context.commands[1].args["actions"][0]["ledger"][0], context.focus().ledger.value());
  }

  void refusals() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    context.focusPosition(Position(48));
    QVERIFY(!named<QPushButton>(*view, "Replace pair")->isEnabled());  // no words
    QVERIFY(named<QPushButton>(*view, "Delete")->isEnabled());
    QTest::keyClick(named<QLineEdit>(*view, "Replacement words"), Qt::Key_Return);
    QVERIFY(view->dump().contains("Type the words to write first"));
    view->setDraft("[{\"action\":\"delete\",\"position\":3},{\"action\":\"add\"}]");
    QVERIFY(view->dump().contains("action 1 was refused: token_id is missing"));
    QVERIFY(!named<QPushButton>(*view, "Apply now")->isEnabled());
    QVERIFY(!named<QPushButton>(*view, "Queue")->isEnabled());
    QCOMPARE(view->findChild<JsonEditor*>()->extraSelections().size(), 1);
    view->setDraft("[{");
    QVERIFY(view->dump().contains("the text ends before the list does"));
    QTest::mouseClick(named<QPushButton>(*view, "Delete"), Qt::LeftButton);  // does not destroy the text
    QCOMPARE(view->draft(), QStringLiteral("[{"));
  }

  void planError() {
    FakeContext context;
    context.answers["plan"] = [](const json&) -> Result<json> {
      return Error("range", "action 1 was refused", "position 999 is not below 96", "choose a position below 96", 1);
    };
    const auto view = open<ComposeView>(context, {560, 640});
    view->setDraft(kDraft);
    QTRY_VERIFY(view->ready());
    QVERIFY(view->dump().contains("position 999 is not below 96"));
    QVERIFY(view->dump().contains("✗ 1"));
    QVERIFY(!named<QPushButton>(*view, "Apply now")->isEnabled());
  }

  /// A changed text stays the person's: lines leave the text, not the queue.
  void deleteKeyRemovesAction() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    view->setDraft(kDraft);
    auto* table = named<DataTable>(*view, "Queue");
    table->selectRow(0);
    table->setFocus();
    QTest::keyClick(table, Qt::Key_Delete);
    QVERIFY(context.commands.empty());
    QCOMPARE(json::parse(view->draft().toStdString()).size(), std::size_t{2});
    view->findChild<JsonEditor*>()->undo();
    QCOMPARE(json::parse(view->draft().toStdString()).size(), std::size_t{3});
    QTest::mouseClick(named<QPushButton>(*view, "Drop changes"), Qt::LeftButton);
    QCOMPARE(json::parse(view->draft().toStdString()).size(), context.snapshot()->pending.size());
    QVERIFY(!named<QPushButton>(*view, "Drop changes")->isEnabled());
  }

  /// The list is the queue: a change of a line changes the queue, by keys and buttons.
  void linesOfTheQueue() {
    FakeContext context;
    tokenises(context);
    const auto view = open<ComposeView>(context, {560, 640});
    auto* table = named<DataTable>(*view, "Queue");
    const json queue = json::parse(view->draft().toStdString());
    QCOMPARE(queue.size(), std::size_t{4});
    QCOMPARE(table->model()->index(0, 1).data().toString(), QString("Replace “.” by “·barn”"));
    QVERIFY(!named<QToolButton>(*view, "Remove action")->isEnabled());
    table->selectRow(1);
    table->setFocus();
    const auto asked = [&] {
      const bool once = QTest::qWaitFor([&] { return context.commands.size() == 1 && view->ready(); }, 2000);
      const json args = once ? context.commands[0].args : json();
      context.commands.clear();
      return args;
    };
    QTest::keyClick(table, Qt::Key_Up, Qt::AltModifier);
    QCOMPARE(asked(), (json{{"actions", {queue[1], queue[0], queue[2], queue[3]}}, {"instead", true}}));
    QVERIFY2(table->hasFocus(), "the list has lost the keyboard");
    table->selectRow(1);
    QTest::mouseClick(named<QToolButton>(*view, "Move down"), Qt::LeftButton);
    QCOMPARE(asked(), (json{{"actions", {queue[0], queue[2], queue[1], queue[3]}}, {"instead", true}}));
    table->selectRow(0);
    QVERIFY(!named<QToolButton>(*view, "Move up")->isEnabled());
    table->selectionModel()->select(table->model()->index(2, 0),
                                    QItemSelectionModel::Select | QItemSelectionModel::Rows);
    QTest::keyClick(table, Qt::Key_Delete);
    QCOMPARE(asked(), (json{{"actions", {queue[1], queue[3]}}, {"instead", true}}));
    table->selectRow(2);
    QTest::keyClick(table, Qt::Key_Return);
    auto* words = view->findChild<WordEdit*>();
    QVERIFY(words && words->hasFocus());
    words->selectAll();
    QTest::keyClicks(words, "barns ten");
    QTest::keyClick(words, Qt::Key_Return);
    json other = queue;
    other[2]["token_ids"] = {15, 13};
    QCOMPARE(asked(), (json{{"actions", other}, {"instead", true}}));
    table->selectRow(1);  // a deletion has no words: its text is edited
    QTest::mouseClick(named<QToolButton>(*view, "Edit action"), Qt::LeftButton);
    auto* editor = view->findChild<JsonEditor*>();
    QVERIFY(editor->hasFocus());
    QCOMPARE(json::parse(editor->textCursor().selectedText().toStdString()), queue[1]);
    table->selectAll();
    table->setFocus();
    QTest::keyClick(table, Qt::Key_Delete);
    QTRY_COMPARE(context.commands.size(), std::size_t{1});
    QCOMPARE(context.commands[0].verb, std::string("clear_pending"));
  }

  /// The text follows the queue; a queue that no longer fits says why; without one a notice gives the next step.
  void theListFollowsTheQueue() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    auto next = std::make_shared<Snapshot>(*context.snapshot());
    next->pending = {Delete{Position(7)}};
    auto plan = std::make_shared<PlanView>();
    plan->refused =
        Error("range", "action 0 was refused", "position 7 is not below 5", "clear the queue", 0, "position", 7);
    next->plan = plan;
    context.push(next);
    QVERIFY(view->ready());
    QCOMPARE(json::parse(view->draft().toStdString()), json::parse(R"([{"action":"delete","position":7}])"));
    QVERIFY(view->dump().contains("position 7 is not below 5"));
    QVERIFY(!named<QPushButton>(*view, "Apply now")->isEnabled());
    view->setDraft("[{");
    next = std::make_shared<Snapshot>(*next);
    next->pending.clear();
    next->plan = nullptr;
    context.push(next);
    QCOMPARE(view->draft(), QString("[{"));  // a person is typing
    QTest::mouseClick(named<QPushButton>(*view, "Drop changes"), Qt::LeftButton);
    QVERIFY(view->draft().isEmpty());
    QVERIFY(!named<QPushButton>(*view, "Apply now")->isEnabled());
    QVERIFY(named<EmptyNotice>(*view, "Nothing is queued")->isVisible());
  }

  /// The view shows a queue that has changed behind another tab, whatever else has changed meanwhile.
  void aHiddenListFollowsTheQueue() {
    FakeContext context;
    const auto view = open<ComposeView>(context, {560, 640});
    view->hide();
    auto next = std::make_shared<Snapshot>(*context.snapshot());
    next->pending = {Delete{Position(1)}};
    context.push(next);
    const bool dark = Theme::current()->dark;
    Theme::apply(*qApp, dark ? "light" : "dark");
    QCoreApplication::processEvents();
    Theme::apply(*qApp, dark ? "dark" : "light");
    QCoreApplication::processEvents();
    view->show();
    QCOMPARE(json::parse(view->draft().toStdString()), json::parse(R"([{"action":"delete","position":1}])"));
    QVERIFY(!named<QPushButton>(*view, "Drop changes")->isEnabled());
  }

  void consoleRunsAndRemembers() {
    FakeContext context;
    const auto view = open<ConsoleView>(context, {700, 300});
    fill(*view, context);
    QCOMPARE(context.lines,
             (std::vector<std::string>{"s.topk(3)", "for (let i = 0; i < 3; i++)\n  s.step()", "throw 3"}));
    QVERIFY(view->dump().contains("✗ Error: thrown by the line"));
    QVERIFY(view->dump().contains("· s.rebuild()"));
    auto* output = named<QPlainTextEdit>(*view, "Console output");
    output->selectAll();
    output->copy();
    const QString copied = qApp->clipboard()->text();
    QVERIFY2(copied.contains("\ns.rebuild()\n") || copied.endsWith("\ns.rebuild()"), qPrintable(copied));
    QVERIFY2(copied.contains("\nfor (let i = 0; i < 3; i++)\n  s.step()\n"), qPrintable(copied));
    QVERIFY2(copied.contains("\nthrow 3\n// Error: thrown by the line"), qPrintable(copied));
    auto* input = view->findChild<ScriptInput*>();
    QTest::keyClick(input, Qt::Key_Up);
    QCOMPARE(input->toPlainText(), QStringLiteral("throw 3"));
    QTest::keyClick(input, Qt::Key_Down);
    QCOMPARE(input->toPlainText(), QString());
    QTest::mouseClick(named<QToolButton>(*view, "Show clicks"), Qt::LeftButton);
    QVERIFY(!view->dump().contains("s.rebuild()"));
    QTest::mouseClick(named<QToolButton>(*view, "Copy"), Qt::LeftButton);
    QVERIFY(qApp->clipboard()->text().contains("\nthrow 3\n// "));
    QTest::mouseClick(named<QToolButton>(*view, "Clear"), Qt::LeftButton);
    QCOMPARE(view->dump(), QStringLiteral("console\n"));
  }

  void consoleMultiLine() {
    FakeContext context;
    const auto view = open<ConsoleView>(context, {700, 300});
    auto* input = view->findChild<ScriptInput*>();
    qApp->clipboard()->setText("let a = 1\nlog(a)");
    const int one = input->height();
    input->paste();
    QCOMPARE(input->toPlainText(), QStringLiteral("let a = 1\nlog(a)"));
    QVERIFY(input->height() > one);
    QTest::keyClick(input, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(input, "log(2)");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(context.lines, std::vector<std::string>{"let a = 1\nlog(a)\nlog(2)"});
  }

  void consoleCompletes() {
    FakeContext context;
    const auto view = open<ConsoleView>(context, {700, 300});
    auto* input = view->findChild<ScriptInput*>();
    view->setCompletions({"s.rebuild(", "s.redo(", "view.show("});
    input->setFocus();
    QTest::keyClicks(input, "vie");
    QTest::keyClick(input, Qt::Key_Tab);
    QCOMPARE(input->toPlainText(), QStringLiteral("view.show("));
    input->setPlainText({});
    QTest::keyClicks(input, "x = s.re");
    QTest::keyClick(input, Qt::Key_Tab);  // two candidates: the list opens on the first
    QVERIFY(input->completer()->popup()->isVisible());
    QTest::keyClick(input->completer()->popup(), Qt::Key_Return);
    QCOMPARE(input->toPlainText(), QStringLiteral("x = s.rebuild("));
  }

  void logFiltersAndFollows() {
    FakeContext context;
    const auto view = open<LogView>(context, {700, 200});
    fill(*view);
    emit context.logged(5, "disk full");
    QVERIFY(view->dump().startsWith("log: 5 of 6 lines"));
    named<QComboBox>(*view, "Least level")->setCurrentIndex(4);
    QVERIFY(view->dump().startsWith("log: 2 of 6 lines"));
    QTest::keyClicks(named<QLineEdit>(*view, "Search the log"), "DISK");
    QVERIFY(view->dump().startsWith("log: 1 of 6 lines\ncritical\tdisk full"));
    named<QComboBox>(*view, "Least level")->setCurrentIndex(0);
    named<QLineEdit>(*view, "Search the log")->clear();
    auto* table = view->findChild<DataTable*>();
    auto* bar = table->verticalScrollBar();
    for (int i = 0; i < 100; ++i) view->append(2, QString::number(i));
    QTRY_COMPARE(bar->value(), bar->maximum());
    bar->triggerAction(QAbstractSlider::SliderToMinimum);  // the person scrolls up: following ends
    view->append(2, "later");
    QCOMPARE(bar->value(), 0);
    QVERIFY(!named<QToolButton>(*view, "Follow")->isChecked());
    QTest::mouseClick(named<QToolButton>(*view, "Clear"), Qt::LeftButton);
    QVERIFY(view->dump().startsWith("log: 0 lines"));
  }

  void pictures_data() {
    QTest::addColumn<QString>("theme");
    QTest::addColumn<int>("scale");
    for (const char* theme : {"dark", "light"})
      for (int scale : {1, 2}) QTest::addRow("%s%s", theme, scale == 2 ? "@2" : "") << theme << scale;
  }
  void pictures() {
    QFETCH(QString, theme);
    QFETCH(int, scale);
    Theme::apply(*qApp, theme);
    FakeContext context;
    const auto compose = open<ComposeView>(context, {1180, 420}, false);
    compose->setDraft(kDraft);
    const auto console = open<ConsoleView>(context, {1180, 300}, false);
    fill(*console, context);
    const auto log = open<LogView>(context, {1180, 300}, false);
    fill(*log);
    QTRY_VERIFY(compose->ready());
    const QString tag = QLatin1Char('_') + QString(QTest::currentDataTag());
    QCOMPARE(golden::compareImage("compose_plan" + tag, compose->picture({1180, 420}, scale)), QString());
    QCOMPARE(golden::compareImage("console_filled" + tag, console->picture({1180, 300}, scale)), QString());
    QCOMPARE(golden::compareImage("log_filled" + tag, log->picture({1180, 300}, scale)), QString());
    if (scale == 2 || theme == "light") return;
    QCOMPARE(golden::compareText("compose_plan", compose->dump()), QString());
    QCOMPARE(golden::compareText("console_filled", console->dump()), QString());
    QCOMPARE(golden::compareText("log_filled", log->dump()), QString());
  }
};

KV_TEST(EntryViewsTest)
#include "entry_views_test.moc"
