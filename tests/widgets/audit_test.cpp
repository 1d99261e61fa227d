// SPDX-License-Identifier: GPL-3.0-or-later
// The audit of policies: its red and calm states, its sums, the order of the lines, and the menu that sets a policy.
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>
#include <set>

#include "core/api/policy_spec.h"
#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/audit/audit_view.h"

using namespace kvlab;

namespace {
/// The last snapshot of the fixture with another audit.
template <class Change>
SnapshotPtr changedValue(const Change& change) {
  static const std::vector<SnapshotPtr> all = fixture::Session(fixture::withPolicies()).history();
  auto s = std::make_shared<Snapshot>(*all.back());
  PolicyAudit audit = *s->policies;
  change(audit);
  s->policies = std::make_shared<const PolicyAudit>(std::move(audit));
  return s;
}

AuditState stateOf(const SnapshotPtr& s, std::size_t layer) { return auditLines(*s, {s})[layer].state; }
}  // namespace

class AuditTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void statesOfTheFixture() {
    FakeContext context(fixture::withPolicies());
    const std::vector<AuditLine> lines = auditLines(*context.snapshot(), context.history());
    QCOMPARE(lines.size(), std::size_t{4});
    QCOMPARE(lines[0].state, AuditState::Room);
    QCOMPARE(lines[1].state, AuditState::Holds);
    QCOMPARE(lines[2].state, AuditState::Holds);
    QCOMPARE(lines[3].state, AuditState::NoOp);
    QCOMPARE(lines[1].rows, lines[1].audit.requested());
    QCOMPARE(lines[3].said(), QString("no-op, %1 over").arg(lines[3].rows - 44));
  }

  /// Whatever the width, the mark that counts shed columns covers no title.
  void markCoversNoTitle() {
    FakeContext context(fixture::withPolicies());
    AuditView view(context, nullptr);
    int marked = 0;
    for (int width = 320; width <= 1180; width += 20) {
      view.resize(width, 300);
      QVERIFY(golden::settle(view));
      const DataTable& table = view.table();
      const QHeaderView& header = *table.horizontalHeader();
      const auto* mark = header.findChild<QLabel*>("more");
      if (table.shedColumns().isEmpty()) continue;
      int last = header.count() - 1;
      while (table.isColumnHidden(last)) --last;
      if (!(table.model()->headerData(last, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignRight)) continue;
      ++marked;
      const int right = header.sectionViewportPosition(last) + header.sectionSize(last) - table.reservedOf(last);
      const QString title = table.model()->headerData(last, Qt::Horizontal).toString();
      QVERIFY2(right <= mark->x(), qPrintable(QString("%1 at %2").arg(title).arg(width)));
      QVERIFY2(header.sectionSize(last) - table.reservedOf(last) >=
                   QFontMetrics(header.font()).horizontalAdvance(title) + 12,
               qPrintable(QString("%1 at %2").arg(title).arg(width)));
    }
    QVERIFY(marked > 5);
  }

  /// Red: too many rows after having fired, or without ever; calm: fewer than requested, or not decided yet.
  void redAndCalm() {
    QCOMPARE(stateOf(changedValue([](PolicyAudit& a) { a.layers[2].bands.budget = 10; }), 2), AuditState::Over);
    QCOMPARE(stateOf(changedValue([](PolicyAudit& a) { a.layers[2].bands.budget = 10, a.layers[2].fired.reset(); }), 2),
             AuditState::NoOp);
    QCOMPARE(
        stateOf(changedValue([](PolicyAudit& a) { a.layers[2].bands.budget = 10, a.layers[2].protectedRows = 14; }), 2),
        AuditState::Holds);
    QCOMPARE(stateOf(changedValue([](PolicyAudit& a) { a.layers[3].bounded = false; }), 3), AuditState::Waits);
    QCOMPARE(stateOf(changedValue([](PolicyAudit& a) { a.layers[3] = {}, a.layers[3].policy = "full"; }), 3),
             AuditState::KeepsAll);
    QCOMPARE(stateOf(changedValue([](PolicyAudit& a) { a.layers[3].bands.budget = 600; }), 3), AuditState::Room);
  }

  /// A policy that never fired although there once were too many rows stays a no-op when they left otherwise.
  void aNoOpIsRemembered() {
    FakeContext context(fixture::withPolicies());
    const auto now = changedValue([](PolicyAudit&) {});
    auto few = std::make_shared<Snapshot>(*now);
    auto map = std::make_shared<ResidencyView>();
    for (int i = 0; i < 10; ++i)
      map->ledger.push_back(now->layers[3]->ledger[static_cast<std::size_t>(i)]), map->slotOf.push_back(Slot(i)),
          map->phases.push_back(i);
    few->layers[3] = map;
    PolicyAudit audit = *now->policies;
    audit.layers[3].rows = 10;
    few->policies = std::make_shared<const PolicyAudit>(audit);
    QCOMPARE(auditLines(*few, {few})[3].state, AuditState::Room);
    QCOMPARE(auditLines(*few, {now, few})[3].state, AuditState::NoOp);
    audit.layers[3].bands.window = 25;  // asked for something else since
    few->policies = std::make_shared<const PolicyAudit>(audit);
    QCOMPARE(auditLines(*few, {now, few})[3].state, AuditState::Room);
  }

  void totalsAddUp() {
    FakeContext context(fixture::withPolicies());
    const Snapshot& s = *context.snapshot();
    const AuditTotal t = totalOf(auditLines(s, context.history()));
    std::int64_t rows = 0;
    for (const auto& layer : s.layers) rows += static_cast<std::int64_t>(layer->resident());
    QCOMPARE(t.rows, rows);
    QCOMPARE(t.bytes, rows * 256);
    QCOMPARE(t.fullRows, std::int64_t{4} * s.length());
    QCOMPARE(t.bad, 1);
  }

  void linesFocusAndOrder() {
    FakeContext context(fixture::withPolicies());
    AuditView view(context, nullptr);
    view.setObjectName("audit");
    show(view);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(0), Head(0), Position(-1), LedgerId(-1)});
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::keyClick(&view.table(), Qt::Key_Down);
    QCOMPARE(context.focus().layer, CacheLayer(1));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 1})"));
    QHeaderView* header = view.table().horizontalHeader();
    QTest::mouseClick(header->viewport(), Qt::LeftButton, {},
                      QPoint(header->sectionViewportPosition(view.table().columnOf("rows")) + 20, 8));
    QCOMPARE(said.last().at(0).toString(), QString("view.set(\"audit\", {sort: \"rows\"})"));
    QCOMPARE(layers(view), (QList<int>{2, 1, 3, 0}));
    QCOMPARE(view.table().currentIndex().row(), 1);  // layer 1 still
    QVERIFY(static_cast<bool>(view.setOption("sort", "-rows")));
    QCOMPARE(layers(view), (QList<int>{0, 3, 1, 2}));
    QVERIFY(static_cast<bool>(view.setOption("sort", "state")));
    QCOMPARE(layers(view).first(), 3);  // layers with a fault come first
    QVERIFY(!view.setOption("sort", "colour"));
    QTest::keyClick(&view.table(), Qt::Key_S);
    QCOMPARE(view.options()["sort"], nlohmann::json("requested"));
  }

  void menuSetsPolicies() {
    FakeContext context(fixture::withPolicies());
    AuditView view(context, nullptr);
    view.setObjectName("audit");
    show(view);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(3), Head(0), Position(-1), LedgerId(-1)});
    auto* button = view.findChild<QToolButton*>();
    int entries = 0;
    std::set<std::string> names;
    for (QAction* top : button->menu()->actions())
      for (QAction* one : top->menu() ? top->menu()->actions() : QList<QAction*>{top}) {
        if (one->isSeparator() || !one->isEnabled()) continue;
        one->trigger();
        QCOMPARE(context.commands.size(), static_cast<std::size_t>(++entries));
        QCOMPARE(context.commands.back().verb, std::string("policy_set"));
        const auto spec = PolicySpec::fromJson(context.commands.back().args["policy"]);
        QVERIFY2(static_cast<bool>(spec), context.commands.back().args.dump().c_str());
        QVERIFY(!context.commands.back().args.contains("layer"));
        names.insert(spec->name);
      }
    QCOMPARE(names.size(), policies().size());
    QVERIFY(static_cast<bool>(view.setOption("change", "layer")));
    button->menu()->actions().first()->trigger();
    QCOMPARE(context.commands.back().args, nlohmann::json({{"policy", "full"}, {"layer", 3}}));
  }

  void prefillingIsSaid() {
    FakeContext context(changedValue([](PolicyAudit& a) {
      a.prefilling = true;
      for (LayerAudit& layer : a.layers) layer.bounded = false;
    }));
    AuditView view(context, nullptr);
    show(view);
    QVERIFY(view.dump().contains("nothing is evicted before it ends"));
    QVERIFY(view.dump().contains("until the prompt ends"));
    QVERIFY(!view.dump().contains("no-op"));
  }

  void fullIsEmptyAndSaysHow() {
    FakeContext context;
    AuditView view(context, nullptr);
    show(view);
    QVERIFY(view.dump().contains("keeps all its rows"));
    QVERIFY(view.tsv().isEmpty());
    QVERIFY(view.findChild<QToolButton*>()->isVisible());
  }

  /// One layer and 64 of them, in a dock as narrow as docks get.
  void manyLayers() {
    for (const std::size_t count : {std::size_t{1}, std::size_t{64}}) {
      FakeContext context(changedValue([&](PolicyAudit& a) { a.layers.resize(count, a.layers[1]); }));
      AuditView view(context, nullptr);
      view.resize(320, 200);
      view.show();
      QVERIFY(golden::settle(view));
      QCOMPARE(view.tsv().count('\n'), static_cast<qsizetype>(count) + 1);
      QCOMPARE(view.table().horizontalScrollBar()->maximum(), 0);
    }
  }

 private:
  static QList<int> layers(AuditView& view) {
    QList<int> out;
    for (int row = 0; row < view.table().model()->rowCount(); ++row)
      out << view.table().model()->index(row, 0).data().toInt();
    return out;
  }
  static void show(AuditView& view) {
    view.resize(1180, 300);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
};

KV_TEST(AuditTest)
#include "audit_test.moc"
