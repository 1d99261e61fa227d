// SPDX-License-Identifier: GPL-3.0-or-later
// Tests the features that all matrices share: the places of their parts, the effects of points, keys and the wheel, and
// the readout of the canvas.
#include <QSignalSpy>
#include <QWheelEvent>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/canvas/matrix_canvas.h"

using namespace kvlab;

namespace {
/// A line per layer over the rows of the shown state.
class Plain : public MatrixCanvas {
 public:
  using MatrixCanvas::MatrixCanvas;
  QString readout() const override {
    return QString("%1,%2%3").arg(pointed().line).arg(pointed().item).arg(points() ? " under pointer" : "");
  }
  QPoint at(int line, int item) const { return middleOf({line, item}).toPoint(); }
  MatrixShape form = {.tokens = 70};

 protected:
  MatrixShape shape() const override { return form; }
  int lines() const override { return static_cast<int>(context().snapshot()->layers.size()); }
  int items() const override { return context().snapshot()->length(); }
  SnapshotPtr of() const override { return context().snapshot(); }
  QString lineName(int line) const override { return QString::number(line); }
};

struct MatrixRig {
  MatrixRig() : canvas(context, nullptr) {
    QObject::connect(&canvas, &AxisCanvas::chosen, [this](CanvasCell cell) { chosen.push_back(cell); });
    canvas.resize(1000, 400);
    canvas.show();
    shown = QTest::qWaitForWindowExposed(&canvas);
  }
  void move(QPoint to) {
    QMouseEvent event(QEvent::MouseMove, to, canvas.mapToGlobal(to), Qt::NoButton, Qt::NoButton, {});
    QApplication::sendEvent(&canvas, &event);
  }
  FakeContext context;
  Plain canvas;
  std::vector<CanvasCell> chosen;
  bool shown = false;
};
}  // namespace

class MatrixTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  /// In every size the parts lie within the canvas from top to bottom, and none covers another.
  void partsNeverOverlap() {
    for (int lines : {0, 1, 4, 30, 400})
      for (const int group : {0, 2})
        for (const bool overview : {false, true})
          for (int height = 150; height < 900; height += 50) {
            MatrixShape shape{.lines = lines, .tokens = 70, .leastRoom = 60, .legend = 20, .overview = overview};
            shape.group = group, shape.gap = group && lines < 10 ? 8 : 0;
            const MatrixParts p = matrixParts(shape, {600, height}, 0);
            QCOMPARE(p.ruler.top(), 0);
            QVERIFY(p.tokens.top() > p.ruler.bottom() && p.cells.top() > p.tokens.bottom());
            const int below = overview ? p.overview.top() : p.legend.top();
            QVERIFY2(p.cells.bottom() < below, qPrintable(QString("%1 lines in %2").arg(lines).arg(height)));
            QVERIFY(!overview || p.overview.bottom() < p.legend.top());
            QVERIFY(p.legend.bottom() < p.readout.top());
            QCOMPARE(p.readout.bottom(), height - 1);
          }
  }

  /// Lines follow each other without a gap but that between groups, and a point within a line finds it.
  void aPointFindsItsLine() {
    for (const int group : {0, 3})
      for (int lines : {1, 6, 9, 60}) {
        MatrixShape shape{.lines = lines, .group = group, .gap = group ? 10 : 0};
        const MatrixParts p = matrixParts(shape, {600, 500}, 0);
        for (int line = 0; line < lines; ++line) {
          QCOMPARE(p.lineAt(p.line(line).center().y()), line);
          const bool gap = group && line % group == 0 && line > 0;
          if (line > 0) QCOMPARE(p.line(line).top(), p.line(line - 1).bottom() + (gap ? 10 : 0));
        }
        QCOMPARE(p.lineAt(p.cells.top() - 1), -1);
        QCOMPARE(p.lineAt(p.cells.bottom() + 1), -1);
      }
  }

  /// Texts of tokens give way to the lines.
  void textsNeedRoom() {
    MatrixShape shape{.lines = 4, .tokens = 70, .leastRoom = 100};
    QCOMPARE(matrixParts(shape, {600, 400}, 0).tokens.height(), 70);
    QCOMPARE(matrixParts(shape, {600, 200}, 0).tokens.height(), 0);
  }

  void linesThatDoNotFitScroll() {
    MatrixShape shape{.lines = 100, .tallest = 34, .lowest = 16};
    const MatrixParts p = matrixParts(shape, {600, 400}, 0);
    QCOMPARE(p.tall, 16.0);
    QCOMPARE(p.allTall(), 1600);
    QVERIFY(p.cells.bottom() < p.readout.top());
    QCOMPARE(matrixParts(shape, {600, 400}, 160).lineAt(p.cells.top()), 10);
    MatrixRig rig;
    rig.canvas.form = shape;
    rig.canvas.resize(1000, 90);
    rig.context.setFocus(Focus{rig.context.snapshot()->tick, CacheLayer(3), Head(0), Position(5), LedgerId(-1)});
    rig.canvas.reveal();
    QVERIFY2(rig.canvas.rowRect(Position(5)).height() > 8, "the focused line is out of sight");
    const auto ruler = [&] { return rig.canvas.grab(QRect(40, 0, 900, 25)).toImage(); };
    const QImage before = ruler();
    rig.context.setFocus(Focus{rig.context.snapshot()->tick, CacheLayer(0), Head(0), Position(5), LedgerId(-1)});
    QVERIFY2(ruler() == before, "the frame of a line that is out of sight lies on the ruler");
    QCOMPARE(rig.canvas.accessibleDescription(), QString("0,5"));
  }

  /// Arrow keys move from the focused cell and stop at the ends.
  void keysGoFromTheFocus() {
    MatrixRig rig;
    const int last = rig.context.snapshot()->length() - 1;
    rig.context.setFocus(Focus{rig.context.snapshot()->tick, CacheLayer(1), Head(0), Position(10), LedgerId(10)});
    for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Down, Qt::Key_Up, Qt::Key_Left, Qt::Key_End, Qt::Key_Home})
      QTest::keyClick(&rig.canvas, key);
    QCOMPARE(rig.chosen, (std::vector<CanvasCell>{{1, 11}, {2, 10}, {0, 10}, {1, 9}, {1, last}, {1, 0}}));
    rig.chosen.clear();
    rig.context.setFocus(Focus{rig.context.snapshot()->tick, CacheLayer(0), Head(0), Position(last), LedgerId(last)});
    QTest::keyClick(&rig.canvas, Qt::Key_Right);
    QTest::keyClick(&rig.canvas, Qt::Key_Up);
    QCOMPARE(rig.chosen, (std::vector<CanvasCell>{{0, last}, {0, last}}));
  }

  /// All views mark the row under the pointer; above the lines it is the row without a layer.
  void hoverIsShared() {
    MatrixRig rig;
    QVERIFY(rig.shown);
    QSignalSpy said(&rig.canvas, &AxisCanvas::readoutChanged);
    rig.move(rig.canvas.at(2, 12));
    QCOMPARE(rig.context.hovered(), Position(12));
    QCOMPARE(rig.canvas.readout(), QString("2,12 under pointer"));
    QVERIFY(said.count() > 0);
    rig.move({rig.canvas.at(2, 30).x(), 5});
    QCOMPARE(rig.context.hovered(), Position(30));
    QVERIFY(!rig.canvas.readout().contains("under pointer"));
    rig.move({3, rig.canvas.at(2, 12).y()});
    QCOMPARE(rig.context.hovered(), Position(-1));
  }

  void aClickChoosesTheCell() {
    MatrixRig rig;
    QTest::mouseClick(&rig.canvas, Qt::LeftButton, {}, rig.canvas.at(3, 40));
    QCOMPARE(rig.chosen, (std::vector<CanvasCell>{{3, 40}}));
    QSignalSpy menus(&rig.canvas, &AxisCanvas::menuOver);
    QTest::mouseClick(&rig.canvas, Qt::RightButton, {}, rig.canvas.at(1, 20));
    QCOMPARE(menus.count(), 1);
    QCOMPARE(rig.chosen.size(), std::size_t{1});
  }

  void theWheelKeepsTheCellUnderThePointer() {
    MatrixRig rig;
    const QPoint at = rig.canvas.at(2, 40);
    for (int i = 0; i < 8; ++i) {
      QWheelEvent event(at, rig.canvas.mapToGlobal(at), {}, {0, 120}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
      QApplication::sendEvent(&rig.canvas, &event);
    }
    QVERIFY(!rig.canvas.axis().fitted);
    QVERIFY2(rig.canvas.readout().endsWith(",40 under pointer"), qPrintable(rig.canvas.readout()));
  }
};

KV_TEST(MatrixTest)
#include "matrix_test.moc"
