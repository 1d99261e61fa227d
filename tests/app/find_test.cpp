// SPDX-License-Identifier: GPL-3.0-or-later
// Find answers from all its sources and goes there; a million rows of a ledger are searched between two keystrokes;
// Back and Forward lead through the places where the focus has been.
#include "app/base/focus_trail.h"
#include "app/whole_window.h"
#include "app/window/find_bar.h"
#include "core/state/ledger.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

/// A session of so many tokens, of which every hundredth has left the context.
SnapshotPtr longSession(int tokens) {
  auto info = std::make_shared<SessionInfo>();
  for (int i = 0; i < 50000; ++i) info->tokenTexts.push_back("\u2581w" + std::to_string(i));
  info->tokenTexts.push_back("\u2581Cellar");
  info->tokenTexts.push_back("door");
  auto out = std::make_shared<Snapshot>();
  Ledger ledger;
  std::vector<LedgerId> context;
  for (int i = 0; i < tokens; ++i) {
    LedgerRow row;
    row.token = TokenId(i == tokens / 2 ? 50000 : i == tokens / 2 + 1 ? 50001 : i % 50000);
    row.state = i % 100 == 99 ? RowState::Deleted : RowState::Live;
    ledger.append(row);
    if (i % 100 != 99) context.push_back(LedgerId(i));
  }
  out->info = info;
  out->ledger = ledger;
  out->context.assign(context);
  return out;
}

}  // namespace

class FindTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;

  static void type(FindBar& bar, const char* text) {
    auto* line = bar.findChild<QLineEdit*>();
    line->clear();
    QTest::keyClicks(line, text);
  }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_folder)); }

  /// All places of a text, against a search that goes from token to token.
  void rowsAreThose() {
    const SnapshotPtr s = longSession(4000);
    RowFinder finder;
    const auto at = [&](std::int32_t p) { return s->context[static_cast<std::size_t>(p)]; };
    const RowFinder::Found over = finder.find(s, "CELLARdoor", 10);  // two tokens, in other letters
    QCOMPARE(over.all, 1);
    QCOMPARE(over.rows[0].row, LedgerId(2000));
    QCOMPARE(at(over.rows[0].position), LedgerId(2000));
    QVERIFY(over.rows[0].text.contains("Cellardoor"));
    for (const char* text : {"w1", " w99", "99 w", "w3999", "nothing"}) {
      const QString wanted = QString(text).toLower();
      QString whole;
      std::vector<std::pair<qsizetype, LedgerId>> begins;
      qint64 gone = 0;
      for (const LedgerId id : s->context) {
        begins.emplace_back(whole.size(), id);
        whole += QString::fromStdString(s->info->tokenTexts[static_cast<std::size_t>(s->ledger[id].token.value())])
                     .replace(QChar(0x2581), ' ')
                     .toLower();
      }
      for (int i = 99; i < 4000; i += 100) gone += QString(" w%1").arg(i).contains(wanted);
      const RowFinder::Found found = finder.find(s, text, 100000);
      qint64 places = 0;
      std::size_t token = 0;
      for (qsizetype from = whole.indexOf(wanted); from >= 0; from = whole.indexOf(wanted, from + wanted.size())) {
        while (token + 1 < begins.size() && begins[token + 1].first <= from) ++token;
        QCOMPARE(found.rows[static_cast<std::size_t>(places)].row, begins[token].second);
        ++places;
      }
      QCOMPARE(found.all, places + gone);
      QCOMPARE(std::ssize(found.rows), places + gone);
    }
    const RowFinder::Found number = finder.find(s, "199", 3);
    QCOMPARE(number.rows[0].row, LedgerId(199));
    QCOMPARE(number.rows[0].position, -1);  // it has left
  }

  void aMillionRowsTakeATenthOfASecond() {
    const SnapshotPtr s = longSession(1000000);
    QElapsedTimer timer;
    const auto slowest = [&](RowFinder& finder, std::initializer_list<const char*> texts) {
      double worst = 0;
      for (const char* text : texts) {
        timer.start();
        const RowFinder::Found found = finder.find(s, text, 12);
        worst = std::max(worst, static_cast<double>(timer.nsecsElapsed()) / 1e6);
        if (found.all == 0) qWarning("%s was not found", text);
      }
      return worst;
    };
    double first = 1e9, later = 1e9;
    for (int turn = 0; turn < 3; ++turn) {  // the quickest one: others use the machine, too
      RowFinder finder;
      first = std::min(first, slowest(finder, {"cellar"}));
      later = std::min(later, slowest(finder, {"w", "w4", " w49999", "cellardoor", "999999"}));
    }
    qInfo("a million rows: %.1f ms the first time, %.1f ms at most later", first, later);
    if (test::kSanitized) QSKIP("a sanitizer takes several times as long");
    QVERIFY2(first <= 100 && later <= 100, qPrintable(QString("%1 %2").arg(first).arg(later)));
  }

  /// By Ctrl+F, with keys alone.
  void goesThere() {
    auto window = test::wholeWindow();
    QVERIFY(test::openIn(*window, {{"model", "demo"}, {"threads", 1}},
                         "anna puts the silver key in the cellar . the rain falls ."));
    QVERIFY(window->runCommand("step", {{"n", 2}}));
    QVERIFY(test::settled(*window));
    FindBar& bar = window->findBar();
    auto* line = bar.findChild<QLineEdit*>();
    const auto find = [&](const char* text) {
      window->activateWindow();
      QTest::keyClick(window.get(), Qt::Key_F, Qt::ControlModifier);
      QVERIFY(bar.isVisible());
      QTRY_COMPARE(QApplication::focusWidget(), line);
      type(bar, text);
    };
    find("silver");
    QVERIFY2(bar.shownEntries().first().startsWith("token: ") && bar.shownEntries().first().contains("silver"),
             qPrintable(bar.shownEntries().join("\n")));
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(!bar.isVisible());
    const SnapshotPtr s = window->context().snapshot();
    const auto textOfRow = [&](LedgerId id) { return tokenText(*s, id); };
    QVERIFY(window->context().focus().ledger.value() >= 0);
    QVERIFY(QString("silver").startsWith(
        textOfRow(window->context().focus().ledger).remove(QChar(0xB7)).trimmed().left(1)));
    const LedgerId silver = window->context().focus().ledger;
    QTest::qWait(FocusTrail::kMoment + 50);  // a sooner focus replaces the last one in the trail

    find("position");
    QVERIFY(bar.shownEntries().contains("manifest: position"));
    QTest::keyClick(line, Qt::Key_Escape);
    QVERIFY(!bar.isVisible());

    find("rebuild");
    QVERIFY2(!bar.shownEntries().filter("command: ").isEmpty(), qPrintable(bar.shownEntries().join("\n")));
    QTest::keyClick(line, Qt::Key_Escape);

    find("generate");
    const QStringList events = bar.shownEntries().filter("event: ");
    QVERIFY2(!events.isEmpty(), qPrintable(bar.shownEntries().join("\n")));
    QTest::keyClick(line, Qt::Key_Escape);

    emit window->context().logged(2, "a line with a pelican");
    find("pelican");
    QCOMPARE(bar.shownEntries(), QStringList{"log: a line with a pelican"});
    QTest::keyClick(line, Qt::Key_Return);
    QVERIFY(window->docks().visible("log"));
    QVERIFY(window->docks().view("log")->dump().contains("pelican"));

    const Tick newest = s->tick;
    find(std::to_string(newest.value() - 1).c_str());
    QCOMPARE(bar.shownEntries().first(), QString("tick: Tick %1").arg(newest.value() - 1));
    QTest::keyClick(line, Qt::Key_Return);
    QCOMPARE(window->context().snapshot()->tick, Tick(newest.value() - 1));

    find("brightness < 255");
    QCOMPARE(bar.shownEntries().first(), QString("condition: Select rows where brightness < 255"));
    QTest::keyClick(line, Qt::Key_Return);
    QTRY_VERIFY(!window->context().selection().empty());

    find("xyzzy");
    QCOMPARE(bar.shownEntries().size(), 1);
    QTest::keyClick(line, Qt::Key_Return);  // there is nothing to take
    QTest::keyClick(line, Qt::Key_Escape);

    // Back to the token, and forward again.
    QTest::qWait(FocusTrail::kMoment + 50);
    window->context().focusLedger(LedgerId(1));
    QTest::qWait(FocusTrail::kMoment + 50);
    window->context().focusLedger(LedgerId(4));
    QTest::keyClick(window.get(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(window->context().focus().ledger, LedgerId(1));
    for (int i = 0; i < 8 && window->context().focus().ledger != silver; ++i)
      QTest::keyClick(window.get(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(window->context().focus().ledger, silver);
    for (int i = 0; i < 12; ++i) QTest::keyClick(window.get(), Qt::Key_Right, Qt::AltModifier);
    QCOMPARE(window->context().focus().ledger, LedgerId(4));
    QVERIFY(!window->views().trail().canGoForward());
    // A new place takes that of all that lay ahead.
    QTest::keyClick(window.get(), Qt::Key_Left, Qt::AltModifier);
    QVERIFY(window->views().trail().canGoForward());
    QTest::qWait(FocusTrail::kMoment + 50);
    window->context().focusLedger(LedgerId(6));
    QVERIFY(!window->views().trail().canGoForward());
    QTest::keyClick(window.get(), Qt::Key_Left, Qt::AltModifier);
    QCOMPARE(window->context().focus().ledger, LedgerId(1));
  }
};

KV_TEST(FindTest)
#include "find_test.moc"
