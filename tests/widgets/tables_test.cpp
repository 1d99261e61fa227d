// SPDX-License-Identifier: GPL-3.0-or-later
// Mirror, ledger and row history: their models under QAbstractItemModelTester, real clicks, filters,
// a million rows, and every way a map can disagree with the context.
#include <QAbstractItemModelTester>
#include <QClipboard>
#include <QHeaderView>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/history/history_view.h"
#include "widgets/views/ledger/ledger_view.h"
#include "widgets/views/mirror/mirror_view.h"
#include "widgets/views/strip/strip_view.h"

using namespace kvlab;

namespace {
/// The snapshot with layer 2's map changed.
SnapshotPtr damaged(
    const SnapshotPtr& good,
    const std::function<void(std::vector<LedgerId>&, std::vector<Slot>&, std::vector<std::int32_t>&)>& damage) {
  auto bad = std::make_shared<Snapshot>(*good);
  const ResidencyView& old = *good->layers[2];
  std::vector<LedgerId> ids(old.ledger.begin(), old.ledger.end());
  std::vector<Slot> slotOf(old.slotOf.begin(), old.slotOf.end());
  std::vector<std::int32_t> phases(old.phases.begin(), old.phases.end());
  damage(ids, slotOf, phases);
  auto map = std::make_shared<ResidencyView>();
  map->ledger = Column<LedgerId>(ids);
  map->slotOf = Column<Slot>(slotOf);
  map->phases = Column<std::int32_t>(phases);
  bad->layers[2] = map;
  return bad;
}

SnapshotPtr last() { return fixture::Session().history().back(); }
}  // namespace

class TablesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void cardKeepsItsFontsThroughThemes() {
    FakeContext context;
    HistoryView view(context, nullptr);
    QVERIFY(golden::settle(view));
    context.focusPosition(Position(44));
    QVERIFY(golden::settle(view));
    for (const char* theme : {"light", "dark"}) {
      Theme::apply(*qApp, theme);
      QCOMPARE(view.findChild<QLabel*>("cardTitle")->font().weight(), QFont::DemiBold);
    }
  }
  void theHeaderIsAsWideAsTheLines() {
    QStandardItemModel model(0, 2);
    DataTable table(nullptr, &model, "lines", "lines");
    table.resize(300, 200);
    table.show();
    QVERIFY(QTest::qWaitForWindowExposed(&table));
    for (const int lines : {30, 3, 40}) {
      model.setRowCount(lines);
      QVERIFY(QTest::qWaitFor([&] { return table.verticalScrollBar()->isVisible() == (lines > 20); }));
      QCOMPARE(table.horizontalHeader()->width(), table.viewport()->width());
    }
  }
  void narrowTablesShedColumns() {
    FakeContext context;
    LedgerTableView view(context, nullptr);
    view.resize(900, 400);
    QVERIFY(golden::settle(view));
    DataTable& table = view.table();
    QVERIFY(table.shedColumns().isEmpty());
    const QString all = table.tsv();
    view.resize(320, 400);
    QVERIFY(golden::settle(view));
    QVERIFY(table.shedColumns().contains(table.columnOf("source")) &&
            !table.shedColumns().contains(table.columnOf("token")));
    QVERIFY(table.shedTexts(0).contains("source: prompt"));
    QCOMPARE(table.tsv(), all);  // copies lose nothing
    view.resize(900, 400);
    QTRY_VERIFY(table.shedColumns().isEmpty() && !table.isColumnHidden(table.columnOf("source")));
  }
  void modelsKeepTheirPromises() {
    FakeContext context;
    MirrorView mirror(context, nullptr);
    LedgerTableView ledger(context, nullptr);
    HistoryView history(context, nullptr);
    using Tester = QAbstractItemModelTester;
    Tester one(&mirror.model(), Tester::FailureReportingMode::QtTest),
        two(&ledger.model(), Tester::FailureReportingMode::QtTest),
        three(&history.model(), Tester::FailureReportingMode::QtTest);
    for (InspectorView* view : {static_cast<InspectorView*>(&mirror), static_cast<InspectorView*>(&ledger),
                                static_cast<InspectorView*>(&history)})
      QVERIFY(golden::settle(*view));
    for (std::int64_t tick : {3, 9, 20, 0, 12}) context.showTick(Tick(tick));
    for (int id : {3, 8, 40, 90}) context.focusLedger(LedgerId(id));
    QVERIFY(static_cast<bool>(ledger.setOption("state", "ghosts")));
    QVERIFY(static_cast<bool>(ledger.setOption("text", "e")));
    QVERIFY(static_cast<bool>(mirror.setOption("wrong", true)));
    QVERIFY(static_cast<bool>(mirror.setOption("layers", "all")));
    QTest::qWait(50);
    QCOMPARE(ledger.model().columnCount(), 10);
  }

  void mirrorInStepIsGreen() {
    for (int layer = 0; layer < 4; ++layer) QVERIFY(mirrorOf(*last(), CacheLayer(layer)).findings.empty());
  }
  void mirrorFindsSwappedRows() {
    const SnapshotPtr bad = damaged(last(), [](auto& ids, auto&, auto&) { std::swap(ids[10], ids[11]); });
    const MirrorLayer mirror = mirrorOf(*bad, CacheLayer(2));
    QCOMPARE(mirror.findings.size(), std::size_t{1});
    QVERIFY(mirror.findings[0].index == 10 || mirror.findings[0].index == 11);
    QVERIFY(mirrorOf(*bad, CacheLayer(1)).findings.empty());
  }
  void mirrorBlamesTheOneThatMoved() {
    const SnapshotPtr bad = damaged(
        last(), [](auto& ids, auto&, auto&) { std::rotate(ids.begin() + 5, ids.begin() + 50, ids.begin() + 51); });
    const MirrorLayer mirror = mirrorOf(*bad, CacheLayer(2));
    QCOMPARE(mirror.findings.size(), std::size_t{1});
    QCOMPARE(mirror.findings[0].index, 5);
  }
  void mirrorFindsARowOfNowhere() {
    const LedgerId ghost(8);  // replaced in tick 5
    const SnapshotPtr bad = damaged(last(), [&](auto& ids, auto&, auto&) { ids[20] = ghost; });
    const MirrorLayer mirror = mirrorOf(*bad, CacheLayer(2));
    QCOMPARE(mirror.findings.size(), std::size_t{1});
    QCOMPARE(mirror.findings[0].position, -1);
    FakeContext context(bad);
    context.setFocus(Focus{bad->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    MirrorView view(context, nullptr);
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().rowCount(), bad->length() + 1);
    QVERIFY(view.dump().contains("one line is wrong"));
  }
  void mirrorFindsSharedSlotsAndFallingPhases() {
    const SnapshotPtr bad =
        damaged(last(), [](auto&, auto& slotOf, auto& phases) { slotOf[9] = slotOf[4], phases[30] = phases[29]; });
    const MirrorLayer mirror = mirrorOf(*bad, CacheLayer(2));
    QCOMPARE(mirror.findings.size(), std::size_t{2});
    QVERIFY(mirror.findings[0].what.contains("slot"));
    QVERIFY(mirror.findings[1].what.contains("phase"));
  }
  void mirrorNamesTheCauseAndGoesThere() {
    FakeContext context(fixture::Options{true});
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    MirrorView view(context, nullptr);
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().contains("broken between tick 16 (verified) and tick 17 (found): step (tick 17: evict)"),
             qPrintable(view.dump().left(200)));
    QSignalSpy said(&context, &InspectorContext::scripted);
    view.goToNextBad();
    QVERIFY(context.focus().position.value() >= 0);
    QCOMPARE(said.count(), 1);
  }
  /// The damage is in layer 2: the line below tells it, and Next wrong goes there, whichever layer is shown.
  void mirrorTellsFindingsOfOtherLayers() {
    FakeContext context(fixture::Options{true});
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
    MirrorView view(context, nullptr);
    QVERIFY(view.setOption("wrong", true));
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().badCount(), 0);
    QVERIFY2(view.dump().contains("✕ 1 finding in layer 2"), qPrintable(view.dump()));
    QVERIFY(!view.dump().contains("in step"));
    view.goToNextBad();
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QVERIFY(context.focus().position.value() >= 0);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().contains("is wrong") || view.dump().contains("are wrong"), qPrintable(view.dump()));
  }
  /// Only checked rows are green, with the tick of the check.
  void mirrorSaysWhatWasChecked() {
    FakeContext context;
    MirrorView view(context, nullptr);
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().startsWith("mirror: tick 20, ✓ in step, checked after tick 20\n"),
             qPrintable(view.dump().left(99)));
    auto later = std::make_shared<Snapshot>(*context.snapshot());
    later->serial += 1, later->alignment.unchecked = "fault (tick 20)";
    context.push(later);
    QVERIFY(golden::settle(view));
    QVERIFY2(view.dump().startsWith("mirror: tick 20, ○ not checked since tick 20: then came fault (tick 20)\n"),
             qPrintable(view.dump().left(99)));
  }
  void mirrorKnowsWrongTags() {
    FakeContext context;
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(1), Head(0), Position(-1), LedgerId(-1)});
    auto honest = context.answers["rows"];
    context.answers["rows"] = [honest](const nlohmann::json& args) {
      auto reply = honest(args);
      (*reply)[3]["tag"] = 77;
      (*reply)[4]["tag"] = 14909942958187351376u;  // tag of a row whose scales came apart from it
      return reply;
    };
    MirrorView view(context, nullptr);
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    QVERIFY(view.dump().contains("written for ledger row 77"));
    QVERIFY2(view.dump().contains("tag: 14909942958187351376 is no row of the ledger"), qPrintable(view.dump()));
  }
  void mirrorScrollsOverTheWholeContext() {
    FakeContext context(fixture::hugeSnapshot(2, 131072));
    MirrorView view(context, nullptr);
    view.resize(600, 500);
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().rowCount(), 131072);
    context.focusPosition(Position(131071));
    QCOMPARE(view.table().currentIndex().row(), 131071);
    QVERIFY(golden::settle(view));
    QVERIFY(!view.picture({600, 500}, 1).isNull());
  }

  void ledgerFilters_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("state");
    QTest::newRow("all") << ""
                         << "all";
    QTest::newRow("ghosts") << ""
                            << "ghosts";
    QTest::newRow("word") << "LANTERN"
                          << "all";
    QTest::newRow("number") << "17"
                            << "all";
    QTest::newRow("evicted") << ""
                             << "evicted";
    QTest::newRow("edited word") << "boat"
                                 << "edited";
  }
  /// Against a plain loop over the ledger.
  void ledgerFilters() {
    QFETCH(QString, text);
    QFETCH(QString, state);
    FakeContext context;
    LedgerTableView view(context, nullptr);
    QVERIFY(golden::settle(view));
    QVERIFY(static_cast<bool>(view.setOption("text", text.toStdString())));
    QVERIFY(static_cast<bool>(view.setOption("state", state.toStdString())));
    const Snapshot& s = *context.snapshot();
    std::vector<int> expected;
    for (std::size_t i = 0; i < s.ledger.size(); ++i) {
      const LedgerId id(static_cast<std::int32_t>(i));
      const bool inside = std::find(s.context.begin(), s.context.end(), id) != s.context.end();
      const LedgerRow& row = s.ledger[id];
      const bool edited = row.source == Source::Replacement || row.source == Source::Insertion || !row.children.empty();
      const bool stateFits = state == "all" || (state == "ghosts" && !inside) ||
          (state == "evicted" && row.state == RowState::Evicted) || (state == "edited" && edited);
      const bool textFits =
          text.isEmpty() || text == QString::number(i) || tokenText(s, id).contains(text, Qt::CaseInsensitive);
      if (stateFits && textFits) expected.push_back(id.value());
    }
    QVERIFY(!expected.empty());
    std::vector<int> actual;
    for (int row = 0; row < view.model().rowCount(); ++row) actual.push_back(view.model().idOf(row).value());
    QCOMPARE(actual, expected);
    for (int id : expected) QCOMPARE(view.model().idOf(view.model().rowOf(LedgerId(id))).value(), id);
  }
  /// The filter follows the selection.
  void ledgerShowsTheSelected() {
    FakeContext context;
    LedgerTableView view(context, nullptr);
    QVERIFY(golden::settle(view));
    context.select({LedgerId(3), LedgerId(8), LedgerId(40)});
    QVERIFY(static_cast<bool>(view.setOption("state", "selected")));
    QCOMPARE(view.model().rowCount(), 3);
    QCOMPARE(view.model().idOf(1), LedgerId(8));
    context.select({LedgerId(5)});
    QCOMPARE(view.model().rowCount(), 1);
    context.select({});
    QCOMPARE(view.model().rowCount(), 0);
  }
  /// Reads are told by tick, with the share of the attention.
  void historyTellsReads() {
    FakeContext context;
    context.answers["reads"] = [](const nlohmann::json& args) {
      const nlohmann::json one{{"tick", 7}, {"verb", "step"}, {"args", nullptr}, {"mass", 0.125}};
      return Result<nlohmann::json>(args.contains("layer") ? nlohmann::json::array({one}) : nlohmann::json());
    };
    HistoryView view(context, nullptr);
    context.focusLedger(LedgerId(12));
    QVERIFY(static_cast<bool>(view.setOption("rows", "reads")));
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().rowCount(), 1);
    QVERIFY2(view.dump().contains("7\tread\t0\t12.5 %"), qPrintable(view.dump()));
  }
  /// Choices are told with score and rank, and plotted over ticks beside the threshold.
  void historyTellsChoices() {
    FakeContext context;
    context.answers["decisions"] = [](const nlohmann::json&) {
      const auto one = [](int tick, double score) {
        return nlohmann::json{{"tick", tick},
                              {"layer", 0},
                              {"event", "kept"},
                              {"score", score},
                              {"threshold", 0.2},
                              {"rank", 3},
                              {"detail", "kept by h2o: score, rank 3 of 9"}};
      };
      return nlohmann::json::array({one(7, 0.5), one(8, 0.4)});
    };
    HistoryView view(context, nullptr);
    context.focusLedger(LedgerId(12));
    QVERIFY(golden::settle(view));
    QVERIFY(view.course().isHidden());
    QVERIFY(static_cast<bool>(view.setOption("rows", "choices")));
    QVERIFY(golden::settle(view));
    QCOMPARE(context.queried.back().args, (nlohmann::json{{"ledger", 12}, {"layer", 0}}));
    QVERIFY2(view.dump().contains("8\tkept\t0\tkept by h2o"), qPrintable(view.dump()));
    QCOMPARE(view.course().points(), 2);
    QVERIFY(!view.course().isHidden());
  }
  void ledgerClickFocuses() {
    FakeContext context;
    LedgerTableView view(context, nullptr);
    view.resize(600, 500);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
    view.table().setFocus();
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mouseClick(view.table().viewport(), Qt::LeftButton, {},
                      view.table().visualRect(view.model().index(6, 0)).center());
    QCOMPARE(context.focus().ledger, LedgerId(6));
    QCOMPARE(context.focus().position, Position(6));
    QCOMPARE(said.count(), 1);
    QCOMPARE(said[0][0].toString(), QString("view.focus({layer: 0, ledger: 6})"));
    QTest::keyClick(&view.table(), Qt::Key_Down);
    QCOMPARE(context.focus().ledger, LedgerId(7));
  }
  /// A row that left keeps the brightness it had; a live one shows the tile's.
  void ledgerKnowsBrightness() {
    FakeContext context;
    LedgerTableView view(context, nullptr);
    QVERIFY(golden::settle(view));
    const Snapshot& s = *context.snapshot();
    for (std::size_t i = 0; i < s.ledger.size(); ++i) {
      const LedgerId id(static_cast<std::int32_t>(i));
      if (s.ledger[id].state == RowState::Replaced)
        QCOMPARE(view.model().brightnessOf(id), std::optional(s.ledger[id].brightness));
    }
    const auto tile = FakeContext::makeTile(s, TileRequest{Quantity::Brightness});
    QCOMPARE(view.model().brightnessOf(s.context[60]), std::optional(tile->values[60]));
  }
  void ledgerGrowsWithoutReset() {
    FakeContext context(fixture::Options{false, 8});
    const auto all = fixture::Session().history();
    LedgerTableView view(context, nullptr);
    QVERIFY(golden::settle(view));
    view.show();
    QSignalSpy reset(&view.model(), &QAbstractItemModel::modelReset),
        added(&view.model(), &QAbstractItemModel::rowsInserted);
    auto next = std::make_shared<Snapshot>(*all[9]);
    next->info = context.snapshot()->info;
    const int before = view.model().rowCount();
    context.push(next);
    QCOMPARE(reset.count(), 0);
    QCOMPARE(added.count(), 1);
    QCOMPARE(view.model().rowCount(), static_cast<int>(next->ledger.size()));
    QVERIFY(view.model().rowCount() > before);
  }
  void ledgerOfAMillion() {
    FakeContext context(fixture::hugeSnapshot(1, 1000000));
    LedgerTableView view(context, nullptr);
    view.resize(600, 500);
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().rowCount(), 1000000);
    QVERIFY(static_cast<bool>(view.setOption("text", "lantern")));
    QVERIFY(view.model().rowCount() > 1000 && view.model().rowCount() < 1000000);
    QVERIFY(!view.picture({600, 500}, 1).isNull());
  }

  void historyFollowsTheFocusAndGoesThere() {
    FakeContext context;
    HistoryView view(context, nullptr);
    view.resize(500, 500);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    context.focusLedger(LedgerId(8));
    QVERIFY(golden::settle(view));
    QVERIFY(view.model().rowCount() >= 2);
    QCOMPARE(view.model().events().back().event, QString("replaced"));
    QSignalSpy said(&context, &InspectorContext::scripted);
    view.table().setFocus();
    const int lastRow = view.model().rowCount() - 1;
    QTest::mouseClick(view.table().viewport(), Qt::LeftButton, {},
                      view.table().visualRect(view.model().index(lastRow, 1)).center());
    QCOMPARE(context.snapshot()->tick, Tick(5));
    QCOMPARE(said.count(), 1);
    QCOMPARE(said[0][0].toString(), QString("view.focus({tick: 5})"));
  }
  /// Only a hand moves the tick: neither the keyboard's arrival nor a script's focus does.
  void historyStaysWhereItIs() {
    FakeContext context;
    HistoryView view(context, nullptr);
    view.resize(500, 500);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    const Tick before = context.snapshot()->tick;
    QSignalSpy said(&context, &InspectorContext::scripted);
    for (int id : {8, 3, 8, 40}) {
      context.focusLedger(LedgerId(id));
      view.table().setFocus();
      QVERIFY(golden::settle(view));
      view.table().setCurrentIndex(view.model().index(view.model().rowCount() - 1, 0));
      view.table().clearFocus();
    }
    QCOMPARE(context.snapshot()->tick, before);
    QCOMPARE(said.count(), 0);
    view.table().setCurrentIndex(view.model().index(0, 0));  // a click on the current line counts
    QTest::mouseClick(view.table().viewport(), Qt::LeftButton, {},
                      view.table().visualRect(view.model().index(0, 1)).center());
    QCOMPARE(said.count(), 1);
    QCOMPARE(context.snapshot()->tick, view.model().events().front().tick);
  }
  void historyLeadsToTheFamily() {
    FakeContext context;
    HistoryView view(context, nullptr);
    context.focusLedger(LedgerId(8));
    QVERIFY(golden::settle(view));
    const LedgerId heir = context.snapshot()->ledger[LedgerId(8)].children.front();
    const auto buttons = view.findChild<RowCard*>()->findChildren<QToolButton*>();
    QCOMPARE(buttons.size(), 1);
    buttons.front()->click();
    QCOMPARE(context.focus().ledger, heir);
  }
  /// The same view tells the story of the row in the focused layer; while the engine works, it is not asked again.
  void historyTellsOfOneLayer() {
    FakeContext context;
    nlohmann::json asked;
    context.answers["story"] = [&](const nlohmann::json& args) -> Result<nlohmann::json> {
      asked = args;
      return nlohmann::json::parse(R"([
        {"tick":2,"verb":"prompt","event":"computed","wrote":true,"slot":8,"phase":8,"exactness":"exact","detail":""},
        {"tick":5,"verb":"inject","event":"became_stale","wrote":false,"slot":8,"phase":8,"exactness":"context_edited","detail":"context_edited"},
        {"tick":9,"verb":"step","event":"left","wrote":false,"slot":null,"phase":null,"exactness":"context_edited","detail":"evicted by h2o"}])");
    };
    HistoryView view(context, nullptr);
    context.focusLedger(LedgerId(8));
    context.focusLayer(CacheLayer(3));
    QVERIFY(static_cast<bool>(view.setOption("rows", "layer")));
    QVERIFY(golden::settle(view));
    QCOMPARE(asked["ledger"].get<int>(), 8);
    QCOMPARE(asked["layer"].get<int>(), 3);
    const QString said = view.dump();
    QVERIFY2(said.contains("slot 8, phase 8; prompt"), qPrintable(said));
    QVERIFY2(said.contains("context edited; inject"), qPrintable(said));
    QVERIFY2(said.contains("evicted by h2o; step"), qPrintable(said));
    asked = {};
    context.focusLayer(CacheLayer(1));
    QVERIFY(golden::settle(view));
    QCOMPARE(asked["layer"].get<int>(), 1);
  }
  /// A story may cost the engine as much as the ticks did.
  void hiddenHistoryAsksNothing() {
    FakeContext context;
    int asked = 0;
    context.answers["story"] = [&](const nlohmann::json&) {
      ++asked;
      return Result<nlohmann::json>(nlohmann::json::array());
    };
    HistoryView view(context, nullptr);
    QVERIFY(static_cast<bool>(view.setOption("rows", "layer")));
    asked = 0;
    context.focusLedger(LedgerId(8));
    emit context.busyChanged();
    QCOMPARE(asked, 0);
    view.show();
    QTRY_COMPARE(asked, 1);
  }
  void historySaysWhatWentWrong() {
    FakeContext context;
    context.answers["history"] = [](const nlohmann::json&) -> Result<nlohmann::json> {
      return Error("busy", "history was refused", "the engine is busy", "ask again");
    };
    HistoryView view(context, nullptr);
    context.focusLedger(LedgerId(8));
    QVERIFY(golden::settle(view));
    QVERIFY(view.dump().contains("the engine is busy; ask again"));
  }

  void ghostsStandWhereTheyStood() {
    const SnapshotPtr s = last();
    const auto chips = chipsOf(*s, {}, true);
    QCOMPARE(chips.size(), s->ledger.size());
    for (std::size_t i = 0; i < chips.size(); ++i) {
      if (chips[i].position >= 0) continue;
      const LedgerRow& row = s->ledger[chips[i].ledger];
      if (row.state != RowState::Replaced) continue;
      std::size_t next = i;
      while (chips[next].position < 0) ++next;
      QCOMPARE(chips[next].ledger, row.children.front());
    }
    QCOMPARE(chipsOf(*s, {}, false).size(), s->context.size());
  }
  void stripSelectsAndCopies() {
    FakeContext context;
    StripView view(context, nullptr);
    view.resize(900, 300);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(static_cast<bool>(view.setOption("ghosts", false)));
    QVERIFY(golden::settle(view));
    TokenText& text = view.text();
    QTest::mouseClick(text.viewport(), Qt::LeftButton, {}, text.chipRect(1).center());
    QCOMPARE(context.focus().position, Position(1));
    QTest::mouseClick(text.viewport(), Qt::LeftButton, Qt::ShiftModifier, text.chipRect(4).center());
    QCOMPARE(text.selectedText(), QString("Mara went to the"));
    view.copySelection();
    QCOMPARE(qApp->clipboard()->text(), QString("Mara went to the"));
    QCOMPARE(context.focus().position, Position(4));
    QTest::keyClick(&text, Qt::Key_Right);
    QCOMPARE(context.focus().position, Position(5));
    QVERIFY(text.selectedText().isEmpty());
  }
};

KV_TEST(TablesTest)
#include "tables_test.moc"
