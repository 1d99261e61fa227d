// SPDX-License-Identifier: GPL-3.0-or-later
// The operations on the window's views that commands can use. Implemented by WindowViews. GUI thread.
#pragma once
#include "app/base/focus_trail.h"
#include "app/script/ports.h"

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

}  // namespace kvlab
