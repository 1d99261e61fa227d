// SPDX-License-Identifier: GPL-3.0-or-later
// A script engine: evaluates console lines and runs script files with a WindowPort, on a thread of its own. The GUI
// thread makes its calls and waits in a nested event loop that keeps painting and passes input only to widgets marked
// kDuringScript (Stop, Cancel, the tour's buttons). Owned by the window or by `kvlab run`. GUI thread.
#pragma once
#include <QJSEngine>
#include <QObject>
#include <functional>
#include <memory>

#include "app/script/ports.h"
#include "core/api/table.h"

namespace kvlab {

/// Widget property that keeps a control enabled while a script waits.
inline constexpr char kDuringScript[] = "kvlabDuringScript";

struct ScriptSettings {
  Schema schema;                                       // verbs and tables of a session
  nlohmann::json manifest = nlohmann::json::object();  // defaults of lab.open
  QStringList args = {};
  QString resources = {};    // folder of "resource:" paths; empty = none
  QString out = {};          // folder for relative output paths; empty = current folder
  bool update = false;       // expectations that differ are written anew
  double limitSeconds = 0;   // limit for the whole script; 0 = none
  double silentSeconds = 0;  // limit between two native calls; 0 = none
  std::function<void(const QString&)> log = {};
};

struct ScriptResult {
  bool failed = false;
  bool refused = false;  // an uncaught error refused a model, file or backend
  QString text;          // printed value, or the error
  QString file;          // place of the error
  int line = 0;          // 0 = not known
  Error error = {};      // code "script_error" for plain JavaScript errors

  /// "file:line", or only the file.
  QString place() const;
  /// "file:line: text", or only the text.
  QString message() const;
};

class ScriptHost : public QObject {
  Q_OBJECT
 public:
  ScriptHost(WindowPort& window, ScriptSettings settings, QObject* parent = nullptr);
  ~ScriptHost() override;

  ScriptResult runFile(const QString& path);
  ScriptResult runText(const QString& text, const QString& file);
  /// Evaluates one console line. Names declared with var, or without a keyword, persist. `s` is the shown session.
  ScriptResult evaluateLine(const QString& line);
  /// Evaluates a file whose calls of test(..) are collected, in order: tests() names them.
  ScriptResult collectTests(const QString& path);
  QStringList tests() const;
  /// Runs a test between the functions of before(..) and after(..); each part has the time limit for itself. Files that
  /// the test writes go to `out`. The first failure is the result.
  ScriptResult runTest(int index, const QString& out);
  bool running() const;
  /// Cancels the running call and ends the script.
  void stop();
  /// {globals:[..], lab:[..], view:[..], lanes:[..], session:[..]}
  nlohmann::json names() const;

 signals:
  void runningChanged(bool running);

 private:
  ScriptResult evaluate(const QString& code, const QString& file, int line);
  /// Runs `work` on the script's thread, under the watchdog; it returns what it threw, where `stack` is not empty.
  ScriptResult guarded(const std::function<QJSValue(QStringList& stack)>& work);
  ScriptResult runPart(const QString& part, int index);
  ScriptResult describe(const QJSValue& thrown, const QStringList& stack) const;

  struct Parts;
  std::unique_ptr<Parts> m;
};

}  // namespace kvlab
