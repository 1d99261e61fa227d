// SPDX-License-Identifier: GPL-3.0-or-later
// The results of `kvlab test`: as lines of text, as JSON, as JUnit XML for CI servers, and as a page of HTML with the
// pictures that differ. Names may hold anything. Values; any thread.
#pragma once
#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>
#include <vector>

namespace kvlab {

/// One test, or a file that could not be run (name "the file itself").
struct TestOutcome {
  QString name;
  double seconds = 0;
  QString code = {}, message = {};  // error of the failure; empty if the test passed
  QStringList log = {};             // lines that the test printed
  QStringList leftFiles = {};       // NAME.actual, NAME.expected and NAME.diff, below the folder of the report
  bool failed() const { return !message.isEmpty(); }
};

struct TestFile {
  QString name;  // its path below the folder of tests
  std::vector<TestOutcome> tests = {};
};

struct TestReport {
  QString out;  // the folder for files of tests
  std::vector<TestFile> files = {};
};

struct TestCounts {
  int tests = 0, failures = 0;
  double seconds = 0;
  void add(const TestCounts& more) {
    tests += more.tests;
    failures += more.failures;
    seconds += more.seconds;
  }
};
TestCounts countsOf(const TestFile& file);
TestCounts countsOf(const TestReport& report);

/// "ok     0.12 s  NAME", with the failure in lines below it.
QString testLine(const TestReport& report, const TestFile& file, const TestOutcome& test);
/// "7 tests of 2 files: 6 passed, 1 failed, in 2.3 s"
QString summaryLine(const TestReport& report);
/// {out, passed, failed, seconds, tests: [{file, name, ok, seconds, code?, message?, log, left}]}; left: names below
/// out.
nlohmann::json toJson(const TestReport& report);
/// A suite per file, a case per test.
QByteArray junit(const TestReport& report);
/// The failed tests with the actual picture, the expected one and the difference. Pictures are named relative to `out`.
QByteArray testPage(const TestReport& report);
/// A name of a folder from any text: small letters, digits and dashes, unique by its number.
QString folderName(int number, const QString& name);

}  // namespace kvlab
