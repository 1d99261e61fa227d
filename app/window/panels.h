// SPDX-License-Identifier: GPL-3.0-or-later
// Small non-modal windows: the list of commands, About. Each deletes itself when closed. GUI thread.
#pragma once
#include <QDialog>

#include "app/commands/command_registry.h"

namespace kvlab {

class CommandHelpPanel : public QDialog {
  Q_OBJECT
 public:
  CommandHelpPanel(const CommandRegistry& registry, QWidget* parent);
};

class AboutPanel : public QDialog {
  Q_OBJECT
 public:
  AboutPanel(const QString& version, const QString& numerics, const QString& backends, QWidget* parent);
};

}  // namespace kvlab
