// SPDX-License-Identifier: GPL-3.0-or-later
// The operations on the program that commands can use. Implemented by the main window, and by hand in tests. GUI
// thread.
#pragma once
#include <memory>

#include "app/base/ask_path.h"
#include "app/base/focus_trail.h"
#include "app/engine/live_context.h"
#include "app/script/ports.h"

namespace kvlab {

struct TaskLayout;

class CommandHost : public WindowPort {
 public:
  virtual LiveContext& context() = 0;
  virtual const LiveContext& context() const = 0;
  virtual Status askPath(const PathQuestion& question, std::function<void(QString)> answer) = 0;
  virtual QString theme() const = 0;
  virtual void resetLayout() = 0;
  virtual void arrangeViews(const TaskLayout& layout) = 0;
  /// Shows or hides the tool bar for the chosen rows; nothing = the other.
  virtual void showRowTools(std::optional<bool> on) = 0;
  /// The view with the keyboard; empty if none has it.
  virtual QString viewWithKeyboard() const = 0;
  /// Closes a view, or makes it a window of its own and back; empty = the view with the keyboard. Errors: unknown_view,
  /// no_view.
  virtual Status closeView(const QString& id) = 0;
  virtual Status floatView(const QString& id) = 0;
  virtual void showNeighbour(bool forward) = 0;
  virtual void showPalette() = 0;
  virtual void showFind() = 0;
  /// The places where the focus has been.
  virtual FocusTrail& trail() = 0;
  virtual const FocusTrail& trail() const = 0;
  /// Runs `open`, which ends the shown session: at once where nothing is lost or nobody is there, else the person is
  /// asked first. what: the session that opens.
  virtual void beforeOpening(const QString& what, std::function<void()> open) = 0;
  /// The form of a new session; it begins with this manifest, or with that of the command line where it is empty.
  virtual void showNewSession(const nlohmann::json& manifest) = 0;
  /// The options of a view as they are now. Errors: unknown_view.
  virtual Result<nlohmann::json> options(const QString& view) const = 0;
  /// The form of a lane; the lane is added by the command `add_lane`.
  virtual void showLaneForm() = 0;
  /// The form of a sweep; it begins with this specification, or with one of policies where it is empty.
  virtual void showSweepForm(const nlohmann::json& spec) = 0;
  /// True while a sweep of this window runs.
  virtual bool sweeping() const = 0;
  /// The request that opens a session like this cell of the shown sweep. Errors: those of sweepCellRequest(), blocked.
  virtual Result<nlohmann::json> sweepCell(std::int64_t cell) const = 0;
  /// The form of the living session's settings.
  virtual void showSettings() = 0;
  virtual void showCommandHelp() = 0;
  virtual void showAbout() = 0;
  /// The bug clinic. Errors: bad_file.
  virtual Status showClinic() = 0;
  /// The self-tests of the session's model.
  virtual void showCheck() = 0;
  /// Opens a page of the manual; empty = the page of the view with the keyboard, else the first page. Errors:
  /// unknown_page.
  virtual Status showManual(const QString& page) = 0;
  virtual Status runScriptFile(const QString& path) = 0;
  /// Runs the tour, from its first caption or from the one where it was left.
  virtual Status runTour(bool resume) = 0;
  /// The caption where the tour was left; 0 = none.
  virtual int tourLeft() const = 0;
  virtual Status copySelection() = 0;
  /// A script that opens the shown session, repeats its commands, and shows the same in the views.
  virtual QString sessionScript() const = 0;
  /// Opens the list of edits that `verb`, undo or redo, can go over.
  virtual Status showEdits(const char* verb) = 0;
  /// Gives the keyboard to the prompt field.
  virtual Status typePrompt() = 0;
  /// Makes the prompt field send messages of a chat, or append text again; nothing = the other.
  virtual Status chatMode(std::optional<bool> on) = 0;
  virtual void quit() = 0;
};

}  // namespace kvlab
