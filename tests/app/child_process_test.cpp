// SPDX-License-Identifier: GPL-3.0-or-later
// Programs that the subcommands start: their lines, their ends, and being stopped.
#include "app/plain/child_process.h"

#include <chrono>

#include "support/runner.h"

using namespace kvlab;

class ChildProcessTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void linesAndExitCode();
  void aMissingProgramHasNotStarted();
  void aSignalIsNoExitCode();
  void whoIsAskedToStopMayCleanUp();
  void childrenOfChildrenAreNotWaitedFor();
};

namespace {

struct Ran {
  ChildEnd end;
  std::vector<std::string> lines = {};
};

Ran shell(const std::string& script, std::function<bool()> stopped = {}) {
  Ran out;
  out.end = runChild({.program = "sh",
                      .arguments = {"-c", script},
                      .said = [&out](const std::string& line) { out.lines.push_back(line); },
                      .quiet = true,
                      .stopped = std::move(stopped)});
  return out;
}

}  // namespace

void ChildProcessTest::linesAndExitCode() {
  const Ran ran = shell("echo a; echo lost >&2; echo; printf b; exit 3");
  QVERIFY(ran.end.started);
  QCOMPARE(ran.end.exitCode, 3);
  QCOMPARE(ran.lines, (std::vector<std::string>{"a", "", "b"}));
  QCOMPARE(shell("cat; echo $PYTHONDONTWRITEBYTECODE").lines, (std::vector<std::string>{"1"}));
}

void ChildProcessTest::aMissingProgramHasNotStarted() {
  const ChildEnd end = runChild({.program = "/nowhere/python", .arguments = {}});
  QVERIFY(!end.started);
  QCOMPARE(end.exitCode, -1);
}

void ChildProcessTest::aSignalIsNoExitCode() {
  const Ran ran = shell("kill -9 $$");
  QVERIFY(ran.end.started);
  QCOMPARE(ran.end.exitCode, -1);
}

void ChildProcessTest::whoIsAskedToStopMayCleanUp() {
  bool begun = false;
  Ran out;
  out.end = runChild({.program = "sh",
                      .arguments = {"-c", "trap 'echo cleaned; exit 0' TERM; echo begun; while :; do sleep 0.05; done"},
                      .said =
                          [&](const std::string& line) {
                            begun = true;
                            out.lines.push_back(line);
                          },
                      .stopped = [&begun] { return begun; }});
  QCOMPARE(out.end.exitCode, 0);
  QCOMPARE(out.lines, (std::vector<std::string>{"begun", "cleaned"}));
}

void ChildProcessTest::childrenOfChildrenAreNotWaitedFor() {
  const auto begin = std::chrono::steady_clock::now();
  QCOMPARE(shell("sleep 20 & echo said").lines, (std::vector<std::string>{"said"}));
  QVERIFY(std::chrono::steady_clock::now() - begin < std::chrono::seconds(15));
}

KV_TEST(ChildProcessTest)
#include "child_process_test.moc"
