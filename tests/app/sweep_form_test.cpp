// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep from nothing by the form, in the whole window over the real engine: real clicks and keys, no JSON; then a
// cell opens as a session.
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QTemporaryDir>

#include "app/form_clicks.h"
#include "app/forms/session_form.h"
#include "app/forms/sweep_axes.h"
#include "app/forms/sweep_panel.h"
#include "app/whole_window.h"
#include "support/runner.h"
#include "widgets/base/button_use.h"
#include "widgets/base/sweep_source.h"
#include "widgets/table/data_table.h"

using namespace kvlab;
using nlohmann::json;

class SweepFormTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_folder;
  std::unique_ptr<MainWindow> m_window;

  LiveContext& context() { return m_window->context(); }
  SweepPanel* panel() { return m_window->findChild<SweepPanel*>(); }
  json spec() { return json::parse(text().toPlainText().toStdString(), nullptr, false); }
  QPlainTextEdit& text() { return *panel()->findChild<QPlainTextEdit*>(); }
  QString label(const char* name) { return panel()->findChild<QLabel*>(name)->text(); }
  QPushButton* button(const QString& words) {
    for (QPushButton* one : panel()->findChildren<QPushButton*>())
      if (one->text() == words && one->isVisible()) return one;
    return nullptr;
  }
  void click(QWidget* widget) {
    QVERIFY(widget && !widget->visibleRegion().isEmpty());
    QTest::mouseClick(widget, Qt::LeftButton);
    QTest::qWait(1);
  }
  void type(const char* name, const QString& words) {
    auto* line = panel()->findChild<QLineEdit*>(name);
    click(line);
    QTest::keyClick(line, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(line, words);
  }
  void typeKey(const char* name, const QString& words) {
    QLineEdit* line = panel()->findChild<QComboBox*>(name)->lineEdit();
    line->setFocus();
    QTest::keyClick(line, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(line, words);
  }
  void begin() {
    QVERIFY(m_window->views().showView("sweep"));
    QTRY_VERIFY(m_window->docks().view("sweep")->isVisible());
    for (QAbstractButton* one : m_window->docks().view("sweep")->findChildren<QAbstractButton*>())
      if (commandOf(*one) == "new_sweep") click(one);
    QVERIFY(panel() && QTest::qWaitForWindowActive(panel()));
    QTRY_VERIFY2(label("cells").startsWith("4 cells"), qPrintable(label("cells")));
  }
  static json small() {
    return json::parse(R"_({"name":"small","base":{"model":"demo"},
      "axes":[{"name":"policy","key":"policy","values":["h2o","full"]},
              {"name":"kv.v","key":"kv.v","values":["f32","int8"]}],
      "seeds":[1],"measure":["recall","bytes"],"expressions":["rows(layer==1)","length % 2 == 0"],
      "prompts":[{"name":"recall-256","file":"resource:prompts/recall-256.json","ask":"after","stories":1,"questions":1}]})_");
  }

 private Q_SLOTS:
  void init() { m_window = test::wholeWindow(); }
  void cleanup() { m_window.reset(); }

  /// JSON of any shape may be typed, and the form changed behind it.
  void wrongShapesAreTold_data() {
    QTest::addColumn<QString>("typed");
    for (const char* one :
         {R"({"axes":[1,null,"x",[],{}]})", R"({"axes":{"a":1}})", R"({"axes":[{"values":3},{"key":[],"values":{}}]})",
          R"({"base":3})", R"({"base":[]})", R"({"base":{"kv":1,"policy":[]}})", R"({"prompts":[[],1]})",
          R"({"prompts":{"file":1}})", R"({"prompts":[{"file":{},"ask":[],"stories":{}}]})", R"({"measure":{"a":[]}})",
          R"({"measure":[1,[]]})", R"({"expressions":{"a":[1]}})", R"({"expressions":[3,"kl +"]})",
          R"({"seeds":{"a":1},"name":[1]})", R"([])", R"(3)", R"({)"})
      QTest::newRow(one) << one;
  }
  void wrongShapesAreTold() {
    QFETCH(QString, typed);
    begin();
    text().setPlainText(typed);
    QTRY_VERIFY(!label("problem").isEmpty());
    QVERIFY(!button("Run")->isEnabled());
    type("seeds", "1, 2");
    typeKey("key_0", "kv.v");
    if (auto* base = panel()->findChild<SessionForm*>()) emit base->edited("kv.v", "int8");
    QTRY_VERIFY(panel());
  }

  void valuesAreWords_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("values");
    QTest::newRow("numbers") << "64, 128"
                             << "[64,128]";
    QTest::newRow("words") << "h2o, snapkv"
                           << R"(["h2o","snapkv"])";
    QTest::newRow("objects") << R"({"k":"f16","v":"int8"}, {"k":"f32"})"
                             << R"([{"k":"f16","v":"int8"},{"k":"f32"}])";
    QTest::newRow("comma within") << R"("h2o:window=4,sinks=2", full)"
                                  << R"(["h2o:window=4,sinks=2","full"])";
    QTest::newRow("number as a word") << R"("64")"
                                      << R"(["64"])";
    QTest::newRow("nothing") << " , "
                             << "[]";
  }
  void valuesAreWords() {
    QFETCH(QString, text);
    QFETCH(QString, values);
    const json read = valuesOf(text);
    QCOMPARE(read, json::parse(values.toStdString()));
    QCOMPARE(valuesOf(valuesText(read)), read);
  }

  /// Name, axes, seeds, prompts, measures and the base by hand; then it runs, and a cell opens as a session.
  void aSweepIsBuiltRunAndACellOpened() {
    begin();
    type("name", "small");
    typeKey("key_1", "kv.v");
    type("values_0", "h2o, full");
    type("values_1", "f32, int8");
    type("stories", "1");
    type("questions", "1");
    type("expressions", "rows(layer==1); length % 2 == 0");
    for (QCheckBox* box : panel()->findChildren<QCheckBox*>())
      if (QStringList{"kl", "attention", "needles", "answers"}.contains(box->text())) click(box);
    QVERIFY2(spec() == small(), spec().dump().c_str());
    QTRY_VERIFY2(label("cells").startsWith("4 cells"), qPrintable(label("cells") + label("problem")));
    type("out", m_folder.filePath("small.sweep"));
    QStringList said;
    connect(&context(), &InspectorContext::scripted, this, [&](const QString& line) { said << line; });
    click(button("Run"));
    QVERIFY(!said.isEmpty());
    QVERIFY2(said.last().startsWith("lab.sweep({") && said.last().contains("small.sweep"), qPrintable(said.join('\n')));
    const auto shown = [&] { return SweepSource::of(context()).sweep(); };
    QTRY_VERIFY_WITH_TIMEOUT(shown() && !shown()->running && shown()->rows.size() == 4, 60000);
    QVERIFY(m_window->views().showView("sweep"));
    auto* table = m_window->docks().view("sweep")->findChild<DataTable*>();
    QTRY_COMPARE_WITH_TIMEOUT(table->model()->rowCount(), 4, 20000);
    const int rows = table->columnOf("rows(layer==1)");
    QVERIFY(rows > 0 && table->columnOf("length % 2 == 0") == rows + 1);
    QVERIFY(table->model()->index(1, rows).data().toString().toDouble() > 100);
    table->setCurrentIndex(table->model()->index(3, 0));
    for (QAction* one : m_window->docks().view("sweep")->viewActions())
      if (one->text() == "Open as Session") one->trigger();
    QTRY_VERIFY_WITH_TIMEOUT(context().snapshot() && context().snapshot()->length() > 100, 20000);
    const json manifest = context().snapshot()->settings->manifest;
    QCOMPARE(manifest["kv"]["v"], json("int8"));
    QCOMPARE(manifest["history_bytes"], json(std::int64_t{1} << 30));  // a cell has none, which no result depends on
    QVERIFY(
        m_window->runCommand("open_sweep", {{"path", m_folder.filePath("small.sweep/results.jsonl").toStdString()}}));
    QVERIFY(m_window->runCommand("open_sweep_cell", {{"cell", 0}}));
    QTRY_COMPARE_WITH_TIMEOUT(context().snapshot()->settings->manifest["kv"]["v"], json("f32"), 20000);
    QTRY_VERIFY(!context().busy());
    QString why;
    connect(&context(), &InspectorContext::failed, this,
            [&](const Error& error) { why = QString::fromStdString(error.remedy); });
    QVERIFY(m_window->runCommand("open_sweep_cell", {{"cell", 99}}));
    QTRY_VERIFY2(why.contains("0 to 3"), qPrintable(why));
    QVERIFY2(said.filter("s = lab.openCell(").size() == 3, qPrintable(said.join('\n')));
    begin();
    QVERIFY2(label("cells").contains("at the pace of the last sweep"), qPrintable(label("cells")));
  }

  void formAndJsonFollowEachOther() {
    begin();
    text().setPlainText(QString::fromStdString(small().dump()));
    QCOMPARE(panel()->findChild<QLineEdit*>("values_1")->text(), QString("f32, int8"));
    QCOMPARE(panel()->findChild<QComboBox*>("key_0")->currentText(), QString("policy"));
    QCOMPARE(panel()->findChild<QLineEdit*>("stories")->text(), QString("1"));
    for (QCheckBox* box : panel()->findChildren<QCheckBox*>())
      QCOMPARE(box->isChecked(), box->text() == "recall" || box->text() == "bytes");
    click(button("Add Axis"));
    typeKey("key_2", "capacity");
    type("values_2", "64, 128");
    json wanted = small();
    wanted["axes"].push_back({{"name", "capacity"}, {"key", "capacity"}, {"values", {64, 128}}});
    QCOMPARE(spec(), wanted);
    QTRY_VERIFY2(label("cells").startsWith("8 cells"), qPrintable(label("cells") + label("problem")));
    click(button("Remove"));
    wanted["axes"].erase(0);
    QCOMPARE(spec(), wanted);
    auto* pages = panel()->findChild<QTabWidget*>();
    pages->setCurrentIndex(1);
    FormClicks hand;
    hand.choose(*panel()->findChild<SessionForm*>(), "layout", "paged");
    QCOMPARE(spec()["base"], json::parse(R"({"model":"demo","layout":"paged"})"));
  }

  /// Axes of changes stay as they are; the form shows their labels.
  void listsOfChangesStay() {
    begin();
    json lists = small();
    lists["axes"][1] = json::parse(R"({"name":"window","values":[{"label":"64","set":{"ring":{"window":64}}},
                                       {"label":"all","set":{"layout":"indirection"}}]})");
    text().setPlainText(QString::fromStdString(lists.dump()));
    auto* values = panel()->findChild<QLineEdit*>("values_1");
    QVERIFY(!values->isEnabled());
    QCOMPARE(values->text(), QString("64, all"));
    type("name", "other");
    lists["name"] = "other";
    QCOMPARE(spec(), lists);
  }

  void mistakesAreNamedAndNotRun() {
    begin();
    type("values_0", "h2o, nopolicy");
    QTRY_VERIFY2(label("problem").contains("nopolicy"), qPrintable(label("problem")));
    QVERIFY(!button("Run")->isEnabled());
    text().setPlainText("{\"name\": ");
    QVERIFY(label("problem").contains("not a JSON object") && !button("Run")->isEnabled());
    type("name", "x");
    QVERIFY(label("problem").contains("Correct the JSON first"));
    text().setPlainText(QString::fromStdString(small().dump()));
    QTRY_VERIFY(button("Run")->isEnabled());
    QVERIFY(label("problem").isEmpty());
  }

  void aSpecificationIsSaved() {
    begin();
    click(button("Save Specification…"));
    auto* dialog = panel()->findChild<QFileDialog*>();
    QVERIFY(dialog);
    dialog->findChild<QLineEdit*>("fileNameEdit")->setText(m_folder.filePath("mine.json"));
    QMetaObject::invokeMethod(dialog, "accept");
    QFile file(m_folder.filePath("mine.json"));
    QVERIFY2(label("problem").isEmpty(), qPrintable(label("problem")));
    QTRY_VERIFY(file.exists());
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(json::parse(file.readAll().toStdString()), spec());
  }

  void aFolderWithoutAJournalIsRefused() {
    std::string code;
    connect(&context(), &InspectorContext::failed, this, [&](const Error& error) { code = error.code; });
    const std::string none = m_folder.filePath("none").toStdString();
    QVERIFY(m_window->runCommand("open_sweep_cell", {{"cell", 0}, {"sweep", none}}));
    QTRY_COMPARE(code, std::string("bad_file"));
    const Status unseen = m_window->runCommand("open_sweep_cell", {{"cell", 0}});
    QCOMPARE(unseen.error().code, std::string("blocked"));
  }

  /// Pictures for people: KVLAB_FORM_PICTURES names a folder.
  void picturesForPeople() {
    const QString folder = qEnvironmentVariable("KVLAB_FORM_PICTURES");
    if (folder.isEmpty()) QSKIP("KVLAB_FORM_PICTURES names no folder");
    for (const char* theme : {"dark", "light"}) {
      QVERIFY(m_window->setTheme(theme));
      begin();
      QVERIFY(panel()->grab().save(folder + "/sweep_" + theme + ".png"));
      panel()->reject();
      QTRY_VERIFY(!panel());
    }
  }
};

KV_TEST(SweepFormTest)
#include "sweep_form_test.moc"
