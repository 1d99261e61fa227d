// SPDX-License-Identifier: GPL-3.0-or-later
// Opening a session or closing the window asks once if the shown session would be lost: real clicks on the question,
// over the real engine.
#include <QCheckBox>
#include <QFileDialog>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>

#include "app/forms/new_session_panel.h"
#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class EndingSessionTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;
  std::unique_ptr<MainWindow> m_window;

  LiveContext& context() { return m_window->context(); }
  void make(bool headless) {
    m_window.reset();
    m_window = test::wholeWindow(test::wholeSettings(headless));
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}, "the cat sat on the mat") && length() > 3);
  }
  bool settled() { return test::settled(*m_window); }
  int length() { return context().snapshot()->length(); }
  void work() {
    QVERIFY(m_window->runCommand("prompt", {{"text", "and the dog ran"}}));
    QVERIFY(settled());
  }
  Banner& banner() { return m_window->banner(); }
  bool asks() { return banner().asks("opening"); }
  void answer(const QString& words) {
    for (QPushButton* one : banner().findChildren<QPushButton*>())
      if (one->isVisible() && one->text().startsWith(words)) return QTest::mouseClick(one, Qt::LeftButton);
    QFAIL(qPrintable(words));
  }
  std::string file(const char* name, const json& manifest) {
    QFile out(m_folder.filePath(name));
    if (!out.open(QIODevice::WriteOnly)) qFatal("no file");
    out.write(QByteArray::fromStdString(manifest.dump()));
    return out.fileName().toStdString();
  }
  std::string ring() { return file("ring.json", {{"model", "demo"}, {"layout", "ring_fused"}}); }
  bool isRing() { return context().snapshot()->storage[0]->layout == "ring_fused"; }
  bool became(bool ring) {
    return QTest::qWaitFor([&] { return settled() && isRing() == ring; }, 20000);
  }

 private Q_SLOTS:
  void initTestCase() {
    QCoreApplication::setOrganizationName("kvlab-test");
    QStandardPaths::setTestModeEnabled(true);
    QSettings().clear();
  }
  void cleanup() { m_window.reset(); }

  void nothingIsAskedWhereNothingIsLost() {
    make(false);
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(!asks() && became(true));
  }

  void theSessionStaysUntilThePersonAgrees() {
    make(false);
    work();
    const int before = length();
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(asks() && !QApplication::activeModalWidget());
    QVERIFY2(banner().text().contains("ring_fused") && banner().text().contains("tick 2"), qPrintable(banner().text()));
    QTest::qWait(100);
    QVERIFY(!isRing());
    answer("Keep Working");
    QVERIFY(!asks() && length() == before);
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    answer("Discard and Open");
    QVERIFY(!asks() && became(true));
  }

  void aCaptureIsSavedFirst() {
    make(false);
    work();
    const int before = length();
    QVERIFY(m_window->runCommand("open_model", {{"path", "demo"}}));
    answer("Save Capture and Open");
    auto* dialog = m_window->findChild<QFileDialog*>();
    QVERIFY(dialog);
    const QString path = m_folder.filePath("kept.kvcap");
    dialog->selectFile(path);
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_VERIFY_WITH_TIMEOUT(settled() && length() == 0, 20000);  // the new session is empty
    QVERIFY(QFileInfo(path).size() > 0);
    QVERIFY(m_window->runCommand("open_capture", {{"path", path.toStdString()}}));
    QVERIFY(!asks());
    QTRY_VERIFY_WITH_TIMEOUT(settled() && length() == before, 20000);
    QVERIFY(m_window->runCommand("open_model", {{"path", "demo"}}));
    QVERIFY(!asks());  // the capture is still there
    QTRY_VERIFY_WITH_TIMEOUT(settled() && length() == 0, 20000);
  }

  /// The dialog's check box decides whether rows of a cache file are compared with the model.
  void rowsOfAFileAreComparedOnRequest() {
    make(false);
    work();
    const QString path = m_folder.filePath("rows.safetensors");
    QVERIFY(m_window->runCommand("save_cache", {{"path", path.toStdString()}}));
    QVERIFY(settled());
    const auto loadedRows = [this] {
      const auto rows = context().snapshot()->exactness;
      return rows ? std::ranges::count(*rows, Exactness::Loaded) : 0;
    };
    for (const bool compared : {false, true}) {
      QVERIFY(m_window->runCommand("load_cache", json::object()));
      auto* dialog = m_window->findChild<QFileDialog*>();
      QVERIFY(dialog);
      auto* box = dialog->findChild<QCheckBox*>();
      QVERIFY(box && !box->isChecked());
      if (compared) box->click();
      dialog->selectFile(path);
      QMetaObject::invokeMethod(dialog, "accept");
      QTRY_VERIFY(!m_window->findChild<QFileDialog*>());
      QVERIFY(settled());
      QTRY_COMPARE(loadedRows(), compared ? 0 : length());
      QVERIFY(m_window->views().sessionScript().contains("verify: true") == compared);
    }
  }

  void aSavedSessionIsLostByNoWord() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("save_capture", {{"path", m_folder.filePath("saved.kvcap").toStdString()}}));
    QVERIFY(settled());
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(!asks() && became(true));
  }

  void cancellingTheFileKeepsTheSession() {
    make(false);
    work();
    const int before = length();
    QVERIFY(m_window->runCommand("open_model", {{"path", "demo"}}));
    answer("Save Capture and Open");
    m_window->findChild<QFileDialog*>()->reject();
    QTest::qWait(100);
    QCOMPARE(length(), before);
  }

  /// The question about jobs is another one: the end of a job does not take it away, and closing still asks its own.
  void theQuestionOutlivesJobs() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(asks());
    work();  // a job begins and ends
    QVERIFY(asks());
  }

  /// A script, say, opens another session: the question was about the one before.
  void theQuestionEndsWithItsSession() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(asks());
    m_window->openSession({{"manifest", {{"layout", "paged"}}}}, [](const Result<SessionPtr>&) {});
    QTRY_VERIFY_WITH_TIMEOUT(settled() && context().snapshot()->storage[0]->layout.starts_with("paged"), 20000);
    QVERIFY(!asks());
  }

  void recentSessionsAreAskedAboutToo() {
    make(false);
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(became(true));
    work();
    QMenu* file = m_window->menuBar()->actions().first()->menu();
    QMenu* recent = nullptr;
    for (QAction* one : file->actions())
      if (one->text() == "Open Recent") recent = one->menu();
    QVERIFY(recent);
    emit recent->aboutToShow();
    QVERIFY(recent->actions().size() >= 2);
    recent->actions()[1]->trigger();
    QVERIFY(asks());
    answer("Discard and Open");
    QVERIFY(became(false));
    emit recent->aboutToShow();
    recent->actions()[1]->trigger();  // the ring; nothing was done since
    QVERIFY(!asks() && became(true));
  }

  /// The form itself says which session opening ends.
  void theFormOfANewSessionAsksNoSecondTime() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("new_session", json::object()));
    auto* panel = m_window->findChild<NewSessionPanel*>();
    QVERIFY(panel && panel->findChild<QWidget*>("ends"));
    QMetaObject::invokeMethod(panel, "accept");
    QVERIFY(!asks());
    QTRY_VERIFY_WITH_TIMEOUT(settled() && context().snapshot()->tick.value() <= 1, 20000);
  }

  void anUntouchedSessionClosesAtOnce() {
    make(false);
    QVERIFY(m_window->close() && !m_window->isVisible());
  }

  void closingAsksOnceAndSavesInTheSameQuestion() {
    make(false);
    work();
    for (int i = 0; i < 2; ++i) {  // asking again does not close
      QVERIFY(!m_window->close() && m_window->isVisible());
      QVERIFY(banner().asks("losing") && !QApplication::activeModalWidget());
    }
    QVERIFY2(banner().text().contains("tick 2") && banner().text().contains("no capture"), qPrintable(banner().text()));
    answer("Keep Working");
    QVERIFY(!banner().asks("losing") && m_window->isVisible());
    QVERIFY(m_window->runCommand("quit", json::object()));
    answer("Save Capture and Close");
    auto* dialog = m_window->findChild<QFileDialog*>();
    QVERIFY(dialog);
    const QString path = m_folder.filePath("closed.kvcap");
    dialog->selectFile(path);
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_VERIFY_WITH_TIMEOUT(!m_window->isVisible(), 20000);
    QVERIFY(QFileInfo(path).size() > 0);
  }

  void whatIsSavedClosesAtOnce() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("save_capture", {{"path", m_folder.filePath("all.kvcap").toStdString()}}));
    QVERIFY(settled());
    QVERIFY(m_window->close());
    make(false);
    work();
    QVERIFY(!m_window->close());
    answer("Discard and Close");
    QVERIFY(!m_window->isVisible());
  }

  /// A note, a breakpoint or a change of the rules is work, too.
  void workNeedsNoTick() {
    for (const auto& [verb, args] :
         std::vector<std::pair<const char*, json>>{{"note", {{"text", "x"}}},
                                                   {"break", {{"condition", "kl > 1"}}},
                                                   {"settings", {{"after_edit", "recompute"}}}}) {
      make(false);
      context().submit(verb, args);
      QVERIFY(settled());
      QVERIFY2(!m_window->close() && banner().asks("losing"), verb);
      answer("Discard");
      QVERIFY(!m_window->isVisible());
    }
    make(false);
    for (const char* verb : {"stateHash", "drift", "rows"}) context().submit(verb, json::object());
    QVERIFY(settled() && m_window->close());
  }

  /// A job that runs and work that is not saved are one question.
  void aRunningJobIsPartOfTheQuestion() {
    make(false);
    work();
    QVERIFY(m_window->runCommand("run", {{"max_ticks", 100000}}));
    QVERIFY(context().busy());
    QVERIFY(!m_window->close() && banner().asks("losing"));
    QVERIFY2(banner().text().contains("Still working"), qPrintable(banner().text()));
    answer("Save Capture and Close");
    auto* dialog = m_window->findChild<QFileDialog*>();
    dialog->selectFile(m_folder.filePath("stopped.kvcap"));
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_VERIFY_WITH_TIMEOUT(!m_window->isVisible(), 20000);
    QVERIFY(QFileInfo(m_folder.filePath("stopped.kvcap")).size() > 0);
  }

  /// The first command of a session is work before it has answered.
  void aFirstRunIsAskedAbout() {
    make(false);
    QVERIFY(m_window->runCommand("run", {{"max_ticks", 100000}}));
    QVERIFY(context().busy());
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(asks());
    answer("Keep Working");
    context().session()->cancel();
    QVERIFY(settled());
  }

  void nobodyIsAskedWithoutADisplay() {
    make(true);
    work();
    QVERIFY(m_window->runCommand("open_manifest", {{"path", ring()}}));
    QVERIFY(!asks() && became(true));
    work();
    QVERIFY(m_window->close());
  }
};

KV_TEST(EndingSessionTest)
#include "ending_session_test.moc"
