// SPDX-License-Identifier: GPL-3.0-or-later
// The command palette: type a part of a name to run a command. Owned by the main window. GUI thread.
#pragma once
#include "app/base/popup_list.h"
#include "app/commands/command_registry.h"

namespace kvlab {

class Palette : public PopupList {
  Q_OBJECT
 public:
  Palette(const CommandRegistry& registry, CommandHost& host, QWidget* parent);
  /// Ids in the shown order.
  QStringList shownIds() const;

 private:
  void fill(const QString& text) override;
  void take(const QVariant& id) override;

  const CommandRegistry& m_registry;
  CommandHost& m_host;
};

}  // namespace kvlab
