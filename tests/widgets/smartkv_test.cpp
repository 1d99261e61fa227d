// SPDX-License-Identifier: GPL-3.0-or-later
// The view Policy: bands over the context, the competition of a tick, lifespans; with real clicks and keys.
#include <QComboBox>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/canvas/plan_ghosts.h"
#include "widgets/views/smartkv/smartkv_view.h"

using namespace kvlab;

class SmartKvTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// Every resident row is in one band, the bands are in order, and there are as many as were asked for.
  void bandsAreThoseOfTheAudit() {
    FakeContext context(fixture::withPolicies());
    const Snapshot& s = *context.snapshot();
    const std::vector<BandRows> layers = bandRows(s, nullptr);
    QCOMPARE(layers.size(), std::size_t{4});
    for (const std::size_t l : {std::size_t{1}, std::size_t{2}}) {
      const BandRows& one = layers[l];
      QCOMPARE(one.there, s.policies->layers[l].bands);
      std::vector<Band> present;
      for (std::size_t p = 0; p < one.band.size(); ++p) {
        const auto& ids = s.layers[l]->ledger;
        QCOMPARE(one.band[p] != Band::Gone, std::find(ids.begin(), ids.end(), s.context[p]) != ids.end());
        if (one.band[p] != Band::Gone) present.push_back(one.band[p]);
      }
      QVERIFY(std::is_sorted(present.begin(), present.end()));
      QCOMPARE(std::count(present.begin(), present.end(), Band::Budget),
               static_cast<std::ptrdiff_t>(one.requested.budget));
    }
    QCOMPARE(layers[0].there.sinks, 4);
    QCOMPARE(layers[0].there.budget + layers[0].there.sinks + layers[0].there.window,
             s.length() - 1);  // one token has left all layers
    QVERIFY(layers[2].score.empty());
    QVERIFY(std::isnan(layers[2].lowest));
  }

  /// The rows that did not lose are the winners; a loser's margin is against the lowest row of the budget.
  void contestsSayWhoWonAndByHowMuch() {
    FakeContext context(fixture::withPolicies());
    const SnapshotPtr s = context.snapshot();
    const auto tile = FakeContext::makeTile(*s, TileRequest{Quantity::Score});
    const std::vector<BandRows> layers = bandRows(*s, &tile->values);
    ContestModel model;
    model.show(s, layers);
    QVERIFY(!model.lines().empty());
    for (const ContestLine& line : model.lines()) {
      const auto l = at(line.layer);
      QCOMPARE(line.contest.challengerScore, fixture::score(line.contest.challenger, l));
      QCOMPARE(line.won(), line.contest.challenger != line.contest.loser);
      if (line.won()) QVERIFY(line.margin > 0);
      else QVERIFY(line.margin < 0);
      if (!line.won()) QCOMPARE(line.margin, line.contest.challengerScore - layers[l].lowest);
    }
    int lost = 0, won = 0;
    for (const SnapshotPtr& then : context.history()) {
      model.show(then, bandRows(*then, nullptr));
      won += model.won(), lost += static_cast<int>(model.lines().size()) - model.won();
    }
    QVERIFY(won > 5 && lost > 5);
  }

  void clicksAndKeysFocus() {
    FakeContext context(fixture::withPolicies());
    SmartKvView view(context, nullptr);
    show(view);
    QSignalSpy said(&context, &InspectorContext::scripted);
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, view.canvas().middleOf({2, 40}).toPoint());
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(context.focus().position, Position(40));
    QCOMPARE(said.last().at(0).toString(), QString("view.focus({layer: 2, row: 40})"));
    QTest::keyClick(&view.canvas(), Qt::Key_Right);
    QTest::keyClick(&view.canvas(), Qt::Key_Down);
    QCOMPARE(context.focus().layer, CacheLayer(3));
    QCOMPARE(context.focus().position, Position(41));
    QTest::keyClick(&view.canvas(), Qt::Key_End);
    QCOMPARE(context.focus().position.value(), context.snapshot()->length() - 1);
    QVERIFY(view.canvas().readout().contains("window"));
    QTest::keyClick(&view.contests(), Qt::Key_Up);
    QTest::mouseClick(view.contests().viewport(), Qt::LeftButton, {}, QPoint(60, 11));
    QCOMPARE(context.focus().layer, CacheLayer(1));
    QCOMPARE(context.focus().ledger, context.snapshot()->policies->layers[1].contests.front().loser);
    QVERIFY(view.canvas().readout().contains("in this tick"));
  }

  void zoomKeepsTheFocus() {
    FakeContext context(fixture::withPolicies());
    SmartKvView view(context, nullptr);
    show(view);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(60), LedgerId(-1)});
    const double before = view.canvas().middleOf({2, 61}).x() - view.canvas().middleOf({2, 60}).x();
    QTest::keyClick(&view.canvas(), Qt::Key_Plus);
    QVERIFY(view.canvas().middleOf({2, 61}).x() - view.canvas().middleOf({2, 60}).x() > before * 1.3);
    QTest::keyClick(&view.canvas(), Qt::Key_0);
    QVERIFY(std::abs(view.canvas().middleOf({2, 61}).x() - view.canvas().middleOf({2, 60}).x() - before) < 1e-6);
  }

  void ticksWithContestsAreFound() {
    FakeContext context(fixture::withPolicies());
    SmartKvView view(context, nullptr);
    show(view);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    const Tick newest = context.snapshot()->tick;
    QTest::mouseClick(button(view, "Previous competition"), Qt::LeftButton);
    QVERIFY(context.snapshot()->tick < newest);
    QVERIFY(!context.snapshot()->policies->layers[2].contests.empty());
    QTest::mouseClick(button(view, "Next competition"), Qt::LeftButton);
    QCOMPARE(context.snapshot()->tick, newest);
  }

  void lifespansAreAskedForAndShown() {
    FakeContext context(fixture::withPolicies());
    SmartKvView view(context, nullptr);
    show(view);
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    QVERIFY(button(view, "Measure lifespans")->isEnabled());
    QTest::mouseClick(button(view, "Measure lifespans"), Qt::LeftButton);
    QCOMPARE(context.commands.back().verb, std::string("lifespans_measure"));
    QVERIFY(!view.plot().isVisible());
    const LifespanView measured = fixture::lifespans(context.snapshot());
    context.answers["lifespans"] = [&](const nlohmann::json& args) {
      return Result<nlohmann::json>(args["since"] == measured.serial ? nlohmann::json{{"serial", measured.serial}}
                                                                     : toJson(measured));
    };
    Q_EMIT context.busyChanged();
    QTRY_VERIFY(view.plot().isVisible());
    int rows = 0;
    for (const HeadLifespans& head : measured.layers[2]) rows += static_cast<int>(head.predicted.size());
    QCOMPARE(view.plot().points(), rows);
    QVERIFY(static_cast<bool>(view.setOption("head", 1)));
    QCOMPARE(view.plot().points(), static_cast<int>(measured.layers[2][1].predicted.size()));
    QVERIFY(!view.setOption("head", 2));
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(1), Head(0), Position(-1), LedgerId(-1)});
    QVERIFY(!view.plot().isVisible());  // h2o asks no gate
    Q_EMIT context.busyChanged();
    QTRY_COMPARE(context.queried.back().args["since"], nlohmann::json(measured.serial));
  }

  /// By KV head each line is a head, and lifespans are of layers still.
  void lifespansOfAHeadAreThoseOfItsLayer() {
    auto s = std::make_shared<Snapshot>(*FakeContext(fixture::withPolicies()).snapshot());
    auto info = std::make_shared<SessionInfo>(*s->info);
    info->cacheLayers = {2, 2};
    s->info = info;
    FakeContext context{SnapshotPtr(s)};
    SmartKvView view(context, nullptr);
    show(view);
    const LifespanView all = fixture::lifespans(context.snapshot());
    LifespanView measured = all;
    measured.layers = {{}, all.layers[2]};
    context.answers["lifespans"] = [&](const nlohmann::json&) { return Result<nlohmann::json>(toJson(measured)); };
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(3), Head(0), Position(-1), LedgerId(-1)});
    Q_EMIT context.busyChanged();
    QTRY_VERIFY(view.plot().isVisible());
  }

  /// A row that the focused layer dropped: the tick is that of its history, the words and scores those of the choice.
  void theChoiceAboutTheFocusedRowIsTold() {
    FakeContext context(fixture::withPolicies());
    const SnapshotPtr s = context.snapshot();
    const auto& held = s->layers[1]->ledger;
    const auto lost = std::ranges::find_if(
        s->context, [&](LedgerId row) { return std::find(held.begin(), held.end(), row) == held.end(); });
    QVERIFY(lost != s->context.end());
    nlohmann::json asked;
    context.answers["history"] = [](const nlohmann::json&) {
      return Result<nlohmann::json>({{{"tick", 15}, {"kvHead", nullptr}}, {{"tick", 17}, {"kvHead", nullptr}}});
    };
    context.answers["decisions"] = [&](const nlohmann::json& args) -> Result<nlohmann::json> {
      asked = args;
      if (args.contains("ledger")) return nlohmann::json{{{"detail", "dropped by h2o: score 0.01, rank 3 of 3"}}};
      return nlohmann::json{{{"event", "kept"}, {"ledger", 1}, {"score", 0.5}, {"threshold", 0.2}},
                            {{"event", "kept"}, {"ledger", 2}, {"score", 0.2}, {"threshold", 0.2}},
                            {{"event", "dropped"}, {"ledger", lost->value()}, {"score", 0.01}, {"threshold", 0.2}}};
    };
    SmartKvView view(context, nullptr);
    show(view, {900, 600});
    context.setFocus(Focus{s->tick, CacheLayer(1), Head(0), Position(-1), *lost});
    QTRY_VERIFY2(view.choice().why().contains("dropped by h2o: score 0.01"), qPrintable(view.choice().why()));
    QVERIFY(view.choice().why().startsWith("Layer 1, tick 17: "));
    QCOMPARE(asked, (nlohmann::json{{"layer", 1}, {"tick", 17}, {"ledger", lost->value()}}));
    const QString scores = view.dump().section("scores: ", 1).section('\n', 0, 0);
    QCOMPARE(scores.count("1/0"), 2);
    QCOMPARE(scores.count("0/1"), 1);
    KeepMatrix& matrix = view.choice().matrix();
    QVERIFY2(matrix.text(CacheLayer(1)).startsWith("layer 1 keeps 60 of "), qPrintable(matrix.text(CacheLayer(1))));
    QTest::mouseClick(&matrix, Qt::LeftButton, {}, matrix.middleOf(CacheLayer(2)));
    QCOMPARE(context.focus().layer, CacheLayer(2));
  }

  /// In a tick that is open behind its decision the choice of that tick is told, and rows about to leave are struck
  /// out.
  void aDecisionThatIsNotCarriedOut() {
    auto s = std::make_shared<Snapshot>(*FakeContext(fixture::withPolicies()).snapshot());
    const LedgerId row = s->layers[1]->ledger[9];
    StageView stage;
    stage.stage = Stage::Prune;
    stage.next = "apply";
    stage.actions = {Evict{Layer(1), {}, {row}}};
    s->stage = std::make_shared<const StageView>(stage);
    FakeContext context{SnapshotPtr(s)};
    nlohmann::json asked;
    context.answers["decisions"] = [&](const nlohmann::json& of) -> Result<nlohmann::json> {
      asked = of;
      return nlohmann::json{{{"detail", "dropped by h2o"}, {"event", "dropped"}, {"ledger", row.value()}}};
    };
    SmartKvView view(context, nullptr);
    show(view, {900, 600});
    context.setFocus(Focus{s->tick, CacheLayer(1), Head(0), Position(-1), row});
    QTRY_VERIFY2(view.choice().why().contains("which is open: no row has left yet"), qPrintable(view.choice().why()));
    QCOMPARE(asked["tick"], s->tick.value() + 1);
    const PlanGhosts ghosts = planGhosts(*s);
    QCOMPARE(ghosts.evicted.size(), std::size_t{1});
    const int position = ghosts.evicted[0].position;
    QVERIFY(s->context[static_cast<std::size_t>(position)] == row);
    QVERIFY(ghosts.leavesLayer(CacheLayer(1), position) && !ghosts.leavesLayer(CacheLayer(0), position));
    QVERIFY2(ghosts.text(*s, CacheLayer(1), position).startsWith("decided: "),
             qPrintable(ghosts.text(*s, CacheLayer(1), position)));
  }

  /// The error of attention stands below what layers keep, a line for each query head.
  void attentionErrorsByLayerAndHead() {
    auto s = std::make_shared<Snapshot>(*FakeContext(fixture::withPolicies()).snapshot());
    FakeContext context{SnapshotPtr(s)};
    SmartKvView view(context, nullptr);
    show(view, {900, 600});
    QVERIFY(!view.dump().contains("attention error"));
    const int before = view.choice().matrix().height();
    auto measured = std::make_shared<Snapshot>(*s);
    AttentionErrors errors(at(s->info->cacheLayers.layers), {0.0f, 0.5f, 0.25f});
    errors[1] = {0.125f, 0.0f, 0.0f};
    measured->serial += 1;
    measured->attentionErrors = std::make_shared<const AttentionErrors>(errors);
    context.push(measured);
    QVERIFY2(view.dump().contains("1: 0.1250 0 0\n"), qPrintable(view.dump()));
    KeepMatrix& matrix = view.choice().matrix();
    QTRY_VERIFY(matrix.height() > before);
    QVERIFY2(matrix.errorText(Layer(1), 0).startsWith("layer 1, query head 0: attention error 0.125"),
             qPrintable(matrix.errorText(Layer(1), 0)));
    const QImage picture = matrix.grab().toImage();
    const double scale = picture.devicePixelRatio();
    const auto seen = [&](int layer, int head) {
      return picture.pixelColor((QPointF(matrix.middleOf(Layer(layer), head)) * scale).toPoint());
    };
    QVERIFY(seen(0, 1) != seen(0, 0) && seen(1, 1) == seen(0, 0) && seen(1, 0) != seen(0, 1));
    QTest::mouseClick(&matrix, Qt::LeftButton, {}, matrix.middleOf(Layer(2), 1));
    QCOMPARE(context.focus().layer, CacheLayer(2));
  }

  /// Where every layer keeps all its rows there is nothing to see until their error is measured.
  void errorsWithoutAPolicy() {
    auto s = std::make_shared<Snapshot>(*FakeContext(fixture::withPolicies()).snapshot());
    s->policies.reset();
    FakeContext context{SnapshotPtr(s)};
    SmartKvView view(context, nullptr);
    show(view, {900, 600});
    QVERIFY(view.dump().contains("every layer keeps all its rows"));
    auto measured = std::make_shared<Snapshot>(*s);
    measured->serial += 1;
    measured->attentionErrors =
        std::make_shared<const AttentionErrors>(at(s->info->cacheLayers.layers), std::vector<float>{0.5f, 0.25f});
    context.push(measured);
    QVERIFY(view.choice().matrix().isVisible());
    const QString dump = view.dump();
    QVERIFY2(dump.contains("1: 0.5000 0.2500\n") && dump.contains("nothing competes"), qPrintable(dump));
    QVERIFY(view.choice().matrix().text(CacheLayer(1)).contains("no threshold is known"));
  }

  void withoutGatesTheReasonIsSaid() {
    auto s = std::make_shared<Snapshot>(*FakeContext(fixture::withPolicies()).snapshot());
    PolicyAudit audit = *s->policies;
    for (LayerAudit& layer : audit.layers) layer.policy = "h2o";
    s->policies = std::make_shared<const PolicyAudit>(audit);
    FakeContext context{SnapshotPtr(s)};
    SmartKvView view(context, nullptr);
    show(view);
    QVERIFY(!button(view, "Measure lifespans")->isEnabled());
    QVERIFY(button(view, "Measure lifespans")->toolTip().contains("smartkv"));
    QVERIFY(!view.plot().parentWidget()->isVisible());  // the bands have its room
  }

  /// 1 and 64 layers, a narrow dock, many tokens: all of them can be reached.
  void manyLayersAndTokens() {
    for (const int count : {1, 64}) {
      auto s = std::make_shared<Snapshot>(*fixture::hugeSnapshot(count, 20000));
      PolicyAudit audit;
      LayerAudit layer;
      layer.policy = "smartkv", layer.bounded = true, layer.bands = {4, 30000, 100};
      audit.layers.assign(static_cast<std::size_t>(count), layer);
      s->policies = std::make_shared<const PolicyAudit>(audit);
      FakeContext context{SnapshotPtr(s)};
      SmartKvView view(context, nullptr);
      show(view, {320, 480});
      context.setFocus(Focus{s->tick, CacheLayer(count - 1), Head(0), Position(19999), LedgerId(-1)});
      const QPointF at = view.canvas().middleOf({count - 1, 19999});
      QVERIFY(view.canvas().rect().contains(at.toPoint()));
      QVERIFY(!view.picture({320, 480}, 1).isNull());
      QCOMPARE(view.canvas().layers().size(), static_cast<std::size_t>(count));
    }
  }

  void fullIsEmptyAndSaysHow() {
    FakeContext context;
    SmartKvView view(context, nullptr);
    show(view);
    QVERIFY(view.dump().contains("keeps all its rows"));
    QVERIFY(view.tsv().isEmpty());
  }

  /// Figures by hand: predictions one too short; a perfect gate; a censored row does not count.
  void calibrationByHand() {
    const std::vector<float> actual{1, 2, 3, 4}, low{0, 1, 2, 3};
    const std::vector<std::uint8_t> none(4, 0), last{0, 0, 0, 1};
    QCOMPARE(headLifespans(actual, actual, none, 100).r2, 1.0);
    const HeadLifespans shorter = headLifespans(low, actual, none, 100);
    QCOMPARE(shorter.bias, -1.0);
    QVERIFY(std::abs(shorter.r2 - (1 - 4.0 / 5.0)) < 1e-12);
    const HeadLifespans cut = headLifespans(low, actual, last, 2);
    QCOMPARE(cut.rows, 4);
    QCOMPARE(cut.censored, 1);
    QCOMPARE(cut.predicted.size(), std::size_t{2});
    QCOMPARE(cut.bins.size(), std::size_t{3});
    const auto back = lifespanViewFromJson(toJson(LifespanView{3, Tick(9), 4, 0.05f, {{cut}, {}}}));
    QVERIFY(static_cast<bool>(back));
    QCOMPARE(back->layers[0][0].bins, cut.bins);
    QCOMPARE(back->layers[0][0].cut, cut.cut);
    QVERIFY(!lifespanViewFromJson(nlohmann::json{{"serial", 1}}));
  }

 private:
  static QToolButton* button(SmartKvView& view, const QString& name) {
    for (QToolButton* one : view.findChildren<QToolButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  static void show(SmartKvView& view, QSize size = {700, 640}) {
    view.resize(size);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    QVERIFY(golden::settle(view));
  }
};

KV_TEST(SmartKvTest)
#include "smartkv_test.moc"
