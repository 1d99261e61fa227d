// SPDX-License-Identifier: GPL-3.0-or-later
// The command palette: type a part of a name to run a command. A child widget of the window; Esc or a click elsewhere
// closes it. In front of a floating view it is a popup of that view. Owned by the main window. GUI thread.
#pragma once
#include <QFrame>

#include "app/command_registry.h"

class QLineEdit;
class QListWidget;

namespace kvlab {

class Palette : public QFrame {
  Q_OBJECT
 public:
  Palette(const CommandRegistry& registry, CommandHost& host, QWidget* parent);
  void open();
  /// Ids in the shown order.
  QStringList shownIds() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void refresh();
  void place();
  void runCurrent();
  void addEntry(const Command& command);

  QWidget* m_home;  // the main window
  const CommandRegistry& m_registry;
  CommandHost& m_host;
  QLineEdit* m_line;
  QListWidget* m_list;
};

}  // namespace kvlab
