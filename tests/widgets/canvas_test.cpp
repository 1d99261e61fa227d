// SPDX-License-Identifier: GPL-3.0-or-later
// Every canvas answers the pointer, the wheel and the keyboard like every other: the same turns, pulls and keys on all
// of them, checked by the painted pictures.
#include <QAbstractScrollArea>
#include <QWheelEvent>

#include "fake_context.h"
#include "golden.h"
#include "support/runner.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

namespace {
/// Counts the painting of a widget.
class Paints : public QObject {
 public:
  explicit Paints(QWidget* of) { of->installEventFilter(this); }
  int count = 0;

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    count += event->type() == QEvent::Paint;
    return false;
  }
};

struct CanvasRig {
  explicit CanvasRig(const QString& id, const QString& name)
      : context(options(id)), view(makeView(*findView(id), context, nullptr)) {
    context.measured = true;
    context.setFocus(Focus{context.snapshot()->tick, CacheLayer(2), Head(0), Position(-1), LedgerId(-1)});
    context.focusPosition(Position(12));
    if (id == "quant" || id == "attention") (void)view->setOption("follow", true);
    view->resize(1180, 420);
    view->show();
    settled = QTest::qWaitForWindowExposed(view.get()) && golden::settle(*view);
    for (QWidget* child : view->findChildren<QWidget*>())
      if (child->accessibleName() == name) canvas = child;
    auto* scrolled = qobject_cast<QAbstractScrollArea*>(canvas);
    if (scrolled) canvas = scrolled->viewport();
  }
  static fixture::Options options(const QString& id) {
    fixture::Options out;
    out.mixed = id == "rings" || id == "storage";
    out.policies = id == "smartkv";
    out.lanes = id == "lanes";
    out.wlod = id == "tree";
    out.quant = id == "quant";
    return out;
  }
  QPoint middle() const { return {canvas->width() / 2, canvas->height() / 2}; }
  /// Once the widgets around the canvas have found their sizes.
  QImage picture() const {
    QCoreApplication::processEvents();
    return canvas->grab().toImage();
  }
  void wheel(int turn, Qt::KeyboardModifiers with = Qt::NoModifier) const {
    QWheelEvent event(middle(), canvas->mapToGlobal(middle()), {}, {0, turn}, Qt::NoButton, with, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(canvas, &event);
  }
  void move(QPoint to) const {
    QMouseEvent event(QEvent::MouseMove, to, canvas->mapToGlobal(to), Qt::NoButton, Qt::NoButton, {});
    QApplication::sendEvent(canvas, &event);
  }
  void leave() const {
    QEvent event(QEvent::Leave);
    QApplication::sendEvent(canvas, &event);
  }
  /// A point that stands for a row; the pointer stays there.
  std::optional<QPoint> someCell() const {
    for (int y = 30; y < canvas->height(); y += 5)
      for (int x = 40; x < canvas->width(); x += 7) {
        move({x, y});
        if (context.hovered().value() >= 0 && context.hovered() != context.focus().position) return QPoint(x, y);
      }
    return {};
  }
  void key(Qt::Key pressed) const { QTest::keyClick(keyboard(), pressed); }
  QWidget* keyboard() const { return canvas->focusPolicy() == Qt::NoFocus ? canvas->parentWidget() : canvas; }

  FakeContext context;
  std::unique_ptr<InspectorView> view;
  QWidget* canvas = nullptr;
  bool settled = false;
};
}  // namespace

class CanvasTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { Theme::apply(*qApp, "dark"); }

  void theWheelZooms_data() { canvases(true); }
  void theWheelZooms() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    const QImage all = rig.picture();
    Paints paints(rig.canvas);
    rig.wheel(480);
    QTRY_VERIFY2(paints.count > 0, "the wheel does not repaint");
    const QImage closer = rig.picture();
    QVERIFY(closer != all);
    rig.wheel(-120, Qt::ShiftModifier);
    QVERIFY2(rig.picture() != closer, "Shift and wheel do not pan");
    rig.key(Qt::Key_0);
    rig.leave();
    QVERIFY2(rig.picture() == all, "0 does not show all");
  }

  void draggingPansAndChoosesNothing_data() { canvases(true); }
  void draggingPansAndChoosesNothing() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    rig.wheel(960);
    rig.leave();
    const QImage before = rig.picture();
    QSignalSpy said(&rig.context, &InspectorContext::scripted);
    QTest::mousePress(rig.canvas, Qt::LeftButton, {}, rig.middle());
    QTest::mouseMove(rig.canvas, rig.middle() - QPoint(100, 0));
    QCOMPARE(rig.canvas->cursor().shape(), Qt::ClosedHandCursor);
    QTest::mouseRelease(rig.canvas, Qt::LeftButton, {}, rig.middle() - QPoint(100, 0));
    rig.leave();
    QVERIFY(rig.picture() != before);
    QCOMPARE(said.count(), 0);
  }

  void aDoubleClickShowsAll_data() { canvases(true); }
  void aDoubleClickShowsAll() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    const QImage all = rig.picture();
    rig.wheel(960);
    QTest::mouseDClick(rig.canvas, Qt::LeftButton, {}, QPoint(8, 8));  // no cell is there
    rig.leave();
    QVERIFY(rig.picture() == all);
  }

  void keysZoom_data() { canvases(true); }
  void keysZoom() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    const QImage all = rig.picture();
    rig.key(Qt::Key_Plus);
    QVERIFY(rig.picture() != all);
    rig.key(Qt::Key_Minus);
    QVERIFY(rig.picture() == all);
  }

  /// A click counts when the button is let go, so that a pull is none.
  void aClickEndsWithTheRelease_data() { canvases(false); }
  void aClickEndsWithTheRelease() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    const std::optional<QPoint> cell = rig.someCell();
    QVERIFY2(cell, "no point of the canvas has a row");
    QSignalSpy said(&rig.context, &InspectorContext::scripted);
    QTest::mousePress(rig.canvas, Qt::LeftButton, {}, *cell);
    QCOMPARE(said.count(), 0);
    QTest::mouseRelease(rig.canvas, Qt::LeftButton, {}, *cell);
    QVERIFY(said.count() > 0);
  }

  /// The mark under the pointer goes when the pointer leaves.
  void leavingRepaints_data() { canvases(false); }
  void leavingRepaints() {
    QFETCH(QString, id);
    QFETCH(QString, name);
    CanvasRig rig(id, name);
    QVERIFY(rig.settled && rig.canvas);
    QVERIFY2(rig.someCell(), "no point of the canvas has a row");
    QTest::qWait(1);
    Paints paints(rig.canvas);
    rig.leave();
    QCOMPARE(rig.context.hovered(), Position(-1));
    QTRY_VERIFY(paints.count > 0);
  }

 private:
  static void canvases(bool withAxis) {
    QTest::addColumn<QString>("id");
    QTest::addColumn<QString>("name");
    const auto row = [](const char* id, const char* name) { QTest::newRow(id) << id << name; };
    row("map", "Map of the cache");
    row("lanes", "Maps of the lanes");
    row("quant", "Rows of the layer");
    row("attention", "Attention by head");
    row("smartkv", "Rows of each layer by band and score");
    row("tree", "Tree over the time line");
    if (withAxis) return;
    row("storage", "Slots of the pool");
    row("rings", "Rings of slots");
  }
};

KV_TEST(CanvasTest)
#include "canvas_test.moc"
