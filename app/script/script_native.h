// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of ScriptCalls for prelude.js on the script's thread: each call runs on the GUI thread, and the script
// waits for it. Lives on the script's thread; owned by ScriptHost.
#pragma once
#include <QElapsedTimer>
#include <QJSEngine>
#include <functional>

#include "app/script/script_calls.h"

namespace kvlab {

class ScriptNative : public QObject {
  Q_OBJECT
 public:
  /// onGui: runs a function on the GUI thread and returns when it has ended.
  using OnGui = std::function<void(const std::function<void()>& work)>;
  ScriptNative(QJSEngine& engine, ScriptCalls& calls, OnGui onGui)
      : m_engine(engine), m_calls(calls), m_onGui(std::move(onGui)) {
    m_clock.start();
  }

  Q_INVOKABLE QString verbs() const { return m_calls.verbs(); }  // these read settings, which do not change
  Q_INVOKABLE QString tables() const { return m_calls.tables(); }
  Q_INVOKABLE QString args() const { return m_calls.args(); }
  Q_INVOKABLE QString call(int handle, const QString& verb, const QString& args) {
    return onGui(&ScriptCalls::call, handle, verb, args);
  }
  Q_INVOKABLE QString open(const QString& request) { return onGui(&ScriptCalls::open, request); }
  Q_INVOKABLE QString current() { return onGui(&ScriptCalls::current); }
  Q_INVOKABLE QString show(int handle) { return onGui(&ScriptCalls::show, handle); }
  Q_INVOKABLE QString fork(int handle) { return onGui(&ScriptCalls::fork, handle); }
  Q_INVOKABLE QString close(int handle) { return onGui(&ScriptCalls::close, handle); }
  Q_INVOKABLE QString sweep(const QString& request) { return onGui(&ScriptCalls::sweep, request); }
  Q_INVOKABLE QString view(const QString& op, const QString& args) { return onGui(&ScriptCalls::view, op, args); }
  Q_INVOKABLE QString readText(const QString& path) { return onGui(&ScriptCalls::readText, path); }
  Q_INVOKABLE QString writeText(const QString& path, const QString& text) {
    return onGui(&ScriptCalls::writeText, path, text);
  }
  /// Milliseconds since this object was made.
  Q_INVOKABLE double now() const { return static_cast<double>(m_clock.nsecsElapsed()) / 1e6; }
  Q_INVOKABLE void log(const QString& text) {
    m_onGui([&] { m_calls.log(text); });
  }
  /// The value of a JSON text, built without Qt's parser, whose stack ends the program at an array of half a million
  /// elements. Undefined where the text is no JSON.
  Q_INVOKABLE QJSValue parse(const QString& text) const;

 private:
  template <class Call, class... Args>
  QString onGui(Call work, const Args&... args) {
    QString answer;
    m_onGui([&] { answer = ScriptCalls::answer(std::invoke(work, m_calls, args...)); });
    return answer;
  }

  QJSEngine& m_engine;
  ScriptCalls& m_calls;
  OnGui m_onGui;
  QElapsedTimer m_clock;
};

}  // namespace kvlab
