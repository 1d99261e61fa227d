// SPDX-License-Identifier: GPL-3.0-or-later
// The native functions that prelude.js calls. Every call takes JSON text and returns when its work is done. Owned by
// ScriptHost. GUI thread.
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
  using Json = nlohmann::json;
  ScriptCalls(WindowPort& window, const ScriptSettings& settings) : m_window(window), m_settings(settings) {}

  QString verbs() const;
  QString tables() const;
  QString args() const;
  Result<Json> call(int handle, const QString& verb, const QString& args);
  Result<Json> open(const QString& request);
  Result<Json> current();
  Result<Json> show(int handle);
  Result<Json> fork(int handle);
  Result<Json> close(int handle);
  Result<Json> sweep(const QString& request);
  Result<Json> view(const QString& op, const QString& args);
  Result<Json> readText(const QString& path) const;
  Result<Json> writeText(const QString& path, const QString& text) const;
  void log(const QString& text);
  /// {"value":..} or {"error":..} as text.
  static QString answer(const Result<Json>& result);

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
  Status waitUntilReady(const PictureRequest& request);
  Result<PictureRequest> readyPicture(const QString& what, VerbArgs& options);
  Result<QString> dumpOf(const QString& what);
  Expectation expectation(const VerbArgs& in) const;
  // script_view.cpp and script_expect.cpp; view() completes what VerbArgs refuses
  struct ViewCall {
    const char* op;
    std::vector<ArgInfo> args;
    std::function<Result<Json>(ScriptCalls& calls, VerbArgs& in)> run;
  };
  static const ViewCall kViewCalls[];
  Result<Json> viewFocus(VerbArgs& in);
  Result<Json> viewCommand(VerbArgs& in);
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

  void wait(const std::function<bool()>& done);
  /// The reply to a request, or the error `cancelled`. cancel: ends the request when the script is stopped.
  template <class T>
  Result<T> answered(const std::function<void(std::function<void(const Result<T>&)>)>& ask,
                     const std::function<void()>& cancel = {}) {
    const auto reply = std::make_shared<std::optional<Result<T>>>();
    ask([reply](const Result<T>& r) { reply->emplace(r); });
    const auto stopping = connect(this, &ScriptCalls::stopped, this, [&] {
      if (cancel) cancel();
    });
    wait([reply] { return reply->has_value(); });
    disconnect(stopping);
    return reply->has_value() ? **reply : cancelled();
  }
  Result<SessionPtr> sessionOf(int handle) const;
  int handleOf(const SessionPtr& session);
  std::string resolved(const std::string& path, bool write) const;

  WindowPort& m_window;
  const ScriptSettings& m_settings;
  QString m_folder;
  std::map<int, SessionPtr> m_sessions;
  int m_nextHandle = 1;
  bool m_stopped = false;
};

}  // namespace kvlab
