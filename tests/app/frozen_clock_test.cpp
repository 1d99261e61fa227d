// SPDX-License-Identifier: GPL-3.0-or-later
// Two runs of one script show the same bytes while the clock is frozen, in pictures and in texts. Without the frozen
// clock they differ, so the comparison is not empty.
#include "app/whole_window.h"
#include "core/lists/lists.h"
#include "support/runner.h"
#include "widgets/base/view_registry.h"

using namespace kvlab;

class FrozenClockTest : public QObject {
  Q_OBJECT

 private:
  struct Run {
    QMap<QString, QString> texts;
    QMap<QString, QByteArray> pictures;
    QString failed;
  };

  static constexpr auto kScript = R"(
    const s = lab.open({model: "demo", backend: "cpu", policy: "h2o:ratio=0.5"});
    s.prompt("anna puts the silver key in the cellar .");
    for (let i = 0; i < 4; i++) s.step();
    log("four ticks");
    const size = {width: 1100, height: 700};
    for (const id of ["events", "log", "numbers", "audit", "window"]) view.screenshot(id, id + ".png", size);
  )";

  static Run run(const QString& script) {
    QTemporaryDir folder;
    const auto window = test::wholeWindow();
    MainWindow& main = *window;
    ScriptSettings settings;
    settings.schema = coreSchema();
    settings.resources = KVLAB_RESOURCES_DIR;
    settings.out = folder.path();
    settings.log = [&main](const QString& text) { emit main.context().logged(2, text); };
    QFile file(folder.filePath("script.js"));
    if (!file.open(QIODevice::WriteOnly)) return {{}, {}, "no script"};
    file.write(script.toUtf8());
    file.close();
    const ScriptResult result = ScriptHost(main, settings).runFile(file.fileName());
    Run out;
    if (result.failed) out.failed = result.message();
    for (const ViewInfo& info : views()) {
      auto* view = main.findChild<InspectorView*>(info.id);
      view->prepare();
      if (!QTest::qWaitFor([view] { return view->ready(); }, 20000)) out.failed += QString(info.id) + " is not ready";
      out.texts[info.id] = view->dump();
    }
    for (const QString& name : QDir(folder.path()).entryList({"*.png"})) {
      QFile picture(folder.filePath(name));
      if (picture.open(QIODevice::ReadOnly)) out.pictures[name] = picture.readAll();
    }
    return out;
  }

  static bool blinks(QWidget& field) {
    const QImage before = field.grab().toImage();
    return QTest::qWaitFor([&] { return field.grab().toImage() != before; }, 400);
  }

 private Q_SLOTS:
  void twoRunsShowTheSameBytes() {
    const QString script = QString("view.freezeClock();") + kScript;
    const Run one = run(script), two = run(script);
    QCOMPARE(one.failed, QString());
    QCOMPARE(two.failed, QString());
    QCOMPARE(one.pictures.size(), 5);
    for (const QString& name : one.pictures.keys())
      QVERIFY2(one.pictures[name] == two.pictures[name], qPrintable(name));
    for (const QString& id : one.texts.keys()) QCOMPARE(one.texts[id], two.texts[id]);
    QVERIFY(one.texts["events"].contains("0 µs") || one.texts["events"].contains("0.00 µs"));
  }

  void aRunningClockShows() {
    const Run one = run(kScript), two = run(kScript);
    QCOMPARE(one.failed, QString());
    QVERIFY(one.texts["events"] != two.texts["events"]);
    QVERIFY(one.pictures["numbers.png"] != two.pictures["numbers.png"]);
  }

  /// Content that is already shown loses its times too.
  void theHistoryLosesItsTimes() {
    const Run late = run(QString(kScript) + "view.freezeClock();");
    QCOMPARE(late.failed, QString());
    const Run early = run(QString("view.freezeClock();") + kScript);
    for (const char* id : {"events", "numbers", "audit"}) QCOMPARE(late.texts[id], early.texts[id]);
  }

  void aCaretDoesNotBlink() {
    MainWindow main((WindowSettings()));
    QGuiApplication::styleHints()->setCursorFlashTime(40);
    QLineEdit field;
    field.show();
    field.setFocus();
    QVERIFY(QTest::qWaitForWindowActive(&field));
    QVERIFY(blinks(field));
    main.freezeClock();
    QVERIFY(!blinks(field));
  }
};

KV_TEST(FrozenClockTest)
#include "frozen_clock_test.moc"
