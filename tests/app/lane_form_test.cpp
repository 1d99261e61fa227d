// SPDX-License-Identifier: GPL-3.0-or-later
// Lanes by the form, in the whole window over the real engine: real clicks, no JSON.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "app/form_clicks.h"
#include "app/forms/lane_panel.h"
#include "app/whole_window.h"
#include "core/api/lanes_view.h"
#include "support/runner.h"
#include "widgets/base/button_use.h"

using namespace kvlab;
using nlohmann::json;

class LaneFormTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;
  FormClicks m_hand;

  LiveContext& context() { return m_window->context(); }
  LanePanel* panel() { return m_window->findChild<LanePanel*>(); }
  SessionForm& form() { return *panel()->findChild<SessionForm*>(); }
  QPushButton* ok() { return panel()->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok); }
  QPlainTextEdit& text() { return *panel()->findChild<QPlainTextEdit*>(); }
  json list() { return m_window->docks().view("lanes")->options()["changes"]; }
  bool settled() { return test::settled(*m_window); }
  void press(const char* command) {
    for (QAbstractButton* one : m_window->docks().view("lanes")->findChildren<QAbstractButton*>())
      if (commandOf(*one) == command) return m_hand.click(one);
    QFAIL(command);
  }
  void begin() {
    press("add_lane");
    QTRY_VERIFY(panel());
    QVERIFY(QTest::qWaitForWindowActive(panel()));
  }

 private Q_SLOTS:
  void init() {
    m_window = test::wholeWindow();
    QVERIFY(test::openIn(*m_window, {{"policy", "h2o:ratio=0.5"}}, "the cat sat on the mat"));
    QVERIFY(m_window->views().showView("lanes") && m_window->views().setOptions("lanes", {{"changes", json::array()}}));
    QTRY_VERIFY(m_window->docks().view("lanes")->ready());
    m_hand = {};
  }
  void cleanup() { m_window.reset(); }

  void aLaneIsDescribedAndOpened() {
    QStringList said;
    connect(&context(), &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
    begin();
    QVERIFY(!ok()->isEnabled());  // the lane would be as the session
    m_hand.choose(form(), "kv.v", "int8");
    m_hand.choose(form(), "policy", "snapkv");
    m_hand.type(form(), "policy.ratio", "0.25");
    m_hand.click(ok());
    const json lane = json::parse(R"({"kv":{"v":"int8"},"policy":{"name":"snapkv","ratio":0.25}})");
    QTRY_VERIFY2(list() == json::array({lane}), list().dump().c_str());
    QCOMPARE(said, QStringList{"view.set(\"lanes\", {\"changes\":[" + QString::fromStdString(lane.dump()) + "]})"});
    QTRY_VERIFY(!panel());
    begin();
    m_hand.click(panel()->findChild<QComboBox*>("presets"));
    QTest::keyClick(panel()->findChild<QComboBox*>("presets")->view(), Qt::Key_Home);
    QTest::keyClick(panel()->findChild<QComboBox*>("presets")->view(), Qt::Key_Return);
    QTRY_COMPARE(json::parse(text().toPlainText().toStdString())["layout"], json("ring_fused"));
    m_hand.click(ok());
    QTRY_COMPARE(list().size(), std::size_t{2});
    press("lanes_open");
    QTRY_VERIFY_WITH_TIMEOUT(context().snapshot()->lanes && context().snapshot()->lanes->lanes.size() == 3, 20000);
    const auto& lanes = context().snapshot()->lanes->lanes;
    QCOMPARE(lanes[1].snapshot->storage[0]->v, std::string("int8"));
    QCOMPARE(lanes[2].snapshot->storage[0]->layout, std::string("ring_fused"));
  }

  /// Empty fields show the values of the session, and keys that all lanes share are locked.
  void theFormShowsWhatIsTheSessions() {
    begin();
    const auto* problem = panel()->findChild<QLabel*>("problem");
    const auto wrong = [problem] { return problem->styleSheet().contains(Theme::current()->error.name()); };
    QVERIFY(problem->text().startsWith("The lane changes nothing;") && !wrong() && !ok()->isEnabled());
    QCOMPARE(qobject_cast<QLineEdit*>(form().control("policy.ratio"))->placeholderText(),
             QString("as the session: 0.5"));
    QVERIFY(form().control("policy.ratio")->isVisible());  // the session's policy takes it
    QCOMPARE(qobject_cast<QComboBox*>(form().control("executor"))->currentText(), QString("as the session: batch"));
    for (const char* key : {"model", "backend", "weights", "numerics", "dtype"}) {
      QVERIFY2(!form().control(key)->isEnabled(), key);
      QVERIFY(form().control(key)->toolTip().contains("is the same in all lanes"));
    }
    m_hand.type(form(), "policy.ratio", "0.25");  // a setting of the session's policy
    QCOMPARE(json::parse(text().toPlainText().toStdString()), json::parse(R"({"policy":{"name":"h2o","ratio":0.25}})"));
    text().setPlainText(R"({"policy":"h2o"})");  // another one, which takes nothing from the session's
    QVERIFY(!qobject_cast<QLineEdit*>(form().control("policy.ratio"))->placeholderText().contains("as the session"));
    QVERIFY(ok()->isEnabled());
    text().setPlainText("[");
    QVERIFY(!ok()->isEnabled());
    text().setPlainText(R"({"dtype":"f16"})");
    QVERIFY(problem->text().contains("dtype is the same in all lanes") && wrong());
    QVERIFY(!ok()->isEnabled());
    text().setPlainText(R"({"sampling":{"top_p":7}})");
    QVERIFY(problem->text().contains("sampling.top_p") && !ok()->isEnabled());
  }

  /// Pictures for people: KVLAB_FORM_PICTURES names a folder.
  void picturesForPeople() {
    const QString folder = qEnvironmentVariable("KVLAB_FORM_PICTURES");
    if (folder.isEmpty()) QSKIP("KVLAB_FORM_PICTURES names no folder");
    for (const char* theme : {"dark", "light"}) {
      QVERIFY(m_window->setTheme(theme));
      begin();
      text().setPlainText(R"({"layout":"ring_fused","ring":{"window":64}})");
      QTest::qWait(100);
      QVERIFY(panel()->grab().save(folder + "/lane_" + theme + ".png"));
      panel()->reject();
      QTRY_VERIFY(!panel());
    }
  }
};

KV_TEST(LaneFormTest)
#include "lane_form_test.moc"
