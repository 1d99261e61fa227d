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
#include "app/whole_window.h"
#include "core/api/manifest.h"
#include "support/runner.h"
#include "support/script_call.h"

using namespace kvlab;
using nlohmann::json;

class SessionSettingsTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> m_window;
  QStringList m_said;
  FormClicks m_hand;

  LiveContext& context() { return m_window->context(); }
  json manifest() { return context().session()->snapshot()->settings->manifest; }
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
    const test::ScriptCall call = test::scriptCall(verb, args);
    context().submit(call.verb, call.args, m_window.get(), [&](const Result<json>& r) { reply = r; });
    if (!QTest::qWaitFor([&] { return reply && !context().busy(); }, 20000)) qFatal("no reply");
    return *reply ? Result<json>(call.read(**reply)) : *reply;
  }
  std::string hash() { return asked("stateHash")->get<std::string>(); }
  QString nextUndo() {
    const json edits = *asked("edits");
    for (const json& edit : edits)
      if (edit["way"] == "undo") return QString::fromStdString(edit["title"]);
    return {};
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
    m_window = test::wholeWindow(settings);
    m_said.clear();
    connect(&context(), &InspectorContext::scripted, this, [this](const QString& line) { m_said << line; });
    m_hand = {};
  }
  void cleanup() { m_window.reset(); }

  void theFormShowsWhatTheSessionHas() {
    open({{"policy", {{"name", "h2o"}, {"ratio", 0.5}}}, {"kv", {{"v", "f16"}}}});
    QVERIFY(asked("settings", {{"policy", "snapkv:ratio=0.25"}}));
    QVERIFY(asked("settings", {{"kv", {{"v", "int8"}}}}));
    showForm();
    const json shown = json::parse(panel()->findChild<QPlainTextEdit*>()->toPlainText().toStdString());
    QCOMPARE(shown,
             json::parse(
                 R"({"model":"demo","policy":{"name":"snapkv","ratio":0.25},"kv":{"v":"int8"},"residency":"layer"})"));
    QCOMPARE(text("call"), QString("The session has these settings."));
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
    QCOMPARE(text("call"), QString("Apply does nothing before the mistake is corrected."));
    QVERIFY(!button("Apply")->isEnabled());
    m_hand.click(button("New Session from These Settings"));
    auto* other = m_window->findChild<NewSessionPanel*>();
    QVERIFY(other);
    QCOMPARE(json::parse(other->findChild<QPlainTextEdit*>()->toPlainText().toStdString()), (json{{"threads", 3}}));
  }

  /// Only keys that differ are submitted, as one edit with a name, which says its line.
  void aChangeIsAnEditThatUndoTakesBack() {
    open(json::object());
    const std::string before = hash();
    const json opened = manifest();
    m_said.clear();
    showForm();
    m_hand.choose(form(), "layout", "ring_fused");
    m_hand.type(form(), "sampling.temperature", "0.8");
    m_hand.choose(form(), "check.level", "full");
    const QString line =
        R"(s.settings({layout: "ring_fused", check: {"level":"full"}, sampling: {"temperature":0.8}}))";
    QCOMPARE(text("call"), "Apply runs " + line);
    apply();
    QTRY_COMPARE(text("call"), QString("The session has these settings."));
    QCOMPARE(m_said, QStringList{line});
    QCOMPARE(context().snapshot()->storage[0]->layout, std::string("ring_fused"));
    QCOMPARE(manifest()["sampling"]["temperature"], json(0.8));
    QCOMPARE(nextUndo(), QString("layout ring_fused, rule check, sampling"));
    undoHere();
    QCOMPARE(hash(), before);
    QCOMPARE(manifest(), opened);
    QTRY_COMPARE(qobject_cast<QComboBox*>(form().control("layout"))->currentText(), QString());  // the form follows
    QCOMPARE(text("call"), QString("The session has these settings."));
  }

  /// One of three settings is refused: its field says so, and the session is as before.
  void aRefusalChangesNothing() {
    open(json::object());
    QVERIFY(asked("inject", {{"actions", {{{"action", "delete"}, {"position", 3}}}}}));
    const std::string before = hash();
    const json opened = manifest();
    m_said.clear();
    showForm();
    m_hand.choose(form(), "layout", "ring_fused");
    m_hand.choose(form(), "policy", "h2o");
    m_hand.type(form(), "capacity", "3");  // there are more rows
    QVERIFY2(text("call").contains("capacity: 3"), qPrintable(text("call")));
    apply();
    QTRY_VERIFY2(text("problem").contains("capacity") || text("problem").contains("rows"), qPrintable(text("problem")));
    QTRY_COMPARE(hash(), before);
    QCOMPARE(manifest(), opened);
    QCOMPARE(context().session()->snapshot()->pending.size(), std::size_t{1});
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
    QVERIFY(*reply);
    QCOMPARE(manifest()["after_edit"], json("recompute"));
    QVERIFY(change({{"after_edit", "recompute"}}));
    QVERIFY(*reply);
    QVERIFY(change({{"after_edit", "recompute"}, {"backend", "cuda"}}));
    QVERIFY(!*reply);
    QCOMPARE(reply->error().field, std::string("backend"));
  }

  void aChangeHasWhatDiffers_data() {
    QTest::addColumn<QString>("now");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("change");
    QTest::newRow("nothing") << "{}"
                             << R"({"model":"demo"})"
                             << "{}";
    QTest::newRow("formats") << R"({"kv":{"k":"f32","v":"int8"}})"
                             << R"({"kv":{"k":"f16","v":"int8"},"capacity":64})"
                             << R"({"kv":{"k":"f16"},"capacity":64})";
    QTest::newRow("layers are whole") << R"({"layers":[{"match":"1","layout":"paged"}]})"
                                      << R"({"layers":[{"match":"2","layout":"paged"}]})"
                                      << R"({"layout":"indirection","policy":"full",
                                             "layers":[{"match":"2","layout":"paged"}]})";
    QTest::newRow("policy") << "{}"
                            << R"({"policy":"h2o:window=9"})"
                            << R"({"policy":{"name":"h2o","window":9}})";
    QTest::newRow("ops") << "{}"
                         << R"({"op_events":true})"
                         << R"({"op_events":true})";
    QTest::newRow("ring") << "{}"
                          << R"({"ring":{"block_tokens":2}})"
                          << R"({"ring":{"block_tokens":2}})";
    QTest::newRow("selective") << "{}"
                               << R"({"after_edit":"selective"})"
                               << R"({"after_edit":{"selective":{"ratio":0.15}}})";
    QTest::newRow("start") << R"({"brightness":{"start":{"user":3,"model":4}}})"
                           << R"({"brightness":{"start":{"user":5}}})"
                           << R"({"brightness":{"start":{"user":5}}})";
  }
  /// The change leads to the wanted manifest, by the rules of the core.
  void aChangeHasWhatDiffers() {
    QFETCH(QString, now);
    QFETCH(QString, wanted);
    QFETCH(QString, change);
    const json from = json::parse(now.toStdString()), to = json::parse(wanted.toStdString());
    const auto made = settingsBetween(from, to);
    QVERIFY(made);
    QCOMPARE(*made, json::parse(change.toStdString()));
    const auto reached = Manifest::fromJson(from)->with(*made);
    QVERIFY(reached);
    QCOMPARE(reached->toJson(), Manifest::fromJson(to)->toJson());
  }

  void whatCannotChangeIsNamed_data() {
    QTest::addColumn<QString>("now");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<QString>("field");
    QTest::newRow("window of a ring") << "{}"
                                      << R"({"ring":{"window":8}})"
                                      << "ring.window";
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
    const auto made = settingsBetween(json::parse(now.toStdString()), json::parse(wanted.toStdString()));
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
