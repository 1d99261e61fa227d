// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of rows is the same figure everywhere: the figure for a manifest is the memory that its session takes, for all
// row types, layouts and kinds, and status, storage and model show it in the same words.
#include <QLabel>

#include "app/engine/core_engine.h"
#include "app/whole_window.h"
#include "core/api/manifest.h"
#include "core/lists/lists.h"
#include "support/runner.h"
#include "widgets/base/format.h"
#include "widgets/base/storage_groups.h"

using namespace kvlab;
using nlohmann::json;

class MemoryFiguresTest : public QObject {
  Q_OBJECT
 private:
  static void compare(const json& manifest) {
    const auto told = describeModel(manifest, KVLAB_RESOURCES_DIR);
    QVERIFY2(told, told ? "" : told.error().text().c_str());
    const auto engine = coreEngines(KVLAB_RESOURCES_DIR)({{"manifest", manifest}})({});
    QVERIFY2(engine, engine ? "" : engine.error().text().c_str());
    const json taken = *(*engine)->execute("bytes", json::object());
    const std::string name = manifest.dump();
    QVERIFY2((*told)["kv_bytes"] == taken["allocated"], name.c_str());
    QVERIFY2((*told)["kv_bytes_reserved"] == taken["reserved"], name.c_str());
  }

 private Q_SLOTS:
  void everyRowTypeIsCountedAsItIsStored() {
    for (const std::string_view k : rowTypes())
      for (const std::string_view v : rowTypes())
        compare({{"model", "demo"}, {"threads", 1}, {"capacity", 128}, {"kv", {{"k", k}, {"v", v}}}});
  }

  void layoutsAndKindsAreCountedAsTheyAreStored() {
    for (const char* text :
         {R"({})", R"({"dtype":"f32"})", R"({"layout":"ring_fused","ring":{"window":64}})", R"({"layout":"paged"})",
          R"({"policy":"adakv"})", R"({"wlod":{"budget":512}})", R"({"history_bytes":0})",
          R"({"layers":[{"match":"0-1","layout":"ring_roll","kv":{"v":"int8"}}],"ring":{"window":32}})"}) {
      json manifest = json::parse(text);
      manifest["threads"] = 1;
      compare(manifest);
    }
  }

  void viewsSayTheSame() {
    const auto shown = test::wholeWindow();
    MainWindow& window = *shown;
    bool opened = false;
    window.openSession({{"manifest", {{"model", "demo"}, {"threads", 1}}},
                        {"name", "First"},
                        {"start", {{"text", "anna puts the silver key in the cellar ."}}}},
                       [&](const Result<SessionPtr>& r) { opened = bool(r); });
    QTRY_VERIFY_WITH_TIMEOUT(opened, 20000);
    QVERIFY(test::settled(window) && window.context().snapshot()->length() > 5);
    QVERIFY2(window.windowTitle().startsWith("First — demo"), qPrintable(window.windowTitle()));
    json bytes;
    window.context().query("bytes", "bytes", json::object(), &window, [&](const Result<json>& r) { bytes = *r; });
    QTRY_VERIFY(!bytes.is_null());
    const QString words = rowMemoryText(*window.context().snapshot());
    for (const char* key : {"live", "allocated", "reserved"})
      QVERIFY2(words.contains(formatBytes(bytes[key].get<qint64>())), key);
    QVERIFY(window.status().findChild<QLabel*>("status_bytes")->toolTip().contains(words));
    for (const char* view : {"storage", "model"}) {
      QVERIFY(window.views().showView(view));
      QTRY_VERIFY(window.docks().view(view)->ready());
      QVERIFY2(window.views().dump(view)->contains(words), qPrintable(*window.views().dump(view)));
    }
  }

  void aStartingTextThatCannotBeReadOpensNothing() {
    MainWindow window(test::wholeSettings());
    std::string code;
    window.openSession({{"manifest", json::object()}, {"start", {{"file", "no/such.txt"}}}},
                       [&](const Result<SessionPtr>& r) { code = r ? "" : r.error().code; });
    QCOMPARE(code, std::string("io"));
  }
};

KV_TEST(MemoryFiguresTest)
#include "memory_figures_test.moc"
