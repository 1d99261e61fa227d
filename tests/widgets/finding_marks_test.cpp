// SPDX-License-Identifier: GPL-3.0-or-later
// Findings of checks: one lookup by row and layer, told by every view that shows the row, with the ticks between which
// the damage came.
#include <QToolTip>

#include "fake_context.h"
#include "golden.h"
#include "open_view.h"
#include "support/runner.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/finding_marks.h"
#include "widgets/base/view_registry.h"
#include "widgets/table/data_table.h"
#include "widgets/views/events/event_model.h"
#include "widgets/views/events/tick_strip.h"
#include "widgets/views/ledger/ledger_view.h"
#include "widgets/views/map/map_view.h"
#include "widgets/views/mirror/mirror_view.h"
#include "widgets/views/smartkv/band_canvas.h"

using namespace kvlab;

namespace {

Finding found(const char* invariant, std::optional<CacheLayer> layer, std::optional<LedgerId> row) {
  const DamageSince since{.verified = Tick(12), .found = Tick(20)};
  return {{invariant, "wrong", layer, {}, row, since}, "2 commits came in between"};
}

SnapshotPtr with(const SnapshotPtr& sound, std::vector<Finding> findings) {
  auto out = std::make_shared<Snapshot>(*sound);
  out->alignment.findings = std::move(findings);
  return out;
}

fixture::Options brokenFor(const QString& id) {
  fixture::Options options;
  options.broken = true;
  options.mixed = id == "rings" || id == "storage";
  options.policies = id == "smartkv";
  options.lanes = id == "lanes";
  options.quant = id == "quant";
  options.wlod = id == "tree";
  return options;
}

}  // namespace

class FindingMarksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rowsAndLayersAreFound() {
    const SnapshotPtr sound = FakeContext().snapshot();
    const LedgerId row = sound->context[7], other = sound->context[8], ghost(4);
    const FindingMarks marks(*with(sound,
                                   {found("row_tags", CacheLayer(1), row), found("brightness_range", {}, other),
                                    found("slots", CacheLayer(3), {})}));
    QVERIFY(FindingMarks(*sound).empty());
    QVERIFY(marks.of(row) && marks.of(row, CacheLayer(1)) && !marks.of(row, CacheLayer(0)));
    QVERIFY(marks.of(other, CacheLayer(0)) && marks.of(other, CacheLayer(3)));
    QVERIFY(marks.in(CacheLayer(1)) && marks.in(CacheLayer(3)) && !marks.in(CacheLayer(0)));
    QVERIFY(!marks.of(ghost) && !marks.of(LedgerId(-1)) && marks.text(LedgerId(-1)).isEmpty());
    QCOMPARE(marks.all()[0].position, 7);
    QCOMPARE(
        marks.text(row),
        QStringLiteral("✕ row_tags broken between tick 12 (verified) and tick 20 (found): wrong; 2 commits came in "
                       "between"));
    QVERIFY(marks.text(CacheLayer(3)).contains("slots") && marks.text(row, CacheLayer(3)).isEmpty());
  }

  /// Each view tells the check and the interval of its focused row.
  void viewsTellTheInterval_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("says");
    const char* interval = "tags broken between tick 16 (verified) and tick 17 (found)";
    for (const char* id :
         {"map", "strip", "rings", "storage", "smartkv", "mirror", "events", "row", "attention", "quant"})
      QTest::newRow(id) << QString(id) << QString(interval);
    QTest::newRow("tree") << "tree"
                          << "row_checksums broken between tick 12 (verified) and tick 41 (found)";
    QTest::newRow("lanes") << "lanes"
                           << "lane 0 resident, ✕ found wrong";
    QTest::newRow("ledger") << "ledger"
                            << "✕ wrong";
  }
  void viewsTellTheInterval() {
    QFETCH(QString, id);
    QFETCH(QString, says);
    Theme::apply(*qApp, "dark");
    FakeContext context(brokenFor(id));
    const SnapshotPtr s = context.snapshot();
    const std::unique_ptr<InspectorView> view(makeView(*findView(id), context, nullptr));
    const Violation& first = s->alignment.findings.front().violation;
    context.focusLayer(*first.layer);
    context.focusLedger(violatedRow(*s, first).value_or(LedgerId(-1)));
    if (id == "quant" || id == "attention") QVERIFY(view->setOption("follow", true));
    view->resize(900, 500);
    QVERIFY(golden::settle(*view));
    QString told = view->dump();
    if (id == "quant")
      told = view->findChild<DataTable*>()->model()->index(first.layer->value(), 0).data(Qt::ToolTipRole).toString();
    if (id == "strip") told = view->findChild<QLabel*>("readout")->text();
    if (id == "smartkv") told = view->findChild<BandCanvas*>()->readout();
    if (id == "events") {
      const auto* model = view->findChild<EventModel*>();
      const QModelIndexList marked = model->match(model->index(0, 0), Qt::DisplayRole, QStringLiteral("✕ layer 2"), 1,
                                                  Qt::MatchStartsWith | Qt::MatchRecursive);
      QCOMPARE(marked.size(), qsizetype{1});
      told = marked[0].data(Qt::ToolTipRole).toString();
    }
    QVERIFY2(told.contains(says), qPrintable(told));
  }

  /// Cells without a finding keep the tool tip of the canvas.
  void tipsNameTheCheck() {
    FakeContext context(brokenFor("map"));
    const auto view = open<MapView>(context, QSize(900, 400));
    const auto tip = [&](int position) {
      const QRect box = view->canvas().rowRect(Position(position));
      QHelpEvent help(QEvent::ToolTip, box.center(), view->canvas().mapToGlobal(box.center()));
      QCoreApplication::sendEvent(&view->canvas(), &help);
      return QToolTip::text();
    };
    context.focusLayer(CacheLayer(2));
    const int wrong = findingPosition(*context.snapshot(), context.snapshot()->alignment.findings.front());
    QVERIFY2(tip(wrong).contains("✕ tags broken between tick 16 (verified) and tick 17"), qPrintable(tip(wrong)));
    context.focusLayer(CacheLayer(1));
    QVERIFY2(!tip(wrong).contains("tags broken"), qPrintable(tip(wrong)));
  }

  void theLedgerFiltersWrongRows() {
    FakeContext context(brokenFor("ledger"));
    LedgerTableView view(context, nullptr);
    QVERIFY(view.setOption("state", "wrong"));
    QVERIFY(golden::settle(view));
    QCOMPARE(view.model().rowCount(), 1);
    QVERIFY(view.model().index(0, 0).data(kBadRole).toBool());
    QVERIFY(view.model().index(0, 0).data(Qt::ToolTipRole).toString().contains("tags broken"));
    QVERIFY2(view.dump().contains("1 of 100 ledger rows"), qPrintable(view.dump().left(99)));
  }

  /// Next wrong goes through the lines of the shown layer, then to those of the others, and comes back.
  void nextWrongVisitsAllLayers() {
    const SnapshotPtr sound = FakeContext().snapshot();
    std::vector<Finding> findings;
    for (const auto& [layer, position] : {std::pair{0, 5}, {0, 30}, {1, 9}, {3, 2}}) {
      const LedgerId row = sound->context[at(position)];
      const auto& rows = sound->layers[at(layer)]->ledger;
      findings.push_back(found("row_tags", CacheLayer(layer), row));
      findings.back().violation.index =
          Index(static_cast<std::int32_t>(std::find(rows.begin(), rows.end(), row) - rows.begin()));
    }
    FakeContext context(with(sound, findings));
    context.setFocus(Focus{sound->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
    MirrorView view(context, nullptr);
    view.resize(700, 500);
    QVERIFY(golden::settle(view));
    std::vector<std::pair<int, int>> visited;
    for (int i = 0; i < 5; ++i) {
      view.goToNextBad();
      QVERIFY(golden::settle(view));
      visited.emplace_back(context.focus().layer.value(), context.focus().position.value());
    }
    QCOMPARE(visited, (std::vector<std::pair<int, int>>{{0, 5}, {0, 30}, {1, 9}, {3, 2}, {0, 5}}));
  }

  /// The line below is as high as its text needs.
  void theMirrorCutsNothingOff() {
    FakeContext context(brokenFor("mirror"));
    const auto& finding = context.snapshot()->alignment.findings.front();
    context.focusLayer(CacheLayer(2));
    context.focusPosition(Position(findingPosition(*context.snapshot(), finding)));
    const auto view = open<MirrorView>(context, QSize(420, 500));
    QCoreApplication::processEvents();
    const auto* line = view->findChild<QLabel*>("readout");
    QVERIFY(line->text().contains(QString::fromStdString(finding.blame)));
    QVERIFY2(line->height() >= line->heightForWidth(line->width()), qPrintable(QString::number(line->height())));
  }

  /// Damage is blamed on all ticks in which it may have come, and on no other.
  void ticksInWhichDamageMayHaveCome() {
    const auto history = FakeContext().history();
    const auto blamed = [&](const DamageSince& since) {
      Finding one = found("row_checksums", CacheLayer(0), {});
      one.violation.since = since;
      std::vector<int> out;
      for (int tick = 0; tick <= 20; ++tick) {
        TickStrip strip(nullptr);
        strip.show(history, Tick(tick), {one});
        if (strip.accessibleDescription().contains("may have come in this tick")) out.push_back(tick);
      }
      return out;
    };
    using Ticks = std::vector<int>;
    QCOMPARE(blamed({.verified = Tick(12), .found = Tick(15)}), (Ticks{13, 14, 15}));
    QCOMPARE(blamed({.computed = Tick(12), .found = Tick(14)}), (Ticks{12, 13, 14}));
    QCOMPARE(blamed({.verified = Tick(3), .found = Tick(3)}), (Ticks{3}));
    QCOMPARE(blamed({.verified = Tick(5), .found = Tick(6), .reached = Tick(8)}), (Ticks{6, 7, 8}));
  }
};

KV_TEST(FindingMarksTest)
#include "finding_marks_test.moc"
