// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab test: runs the tests of *.test.js files. Each file has a window and a script engine of its own.
#include <QApplication>
#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QFileInfo>
#include <iostream>

#include "app/window/main_window.h"
#include "app/windowed/test_report.h"
#include "app/windowed/windowed.h"
#include "widgets/base/save_file.h"

namespace kvlab {
namespace {

constexpr auto kSuffix = ".test.js";
constexpr double kSecondsOfATest = 60;

Error testUsage(const std::string& what, const std::string& why, const std::string& remedy) {
  return {"usage", what, why, remedy};
}

/// The files of tests at `path`, in the order of their names: the file itself, or those of a folder and of the folders
/// below it that are neither hidden nor links.
Result<QStringList> testFiles(const QString& path) {
  const QFileInfo at(path);
  const std::string what = "kvlab test " + path.toStdString();
  if (!at.exists()) return testUsage(what, "there is no such file or folder", "check the path");
  if (at.isFile() && path.endsWith(kSuffix)) return QStringList{path};
  if (at.isFile())
    return testUsage(what, "the name of a file of tests ends in .test.js", "rename the file, or use kvlab run");
  QStringList found;
  QDirIterator below(path, {QString("*") + kSuffix}, QDir::Files, QDirIterator::Subdirectories);
  while (below.hasNext()) found << below.next();
  found.sort();
  if (!found.isEmpty()) return found;
  return testUsage(what, "no file below the folder has a name that ends in .test.js",
                   "write one: test(\"name\", () => { .. }); the manual's page Picture tests has examples");
}

/// A run of all files.
class TestRun {
 public:
  TestRun(const CommandLine& line, LogRelay& log) : m_line(line), m_log(log) {
    m_report.out = line.out.empty() ? QStringLiteral("kvlab-test") : QString::fromStdString(line.out);
  }

  void run(const QString& root, const QString& path);
  const TestReport& report() const { return m_report; }

 private:
  void runTests(ScriptHost& host, TestFile& file);
  TestOutcome runTest(ScriptHost& host, int index, const TestFile& file);
  bool wanted(const TestFile& file, const QString& test) const;
  void add(TestFile& file, TestOutcome outcome);

  const CommandLine& m_line;
  LogRelay& m_log;
  QStringList m_said;
  TestReport m_report;
};

void TestRun::add(TestFile& file, TestOutcome outcome) {
  outcome.log = std::exchange(m_said, {});
  std::cout << testLine(m_report, file, outcome).toStdString() << std::endl;
  file.tests.push_back(std::move(outcome));
}

bool TestRun::wanted(const TestFile& file, const QString& test) const {
  return (file.name + ": " + test).contains(QString::fromStdString(m_line.filter), Qt::CaseInsensitive);
}

void TestRun::run(const QString& root, const QString& path) {
  TestFile file{QDir(root).relativeFilePath(QFileInfo(path).absoluteFilePath())};
  MainWindow window(windowSettings(m_line, true));
  QObject::connect(&m_log, &LogRelay::line, &window.context(), &InspectorContext::logged);
  window.show();
  window.context().setRest(19);
  window.freezeClock();
  ScriptSettings settings = scriptSettings(m_line);
  settings.limitSeconds = m_line.limit > 0 ? m_line.limit : kSecondsOfATest;
  settings.log = [this](const QString& text) { m_said << text; };
  ScriptHost host(window, settings);
  const auto failed = [&](const std::string& code, const QString& why) {
    add(file, {"the file itself", 0, QString::fromStdString(code), why});
  };
  if (const ScriptResult read = host.collectTests(path); read.failed) failed(read.error.code, read.message());
  else if (host.tests().isEmpty()) failed("empty", path + ": the file has no test; write test(\"name\", () => { .. })");
  else runTests(host, file);
  if (!file.tests.empty()) m_report.files.push_back(std::move(file));
}

void TestRun::runTests(ScriptHost& host, TestFile& file) {
  const QStringList names = host.tests();
  for (int i = 0; i < names.size(); ++i)
    if (wanted(file, names[i])) add(file, runTest(host, i, file));
}

/// Each test has a folder for its files; files of an earlier run are removed.
TestOutcome TestRun::runTest(ScriptHost& host, int index, const TestFile& file) {
  TestOutcome outcome{host.tests()[index]};
  const QString below =
      file.name.chopped(qsizetype(std::string_view(kSuffix).size())) + '/' + folderName(index + 1, outcome.name);
  const QDir folder(m_report.out + '/' + below);
  const QStringList left{"*.actual.*", "*.expected.*", "*.diff.*"};
  for (const QString& old : folder.entryList(left, QDir::Files)) QFile::remove(folder.filePath(old));
  QElapsedTimer clock;
  clock.start();
  const ScriptResult result = host.runTest(index, folder.path());
  outcome.seconds = static_cast<double>(clock.nsecsElapsed()) / 1e9;
  if (!result.failed) return outcome;
  outcome.code = QString::fromStdString(result.error.code);
  outcome.message = result.message();
  for (const QString& pattern : left)
    for (const QString& one : folder.entryList({pattern}, QDir::Files, QDir::Name))
      outcome.leftFiles << below + '/' + one;
  return outcome;
}

/// The page is written where something failed, and where one of an earlier run would say otherwise.
Status writeReports(const CommandLine& line, const TestReport& report) {
  const QString page = report.out + "/index.html";
  if (countsOf(report).failures > 0 || QFileInfo::exists(page)) {
    QDir().mkpath(report.out);
    KV_TRY(saveFile(page, testPage(report), page.toStdString()));
  }
  if (line.junit.empty()) return ok();
  return saveFile(QString::fromStdString(line.junit), junit(report), line.junit);
}

}  // namespace

Ending runTests(const CommandLine& line, LogRelay& log) {
  const QString path = QDir::cleanPath(QString::fromStdString(line.file));
  const QStringList files = KV_TRY(testFiles(path));
  if (!line.out.empty() && !QDir().mkpath(QString::fromStdString(line.out)))
    return Error("io", "--out " + line.out, "the folder cannot be created", "name another folder");
  TestRun run(line, log);
  const QString root = QFileInfo(path).isFile() ? QFileInfo(path).path() : path;
  for (const QString& file : files) run.run(root, file);
  const TestReport& report = run.report();
  const TestCounts counts = countsOf(report);
  if (counts.tests == 0)
    return testUsage("--filter " + line.filter, "no test has this text in its name or in the name of its file",
                     "run without --filter to see all names");
  std::cout << summaryLine(report).toStdString() << std::endl;
  KV_TRY(writeReports(line, report));
  if (counts.failures == 0) return toJson(report);
  const Error error("expectation_failed", "kvlab test " + line.file,
                    std::to_string(counts.failures) + " of " + std::to_string(counts.tests) +
                        (counts.tests == 1 ? " test failed" : " tests failed"),
                    "look at " + report.out.toStdString() + "/index.html");
  return {toJson(report), Exit::Failed, error};
}

}  // namespace kvlab
