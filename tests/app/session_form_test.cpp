// SPDX-License-Identifier: GPL-3.0-or-later
// The form of a new session: every key of the manifest has a control, form and JSON follow each other, and clicks are
// counted.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/base/manifest_path.h"
#include "app/base/session_request.h"
#include "app/engine/live_context.h"
#include "app/forms/new_session_panel.h"
#include "app/forms/session_form.h"
#include "app/forms/session_presets.h"
#include "core/api/manifest.h"
#include "core/api/manifest_list.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

class SessionFormTest : public QObject {
  Q_OBJECT
 private:
  LiveContext m_context;
  std::unique_ptr<NewSessionPanel> m_panel;
  SessionForm* m_form = nullptr;
  QPlainTextEdit* m_json = nullptr;
  int m_clicks = 0;

  json manifest() { return json::parse(m_json->toPlainText().toStdString(), nullptr, false); }
  void click(QWidget* widget) {
    ++m_clicks;
    QTest::mouseClick(widget, Qt::LeftButton);
  }
  /// A click opens the list, a click takes a line.
  void take(QComboBox* box, const QString& text) {
    m_clicks += 2;
    box->setCurrentText(text);
    emit box->activated(box->currentIndex());
  }
  QComboBox* box(const char* key) { return qobject_cast<QComboBox*>(m_form->control(key)); }
  QLineEdit* line(const char* key) { return qobject_cast<QLineEdit*>(m_form->control(key)); }
  QString problem() { return m_panel->findChild<QLabel*>("problem")->text(); }

 private Q_SLOTS:
  void init() {
    m_panel = std::make_unique<NewSessionPanel>(NewSessionSettings{}, JobList::of(m_context), nullptr);
    m_panel->setAttribute(Qt::WA_DeleteOnClose, false);
    m_panel->show();
    m_form = m_panel->findChild<SessionForm*>();
    m_json = m_panel->findChild<QPlainTextEdit*>();
    m_clicks = 0;
    QVERIFY(m_form && m_json && QTest::qWaitForWindowExposed(m_panel.get()));
  }

  /// Words, not keys: "Key phase"; the tip has the key, and the search finds both.
  void labelsAreWords() {
    QStringList labels;
    for (const QString& key : m_form->keys()) {
      const auto* field = m_form->control(key)->parentWidget();
      const auto* layout = qobject_cast<QFormLayout*>(field->parentWidget()->findChild<QFormLayout*>());
      QVERIFY(layout);
      const auto* label = qobject_cast<QLabel*>(layout->labelForField(const_cast<QWidget*>(field)));
      QVERIFY2(label, qPrintable(key));
      QVERIFY2(!label->text().contains('_') && label->text() != key, qPrintable(label->text()));
      QVERIFY2(label->toolTip().contains(key), qPrintable(key));
      labels << label->text();
    }
    QVERIFY(labels.contains("Key phase") && labels.contains("Keys (K)") && labels.contains("wLOD"));
  }

  void everyKeyHasAControl() {
    const QStringList keys = m_form->keys();
    for (const ManifestKey& key : manifestKeys()) {
      const QString path = QString::fromStdString(key.key);
      if (key.type == "object" || path.contains("[]") || path == "policy.name") continue;
      QVERIFY2(keys.contains(path), qPrintable(path));
      QVERIFY(!m_form->control(path)->accessibleName().isEmpty() && !m_form->control(path)->toolTip().isEmpty());
    }
    QCOMPARE(box("layout")->count(), 10);
    QVERIFY(m_panel->width() <= 1280 && m_panel->height() <= 680);
  }

  /// The form offers the devices that are there; with support/far_module.cpp there are two.
  void backendsAreOffered() {
    QStringList offered, wanted{"auto", "cpu", "cuda"};
    for (int i = 1; i < box("backend")->count(); ++i) offered << box("backend")->itemText(i);
    for (int i = 0; i < qEnvironmentVariableIntValue("KVLAB_FAR_DEVICES"); ++i) wanted << QString("cuda:%1").arg(i);
    if (!qEnvironmentVariableIsSet("KVLAB_FAR_DEVICES"))  // the cards of this machine
      while (wanted.size() < offered.size()) wanted << QString("cuda:%1").arg(wanted.size() - 3);
    QCOMPARE(offered, wanted);
    take(box("backend"), offered.back());
    QCOMPARE(manifest()["backend"], json(offered.back().toStdString()));
  }

  /// Each default, written out, goes through the form and comes back.
  void formAndJsonFollowEachOther() {
    for (const ManifestKey& key : manifestKeys()) {
      const QString path = QString::fromStdString(key.key);
      if (!m_form->control(path) || key.otherwise.is_null() || key.otherwise == "") continue;
      json one = json::object();
      setManifestValue(one, path, key.otherwise);
      m_json->setPlainText(QString::fromStdString(one.dump()));
      QWidget* control = m_form->control(path);
      auto* choice = qobject_cast<QComboBox*>(control);
      auto* text = qobject_cast<QLineEdit*>(control);
      const QString shown = choice ? choice->currentText() : text->text();
      const std::string plain = key.otherwise.is_string() ? key.otherwise.get<std::string>() : key.otherwise.dump();
      QCOMPARE(shown, QString::fromStdString(plain));
      if (text && key.type != "list of objects") {
        text->setFocus();
        text->selectAll();
        QTest::keyClicks(text, shown);
        QCOMPARE(manifest(), one);
        text->selectAll();
        QTest::keyClick(text, Qt::Key_Delete);
        QCOMPARE(manifest(), path.startsWith("wlod.") ? json({{"wlod", json::object()}}) : json::object());
      }
    }
  }

  void policiesAreANameOrAnObject() {
    json one = json::object();
    setManifestValue(one, "policy", "h2o");
    QCOMPARE(one, (json{{"policy", "h2o"}}));
    setManifestValue(one, "policy.window", 8);
    QCOMPARE(one, (json{{"policy", {{"name", "h2o"}, {"window", 8}}}}));
    setManifestValue(one, "policy", "tova");
    setManifestValue(one, "policy.window", nullptr);
    QCOMPARE(one, (json{{"policy", "tova"}}));
    setManifestValue(one, "policy", nullptr);
    QCOMPARE(one, json::object());
    setManifestValue(one, "policy.window", 8);
    QCOMPARE(one, (json{{"policy", {{"name", "full"}, {"window", 8}}}}));
    setManifestValue(one, "policy", nullptr);
    QCOMPARE(one, json::object());
    one = json::parse(R"({"policy":"h2o:ratio=0.25"})");
    setManifestValue(one, "policy.window", 8);
    QCOMPARE(one, json::parse(R"({"policy":{"name":"h2o","ratio":0.25,"window":8}})"));
    one = json::parse(R"({"policy":{"name":"snapkv","preset":"ratio","kernel":7,"observe":16,"sinks":4}})");
    setManifestValue(one, "policy", "tova");
    QCOMPARE(one, json::parse(R"({"policy":{"name":"tova","sinks":4}})"));
    QVERIFY(Manifest::fromJson(one));
    one = json::object();
    setManifestValue(one, "wlod.budget", 512);
    setManifestValue(one, "wlod.budget", nullptr);
    QCOMPARE(one, (json{{"wlod", json::object()}}));  // wLOD with its defaults
    one = json::object();
    setManifestValue(one, "ring.window", 5);
    setManifestValue(one, "ring.window", nullptr);
    QCOMPARE(one, json::object());
  }

  /// A number is typed key by key, and each text on the way is a number of its own.
  void numbersAreWhatIsTyped() {
    for (const char* text : {"0.005", "10.001", "1e-05", "-0.5"}) {
      m_json->setPlainText("{}");
      line("policy.threshold")->setFocus();
      QTest::keyClicks(line("policy.threshold"), text);
      QCOMPARE(line("policy.threshold")->text(), QString(text));
      QCOMPARE(manifest()["policy"]["threshold"], json::parse(text));
    }
  }

  void theWheelChangesNoValue() {
    QWheelEvent turn(QPointF(5, 5), box("dtype")->mapToGlobal(QPointF(5, 5)), {}, {0, -240}, Qt::NoButton, {},
                     Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(box("dtype"), &turn);
    QCOMPARE(manifest(), json::parse(R"({"model":"demo"})"));
  }

  void selectiveHasItsObject() {
    take(box("after_edit"), R"({"selective":{"ratio":0.15}})");
    QCOMPARE(manifest()["after_edit"], json::parse(R"({"selective":{"ratio":0.15}})"));
    QVERIFY(Manifest::fromJson(manifest()));
    take(box("after_edit"), "recompute");
    QCOMPARE(manifest()["after_edit"], json("recompute"));
  }

  void mistakesAreNamedAndMarked() {
    m_json->setPlainText("{\"wlod\": {\"budget\": 3}}");
    QVERIFY2(problem().contains("wlod.budget"), qPrintable(problem()));
    QCOMPARE(line("wlod.budget")->text(), QString("3"));
    QList<QWidget*> marked;
    for (const QLabel* label : m_form->findChildren<QLabel*>())
      if (label->styleSheet().startsWith("color:")) marked << label->buddy();
    QCOMPARE(marked, QList<QWidget*>{m_form->control("wlod.budget")});
    m_json->setPlainText("{\"policy\": {\"name\": \"h2o\", \"ratio\": 3}}");
    marked.clear();
    for (const QLabel* label : m_form->findChildren<QLabel*>())
      if (label->styleSheet().startsWith("color:")) marked << label->buddy();
    QCOMPARE(marked, QList<QWidget*>{m_form->control("policy.ratio")});
    m_json->setPlainText("{\"wlod\": {\"budget\": 3}}");
    m_json->setPlainText("{\"model\": \"demo\", }");
    QVERIFY2(problem().contains("not JSON"), qPrintable(problem()));
    QCOMPARE(line("wlod.budget")->text(), QString("3"));  // the form stays
    QSignalSpy chosen(m_panel.get(), &NewSessionPanel::chosen);
    m_panel->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open)->click();
    QVERIFY(chosen.isEmpty() && m_panel->isVisible());
    m_json->setPlainText("{\"model\": \"demo\"}");
    QVERIFY(!problem().contains("JSON:"));
  }

  void searchHidesTheRest() {
    auto* find = m_panel->findChild<QLineEdit*>("search");
    QTest::keyClicks(find, "temperature");
    QVERIFY(line("sampling.temperature")->isVisible() && !line("capacity")->isVisible());
    find->clear();
    QVERIFY(line("capacity")->isVisibleTo(m_form));
  }

  /// Keys that the chosen policy, layout or kind of session does not take stand under a line that says why.
  void keysWithoutEffectAreFoldedAway() {
    const auto folds = [this](const QString& words) {
      const auto all = m_form->findChildren<QToolButton*>();
      return std::count_if(all.begin(), all.end(), [&](const QToolButton* one) {
        return one->isVisibleTo(m_form) && one->text().contains(words);
      });
    };
    const auto shown = [this](const char* key) { return m_form->control(key)->isVisibleTo(m_form); };
    QVERIFY(folds("wLOD is off") == 1 && folds("no layer has a ring layout") >= 1 && folds("the policy is full") == 1);
    QVERIFY(!shown("wlod.budget") && !shown("ring.window") && !shown("policy.ratio") && shown("policy"));
    box("policy")->setEditText("snapkv");
    QVERIFY(shown("policy.observe") && shown("policy.ratio") && !shown("policy.gates") && !shown("policy.alpha"));
    QVERIFY(m_form->control("policy.gates")->toolTip().contains("snapkv does not take them"));
    auto* help = m_form->findChild<QLabel*>("help_policy");
    QVERIFY2(help->text().contains("Li et al. 2024"), qPrintable(help->text()));
    box("policy")->setEditText("adakv");
    QVERIFY(shown("policy.alpha"));
    m_json->setPlainText(R"({"policy":{"name":"h2o","observe":3}})");
    QVERIFY(shown("policy.observe"));  // a key that is given is never hidden
    take(box("layout"), "ring_fused");
    QVERIFY(shown("ring.window"));
    take(box("wlod"), "on");
    QVERIFY(shown("wlod.budget") && !shown("wlod.w2"));
    QCOMPARE(manifest()["wlod"], json::object());
    m_json->setPlainText(R"({"wlod":{"attention":"pyramid"}})");
    QVERIFY(shown("wlod.w2"));
    QCOMPARE(box("wlod")->currentText(), QString("on"));
    m_json->setPlainText("{}");
    auto* find = m_panel->findChild<QLineEdit*>("search");
    QTest::keyClicks(find, "wlod.budget");
    QVERIFY(shown("wlod.budget") && folds("wLOD is off") == 0);  // a search finds them
    find->clear();
    for (QToolButton* one : m_form->findChildren<QToolButton*>())
      if (one->isVisibleTo(m_form) && one->text().contains("wLOD is off")) one->click();
    QVERIFY(shown("wlod.budget"));
  }

  void aFieldGoesBackToItsDefault() {
    m_json->setPlainText(R"({"capacity":512,"model":"demo"})");
    const auto reset = [this](const char* key) {
      const auto all = m_form->control(key)->parentWidget()->findChildren<QToolButton*>();
      return *std::find_if(all.begin(), all.end(), [](auto* one) { return one->accessibleName().contains("default"); });
    };
    QVERIFY(reset("capacity")->isVisibleTo(m_form) && !reset("staging")->isVisibleTo(m_form));
    click(reset("capacity"));
    QCOMPARE(manifest(), json::parse(R"({"model":"demo"})"));
    QVERIFY(!reset("capacity")->isVisibleTo(m_form) && line("capacity")->text().isEmpty());
  }

  void keysWithoutAControlStay() {
    m_json->setPlainText(R"({"layers":[{"match":"0","layout":"paged"}],"model":"demo"})");
    take(box("layout"), "ring_fused");
    QCOMPARE(manifest()["layers"].size(), std::size_t{1});
    QCOMPARE(manifest()["layout"], json("ring_fused"));
  }

  /// A ring with a window of 64 rows and V in int8, from nothing: at most ten clicks.
  void aRingTakesFewClicks() {
    take(box("layout"), "ring_fused");
    click(line("ring.window"));
    QTest::keyClicks(line("ring.window"), "64");
    take(box("kv.v"), "int8");
    QSignalSpy chosen(m_panel.get(), &NewSessionPanel::chosen);
    click(m_panel->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Open));
    QCOMPARE(chosen.count(), 1);
    QCOMPARE(json::parse(chosen[0][0].toString().toStdString())["manifest"],
             json::parse(R"({"model":"demo","layout":"ring_fused","ring":{"window":64},"kv":{"v":"int8"}})"));
    QVERIFY2(m_clicks + 1 <= 10, qPrintable(QString::number(m_clicks)));  // and one to open the window
  }

  void recentSessionsHaveNames() {
    const std::pair<const char*, const char*> names[] = {
        {R"({"manifest":{}})", "demo"},
        {R"({"manifest":{"model":"/home/me/models/tiny/","layout":"ring_fused","kv":{"v":"int8"},"ring":{"window":64}}})",
         "tiny · ring_fused · V int8 · window 64"},
        {R"({"manifest":{"model":"demo","policy":{"name":"smartkv"},"capacity":512}})",
         "demo · smartkv · capacity 512"},
        {R"({"manifest":{"wlod":{"budget":1024}}})", "demo · wLOD · budget 1024"},
        {R"({"manifest":{"model":7,"kv":[1],"policy":{}}})", "7"},
        {R"({"capture":"a/b.kvcap"})", "a/b.kvcap"}};
    for (const auto& [request, name] : names) QCOMPARE(sessionName(json::parse(request)), QString(name));
  }

  /// Own presets are kept by name, replaced and forgotten; those of the program stay.
  void ownPresetsAreKept() {
    const QTemporaryDir folder;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
    QCoreApplication::setOrganizationName("kvlab-form-test");
    const std::size_t shipped = sessionPresets(true).size();
    savePreset("mine", {{"capacity", 128}});
    savePreset("mine", {{"capacity", 256}});
    QCOMPARE(sessionPresets(true).size(), shipped + 1);
    QCOMPARE(sessionPresets(false).size(), shipped);
    NewSessionPanel panel({.kept = true}, JobList::of(m_context), nullptr);
    panel.setAttribute(Qt::WA_DeleteOnClose, false);
    auto* presets = panel.findChild<QComboBox*>("presets");
    presets->setCurrentText("mine");
    emit presets->activated(presets->currentIndex());
    const std::string text = panel.findChild<QPlainTextEdit*>()->toPlainText().toStdString();
    QCOMPARE(json::parse(text), json::parse(R"({"capacity":256,"model":"demo"})"));
    for (QPushButton* one : panel.findChildren<QPushButton*>())
      if (one->text() == "Delete Preset") one->click();
    QCOMPARE(sessionPresets(true).size(), shipped);
    QCOMPARE(presets->findText("mine"), -1);
  }

  void everyPresetIsValid() {
    auto* presets = m_panel->findChild<QComboBox*>("presets");
    for (int i = 0; i < presets->count(); ++i) {
      presets->setCurrentIndex(i);
      emit presets->activated(i);
      QVERIFY2(Manifest::fromJson(manifest()), qPrintable(presets->itemText(i)));
      QCOMPARE(manifest()["model"], json("demo"));
    }
  }
};

KV_TEST(SessionFormTest)
#include "session_form_test.moc"
