// SPDX-License-Identifier: GPL-3.0-or-later
// Two lines to type in, each with a list of what it finds. The command palette: type a part of a name to run a command.
// Find: one field for tokens and ledger ids, ticks, events, commands, keys of the manifest and lines of the log; an
// entry that is taken goes there. Owned by the main window. GUI thread.
#pragma once
#include <deque>

#include "app/base/popup_list.h"
#include "app/commands/command_registry.h"
#include "app/window/find_rows.h"

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

class FindBar : public PopupList {
  Q_OBJECT
 public:
  FindBar(const CommandRegistry& registry, CommandHost& host, QWidget* parent);
  /// "token: the cat", in the shown order; for tests.
  QStringList shownEntries() const;

 private:
  void fill(const QString& text) override;
  void take(const QVariant& place) override;
  void addRows(const QString& text);
  void addTicks(const QString& text);
  void addNotes(const QString& text);
  void addEvents(const QString& text);
  void addCommands(const QString& text);
  void addKeys(const QString& text);
  void addCondition(const QString& text);
  void addLog(const QString& text);
  void addPlace(Entry entry, std::function<void()> go);

  const CommandRegistry& m_registry;
  CommandHost& m_host;
  RowFinder m_rows;
  std::deque<QString> m_log;                    // newest lines, oldest first
  std::vector<std::function<void()>> m_places;  // [list entries] runs the entry
};

}  // namespace kvlab
