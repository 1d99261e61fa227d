// SPDX-License-Identifier: GPL-3.0-or-later
// The self-tests of a model as a job of the window: the panel runs the real program, shows its lines, and stops it.
#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>

#include "app/engine/live_context.h"
#include "app/form_clicks.h"
#include "app/whole_window.h"
#include "app/window/check_panel.h"
#include "core/lists/lists.h"
#include "support/runner.h"
#include "widgets/base/theme.h"

using namespace kvlab;

class CheckModelTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<LiveContext> m_context;
  std::unique_ptr<CheckPanel> m_panel;
  QTemporaryDir m_folder;

  JobList& jobs() { return m_context->jobs(); }
  QPushButton* button(const char* name) { return m_panel->findChild<QPushButton*>(name); }
  QString said() { return m_panel->findChild<QLabel*>("checkState")->text(); }
  QTreeWidget* tests() { return m_panel->findChild<QTreeWidget*>(); }
  void open(const QString& program) {
    m_panel = std::make_unique<CheckPanel>(jobs(), listSelfTests(), program, nullptr);
    m_panel->setAttribute(Qt::WA_DeleteOnClose, false);
    m_panel->show();
  }
  /// A program that writes these lines and ends with a code.
  QString program(const QByteArray& lines, int code) {
    QFile out(m_folder.filePath("program.sh"));
    if (!out.open(QIODevice::WriteOnly)) return {};
    out.write("#!/bin/sh\ncat <<'END'\n" + lines + "END\nexit " + QByteArray::number(code) + "\n");
    out.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return out.fileName();
  }
  /// KVLAB_CHECK_PICTURES names a folder for pictures of the panel.
  void picture(const QString& name) {
    const QString folder = qEnvironmentVariable("KVLAB_CHECK_PICTURES");
    if (!folder.isEmpty()) m_panel->grab().save(folder + '/' + name + ".png");
  }
  const Job& ended() {
    [&] { QTRY_VERIFY_WITH_TIMEOUT(!jobs().jobs().empty() && !jobs().jobs().back().runs(), 120000); }();
    return jobs().jobs().back();
  }

 private Q_SLOTS:
  void init() { m_context = std::make_unique<LiveContext>(); }
  void cleanup() {
    m_panel.reset();
    m_context.reset();
  }

  void linesOfTheProgram() {
    const auto one =
        checkedTest("rotary_base    FAILED  0.0926 of 0.02          3.2 s  No other base: less with base 10000");
    QVERIFY(one);
    QCOMPARE(one->id, "rotary_base");
    QCOMPARE(one->outcome, "FAILED");
    QCOMPARE(one->figure, "0.0926 of 0.02");
    QCOMPARE(one->seconds, "3.2");
    QCOMPARE(one->says, "No other base: less with base 10000");
    QVERIFY(checkedTest("window         skipped -                      0.0 s  No other window fits"));
    QVERIFY(!checkedTest("14 tests, 1 failed") && !checkedTest("kvlab: check head_order 3/30"));
  }

  void allTestsOfTheDemoModel() {
    if (qEnvironmentVariableIsEmpty("KVLAB")) QSKIP("KVLAB names the program; CTest sets it");
    open(qEnvironmentVariable("KVLAB"));
    m_panel->setModel({});
    QVERIFY(!button("runTests")->isEnabled());
    m_panel->setModel("demo");
    FormClicks().click(button("runTests"));
    QVERIFY(!button("runTests")->isEnabled() && button("stopTests")->isEnabled());
    QCOMPARE(ended().state, JobState::Done);
    QVERIFY(button("runTests")->isEnabled() && !button("stopTests")->isEnabled());
    QCOMPARE(said(), QString("demo: %1 passed, 0 failed, 0 skipped").arg(tests()->topLevelItemCount()));
    for (int i = 0; i < tests()->topLevelItemCount(); ++i) QCOMPARE(tests()->topLevelItem(i)->text(1), "passed");
    picture("passed");
  }

  void aFailedTestIsNamed() {
    open(
        program("decoder        passed  0 of 0                 2.4 s  A second decoder: 27 tokens\n"
                "rotary_base    FAILED  0.09 of 0.02           3.2 s  No other base: less with base 10000\n"
                "2 tests, 1 failed\n",
                1));
    m_panel->setModel("a model");
    FormClicks().click(button("runTests"));
    QCOMPARE(ended().state, JobState::Failed);
    QVERIFY2(ended().how.contains("rotary_base"), qPrintable(ended().how));
    QCOMPARE(said(), "a model: 1 passed, 1 failed, 0 skipped");
    QTreeWidgetItem* line = tests()->findItems("rotary_base", Qt::MatchExactly).value(0);
    QVERIFY(line && line->text(1) == "failed" && line->foreground(1).color() == Theme::current()->error);
    picture("failed");
  }

  void whatRefusesIsTold() {
    open(program("kvlab: error: the model: it is not there; give another\n", 3));
    m_panel->setModel("nowhere");
    FormClicks().click(button("runTests"));
    QCOMPARE(ended().state, JobState::Failed);
    QCOMPARE(ended().how, "the model: it is not there; give another");
    open("/nowhere/kvlab");
    m_panel->setModel("demo");
    FormClicks().click(button("runTests"));
    QCOMPARE(ended().state, JobState::Failed);
    QCOMPARE(ended().how, "/nowhere/kvlab does not start");
  }

  void stopped() {
    QFile out(m_folder.filePath("slow.sh"));
    QVERIFY(out.open(QIODevice::WriteOnly) && out.write("#!/bin/sh\nexec sleep 60\n") > 0);
    out.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    out.close();
    open(out.fileName());
    m_panel->setModel("demo");
    FormClicks().click(button("runTests"));
    QTest::qWait(200);
    FormClicks().click(button("stopTests"));
    QCOMPARE(ended().state, JobState::Stopped);
  }

  void theWindowKnowsTheModel() {
    QTemporaryDir settings;
    QVERIFY(test::ownSettings(settings));
    const std::unique_ptr<MainWindow> window = test::wholeWindow();
    QVERIFY(test::openIn(*window, {{"model", "demo"}}));
    window->context().runCommand("check_model", {});
    auto* panel = window->findChild<CheckPanel*>();
    QVERIFY(panel && panel->isVisible());
    QVERIFY(panel->findChild<QLabel*>("checkState")->text().contains("demo"));
    QVERIFY(panel->findChild<QPushButton*>("runTests")->isEnabled());
    window->context().runCommand("check_model", {});
    QCOMPARE(window->findChildren<CheckPanel*>().size(), 1);
    for (const auto& line :
         {"decoder        passed  0 of 0                 2.4 s  A second decoder computes the same rows and logits: 27 "
          "tokens, every row, layer output and logits",
          "rotary_base    FAILED  0.114 of 0.02         11.0 s  No other rotary base fits the checkpoint better: the "
          "text costs 3.202 nats a token, and less with base 100000 in place of 10000"})
      QMetaObject::invokeMethod(panel, [&] { panel->take(*checkedTest(line)); });
    const QString folder = qEnvironmentVariable("KVLAB_CHECK_PICTURES");
    for (const char* theme : {"dark", "light"}) {
      window->context().runCommand("theme", {{"name", theme}});
      QTest::qWait(100);
      if (!folder.isEmpty()) panel->grab().save(folder + '/' + theme + ".png");
    }
  }

  void helpIsAsked() {
    open("kvlab");
    QSignalSpy help(m_panel.get(), &CheckPanel::helpWanted);
    FormClicks().click(m_panel->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Help));
    QCOMPARE(help.size(), 1);
  }
};

KV_TEST(CheckModelTest)
#include "check_model_test.moc"
