// SPDX-License-Identifier: GPL-3.0-or-later
// The native functions that prelude.js calls. Every call takes and returns JSON text ({"value":..} or {"error":..}) and
// returns when its work is done. Owned by ScriptHost. GUI thread.
#pragma once
#include <QObject>
#include <map>
#include <optional>

#include "app/script/script_host.h"

namespace kvlab {

class VerbArgs;
struct Expectation;

class ScriptCalls : public QObject {
  Q_OBJECT
 public:
  ScriptCalls(WindowPort& window, const ScriptSettings& settings) : m_window(window), m_settings(settings) {}

  Q_INVOKABLE QString verbs() const;
  Q_INVOKABLE QString tables() const;
  Q_INVOKABLE QString args() const;
  Q_INVOKABLE QString call(int handle, const QString& verb, const QString& args);
  Q_INVOKABLE QString open(const QString& request);
  Q_INVOKABLE QString current();
  Q_INVOKABLE QString show(int handle);
  Q_INVOKABLE QString fork(int handle);
  Q_INVOKABLE QString close(int handle);
  Q_INVOKABLE QString sweep(const QString& request);
  Q_INVOKABLE QString view(const QString& op, const QString& args);
  Q_INVOKABLE QString readText(const QString& path) const;
  Q_INVOKABLE QString writeText(const QString& path, const QString& text) const;
  Q_INVOKABLE void log(const QString& text);

  /// The folder of the script that runs: where its expectations are.
  void setFolder(const QString& folder) { m_folder = folder; }
  static constexpr std::int64_t kLeastPixels = 16, kMostPixels = 8192;  // limits of a picture's side
  /// Ends every present and later wait with the error `cancelled`.
  void stop();
  void restart() { m_stopped = false; }
  bool isStopped() const { return m_stopped; }
  static Error cancelled();
  /// Called at the start and end of every native call.
  std::function<void(bool inside)> onCall;
  /// True if the script has used up its time.
  std::function<bool()> expired;

 signals:
  void stopped();

 private:
  using Json = nlohmann::json;
  using Answer = std::optional<Result<Json>>;
  Result<Json> openNow(Json request);
  Result<Json> sweepNow(Json given);
  Result<Json> readNow(const QString& path) const;
  Result<Json> writeNow(const QString& path, const QString& text) const;
  Status waitUntilReady(const PictureRequest& request);
  Result<QImage> pictureOf(const QString& what, VerbArgs& options);
  Result<QString> dumpOf(const QString& what);
  Expectation expectation(const VerbArgs& in) const;
  // script_view.cpp and script_expect.cpp; view() completes what VerbArgs refuses
  struct ViewCall {
    const char* op;
    std::vector<ArgInfo> args;
    Result<Json> (ScriptCalls::*run)(VerbArgs& in);
  };
  static const ViewCall kViewCalls[];
  Result<Json> viewShow(VerbArgs& in);
  Result<Json> viewFocus(VerbArgs& in);
  Result<Json> viewSet(VerbArgs& in);
  Result<Json> viewTheme(VerbArgs& in);
  Result<Json> viewSize(VerbArgs& in);
  Result<Json> viewFreezeClock(VerbArgs& in);
  Result<Json> viewCommand(VerbArgs& in);
  Result<Json> viewList(VerbArgs& in);
  Result<Json> viewInteractive(VerbArgs& in);
  Result<Json> viewClick(VerbArgs& in);
  Result<Json> viewDrag(VerbArgs& in);
  Result<Json> viewKeys(VerbArgs& in);
  Result<Json> viewType(VerbArgs& in);
  /// Acts like a person, once the view shows the current tick, and waits until the window has taken it.
  Status settle(const QString& id);
  Result<Json> asPerson(const QString& id, const std::function<Status()>& act);
  Result<Json> viewScreenshot(VerbArgs& in);
  Result<Json> viewDump(VerbArgs& in);
  Result<Json> viewCaption(VerbArgs& in);
  Result<Json> expectImage(VerbArgs& in);
  Result<Json> expectDump(VerbArgs& in);

  static QString answer(const Result<Json>& result);
  void wait(const std::function<bool()>& done);
  int handleOf(const SessionPtr& session);
  std::string resolved(const std::string& path, bool write) const;
  void resolvePaths(const std::string& verb, Json& args) const;
  void resolvePath(bool written, Json& path) const;

  WindowPort& m_window;
  const ScriptSettings& m_settings;
  QString m_folder;
  std::map<int, SessionPtr> m_sessions;
  int m_nextHandle = 1;
  bool m_stopped = false;
};

}  // namespace kvlab
