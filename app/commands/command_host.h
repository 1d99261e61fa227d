// SPDX-License-Identifier: GPL-3.0-or-later
// The operations on the program, and on the views of its window, that commands can use. The main window and WindowViews
// implement them. GUI thread.
#pragma once
#include "app/base/ask_path.h"
#include "app/base/focus_trail.h"
#include "app/engine/live_context.h"

namespace kvlab {

struct TaskLayout;

class ViewDesk : public ViewPort {
 public:
  /// The view with the keyboard; empty if none has it.
  virtual QString viewWithKeyboard() const = 0;
  /// Closes a view, or makes it a window of its own and back; empty = the view with the keyboard. Errors: unknown_view,
  /// no_view.
  virtual Status closeView(const QString& id) = 0;
  virtual Status floatView(const QString& id) = 0;
  virtual void showNeighbour(bool forward) = 0;
  /// Gives every view its place and size.
  virtual void arrangeViews(const TaskLayout& layout) = 0;
  /// Shows or hides the tool bar for the chosen rows; nothing = the other.
  virtual void showRowTools(std::optional<bool> on) = 0;
  virtual Status copySelection() = 0;
  /// The options of a view as they are now. Errors: unknown_view.
  virtual Result<nlohmann::json> options(const QString& view) const = 0;
  /// The places where the focus has been.
  virtual FocusTrail& trail() const = 0;
  /// A script that opens the shown session, does what was done to it, and shows what the views show.
  virtual QString sessionScript() const = 0;
};

/// A panel, form or field that opens when a person asks for it; in braces its arguments.
enum class WindowPanel {
  About,
  Check,       // the self-tests of the session's model
  Clinic,      // the bug clinic. Errors: bad_file
  Commands,    // the list of commands and keys
  Edits,       // {verb}: the edits that undo or redo can go over
  Find,        // the field that finds
  Lane,        // the form of a lane; the command add_lane adds the lane
  Manual,      // {page}: without it the page of the view with the keyboard, else the first. Errors: unknown_page
  NewSession,  // {manifest}: what the form begins with; without it the manifest of the command line
  Palette,     // the command palette
  Prompt,      // the prompt field
  Settings,    // the form of the living session's settings
  Sweep,       // {spec}: what the form of a sweep begins with; without it a sweep of policies
};

class CommandHost;
/// The reason why a command cannot run now; empty = it can.
using Rule = std::function<QString(const CommandHost&)>;

class CommandHost : public WindowPort {
 public:
  ViewDesk& views() const override = 0;
  virtual LiveContext& context() = 0;
  virtual const LiveContext& context() const = 0;
  virtual Status askPath(const PathQuestion& question, std::function<void(QString)> answer) = 0;
  /// Opens a panel, or gives the keyboard to the open one.
  virtual Status open(WindowPanel panel, const nlohmann::json& args = {}) = 0;
  virtual QString theme() const = 0;
  /// Runs `open`, which ends the shown session: at once where nothing is lost or nobody is there, else the person is
  /// asked first. what: the session that opens.
  virtual void beforeOpening(const QString& what, std::function<void()> open) = 0;
  virtual Status runScriptFile(const QString& path) = 0;
  /// Runs the tour from a caption, counted from 1.
  virtual Status runTour(int caption) = 0;
  /// The caption where the tour was left; 0 = none.
  virtual int tourLeft() const = 0;
  /// Makes the prompt field send messages of a chat, or append text again; nothing = the other.
  virtual void chatMode(std::optional<bool> on) = 0;
  virtual void quit() = 0;

  SessionPtr session() const override { return context().coming(); }
  void showSession(const SessionPtr& session) override {
    context().showSoon(std::dynamic_pointer_cast<LiveSession>(session));
  }
  void closeSession(const SessionPtr& session) override {
    context().close(std::dynamic_pointer_cast<LiveSession>(session));
  }
  void freezeClock() override { context().freezeClock(); }
  bool clockFrozen() const override { return context().clockFrozen(); }
};

}  // namespace kvlab
