// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that change the context: prompting, applying, undo.
#include "app/command_registry.h"
#include "app/command_rules.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

Status say(CommandHost& host, const QString& line, const char* verb, const Json& args) {
  emit host.context().scripted(line);
  host.context().submit(verb, args);
  return ok();
}

Status prompt(CommandHost& host, const Json& args) {
  const auto text = args["text"].get<std::string>();
  return say(host, QString("s.prompt(%1)").arg(QString::fromStdString(Json(text).dump())), "prompt", {{"text", text}});
}

Status inject(CommandHost& host, const Json& args) {
  const Json& actions = args["actions"];
  return say(host, QString("s.inject(%1)").arg(QString::fromStdString(actions.dump())), "inject",
             {{"actions", actions}});
}

}  // namespace

void addEditCommands(std::vector<Command>& list) {
  list.push_back({"undo",
                  "Undo",
                  "Edit",
                  "Take the last edit or tick back.",
                  {"Ctrl+Z"},
                  "undo",
                  {},
                  [](CommandHost& h, const Json&) { return say(h, "s.undo()", "undo", Json::object()); },
                  needsUndo});
  list.push_back({"redo",
                  "Redo",
                  "Edit",
                  "Do again what undo took back.",
                  {"Ctrl+Shift+Z", "Ctrl+Y"},
                  "redo",
                  {},
                  [](CommandHost& h, const Json&) { return say(h, "s.redo()", "redo", Json::object()); },
                  needsRedo});
  list.push_back({"copy",
                  "Copy",
                  "Edit",
                  "Copy the focused view's table as tab-separated text, or its picture.",
                  {"Ctrl+C"},
                  "",
                  {},
                  [](CommandHost& h, const Json&) { return h.copySelection(); },
                  {},
                  true});
  list.push_back({"prompt",
                  "Prompt",
                  "",
                  "Append text to the context.",
                  {},
                  "",
                  {{"text", "string", "what to append", true}},
                  prompt,
                  needsSession});
  list.push_back({"inject",
                  "Queue Actions",
                  "",
                  "Queue a list of actions for the next tick.",
                  {},
                  "",
                  {{"actions", "array", "actions, as s.inject takes them", true}},
                  inject,
                  needsSession});
  list.push_back({"apply",
                  "Apply Pending Actions",
                  "Edit",
                  "Apply the queued actions now, without generating.",
                  {"Ctrl+Shift+Return"},
                  "",
                  {},
                  [](CommandHost& h, const Json&) { return say(h, "s.apply()", "apply", Json::object()); },
                  needsPending,
                  true});
  list.push_back(
      {"clear_pending",
       "Clear Pending Actions",
       "Edit",
       "Forget the queued actions.",
       {},
       "",
       {},
       [](CommandHost& h, const Json&) { return say(h, "s.clearPending()", "clearPending", Json::object()); },
       needsPending});
}

}  // namespace kvlab
