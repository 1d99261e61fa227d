// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions from nothing in the whole window over the real engine, without JSON: real clicks on buttons, opened lists
// and fields, counted.
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolBar>
#include <QToolButton>

#include "app/form_clicks.h"
#include "app/forms/new_session_panel.h"
#include "app/whole_window.h"
#include "core/lists/lists.h"
#include "support/runner.h"
#include "widgets/base/button_use.h"

using namespace kvlab;
using nlohmann::json;

class SessionClicksTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;
  FormClicks m_hand;

  SnapshotPtr now() { return m_window->context().snapshot(); }
  NewSessionPanel* panel() { return m_window->findChild<NewSessionPanel*>(); }
  SessionForm* form() { return panel()->findChild<SessionForm*>(); }
  bool settled() { return test::settled(*m_window); }
  void begin() {
    for (QToolButton* one : m_window->findChild<QToolBar*>("toolbar")->findChildren<QToolButton*>())
      if (one->accessibleName().startsWith("New Session")) m_hand.click(one);
    QVERIFY(panel() && QTest::qWaitForWindowActive(panel()));
  }
  /// The session whose manifest has this text.
  bool opened(const std::string& part) {
    return QTest::qWaitFor(
        [&] {
          return settled() && now()->settings && now()->settings->manifest.dump().find(part) != std::string::npos;
        },
        20000);
  }

 private Q_SLOTS:
  void init() {
    WindowSettings settings = test::wholeSettings();
    settings.memory = modelDescriber(KVLAB_RESOURCES_DIR);
    m_window = test::wholeWindow(settings);
    m_hand = {};
  }
  void cleanup() { m_window.reset(); }

  void aRingWithItsWindowAndInt8Values() {
    begin();
    m_hand.choose(*form(), "layout", "ring_fused");
    m_hand.type(*form(), "ring.window", "64");
    m_hand.choose(*form(), "kv.v", "int8");
    m_hand.click(panel()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open));
    QVERIFY(opened("ring_fused"));
    QCOMPARE(now()->storage[0]->v, std::string("int8"));
    QCOMPARE(now()->storage[0]->ring->window, 64);
    QTRY_VERIFY(now()->length() > 64);  // it has read the story
    QTRY_COMPARE(m_window->findChild<QLabel*>("status_length")->text(), QString("64 of 64 rows a layer, window"));
    QVERIFY2(m_hand.clicks <= 10, qPrintable(QString::number(m_hand.clicks)));
  }

  void aPolicyWithFiguresOfItsOwn() {
    begin();
    m_hand.choose(*form(), "policy", "h2o");
    m_hand.type(*form(), "policy.ratio", "0.25");
    QTest::keyClick(form()->control("policy.ratio"), Qt::Key_Return);
    QVERIFY(opened("h2o"));
    QCOMPARE(now()->settings->manifest["policy"]["ratio"], json(0.25));
    QVERIFY2(m_hand.clicks <= 4, qPrintable(QString::number(m_hand.clicks)));
  }

  void aWlodSession() {
    QVERIFY(test::openIn(*m_window, json::object(), "the cat sat ."));
    QVERIFY(m_window->views().showView("tree"));  // Alt and a key, or its tab
    ++m_hand.clicks;
    InspectorView* tree = m_window->docks().view("tree");
    QTRY_VERIFY(tree->ready());
    for (QAbstractButton* one : tree->findChildren<QAbstractButton*>())
      if (commandOf(*one) == "new_wlod_session") m_hand.click(one);
    QVERIFY(panel() && QTest::qWaitForWindowActive(panel()));
    QVERIFY(panel()->findChild<QLabel*>("ends")->text().contains("demo, tick"));
    m_hand.click(panel()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open));
    QTRY_VERIFY_WITH_TIMEOUT(settled() && now()->wlod, 20000);
    QVERIFY2(m_hand.clicks <= 3, qPrintable(QString::number(m_hand.clicks)));
  }

  /// A row of another layer than the focused one is damaged.
  void aRedLampLeadsToTheRow() {
    QVERIFY(test::openIn(*m_window, {{"faults", true}}, "the cat sat ."));
    LiveContext& context = m_window->context();
    for (const auto& [verb, args] :
         {std::pair<const char*, json>{"fault", {{"kind", "tag_bit"}, {"layer", 2}, {"index", 3}, {"bit", 0}}},
          {"step", json::object()}})
      context.submit(verb, args, m_window.get(), [](const Result<json>&) {});
    QTRY_VERIFY_WITH_TIMEOUT(settled() && !now()->alignment.findings.empty(), 20000);
    QVERIFY(context.focus().layer != CacheLayer(2));
    m_hand.click(m_window->findChild<QToolButton*>("status_invariants"));
    QVERIFY(settled());
    QCOMPARE(context.focus().layer, CacheLayer(2));
    QCOMPARE(context.focus().position, Position(3));
    QCOMPARE(m_hand.clicks, 1);
  }

  /// The estimate equals the memory that the session then takes.
  void theEstimateFollowsTheForm() {
    begin();
    auto* memory = panel()->findChild<QLabel*>("memory");
    QTRY_VERIFY2(memory->text().contains("2.58 MiB at capacity"), qPrintable(memory->text()));
    m_hand.choose(*form(), "kv.v", "int8");
    QTRY_VERIFY2(memory->text().contains("2.06 MiB at capacity"), qPrintable(memory->text()));
    QVERIFY(memory->toolTip().contains("V int8"));
  }

  /// Pictures for people: KVLAB_FORM_PICTURES names a folder.
  void picturesForPeople() {
    const QString folder = qEnvironmentVariable("KVLAB_FORM_PICTURES");
    if (folder.isEmpty()) QSKIP("KVLAB_FORM_PICTURES names no folder");
    begin();
    m_hand.choose(*form(), "policy", "snapkv");
    QTest::qWait(600);
    for (const char* theme : {"dark", "light"}) {
      QVERIFY(m_window->setTheme(theme));
      QTest::qWait(100);
      QVERIFY(panel()->grab().save(folder + "/form_" + theme + ".png"));
    }
  }
};

KV_TEST(SessionClicksTest)
#include "session_clicks_test.moc"
