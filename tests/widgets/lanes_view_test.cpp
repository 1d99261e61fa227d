// SPDX-License-Identifier: GPL-3.0-or-later
// The Lanes view on a fixture: present, evicted and lost tokens, one focus for all, the keyboard, opening and closing.
#include <QComboBox>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>
#include <cmath>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/views/lanes/lanes_view.h"

using namespace kvlab;

class LanesViewTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void comparesCells();
  void comparesHeads();
  void clicksFocusTheTokenEverywhere();
  void hoveringMovesTheSelection();
  void keysMoveAndZoom();
  void opensAndCloses();
  void addsPolicies();
  void goesOnWithALane();
  void showsAllLayersOrOne();
  void showsOlderTicks();
  void manyTokensKeepEveryDifference();
  void saysWhyALaneLeft();
  void lossesAreComparedTokenByToken();
  void rangesOfDifferences();
  void lossesArePainted();
  void manyTokensKeepTheLargestDifference();
  void lossesAreReadOut();
  void keysMoveBetweenLanesOfLosses();
  void saysHowToGetLosses();
  void pictures_data();
  void pictures();
  void picturesOfLosses_data();
  void picturesOfLosses();

 private:
  static fixture::Options options() {
    fixture::Options options;
    options.lanes = true;
    return options;
  }
  struct Rig {
    explicit Rig(QSize size = {1180, 420}) : context(options()), view(context, nullptr) {
      view.resize(size);
      golden::settle(view);
    }
    FakeContext context;
    LanesTableView view;
  };
  static constexpr int kPrompt = 50;  // tokens without a loss
  /// Lane 1 has differences of ±4, 0 and 1 among small ones, lane 2 is almost the reference, lane 3 was not measured.
  static SnapshotPtr withLosses() {
    auto snapshot = std::make_shared<Snapshot>(*FakeContext(options()).snapshot());
    auto view = std::make_shared<LanesView>(*snapshot->lanes);
    for (std::size_t lane = 0; lane < view->lanes.size(); ++lane) {
      std::vector<float> losses;
      for (int token = 0; token < static_cast<int>(view->lanes[lane].taken.size()); ++token) {
        const float base = 0.25f + static_cast<float>(token * 37 % 23) * 0.25f,
                    small = static_cast<float>(token * 13 % 9 - 4) / 64.0f;
        const float more = token == 60 ? 4.0f : token == 70 ? -4.0f : token == 80 ? 0.0f : token == 85 ? 1.0f : small;
        const bool none = token < kPrompt || lane == 3;
        losses.push_back(none ? std::nanf("") : lane == 1 ? base + more : lane == 2 ? base + small / 8 : base);
      }
      view->lanes[lane].losses = Column<float>(losses);
    }
    snapshot->lanes = view;
    return snapshot;
  }
  struct LossRig {
    explicit LossRig(SnapshotPtr snapshot = withLosses(), QSize shown = {1180, 420})
        : context(std::move(snapshot)), view(context, nullptr), size(shown) {
      view.resize(size);
      if (!view.setOption("colour", "loss")) qFatal("no colour");
      golden::settle(view);
    }
    /// The colour in a band, near its upper edge.
    QRgb pixel(int lane, int x) {
      const QImage shot = view.picture(size, 1).convertToFormat(QImage::Format_RGB32);
      const QRect band = view.canvas().band(lane);
      return shot.pixel(view.canvas().mapTo(&view, QPoint(band.left() + x, band.top() + 2)));
    }
    QRgb token(int lane, int token) { return pixel(lane, static_cast<int>(view.canvas().axis().pixel(token + 0.4))); }
    FakeContext context;
    LanesTableView view;
    QSize size;
  };
  static QToolButton* button(LanesTableView& view, const char* name) {
    for (QToolButton* one : view.findChildren<QToolButton*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  static void point(QWidget& widget, QPointF at) {
    QMouseEvent move(QEvent::MouseMove, at, widget.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(&widget, &move);
  }
  static QPoint at(LanesCanvas& canvas, int lane, int token) {
    const QRect box = canvas.band(lane);
    return {box.left() + static_cast<int>(canvas.axis().pixel(token + 0.5)), box.center().y()};
  }
};

void LanesViewTest::comparesCells() {
  const LanesViewPtr view = FakeContext(options()).snapshot()->lanes;
  const std::vector<LaneCells> cells = laneCells(*view);
  QCOMPARE(cells.size(), view->lanes.size());
  const int tokens = static_cast<int>(view->lanes[0].taken.size());
  QCOMPARE(cells[0].count(0, LaneCell::Lost) + cells[0].count(0, LaneCell::Extra), 0);
  for (int layer = 0; layer < 4; ++layer) {
    QCOMPARE(cells[1].count(layer, LaneCell::Same) + cells[1].count(layer, LaneCell::Extra), 40);
    int sum = 0;
    for (const LaneCell cell : {LaneCell::Gone, LaneCell::Same, LaneCell::Extra, LaneCell::Lost})
      sum += cells[1].count(layer, cell);
    QCOMPARE(sum, tokens);
    // int8 has every row: rows that the reference has lost count as more here.
    QCOMPARE(cells[2].count(layer, LaneCell::Lost), 0);
    QCOMPARE(cells[2].count(layer, LaneCell::Extra), cells[0].count(layer, LaneCell::Gone));
  }
  QCOMPARE(static_cast<int>(cells[4].layers[0]->size()), 92);  // it left before the others' last tokens came
}

/// A lane that keeps rows by KV head has two lines per layer, and so have the others.
void LanesViewTest::comparesHeads() {
  LanesView view = *FakeContext(options()).snapshot()->lanes;
  auto heads = std::make_shared<Snapshot>(*view.lanes[1].snapshot);
  const auto all = view.lanes[2].snapshot->layers, few = heads->layers;
  heads->layers = {all[0], few[0], all[1], few[1], all[2], few[2], all[3], few[3]};
  view.lanes[1].snapshot = heads;
  QCOMPARE(linesPerLayer(view), 2);
  const std::vector<LaneCells> cells = laneCells(view), one = laneCells(view, 2);
  for (const LaneCells& lane : cells) QCOMPARE(lane.layers.size(), std::size_t{8});
  QCOMPARE(cells[1].count(4, LaneCell::Lost), 0);
  QVERIFY(cells[1].count(5, LaneCell::Lost) > 0);
  QCOMPARE(cells[0].layers[4], cells[0].layers[5]);
  QVERIFY(!one[1].layers[3] && one[1].layers[4] && one[1].layers[5] && !one[1].layers[6]);
}

void LanesViewTest::clicksFocusTheTokenEverywhere() {
  Rig rig;
  QSignalSpy lines(&rig.context, &InspectorContext::scripted);
  LanesCanvas& canvas = rig.view.canvas();
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, at(canvas, 3, 60));
  const LaneView& first = rig.context.snapshot()->lanes->lanes[0];
  QCOMPARE(rig.context.focus().ledger, first.taken[60]);
  QVERIFY(!lines.isEmpty());
  QCOMPARE(rig.view.table().currentIndex().row(), 3);
  QVERIFY(canvas.readout().contains("token 60"));
  // A token that is no longer in the reference's context is focused by its ledger id.
  int gone = 0;
  while (first.snapshot->ledger[first.taken[static_cast<std::size_t>(gone)]].state == RowState::Live) ++gone;
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, at(canvas, 1, gone));
  QCOMPARE(rig.context.focus().ledger, first.taken[static_cast<std::size_t>(gone)]);
}

void LanesViewTest::hoveringMovesTheSelection() {
  Rig rig;
  LanesCanvas& canvas = rig.view.canvas();
  point(canvas, at(canvas, 2, 70));
  const Position hovered = rig.context.hovered();
  QVERIFY(hovered.value() >= 0);
  QCOMPARE(rig.context.snapshot()->context[static_cast<std::size_t>(hovered.value())],
           rig.context.snapshot()->lanes->lanes[0].taken[70]);
  QVERIFY2(canvas.readout().contains("lane 1 resident"), qPrintable(canvas.readout()));
  point(canvas, at(canvas, 2, 20));
  QVERIFY2(canvas.readout().contains("lane 1 not resident"), qPrintable(canvas.readout()));
}

void LanesViewTest::keysMoveAndZoom() {
  Rig rig;
  LanesCanvas& canvas = rig.view.canvas();
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, at(canvas, 0, 60));
  const int layer = rig.context.focus().layer.value();
  QTest::keyClick(&canvas, Qt::Key_Right);
  QVERIFY(canvas.readout().contains("token 61"));
  QTest::keyClick(&canvas, Qt::Key_Down);
  QCOMPARE(rig.context.focus().layer.value(), layer + 1);
  QTest::keyClick(&canvas, Qt::Key_Home);
  QVERIFY(canvas.readout().contains("token 0"));
  const double scale = canvas.axis().scale;
  QTest::keyClick(&canvas, Qt::Key_Plus);
  QVERIFY(canvas.axis().scale > scale);
  QTest::keyClick(&canvas, Qt::Key_0);
  QCOMPARE(canvas.axis().scale, scale);
}

/// Nothing opens but a list with an object in it; the view names the error and leaves the text.
void LanesViewTest::opensAndCloses() {
  Rig rig;
  button(rig.view, "Close lanes")->click();
  QCOMPARE(rig.context.commands.back().verb, std::string("lanes_close"));
  FakeContext plain;
  LanesTableView view(plain, nullptr);
  view.resize(600, 400);
  golden::settle(view);
  QVERIFY(view.dump().contains("none"));
  QSignalSpy failures(&plain, &InspectorContext::failed);
  auto* edit = view.findChild<QLineEdit*>();
  QVERIFY(edit->isVisibleTo(&view) && button(view, "Open lanes")->isVisibleTo(&view));
  for (const char* wrong : {"[{", "[]", "", "[1]", "{}"}) {
    edit->setText(wrong);
    button(view, "Open lanes")->click();
    QCOMPARE(edit->text(), QString(wrong));
  }
  QCOMPARE(failures.size(), 5);
  for (const auto& failure : failures) QVERIFY(!failure.front().value<Error>().remedy.empty());
  QVERIFY(plain.commands.empty());
  edit->setText(R"([{"kv": {"k": "int8"}}])");
  QTest::keyClick(edit, Qt::Key_Return);
  QCOMPARE(plain.commands.back().verb, std::string("lanes_open"));
  QCOMPARE(plain.commands.back().args["changes"][0]["kv"]["k"], nlohmann::json("int8"));
}

void LanesViewTest::addsPolicies() {
  FakeContext plain;
  LanesTableView view(plain, nullptr);
  golden::settle(view);
  auto* edit = view.findChild<QLineEdit*>();
  edit->clear();
  QMenu* menu = button(view, "Add a lane with a policy")->menu();
  for (const char* policy : {"tova", "random"})
    for (QAction* action : menu->actions())
      if (action->text() == policy) action->menu()->actions()[1]->trigger();
  const auto list = nlohmann::json::parse(edit->text().toStdString());
  QCOMPARE(list.size(), std::size_t{2});
  QCOMPARE(list[0]["policy"], nlohmann::json("tova:ratio=0.5"));
  QTest::keyClick(edit, Qt::Key_Return);
  QCOMPARE(plain.commands.back().args["changes"], list);
}

void LanesViewTest::goesOnWithALane() {
  Rig rig;
  QTest::mouseClick(rig.view.table().viewport(), Qt::LeftButton, {},
                    rig.view.table().visualRect(rig.view.table().model()->index(3, 0)).center());
  QCOMPARE(rig.view.canvas().lane(), 3);
  for (QAction* action : rig.view.viewActions())
    if (action->text() == "Go on with the chosen lane") action->trigger();
  QCOMPARE(rig.context.commands.back().verb, std::string("lanes_close"));
  QCOMPARE(rig.context.commands.back().args["lane"], nlohmann::json(3));
}

void LanesViewTest::showsAllLayersOrOne() {
  Rig rig;
  const QImage one = rig.view.picture({1180, 420}, 1);
  QVERIFY(rig.view.setOption("layers", "all"));
  QCOMPARE(rig.view.options()["layers"], nlohmann::json("all"));
  QVERIFY(rig.view.picture({1180, 420}, 1) != one);
  QVERIFY(!rig.view.setOption("layers", "some"));
  QVERIFY(!rig.view.setOption("nonsense", 1));
}

void LanesViewTest::showsOlderTicks() {
  Rig rig;
  const QString newest = rig.view.dump();
  rig.context.showTick(Tick(3));
  golden::settle(rig.view);
  QVERIFY(rig.view.dump() != newest);
  QVERIFY(rig.view.dump().startsWith("lanes: tick 3"));
}

/// If hundreds of tokens share a pixel, a single lost token is still visible.
void LanesViewTest::manyTokensKeepEveryDifference() {
  const int tokens = 100000, lost = 51234;
  auto snapshot = std::make_shared<Snapshot>(*fixture::hugeSnapshot(2, tokens));
  auto view = std::make_shared<LanesView>();
  LaneView reference;
  reference.label = "reference", reference.snapshot = std::make_shared<const Snapshot>(*snapshot),
  reference.taken = snapshot->context;
  LaneView other = reference;
  auto less = std::make_shared<Snapshot>(*snapshot);
  auto map = std::make_shared<ResidencyView>();
  for (int i = 0; i < tokens; ++i) {
    if (i == lost) continue;
    map->ledger.push_back(snapshot->context[static_cast<std::size_t>(i)]);
    map->slotOf.push_back(Slot(i));
    map->phases.push_back(i);
  }
  less->layers.assign(2, map);
  other.snapshot = less;
  view->lanes = {reference, other};
  snapshot->lanes = view;
  FakeContext context{SnapshotPtr(snapshot)};
  LanesTableView widget(context, nullptr);
  widget.resize(700, 400);
  golden::settle(widget);
  const QImage shot = widget.picture({700, 400}, 1).convertToFormat(QImage::Format_RGB32);
  const QRect band = widget.canvas().band(1);
  const QPoint corner = widget.canvas().mapTo(&widget, band.topLeft());
  const QRgb wanted = laneColour(LaneCell::Lost, *Theme::current()).rgb();
  int found = 0;
  for (int x = 0; x < band.width(); ++x) found += shot.pixel(corner.x() + x, corner.y() + band.height() / 2) == wanted;
  QCOMPARE(found, 1);
}

void LanesViewTest::saysWhyALaneLeft() {
  Rig rig;
  QVERIFY(rig.view.dump().contains("left after tick 13: 93 rows are more than the capacity of 92"));
  QVERIFY(rig.view.table().model()->index(4, 0).data(Qt::ToolTipRole).toString().contains("left after tick 13"));
  QVERIFY(rig.view.table().model()->index(4, 0).data(kBadRole).toBool());
}

void LanesViewTest::lossesAreComparedTokenByToken() {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  LanesView view;
  view.lanes.resize(3);
  view.lanes[0].losses = Column<float>(std::vector<float>{1, kNone, 2, 3, 4});
  view.lanes[1].losses = Column<float>(std::vector<float>{1.5f, 1, kNone, 2, 4});
  view.lanes[2].losses = Column<float>(std::vector<float>{1});  // it left
  const std::vector<LaneLosses> lanes = laneLosses(view);
  QCOMPARE(lanes.size(), 3u);
  QCOMPARE(lanes[0].measured, 4);
  QCOMPARE(lanes[0].mean, 2.5);
  QCOMPARE(lanes[0].most, 4);
  QCOMPARE(lanes[1].measured, 3);
  QCOMPARE(lanes[1].mean, -0.5 / 3);
  QCOMPARE(lanes[1].at(0), 0.5f);
  QVERIFY(std::isnan(lanes[1].at(1)) && std::isnan(lanes[1].at(2)) && std::isnan(lanes[1].at(99)));
  QCOMPARE(lanes[1].most, 0);
  QCOMPARE(lanes[1].least, 3);
  QVERIFY(!lanes[1].flat() && lanes[2].flat());
  QCOMPARE(lanes[2].values.size(), 1u);
  QVERIFY(laneLosses(LanesView()).empty() && !LaneLosses().any() && !LaneLosses().flat());
}

void LanesViewTest::rangesOfDifferences() {
  const auto range = [](std::vector<float> values) {
    std::vector<LaneLosses> lanes(1);
    lanes[0].values = std::move(values);
    return differenceRange(lanes);
  };
  std::vector<float> most(200, 0.5f);
  most[7] = -9;
  QCOMPARE(range(most), 0.5f);
  most.assign(50, 0.5f);
  most[7] = -9;
  QCOMPARE(range(most), 9.0f);
  QCOMPARE(range({std::nanf(""), -1.234f, INFINITY}), 1.3f);
  QCOMPARE(range({123.4f}), 130.0f);
  QCOMPARE(range({0.0001f}), kLeastRange);
  QCOMPARE(range({}), kLeastRange);
  QCOMPARE(strongest(std::vector<float>{std::nanf(""), 0.1f, -0.5f, 0.3f}), -0.5f);
  QVERIFY(std::isnan(strongest({})));
}

void LanesViewTest::lossesArePainted() {
  for (const char* theme : {"dark", "light"}) {
    Theme::apply(*qApp, theme);
    LossRig rig;
    const ColourTable colours = differenceColours(*Theme::current()),
                      surprise = colourTable(Quantity::Surprise, *Theme::current());
    QCOMPARE(differenceRange(std::span(rig.view.canvas().losses()).subspan(1)), 4.0f);
    QCOMPARE(rig.token(1, 60), colours[255]);
    QCOMPARE(rig.token(1, 70), colours[1]);
    QCOMPARE(rig.token(1, 80), colours[128]);
    QCOMPARE(rig.token(1, 85), colours[128 + 64]);  // a quarter of the range: half of the way
    QCOMPARE(colours[128], Theme::current()->sunken.rgb());
    const std::vector<float>& base = rig.view.canvas().losses()[0].values;
    QCOMPARE(rig.token(0, 60), surprise[scaleFor(Quantity::Surprise, base).index(base[60])]);
    for (const auto& [lane, token] : {std::pair{0, 20}, std::pair{1, 20}, std::pair{3, 60}}) {
      const QRgb none = rig.token(lane, token);
      QVERIFY(none == Theme::current()->missing.rgb() || none == Theme::current()->surface.rgb());
    }
    QVERIFY(rig.view.setOption("colour", "rows"));
    QVERIFY(rig.token(1, 60) != colours[255]);
  }
  Theme::apply(*qApp, "dark");
}

/// If hundreds of tokens share a pixel, one large difference is still visible.
void LanesViewTest::manyTokensKeepTheLargestDifference() {
  const int tokens = 100000;
  auto snapshot = std::make_shared<Snapshot>(*fixture::hugeSnapshot(1, tokens));
  auto view = std::make_shared<LanesView>();
  LaneView reference;
  reference.label = "reference", reference.snapshot = std::make_shared<const Snapshot>(*snapshot),
  reference.taken = snapshot->context;
  std::vector<float> losses(static_cast<std::size_t>(tokens), 1.0f);
  reference.losses = Column<float>(losses);
  LaneView other = reference;
  losses[51234] = 0.5f, losses[51235] = 1.25f;
  other.losses = Column<float>(losses);
  view->lanes = {reference, other};
  snapshot->lanes = view;
  LossRig rig(snapshot, {700, 400});
  const QImage shot = rig.view.picture(rig.size, 1).convertToFormat(QImage::Format_RGB32);
  const QRect band = rig.view.canvas().band(1);
  const QPoint corner = rig.view.canvas().mapTo(&rig.view, band.center() - QPoint(band.width() / 2, 0));
  const ColourTable colours = differenceColours(*Theme::current());
  int found = 0, zero = 0;
  for (int x = 0; x < band.width(); ++x) {
    found += shot.pixel(corner.x() + x, corner.y()) == colours[1];
    zero += shot.pixel(corner.x() + x, corner.y()) == colours[128];
  }
  QCOMPARE(found, 1);
  QVERIFY(zero > band.width() - 8);
}

void LanesViewTest::lossesAreReadOut() {
  LossRig rig;
  LanesCanvas& canvas = rig.view.canvas();
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, at(canvas, 1, 85));
  const QString line = canvas.readout();
  const double base = static_cast<double>(canvas.losses()[0].at(85));
  QVERIFY2(line.contains("token 85") && line.contains(QString("lane 0 %1 nats").arg(base)) &&
               line.contains(QString("lane 1 %1 (+1)").arg(base + 1)) && line.contains("lane 3 not measured"),
           qPrintable(line));
  point(canvas, at(canvas, 1, 20));
  QVERIFY2(canvas.readout().contains("lane 0 not measured"), qPrintable(canvas.readout()));
  const QString dump = rig.view.dump();
  QVERIFY2(dump.contains("lane 1: 46 of 96 tokens measured; loss above lane 0: mean"), qPrintable(dump));
  QVERIFY2(dump.contains("most 4.0000 at 60, least -4.0000 at 70"), qPrintable(dump));
  QVERIFY2(dump.contains("lane 3: 0 of 96 tokens measured\n"), qPrintable(dump));
}

/// Losses have no layers: the choice of layers rests, and up and down choose the lane.
void LanesViewTest::keysMoveBetweenLanesOfLosses() {
  LossRig rig;
  LanesCanvas& canvas = rig.view.canvas();
  auto* layers = rig.view.findChild<QComboBox*>();
  QVERIFY(!layers->isEnabled() && layers->toolTip().contains("not to layers"));
  QVERIFY(rig.view.setOption("layers", "all"));
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, at(canvas, 0, 60));
  const int layer = rig.context.focus().layer.value();
  QTest::keyClick(&canvas, Qt::Key_Down);
  QCOMPARE(canvas.lane(), 1);
  QTest::keyClick(&canvas, Qt::Key_Right);
  QCOMPARE(canvas.lane(), 1);
  QVERIFY(canvas.readout().contains("token 61"));
  QTest::keyClick(&canvas, Qt::Key_Up);
  QTest::keyClick(&canvas, Qt::Key_Up);
  QCOMPARE(canvas.lane(), 0);
  QCOMPARE(rig.context.focus().layer.value(), layer);
  QVERIFY(rig.view.setOption("colour", "rows"));
  QVERIFY(layers->isEnabled());
  QTest::keyClick(&canvas, Qt::Key_Down);
  QCOMPARE(rig.context.focus().layer.value(), layer + 1);
}

void LanesViewTest::saysHowToGetLosses() {
  LossRig rig(FakeContext(options()).snapshot());
  QVERIFY(rig.view.dump().contains("lane 0: 0 of 96 tokens measured"));
  const QImage without = rig.view.picture(rig.size, 1);
  QVERIFY(without != LossRig().view.picture(rig.size, 1));
  QVERIFY(LanesCanvas::noLossesHow().contains("score"));
  QCOMPARE(rig.view.canvas().toolTip(), LanesCanvas::noLossesHow());
}

void LanesViewTest::picturesOfLosses_data() {
  QTest::addColumn<QString>("theme");
  QTest::addColumn<int>("scale");
  QTest::addColumn<int>("tokens");  // in sight; 0 = all
  for (const char* theme : {"dark", "light"}) {
    for (int scale : {1, 2}) QTest::addRow("lanes_loss_%s%s", theme, scale == 2 ? "@2" : "") << theme << scale << 0;
    for (int tokens : {18, 60}) QTest::addRow("lanes_loss_%s_%d", theme, tokens) << theme << 1 << tokens;
  }
}

void LanesViewTest::picturesOfLosses() {
  QFETCH(QString, theme);
  QFETCH(int, scale);
  QFETCH(int, tokens);
  Theme::apply(*qApp, theme);
  LossRig rig(withLosses(), {1600, 700});
  rig.context.focusPosition(Position(52));
  if (tokens) rig.view.canvas().showRange(68 - tokens / 2.0, 68 + tokens / 2.0);
  QCOMPARE(golden::compareImage(QTest::currentDataTag(), rig.view.picture(rig.size, scale)), QString());
}

void LanesViewTest::pictures_data() {
  QTest::addColumn<QString>("theme");
  QTest::addColumn<int>("scale");
  for (const char* theme : {"dark", "light"})
    for (int scale : {1, 2}) QTest::addRow("lanes_all_%s%s", theme, scale == 2 ? "@2" : "") << theme << scale;
}

void LanesViewTest::pictures() {
  QFETCH(QString, theme);
  QFETCH(int, scale);
  Theme::apply(*qApp, theme);
  Rig rig({1600, 1000});
  QVERIFY(rig.view.setOption("layers", "all"));
  rig.context.focusPosition(Position(52));
  QCOMPARE(golden::compareImage(QTest::currentDataTag(), rig.view.picture({1600, 1000}, scale)), QString());
}

KV_TEST(LanesViewTest)
#include "lanes_view_test.moc"
