// SPDX-License-Identifier: GPL-3.0-or-later
// A script that computes without a call leaves the window alive: it paints, and Esc ends the script.
#include <QStatusBar>

#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/views/console/script_input.h"

using namespace kvlab;

namespace {

/// Counts how often a widget is painted.
class Painted : public QObject {
 public:
  int times = 0;

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    times += event->type() == QEvent::Paint;
    return false;
  }
};

}  // namespace

class LivingScriptTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_folder)); }

  void escapeEndsAnEndlessLoop_data() {
    QTest::addColumn<QString>("line");
    QTest::newRow("loop") << "for(;;);";
    QTest::newRow("nested") << "while(true)try{for(;;)Math.sqrt(2)}catch(e){}";
    QTest::newRow("calls") << "for(;;)lab.current()";
  }
  void escapeEndsAnEndlessLoop() {
    QFETCH(QString, line);
    const auto window = test::wholeWindow();
    QVERIFY(test::openIn(*window, {{"model", "synthetic:tiny"}, {"threads", 1}}));
    QVERIFY(window->views().showView("console"));
    auto* input = window->docks().view("console")->findChild<ScriptInput*>();
    QVERIFY(input);
    input->setFocus();
    Painted painted;
    QWidget* status = window->statusBar();
    status->installEventFilter(&painted);
    QTimer repaint;
    connect(&repaint, &QTimer::timeout, status, [status] { status->update(); });
    repaint.start(20);
    int before = 0, during = 0;
    QElapsedTimer sinceEscape;
    QTimer::singleShot(400, window.get(), [&] { before = painted.times; });
    QTimer::singleShot(900, window.get(), [&] {
      during = painted.times - before;
      QTest::keyClick(input, Qt::Key_Z);  // kept out while a script runs
      sinceEscape.start();
      QTest::keyClick(window.get(), Qt::Key_Escape);
    });
    QTest::keyClicks(input, line);
    QTest::keyClick(input, Qt::Key_Return);
    QTRY_VERIFY(sinceEscape.isValid());
    QTRY_VERIFY(!window->scriptRunning());
    QVERIFY2(sinceEscape.elapsed() < 1000, qPrintable(QString::number(sinceEscape.elapsed())));
    QVERIFY2(during > 5, qPrintable(QString::number(during)));
    QVERIFY(!input->toPlainText().contains('z'));
    bool again = false;
    window->context().evaluate("1+1", window.get(), [&](const QString& text, bool) { again = text == "2"; });
    QTRY_VERIFY(again);
  }
};

KV_TEST(LivingScriptTest)
#include "living_script_test.moc"
