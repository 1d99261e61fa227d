// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that change the context: prompting, applying, undo, nodes of a wLOD tree.
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

/// At once is one verb: what a tick takes between two verbs would be gone for the second one.
Status inject(CommandHost& host, const Json& args) {
  const Json& actions = args["actions"];
  const bool now = args.value("now", false);
  Json request{{"actions", actions}};
  if (now) request["now"] = true;
  const QString line = QString(now ? "s.inject(%1, {now: true})" : "s.inject(%1)");
  return say(host, line.arg(QString::fromStdString(actions.dump())), "inject", request);
}

/// One node of the wLOD tree in the place of its children, or the other way round.
Status editTree(CommandHost& host, const Json& args, const char* verb) {
  const Json node = static_cast<std::int64_t>(args["node"].get<double>());
  return say(host, QString("s.%1(%2, {now: true})").arg(verb, QString::fromStdString(node.dump())), verb,
             {{"node", node}, {"now", true}});
}

QString needsTree(const CommandHost& host) {
  if (const QString why = needsIdle(host); !why.isEmpty()) return why;
  return host.context().snapshot()->wlod ? QString() : QString("the session has no wLOD tree");
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
                  "Queue a list of actions for the next tick, or apply it at once.",
                  {},
                  "",
                  {{"actions", "array", "actions, as s.inject takes them", true},
                   {"now", "boolean", "apply them at once, with what is pending, without generating"}},
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
  const CommandArgument node{"node", "number", "number of the node in the tree", true};
  list.push_back({"wlod_expand",
                  "Expand Node",
                  "",
                  "Put the children of a node of the wLOD tree in its place, at once.",
                  {},
                  "",
                  {node},
                  [](CommandHost& h, const Json& args) { return editTree(h, args, "expand"); },
                  needsTree});
  list.push_back({"wlod_collapse",
                  "Collapse Node",
                  "",
                  "Put a node of the wLOD tree in the place of its children, at once.",
                  {},
                  "",
                  {node},
                  [](CommandHost& h, const Json& args) { return editTree(h, args, "collapse"); },
                  needsTree});
  list.push_back({"wlod_refocus",
                  "Refocus",
                  "",
                  "Let the focus allocator decide now what to expand and what to collapse.",
                  {},
                  "",
                  {},
                  [](CommandHost& h, const Json&) { return say(h, "s.refocus()", "refocus", Json::object()); },
                  needsTree});
}

}  // namespace kvlab
