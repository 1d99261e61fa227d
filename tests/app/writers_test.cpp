// SPDX-License-Identifier: GPL-3.0-or-later
// All files that the window and its scripts write: they go to the target of a name, and are whole or absent.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/whole_window.h"
#include "support/runner.h"

using namespace kvlab;
using nlohmann::json;

namespace {

struct stat factsOf(const QString& path) {
  struct stat out {};
  if (::lstat(path.toLocal8Bit().constData(), &out) != 0) out = {};
  return out;
}

QByteArray readAll(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class WritersTest : public QObject {
  Q_OBJECT
 private:
  QTemporaryDir m_settings;
  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<MainWindow> m_window;

  QString path(const QString& name) const { return m_folder->filePath(name); }
  void put(const QString& name) {
    QFile file(path(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("old");
  }
  bool verb(const std::string& name, const json& args) {
    std::optional<bool> done;
    m_window->context().submit(name, args, [&](const Result<json>& reply) { done = bool(reply); });
    return QTest::qWaitFor([&] { return done.has_value(); }, 20000) && *done;
  }
  bool line(const QString& text) {
    std::optional<bool> failed;
    m_window->context().evaluate(text, this, [&](const QString&, bool refused) { failed = refused; });
    return QTest::qWaitFor([&] { return failed.has_value(); }, 20000) && !*failed;
  }
  bool command(const char* id, const QString& file) {
    std::optional<bool> done;
    m_window->context().runCommand(id, {{"path", file.toStdString()}}, this,
                                   [&](const Result<json>& reply) { done = bool(reply); });
    return QTest::qWaitFor([&] { return done.has_value(); }, 20000) && *done;
  }
  bool written(const QString& with, const QString& file) {
    const json args{{"path", file.toStdString()}};
    if (with == "saveCache hf") return verb("saveCache", {{"path", args["path"]}, {"form", "hf_tuple"}});
    if (with.startsWith("view "))
      return bool(m_window->runCommand("screenshot", {{"view", "map"}, {"path", args["path"]}}));
    if (with == "writeText") return line("lab.writeText(\"" + file + "\", \"much more than nothing\")");
    if (with == "screenshot") return line("view.screenshot(\"map\", \"" + file + "\")");
    if (with == "save_session_script") return bool(m_window->runCommand(with, args));
    if (with == "notes_export") return command(qPrintable(with), file);
    return verb(with.toStdString(), args);
  }

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(test::ownSettings(m_settings));
    m_window = test::wholeWindow();
    QVERIFY(test::openIn(*m_window, {{"model", "demo"}, {"threads", 1}}, "the cat sat on the mat"));
    QVERIFY(verb("note", {{"text", "here"}}));
  }
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }
  void cleanupTestCase() { m_window.reset(); }

  void everyWriter_data() {
    QTest::addColumn<QString>("with");
    QTest::addColumn<QString>("name");
    for (const auto& [with, name] : {std::pair("saveCache", "c.safetensors"),
                                     {"saveCache hf", "h.safetensors"},
                                     {"saveCapture", "s.kvcap"},
                                     {"startCapture", "l.kvcap"},
                                     {"recordLifespans", "l.safetensors"},
                                     {"view png", "m.png"},
                                     {"view svg", "m.svg"},
                                     {"view pdf", "m.pdf"},
                                     {"writeText", "t.txt"},
                                     {"screenshot", "m.png"},
                                     {"save_session_script", "s.js"},
                                     {"notes_export", "n.md"}})
      QTest::newRow(with) << with << name;
  }

  void everyWriter() {
    QFETCH(QString, with);
    QFETCH(QString, name);
    put("real-" + name);
    QVERIFY(QFile::setPermissions(path("real-" + name), QFile::ReadOwner | QFile::WriteOwner | QFile::ReadGroup));
    const mode_t mode = factsOf(path("real-" + name)).st_mode;
    QVERIFY(QFile::link("real-" + name, path(name)));
    QVERIFY(written(with, path(name)));
    QVERIFY(S_ISLNK(factsOf(path(name)).st_mode));
    QVERIFY(readAll(path("real-" + name)) != "old");
    QCOMPARE(factsOf(path("real-" + name)).st_mode, mode);
  }

  void aFullDisk_data() { everyWriter_data(); }

  /// No file of 0 bytes, and none beside it.
  void aFullDisk() {
    QFETCH(QString, with);
    QFETCH(QString, name);
    put(name);
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{8, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const bool done = written(with, path(name));
    ::setrlimit(RLIMIT_FSIZE, &before);
    QVERIFY(!done);
    QCOMPARE(readAll(path(name)), QByteArray("old"));
    QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files | QDir::Hidden), QStringList{name});
  }

  /// Of a view and of the window.
  void pictureFilesHaveTheFormOfTheirSuffix() {
    const auto saved = [&](const char* view, const QString& name) {
      const json args{{"view", view}, {"path", path(name).toStdString()}};
      return m_window->runCommand("screenshot", args) ? readAll(path(name)) : QByteArray();
    };
    for (const char* view : {"map", "window"}) {
      QVERIFY(saved(view, "a.png").startsWith("\x89PNG"));
      QVERIFY(saved(view, "a.svg").contains("</text>"));
      QVERIFY(saved(view, "a.pdf").startsWith("%PDF"));
    }
  }

  void devices() {
    const dev_t null = factsOf("/dev/null").st_rdev;
    for (const char* with : {"saveCache", "saveCapture", "writeText"}) {
      QVERIFY2(written(with, "/dev/null"), with);
      QVERIFY2(S_ISCHR(factsOf("/dev/null").st_mode) && factsOf("/dev/null").st_rdev == null, with);
      QVERIFY2(!written(with, "/dev/full"), with);
    }
  }
};

KV_TEST(WritersTest)
#include "writers_test.moc"
