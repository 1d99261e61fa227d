// SPDX-License-Identifier: GPL-3.0-or-later
// One script engine: evaluates console lines and runs script files over a WindowPort. Calls wait in
// a nested event loop that keeps painting and lets through only widgets marked kDuringScript (Stop,
// Cancel, the tour's buttons). Owned by the window or by `kvlab run`. GUI thread.
#pragma once
#include <QJSEngine>
#include <QObject>
#include <functional>
#include <memory>

#include "app/script/ports.h"
#include "core/api/verb.h"

namespace kvlab {

/// Name of the widget property that keeps a control alive while a script waits.
inline constexpr char kDuringScript[] = "kvlabDuringScript";

struct ScriptSettings {
  std::vector<VerbInfo> verbs;                         // methods of a session
  nlohmann::json manifest = nlohmann::json::object();  // defaults of lab.open
  QStringList args = {};
  QString resources = {};    // folder of "resource:" paths; empty = none
  QString out = {};          // folder of relative paths that are written; empty = current folder
  bool update = false;       // expectations that differ are written anew
  double limitSeconds = 0;   // of the whole script; 0 = none
  double silentSeconds = 0;  // between two native calls; 0 = none
  std::function<void(const QString&)> log = {};
};

struct ScriptResult {
  bool failed = false;
  bool refused = false;  // a model, file or backend was refused and nobody caught it
  QString text;          // printed value, or what went wrong
  QString file;          // place of the error
  int line = 0;
  Error error = {};  // code "script_error" for plain JavaScript errors

  /// "file:line: text", or the text alone.
  QString message() const;
};

class ScriptHost : public QObject {
  Q_OBJECT
 public:
  ScriptHost(WindowPort& window, ScriptSettings settings, QObject* parent = nullptr);
  ~ScriptHost() override;

  ScriptResult runFile(const QString& path);
  ScriptResult runText(const QString& text, const QString& file);
  /// One console line; names declared with var or without a keyword stay. `s` is the shown session.
  ScriptResult evaluateLine(const QString& line);
  bool running() const;
  /// Cancels the call in progress and ends the script.
  void stop();
  /// {globals:[..], lab:[..], view:[..], lanes:[..], session:[..]}
  nlohmann::json names() const;

 signals:
  void runningChanged(bool running);

 private:
  class Guard;
  ScriptResult evaluate(const QString& code, const QString& file, int line);
  ScriptResult describe(const QJSValue& thrown, const QStringList& stack) const;

  struct Parts;
  std::unique_ptr<Parts> m;
};

}  // namespace kvlab
