// SPDX-License-Identifier: GPL-3.0-or-later
// What commands may do to the program: implemented by the main window, by hand in tests. GUI thread.
#pragma once
#include "app/live_context.h"
#include "app/script/ports.h"

namespace kvlab {

/// A path to ask for. Without a display nobody can answer, and asking is an error.
struct PathQuestion {
  QString title;
  QString filter;  // "kvlab captures (*.kvcap)"; empty for a folder
  bool save = false;
  QString suffix = {};  // added to a name without one
  QString argument = "path";
};

class CommandHost : public WindowPort {
 public:
  virtual LiveContext& context() = 0;
  virtual const LiveContext& context() const = 0;
  virtual Status askPath(const PathQuestion& question, std::function<void(QString)> answer) = 0;
  virtual QString theme() const = 0;
  virtual void resetLayout() = 0;
  virtual void showNeighbour(bool forward) = 0;
  virtual void showPalette() = 0;
  virtual void showNewSession() = 0;
  virtual void showCommandHelp() = 0;
  virtual void showAbout() = 0;
  /// A page of the manual; empty = that of the view that has the keyboard, else the first. Code unknown_page.
  virtual Status showManual(const QString& page) = 0;
  virtual Status runScriptFile(const QString& path) = 0;
  virtual void stopScript() = 0;
  virtual bool scriptRunning() const = 0;
  virtual Status copySelection() = 0;
  /// Gives the keyboard to the prompt line.
  virtual Status typePrompt() = 0;
  virtual void quit() = 0;
};

}  // namespace kvlab
