// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/commands/command_registry.h"

#include <algorithm>

#include "app/commands/command_rules.h"
#include "core/api/guarded.h"
#include "core/api/read_json.h"
#include "core/api/texts.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

namespace {

bool hasType(const nlohmann::json& value, const QString& type) {
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return value.is_object();
}

/// The reason why a required text is not valid; empty = it is valid.
std::string textFault(const QString& argument, const nlohmann::json& value) {
  const auto text = jsonOr(value, std::string());
  if (argument == "path") return pathFault(text);
  const bool expression = argument == "condition" || argument == "expression";
  return expression && QString::fromStdString(text).trimmed().isEmpty() ? "is empty" : "";
}

Error argumentRefused(const Command& command, const std::string& why, const std::string& field,
                      const nlohmann::json& value) {
  return badArgument("command " + command.id.toStdString() + " was not run", why,
                     "see its arguments with `kvlab list commands` or Help > Commands", field, value);
}

Status checkArguments(const Command& command, const nlohmann::json& args) {
  if (!args.is_object()) return argumentRefused(command, "the arguments are not an object", "args", args);
  for (const auto& [name, value] : args.items()) {
    const auto same = [&](const CommandArgument& a) { return a.name.toStdString() == name; };
    const auto known = std::find_if(command.args.begin(), command.args.end(), same);
    if (known == command.args.end()) return argumentRefused(command, "it takes no argument named " + name, name, value);
    if (!hasType(value, known->type))
      return argumentRefused(command, name + " must be of type " + known->type.toStdString(), name, value);
    if (const std::string fault = textFault(known->name, value); !fault.empty())
      return argumentRefused(command, name + " " + fault, name, value);
  }
  for (const CommandArgument& arg : command.args)
    if (arg.required && !args.contains(arg.name.toStdString()))
      return argumentRefused(command, arg.name.toStdString() + " is missing", arg.name.toStdString(), nullptr);
  return ok();
}

}  // namespace

void add(std::vector<Command>& list, CommandHead head,
         std::function<Status(CommandHost&, const nlohmann::json& args)> run, Rule blocked, CommandMore more) {
  list.push_back({std::move(head), std::move(more), std::move(run), std::move(blocked)});
}

QString obstacle(const Command& command, const CommandHost& host, bool bare) {
  const QString why = command.blocked ? command.blocked(host) : QString();
  return why.isEmpty() && bare && command.bare ? command.bare(host) : why;
}

const Command* CommandRegistry::find(const QString& id) const {
  const auto same = [&](const Command& command) { return command.id == id; };
  const auto found = std::find_if(m_commands.begin(), m_commands.end(), same);
  return found == m_commands.end() ? nullptr : &*found;
}

std::vector<const Command*> CommandRegistry::matching(const QString& text) const {
  std::vector<std::pair<int, const Command*>> found;
  for (const Command& command : m_commands) {
    if (std::ranges::any_of(command.args, &CommandArgument::required)) continue;
    const int score = std::max(fuzzyScore(text, command.title), fuzzyScore(text, command.id) - 2);
    if (score >= 0) found.emplace_back(score, &command);
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<int, const Command*>::first);
  std::vector<const Command*> out;
  for (const auto& [score, command] : found) out.push_back(command);
  return out;
}

Status CommandRegistry::run(CommandHost& host, const QString& id, const nlohmann::json& args) const {
  const Command* command = find(id);
  std::vector<std::string> ids;
  for (const Command& one : m_commands) ids.push_back(one.id.toStdString());
  if (!command)
    return Error("unknown_command", "there is no command " + id.toStdString(),
                 "the registry does not list it" + nearestNote(id.toStdString(), ids), "see `kvlab list commands`");
  const nlohmann::json given = args.is_null() ? nlohmann::json::object() : args;
  if (Status fits = checkArguments(*command, given); !fits) return fits;
  if (const QString why = obstacle(*command, host, given.empty()); !why.isEmpty())
    return Error(host.context().busy() ? "engine_busy" : "blocked", command->title.toStdString() + " cannot run now",
                 why.toStdString(), "do that first");
  const QString view = command->view ? command->view(given) : QString();
  return guarded("command " + id.toStdString() + " stopped", [&] {
    return host.context().within({id, given, command->title, view}, [&] { return command->run(host, given); });
  });
}

std::vector<ViewName> viewNames() {
  std::vector<ViewName> names;
  for (const ViewInfo& view : views()) names.push_back({view.id, view.title, view.key});
  return names;
}

std::vector<Command> builtinCommands(const std::vector<ViewName>& views) {
  std::vector<Command> list;
  addSessionCommands(list);
  addEditCommands(list);
  addNoteCommands(list);
  addRunCommands(list);
  addJobCommands(list);
  addStorageCommands(list);
  addLanesCommands(list);
  addWindowCommands(list, views);
  return list;
}

nlohmann::json toJson(const Command& command) {
  auto args = nlohmann::json::array();
  for (const CommandArgument& arg : command.args)
    args.push_back({{"name", arg.name.toStdString()},
                    {"type", arg.type.toStdString()},
                    {"help", arg.help.toStdString()},
                    {"required", arg.required}});
  auto keys = nlohmann::json::array();
  for (const QString& key : command.keys) keys.push_back(key.toStdString());
  return {{"id", command.id.toStdString()},
          {"title", command.title.toStdString()},
          {"menu", command.menu.toStdString()},
          {"help", command.help.toStdString()},
          {"keys", keys},
          {"args", args}};
}

int fuzzyScore(const QString& wanted, const QString& text) {
  int score = 0, run = 0;
  qsizetype at = 0;
  for (const QChar c : wanted) {
    if (c.isSpace()) continue;
    const qsizetype found = text.indexOf(c, at, Qt::CaseInsensitive);
    if (found < 0) return -1;
    const bool wordStart = found == 0 || !text[found - 1].isLetterOrNumber();
    run = found == at && at > 0 ? run + 1 : 0;
    score += 1 + (wordStart ? 8 : 0) + 3 * run - static_cast<int>(std::min<qsizetype>(found - at, 4));
    at = found + 1;
  }
  return std::max(score, 0);
}

}  // namespace kvlab
