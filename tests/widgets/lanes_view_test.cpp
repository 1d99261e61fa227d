// SPDX-License-Identifier: GPL-3.0-or-later
// The Lanes view on a fixture: what is there, gone and lost, one focus for all, the keyboard, opening and closing.
#include <QtTest>

#include <QComboBox>
#include <QLineEdit>
#include <QMenu>
#include <QSignalSpy>
#include <QToolButton>

#include "fake_context.h"
#include "golden.h"
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
  void pictures_data();
  void pictures();

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
    // int8 has every row: what the reference has lost is more here.
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
  QVERIFY2(canvas.readout().contains("lane 1 there"), qPrintable(canvas.readout()));
  point(canvas, at(canvas, 2, 20));
  QVERIFY2(canvas.readout().contains("lane 1 gone"), qPrintable(canvas.readout()));
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

/// Nothing opens but a list with an object in it; the view says what is wrong and leaves the text.
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

/// Where hundreds of tokens share a pixel a single lost one is still seen.
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

QTEST_MAIN(LanesViewTest)
#include "lanes_view_test.moc"
