// SPDX-License-Identifier: GPL-3.0-or-later
// The interfaces of the script language to the program: sessions, views, sweeps, and the window around them.
// LiveSession, WindowViews, SweepJob and MainWindow implement them; tests implement them by hand. GUI thread.
#pragma once
#include <QImage>
#include <QKeySequence>
#include <QPointF>
#include <QSize>
#include <QString>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "widgets/base/picture_file.h"

namespace kvlab {

class SessionPort;
using SessionPtr = std::shared_ptr<SessionPort>;

class SessionPort {
 public:
  using Reply = std::function<void(const Result<nlohmann::json>&)>;
  virtual ~SessionPort() = default;
  /// Runs a verb in order with all others; the reply comes later, on the GUI thread.
  virtual void submit(const std::string& verb, const nlohmann::json& args, Reply reply) = 0;
  /// Makes a second session in the state after all earlier verbs.
  using Opened = std::function<void(const Result<SessionPtr>&)>;
  virtual void fork(Opened forked) = 0;
  virtual void cancel() = 0;
  virtual SnapshotPtr snapshot() const = 0;
};

/// A picture of one view or of the window; size 0 = the default size.
struct PictureRequest {
  QString what = "window";
  QSize size = {};
  double dpr = 1.0;
};

/// An act of the mouse: a click at `from`, or a drag to `to`. Device-independent pixels of a view.
struct MouseAct {
  QPointF from;
  std::optional<QPointF> to = {};
  Qt::MouseButton button = Qt::LeftButton;
  Qt::KeyboardModifiers modifiers = Qt::NoModifier;
  bool twice = false;  // a double click
};

/// The views of the window.
class ViewPort {
 public:
  virtual ~ViewPort() = default;
  virtual std::vector<std::string> viewIds() const = 0;
  virtual Status showView(const QString& id) = 0;
  virtual Status setFocus(const nlohmann::json& focus) = 0;
  /// Sets options of a view by name, like its controls; stops at the first refused option.
  virtual Status setOptions(const QString& id, const nlohmann::json& options) = 0;
  /// Brings the view (for "window" all visible views) to the size and the newest tick; true when done. Errors:
  /// unknown_view.
  virtual Result<bool> readyFor(const PictureRequest& request) = 0;
  /// The picture that readyFor() prepared, and the same as the content of a file, whose suffix names the form
  /// (widgets/base/picture_file.h). Errors: unknown_view, bad_argument (the suffix).
  virtual Result<QImage> picture(const PictureRequest& request) = 0;
  virtual Result<PictureFile> pictureFile(const PictureRequest& request, const QString& path) = 0;
  /// The text of a view, or of the status bar and all visible views for "window".
  virtual Result<QString> dump(const QString& what) = 0;
  /// Brings a view, or "window", in front where it is not; the keyboard of a view in front stays where it is.
  virtual Status bringUp(const QString& id) = 0;
  /// Real events of the mouse and of keys for a view, or for "window". A view without the keyboard gets it first.
  /// Errors: unknown_view, bad_argument (a place outside).
  virtual Status mouse(const QString& id, const MouseAct& act) = 0;
  virtual Status keys(const QString& id, const QKeySequence& keys) = 0;
  virtual Status type(const QString& id, const QString& text) = 0;
  /// Calls `then` once the shown session has answered all that views have asked it so far.
  virtual void whenAnswered(std::function<void()> then) = 0;
};

/// Sweeps beside the session, one at a time.
class SweepPort {
 public:
  using Reply = SessionPort::Reply;
  virtual ~SweepPort() = default;
  /// Runs a sweep {"spec": object or path, "out", "jobs", "resume"}. The reply comes later, from the event loop: {name,
  /// out, cells, found, failed, points, rows}. A refusal comes at once: busy, bad_argument.
  virtual void start(const nlohmann::json& request, Reply reply) = 0;
  virtual void stop() = 0;
  virtual bool running() const = 0;
  /// Shows results.jsonl, or else the journal of a folder. Errors: busy, unreadable_file, bad_results.
  virtual Status open(const QString& path) = 0;
};

class WindowPort {
 public:
  using Opened = SessionPort::Opened;
  virtual ~WindowPort() = default;
  virtual ViewPort& views() const = 0;
  virtual SweepPort& sweeps() const = 0;
  /// Opens {"manifest":{..}}, {"capture":"path"} or {"sweep":"folder", "cell":index, "question":n} and shows the
  /// session.
  virtual void openSession(const nlohmann::json& request, Opened opened) = 0;
  /// The session that is shown, or is about to be; null before the first one.
  virtual SessionPtr session() const = 0;
  /// Shows a session when the window next draws; what asks for a view waits for that.
  virtual void showSession(const SessionPtr& session) = 0;
  /// Drops a session; if it was the shown one, the views show none.
  virtual void closeSession(const SessionPtr& session) = 0;
  /// Views show no measured time from now on.
  virtual void freezeClock() = 0;
  virtual bool clockFrozen() const = 0;
  virtual Status setTheme(const QString& name) = 0;
  virtual Status setSize(QSize size) = 0;
  virtual Status runCommand(const QString& id, const nlohmann::json& args) = 0;
  virtual bool interactive() const = 0;
  /// Shows a line of the tour; `resume` is called when the user continues (at once without a display).
  virtual void caption(const QString& text, std::function<void()> resume) = 0;
};

}  // namespace kvlab
