// SPDX-License-Identifier: GPL-3.0-or-later
// The settings of a living session in the whole window over the real engine: real clicks change them, undo takes each
// change back, and a refusal changes nothing.
#include <QDialogButtonBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "app/form_clicks.h"
#include "app/forms/living_settings.h"
#include "app/forms/new_session_panel.h"
#include "app/forms/settings_panel.h"
#include "app/held_engine.h"
#include "app/whole_window.h"
#include "core/api/manifest.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class SessionSettingsTest : public QObject {
  Q_OBJECT
 private:
  test::Gate m_gate;
  std::unique_ptr<MainWindow> m_window;
  QStringList m_said;
  FormClicks m_hand;

  LiveContext& context() { return m_window->context(); }
  json manifest() { return context().session()->snapshot()->info->manifest; }
  SettingsPanel* panel() { return m_window->findChild<SettingsPanel*>(); }
  SessionForm& form() { return *panel()->findChild<SessionForm*>(); }
  QString text(const char* name) { return panel()->findChild<QLabel*>(name)->text(); }
  QPushButton* button(const QString& words) {
    for (QPushButton* one : panel()->findChildren<QPushButton*>())
      if (one->text().contains(words)) return one;
    return nullptr;
  }
  bool settled() { return test::settled(*m_window); }
  Result<json> asked(const std::string& verb, const json& args = json::object()) {
    std::optional<Result<json>> reply;
    context().submit(verb, args, m_window.get(), [&](const Result<json>& r) { reply = r; });
    if (!QTest::qWaitFor([&] { return reply && !context().busy(); }, 20000)) qFatal("no reply");
    return *reply;
  }
  std::string hash() { return asked("stateHash")->get<std::string>(); }
  QString nextUndo() {
    const json edits = *asked("edits");
    return edits["undo"].empty() ? QString() : QString::fromStdString(edits["undo"][0]["title"]);
  }
  void open(const json& manifest) {
    QVERIFY(test::openIn(*m_window, manifest, "the cat sat on the mat and the dog ran") && asked("tick"));
  }
  void showForm() {
    QTest::keyClick(m_window.get(), Qt::Key_Comma, Qt::ControlModifier);
    QTRY_VERIFY(panel());
    QVERIFY(QTest::qWaitForWindowActive(panel()));
  }
  /// The keyboard is in the form.
  void undoHere() {
    QVERIFY(panel()->isAncestorOf(QApplication::focusWidget()));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(settled());
  }
  void apply() {
    QVERIFY(button("Apply")->isEnabled());
    m_hand.click(button("Apply"));
    QVERIFY(settled());
  }

 private Q_SLOTS:
  void init() {
    WindowSettings settings = test::wholeSettings();
    settings.engines = test::heldEngines(settings.engines, m_gate);
    m_window = test::wholeWindow(settings);
    m_said.clear();
    connect(&context(), &InspectorContext::scripted, this, [this](const QString& line) { m_said << line; });
    m_hand = {};
  }
  void cleanup() { m_window.reset(); }

  void theFormShowsWhatTheSessionHas() {
    open({{"policy", {{"name", "h2o"}, {"ratio", 0.5}}}, {"kv", {{"v", "f16"}}}});
    QVERIFY(asked("setPolicy", {{"policy", "snapkv:ratio=0.25"}}));
    QVERIFY(asked("setFormat", {{"v", "int8"}}));
    showForm();
    const json shown = json::parse(panel()->findChild<QPlainTextEdit*>()->toPlainText().toStdString());
    QCOMPARE(shown, json::parse(R"({"model":"demo","policy":{"name":"snapkv","ratio":0.25},"kv":{"v":"int8"}})"));
    QCOMPARE(text("calls"), QString("The session has these settings."));
    QVERIFY(!button("Apply")->isEnabled());
  }

  void fixedKeysAreLockedWithTheirReason() {
    open(json::object());
    showForm();
    for (const char* key : {"model", "threads", "ring.window", "wlod.budget", "brightness.max", "residency"}) {
      QVERIFY2(!form().control(key)->isEnabled(), key);
      QVERIFY2(form().control(key)->toolTip().contains("is fixed when a session opens"), key);
    }
    for (const char* key : {"layout", "kv.v", "policy", "policy.ratio", "capacity", "after_edit", "sampling.seed",
                            "check.level", "brightness.target", "ring.block_tokens", "op_events"})
      QVERIFY2(form().control(key)->isEnabled(), key);
    QVERIFY(form().control("model")->isVisible() && !form().control("threads")->isVisible());
    for (QToolButton* fold : form().findChildren<QToolButton*>())
      if (fold->text().contains("locked: each is fixed")) {
        m_hand.click(fold);
        break;
      }
    QVERIFY(form().control("threads")->isVisible());
    panel()->findChild<QPlainTextEdit*>()->setPlainText(R"({"layout":"paged"})");
    QVERIFY(button("Apply")->isEnabled());
    panel()->findChild<QPlainTextEdit*>()->setPlainText(R"({"layout":)");
    QVERIFY(!button("Apply")->isEnabled());
    panel()->findChild<QPlainTextEdit*>()->setPlainText(R"({"threads":3})");
    QVERIFY2(text("problem").contains("threads is fixed when a session opens"), qPrintable(text("problem")));
    QCOMPARE(text("calls"), QString("Apply does nothing before the mistake is corrected."));
    QVERIFY(!button("Apply")->isEnabled());
    m_hand.click(button("New Session from These Settings"));
    auto* other = m_window->findChild<NewSessionPanel*>();
    QVERIFY(other);
    QCOMPARE(json::parse(other->findChild<QPlainTextEdit*>()->toPlainText().toStdString()), (json{{"threads", 3}}));
  }

  /// Only what differs is submitted; each is an edit with a name and says its line.
  void changesAreEditsThatUndoTakesBack() {
    open(json::object());
    const std::string before = hash();
    const json opened = manifest();
    m_said.clear();
    showForm();
    m_hand.choose(form(), "layout", "ring_fused");
    m_hand.type(form(), "sampling.temperature", "0.8");
    m_hand.choose(form(), "check.level", "full");
    const QString lines =
        R"(s.setLayout("ring_fused"); s.setRules({sampling: {"temperature":0.8}, check: {"level":"full"}}))";
    QCOMPARE(text("calls"), "Apply runs " + lines);
    apply();
    QTRY_COMPARE(text("calls"), QString("The session has these settings."));
    QCOMPARE(m_said, lines.split("; "));
    QCOMPARE(context().snapshot()->storage[0]->layout, std::string("ring_fused"));
    QCOMPARE(manifest()["sampling"]["temperature"], json(0.8));
    QCOMPARE(nextUndo(), QString("rule check, sampling"));
    undoHere();
    QCOMPARE(nextUndo(), QString("layout ring_fused"));
    undoHere();
    QCOMPARE(hash(), before);
    QCOMPARE(manifest(), opened);
    QTRY_COMPARE(qobject_cast<QComboBox*>(form().control("layout"))->currentText(), QString());  // the form follows
    QCOMPARE(text("calls"), QString("The session has these settings."));
  }

  /// The third of three verbs is refused: its field says so, and the session is as before.
  void aRefusalTakesBackWhatWentBefore() {
    open(json::object());
    QVERIFY(asked("inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}}));
    const std::string before = hash();
    const json opened = manifest();
    m_said.clear();
    showForm();
    m_hand.choose(form(), "layout", "ring_fused");
    m_hand.choose(form(), "policy", "h2o");
    m_hand.type(form(), "capacity", "3");  // there are more rows
    QVERIFY2(text("calls").endsWith("s.setCapacity(3)"), qPrintable(text("calls")));
    apply();
    QTRY_VERIFY2(text("problem").contains("capacity") || text("problem").contains("rows"), qPrintable(text("problem")));
    QTRY_COMPARE(hash(), before);
    QCOMPARE(manifest(), opened);
    QCOMPARE(context().session()->snapshot()->pending.size(), std::size_t{1});
    QVERIFY2(m_said.isEmpty(), qPrintable(m_said.join('\n')));
    QList<QWidget*> marked;
    for (const QLabel* label : form().findChildren<QLabel*>())
      if (label->styleSheet().startsWith("color:")) marked << label->buddy();
    QCOMPARE(marked, QList<QWidget*>{form().control("capacity")});
    QVERIFY(m_window->banner().isHidden());
  }

  void anotherSessionClosesTheForm() {
    open(json::object());
    showForm();
    const QPointer<SettingsPanel> shown = panel();
    open({{"layout", "paged"}});
    QTRY_VERIFY(!shown);
  }

  void aSessionThatGoesEndsTheChange_data() {
    QTest::addColumn<QString>("held");
    QTest::addColumn<bool>("closed");
    QTest::addColumn<QString>("done");
    QTest::newRow("closed before") << "policies" << true << "no setting had changed";
    QTest::newRow("closed within") << "setPolicy" << true << "these settings had changed: layout";
    QTest::newRow("replaced before") << "policies" << false << "no setting had changed";
    QTest::newRow("replaced within") << "setPolicy" << false << "these settings had changed: layout";
  }
  /// A script keeps its session while the window shows another one, or none.
  void aSessionThatGoesEndsTheChange() {
    QFETCH(QString, held);
    QFETCH(bool, closed);
    QFETCH(QString, done);
    open({{"layout", "paged"}});
    const auto other = context().session();
    open(json::object());
    const auto kept = context().session();
    const auto letGo = qScopeGuard([this] { m_gate.shut = false; });
    const std::int64_t calls = kept->script().calls();
    m_gate.verb = held.toStdString();
    m_gate.shut = true;
    std::optional<Result<json>> reply;
    context().runCommand("session_settings", {{"manifest", {{"layout", "ring_fused"}, {"policy", "h2o"}}}},
                         m_window.get(), [&](const Result<json>& r) { reply = r; });
    if (held == "setPolicy") QTRY_COMPARE(kept->script().calls(), calls + 1);
    m_said.clear();
    context().show(closed ? nullptr : other);
    m_gate.shut = false;
    QTRY_VERIFY_WITH_TIMEOUT(!kept->busy() && !other->busy(), 20000);
    QVERIFY(reply && !*reply);
    QCOMPARE(reply->error().code, std::string("closed_session"));
    QVERIFY2(reply->error().why.ends_with(done.toStdString()), reply->error().why.c_str());
    QVERIFY2(m_said.isEmpty(), qPrintable(m_said.join('\n')));
    QVERIFY(other->snapshot()->storage[0]->layout.starts_with("paged"));
  }

  void withoutAFormTheCommandChangesTheSession() {
    open(json::object());
    std::optional<Result<json>> reply;
    const auto change = [&](const json& manifest) {
      reply.reset();
      context().runCommand("session_settings", {{"manifest", manifest}}, m_window.get(),
                           [&](const Result<json>& r) { reply = r; });
      return QTest::qWaitFor([&] { return reply.has_value(); }, 20000);
    };
    QVERIFY(change({{"after_edit", "recompute"}}));
    QVERIFY(*reply && **reply == 1);
    QCOMPARE(manifest()["after_edit"], json("recompute"));
    QVERIFY(change({{"after_edit", "recompute"}}));
    QVERIFY(*reply && **reply == 0);
    QVERIFY(change({{"after_edit", "recompute"}, {"backend", "cuda"}}));
    QVERIFY(!*reply);
    QCOMPARE(reply->error().field, std::string("backend"));
  }

  void callsAreForAllLayersOrForEach_data() {
    QTest::addColumn<QString>("now");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("calls");
    QTest::newRow("nothing") << "{}"
                             << R"({"model":"demo"})"
                             << "[]";
    QTest::newRow("one layer") << "{}"
                               << R"({"layers":[{"match":"1","layout":"paged"}]})"
                               << R"([["setLayout",{"layer":1,"layout":"paged"}]])";
    QTest::newRow("back to one") << R"({"layers":[{"match":"1","layout":"paged"}]})"
                                 << R"({"layout":"paged"})"
                                 << R"([["setLayout",{"layout":"paged"}]])";
    QTest::newRow("formats") << "{}"
                             << R"({"kv":{"k":"f16","v":"int8"}})"
                             << R"([["setFormat",{"k":"f16","v":"int8"}]])";
    QTest::newRow("capacity grows first") << R"({"capacity":64})"
                                          << R"({"capacity":128,"layout":"paged"})"
                                          << R"([["setCapacity",{"rows":128}],["setLayout",{"layout":"paged"}]])";
    QTest::newRow("capacity shrinks last") << R"({"capacity":128})"
                                           << R"({"capacity":64,"layout":"paged"})"
                                           << R"([["setLayout",{"layout":"paged"}],["setCapacity",{"rows":64}]])";
    QTest::newRow("ops") << "{}"
                         << R"({"op_events":true})"
                         << R"([["opEvents",{"on":true}]])";
    QTest::newRow("ring") << "{}"
                          << R"({"ring":{"block_tokens":2}})"
                          << R"([["setRules",{"ring":{"block_tokens":2}}]])";
    QTest::newRow("selective") << "{}"
                               << R"({"after_edit":"selective"})"
                               << R"([["setRules",{"after_edit":{"selective":{"ratio":0.15}}}]])";
    QTest::newRow("start") << R"({"brightness":{"start":{"user":3}}})"
                           << "{}"
                           << R"([["setRules",{"brightness":{"start":{}}}]])";
  }
  void callsAreForAllLayersOrForEach() {
    QFETCH(QString, now);
    QFETCH(QString, wanted);
    QFETCH(QString, calls);
    const auto made = settingsCalls(json::parse(now.toStdString()), json::parse(wanted.toStdString()), 4);
    QVERIFY(made);
    json out = json::array();
    for (const SettingsCall& call : *made) out.push_back({call.verb, call.args});
    QCOMPARE(out, json::parse(calls.toStdString()));
  }

  void whatCannotChangeIsNamed_data() {
    QTest::addColumn<QString>("now");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("field");
    QTest::newRow("window of a ring") << "{}"
                                      << R"({"ring":{"window":8}})"
                                      << "ring.window";
    QTest::newRow("window of a layer") << "{}"
                                       << R"({"layers":[{"match":"0","window":8}]})"
                                       << "layers";
    QTest::newRow("wLOD") << "{}"
                          << R"({"wlod":{}})"
                          << "wlod";
    QTest::newRow("type of the model") << R"({"kv":{"v":"int8"}})"
                                       << "{}"
                                       << "kv.v";
    QTest::newRow("capacity of the model") << R"({"capacity":64})"
                                           << "{}"
                                           << "capacity";
    QTest::newRow("mistake") << "{}"
                             << R"({"sampling":{"top_p":2}})"
                             << "sampling.top_p";
  }
  void whatCannotChangeIsNamed() {
    QFETCH(QString, now);
    QFETCH(QString, wanted);
    QFETCH(QString, field);
    const auto made = settingsCalls(json::parse(now.toStdString()), json::parse(wanted.toStdString()), 4);
    QVERIFY(!made);
    QCOMPARE(QString::fromStdString(made.error().field), field);
    QVERIFY(!made.error().remedy.empty());
  }

  /// Short forms of manifests say the same as complete ones.
  void shortManifestsAreComplete() {
    for (const char* given :
         {R"({"model":"demo"})", R"({"model":"demo","wlod":{"budget":64},"capacity":0})",
          R"({"model":"x","policy":{"name":"snapkv","observe":16},"layers":[{"match":"1-2","layout":"paged"}]})",
          R"({"model":"demo","after_edit":{"selective":{"ratio":0.3}},"brightness":{"start":{"user":4}}})"}) {
      const json whole = Manifest::fromJson(json::parse(given))->toJson();
      const json brief = shortManifest(whole);
      QVERIFY2(brief.dump().size() < 140, brief.dump().c_str());
      QCOMPARE(Manifest::fromJson(brief)->toJson(), whole);
    }
  }

  /// Pictures for people: KVLAB_FORM_PICTURES names a folder.
  void picturesForPeople() {
    const QString folder = qEnvironmentVariable("KVLAB_FORM_PICTURES");
    if (folder.isEmpty()) QSKIP("KVLAB_FORM_PICTURES names no folder");
    open(json::object());
    showForm();
    m_hand.choose(form(), "layout", "ring_fused");
    m_hand.type(form(), "capacity", "3");
    for (const char* theme : {"dark", "light"}) {
      QVERIFY(m_window->setTheme(theme));
      QTest::qWait(100);
      QVERIFY(panel()->grab().save(folder + "/settings_" + theme + ".png"));
    }
    apply();
    QTRY_VERIFY(!text("problem").isEmpty());
    QVERIFY(panel()->grab().save(folder + "/settings_refused.png"));
  }
};

KV_TEST(SessionSettingsTest)
#include "session_settings_test.moc"
