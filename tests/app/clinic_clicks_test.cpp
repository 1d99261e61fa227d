// SPDX-License-Identifier: GPL-3.0-or-later
// The bug clinic in the whole window over the real engine: each case is opened from its panel with real clicks, and one
// more click on the red lamp leads to the layer and the row. KVLAB_CLINIC_PICTURES names a folder for a picture of
// each.
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTextBrowser>
#include <QToolButton>

#include "app/form_clicks.h"
#include "app/help/manual_window.h"
#include "app/plain/resources.h"
#include "app/whole_window.h"
#include "app/window/clinic_panel.h"
#include "core/clinic/clinic_run.h"
#include "support/runner.h"

using namespace kvlab;

class ClinicClicksTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_settings;
  std::unique_ptr<MainWindow> m_window;
  FormClicks m_hand;

  ClinicPanel* panel() { return m_window->findChild<ClinicPanel*>(); }
  QString said() { return panel()->findChild<QLabel*>("clinicState")->text(); }
  SnapshotPtr now() { return m_window->context().snapshot(); }
  void press(const char* name) {
    auto* button = panel()->findChild<QPushButton*>(name);
    QVERIFY(button && button->isEnabled());
    m_hand.click(button);
  }
  /// The script of the opened case is over, and a check has named something.
  bool found() {
    return QTest::qWaitFor(
        [&] {
          return !m_window->scriptRunning() && !m_window->context().busy() && now() &&
              !now()->alignment.findings.empty();
        },
        20000);
  }
  void picture(const QString& name) {
    const QString folder = qEnvironmentVariable("KVLAB_CLINIC_PICTURES");
    if (folder.isEmpty()) return;
    panel()->grab().save(folder + '/' + name + "-panel.png");
    (void)m_window->views().showView("invariants");
    QTest::qWait(200);
    m_window->grab().save(folder + '/' + name + ".png");
  }

 private Q_SLOTS:
  void initTestCase() { QVERIFY(test::ownSettings(m_settings)); }
  void init() {
    m_window = test::wholeWindow();
    m_window->resize(1600, 1000);
    m_hand = {};
    m_window->context().runCommand("bug_clinic", {});
    QVERIFY(panel() && QTest::qWaitForWindowActive(panel()));
  }
  void cleanup() { m_window.reset(); }

  void lampLeadsToTheRow_data() {
    QTest::addColumn<int>("at");
    const auto cases = readClinic(resourceRoot());
    QVERIFY(cases);
    for (std::size_t i = 0; i < cases->size(); ++i) QTest::newRow((*cases)[i].bug.c_str()) << static_cast<int>(i);
  }
  void lampLeadsToTheRow() {
    QFETCH(int, at);
    const ClinicCase one = readClinic(resourceRoot())->at(static_cast<std::size_t>(at));
    panel()->findChild<QListWidget*>()->setCurrentRow(at);
    QVERIFY(panel()->findChild<QTextBrowser*>()->toPlainText().contains(QString::fromStdString(one.story).left(40)));
    press("openCase");
    QVERIFY2(found(), qPrintable(said()));
    const SnapshotPtr seen = now();
    const auto& all = seen->alignment.findings;
    const auto named = std::find_if(all.begin(), all.end(), [&](const Finding& finding) {
      return finding.violation.invariant == one.found.check && finding.violation.layer == one.found.layer &&
          finding.violation.ledger == one.found.row;
    });
    QVERIFY(named != all.end());
    m_hand.clicks = 0;
    m_hand.click(m_window->findChild<QToolButton*>("status_invariants"));
    QVERIFY(test::settled(*m_window));
    QVERIFY(std::any_of(all.begin(), all.end(), [&](const Finding& finding) {
      return finding.violation.layer == m_window->context().focus().layer;
    }));
    QCOMPARE(m_hand.clicks, 1);
    picture(QString::fromStdString(one.bug));
  }

  void aBlindCaseIsRevealed() {
    QVERIFY(!panel()->findChild<QPushButton*>("reveal")->isEnabled());
    press("openBlind");
    QVERIFY(said().contains("Blind case"));
    QVERIFY(found());
    const auto cases = readClinic(resourceRoot());
    for (const ClinicCase& one : *cases) QVERIFY(!said().contains(QString::fromStdString(one.bug)));
    press("reveal");
    QVERIFY(std::any_of(cases->begin(), cases->end(), [&](const ClinicCase& one) {
      return said().contains(QString::fromStdString(one.bug)) &&
          panel()->findChild<QListWidget*>()->currentItem()->text() == QString::fromStdString(one.bug);
    }));
    QVERIFY(!panel()->findChild<QPushButton*>("reveal")->isEnabled());
  }

  /// A number opens the same case again, and the case that nobody worked in ends without a question.
  void aBlindCaseHasANumber() {
    auto* number = panel()->findChild<QLineEdit*>("blindNumber");
    QVERIFY(number);
    QTest::keyClicks(number, "7784");
    press("openBlind");
    QVERIFY2(said().contains("7784"), qPrintable(said()));
    QVERIFY(found());
    QTRY_VERIFY(m_window->context().session()->isKept());
    press("openCase");
    QVERIFY(!m_window->banner().isVisible());
    QVERIFY(found());
    QVERIFY(m_window->runCommand("step", nlohmann::json::object()));
    QVERIFY(test::settled(*m_window));
    QVERIFY(!m_window->context().session()->isKept());  // that is work
  }

  void helpOpensThePage() {
    m_hand.click(panel()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Help));
    QTRY_VERIFY(m_window->manual() && m_window->manual()->isVisible());
  }
};

KV_TEST(ClinicClicksTest)
#include "clinic_clicks_test.moc"
