// SPDX-License-Identifier: GPL-3.0-or-later
// The tour in a real window over the real engine: it is offered, left, resumed, and goes back.
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class TourTest : public QObject {
  Q_OBJECT

  QTemporaryDir m_home;
  std::unique_ptr<MainWindow> m_window;

  std::unique_ptr<MainWindow> make(bool headless) { return test::wholeWindow(test::wholeSettings(headless)); }

 private Q_SLOTS:
  void initTestCase() {
    QCoreApplication::setOrganizationName("kvlab-test");
    QCoreApplication::setApplicationName("tour");
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_home.path());
  }
  void init() { QSettings().clear(); }
  void cleanup() { m_window.reset(); }

  /// Back goes a caption back, a tour that is left goes on where it was, and one that was read does not.
  void tourIsLeftAndResumed() {
    m_window = make(false);
    Banner& banner = m_window->banner();
    const auto button = [&](const char* text) {
      for (QPushButton* one : banner.findChildren<QPushButton*>())
        if (one->text() == text) return one;
      return static_cast<QPushButton*>(nullptr);
    };
    QVERIFY(!m_window->runCommand("resume_tour", json::object()));  // nothing was left
    QVERIFY(m_window->runCommand("tour", json::object()));
    QStringList read;
    QStringList clicks{"Next", "Next", "Back", "Return", "End Tour"};
    QTimer reader;
    QString last;
    connect(&reader, &QTimer::timeout, m_window.get(), [&] {
      if (!banner.isVisible() || clicks.isEmpty() || banner.text() == last || !button("Next")->isVisible()) return;
      last = banner.text();
      read << last.left(24);
      const QString click = clicks.takeFirst();
      if (click == "Return") QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
      else QTest::mouseClick(button(qPrintable(click)), Qt::LeftButton);
    });
    reader.start(10);
    QTRY_VERIFY_WITH_TIMEOUT(clicks.isEmpty() && !m_window->scriptRunning() && !banner.isVisible(), 30000);
    QCOMPARE(read.size(), 5);
    QVERIFY2(read[0].startsWith("1 of 21 · ") && read[2].startsWith("3 of 21 · "), qPrintable(read.join('|')));
    QCOMPARE(read[3], read[1]);  // Back
    QCOMPARE(read[4], read[2]);  // Return is Next
    QCOMPARE(m_window->tourLeft(), 3);
    clicks = {"End Tour"};
    last.clear();
    QVERIFY(m_window->runCommand("resume_tour", json::object()));
    QTRY_VERIFY_WITH_TIMEOUT(clicks.isEmpty() && !m_window->scriptRunning(), 30000);
    QCOMPARE(read.back(), read[2]);
  }

  void tourIsOfferedUntilHidden() {
    m_window = make(false);
    m_window->show();
    auto* offer = m_window->findChild<QWidget*>("tourOffer");
    QVERIFY(offer && offer->isVisible());
    const QRect map = m_window->docks().view("map")->geometry();
    QTest::mouseClick(offer->findChildren<QToolButton*>().last(), Qt::LeftButton);
    QTest::qWait(20);
    QVERIFY(!offer->isVisible());
    QCOMPARE(m_window->docks().view("map")->geometry(), map);  // nothing has moved
    m_window = make(false);
    QVERIFY(!m_window->findChild<QWidget*>("tourOffer"));
    m_window = make(true);
    QVERIFY(!m_window->findChild<QWidget*>("tourOffer"));  // never in pictures
  }
};

KV_TEST(TourTest)
#include "tour_test.moc"
