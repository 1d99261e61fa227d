// SPDX-License-Identifier: GPL-3.0-or-later
// All commands of the program, as one list: menus, tool bar, palette, shortcuts, view.command(), `kvlab list commands`
// and the tests use these entries. Plain values; the functions run on the GUI thread.
#pragma once
#include <QString>
#include <QStringList>
#include <vector>

#include "app/commands/command_host.h"

namespace kvlab {

struct CommandArgument {
  QString name;
  QString type;  // "string", "number", "boolean", "object", "array"
  QString help;
  bool required = false;
};

struct CommandHead {
  QString id;     // snake_case, for scripts
  QString title;  // "Step"
  QString menu;   // "Run"; empty = palette and scripts only
  QString help;   // one sentence
};

/// Optional properties of a command.
struct CommandMore {
  QStringList keys = {};  // portable key sequences, the first is shown
  QString icon = {};      // name in resources/icons; tool bar entry if not empty
  std::vector<CommandArgument> args = {};
  bool startsGroup = false;  // a separator before it in its menu
  /// The view that shows the effect of a long command: its job stays in the list. Null or empty = a brief command.
  std::function<QString(const nlohmann::json& args)> view = {};
  /// The reason why a call without arguments, which a menu, a key or the palette makes, cannot run now.
  Rule bare = {};
};

struct Command : CommandHead, CommandMore {
  std::function<Status(CommandHost&, const nlohmann::json& args)> run = {};
  /// The reason why the command cannot run now; empty = it can. Null = always.
  Rule blocked = {};
};

/// The reason why a command cannot run now, without arguments; empty if it can.
QString obstacle(const Command& command, const CommandHost& host, bool bare = true);

/// A command is long, and this view shows its effect.
inline auto shownIn(const char* view) {
  return [view](const nlohmann::json&) { return QString(view); };
}

void add(std::vector<Command>& list, CommandHead head,
         std::function<Status(CommandHost&, const nlohmann::json& args)> run, Rule blocked = {}, CommandMore more = {});

class CommandRegistry {
 public:
  explicit CommandRegistry(std::vector<Command> commands) : m_commands(std::move(commands)) {}

  const std::vector<Command>& all() const { return m_commands; }
  const Command* find(const QString& id) const;
  /// Commands that run without arguments and whose title or id fits a text that a person types, best first.
  std::vector<const Command*> matching(const QString& text) const;
  /// Checks the arguments and that the command is not blocked, then runs it. Error codes: unknown_command,
  /// bad_argument, blocked, and the command's own.
  Status run(CommandHost& host, const QString& id, const nlohmann::json& args) const;

 private:
  std::vector<Command> m_commands;
};

struct ViewName {
  QString id, title;
  QString key = {};  // empty = none
};

/// All views of the registry.
std::vector<ViewName> viewNames();
/// The program's commands, including one `show_ID` per view.
std::vector<Command> builtinCommands(const std::vector<ViewName>& views);
nlohmann::json toJson(const Command& command);

/// Subsequence score of `wanted` in `text`: < 0 = no match; word starts and runs count more.
int fuzzyScore(const QString& wanted, const QString& text);

void addSessionCommands(std::vector<Command>& list);
void addRunCommands(std::vector<Command>& list);
void addJobCommands(std::vector<Command>& list);
void addStorageCommands(std::vector<Command>& list);
void addLanesCommands(std::vector<Command>& list);
void addEditCommands(std::vector<Command>& list);
void addNoteCommands(std::vector<Command>& list);
void addWindowCommands(std::vector<Command>& list, const std::vector<ViewName>& views);

}  // namespace kvlab
