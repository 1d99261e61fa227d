// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that change the context: prompt, inject, apply, undo, and edits of the wLOD tree.
#include <algorithm>

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/forms/living_settings.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;
constexpr double kMostReply = 256;  // tokens of a reply that does not end by itself

Status takeToken(CommandHost& host, const Json& args) {
  return runVerb(host, "promptIds", {{"ids", Json::array({memberOr(args, "id", std::int64_t{-1})})}});
}

/// Without a manifest shows the form.
Status sessionSettings(CommandHost& host, const Json& args) {
  if (!args.contains("manifest")) return host.open(WindowPanel::Settings);
  const SnapshotPtr now = host.context().session()->snapshot();
  const Json change = KV_TRY(settingsBetween(now->settings->manifest, member(args, "manifest")));
  if (!change.empty()) return submitSettings(host, change);
  host.context().answer()(Json(nullptr));
  return ok();
}

/// The next message of a person, and when the context has it, the model's reply.
Status chat(CommandHost& host, const Json& args) {
  const std::string message = R"({"role":"user","content":)" + member(args, "text").dump() + "}";
  const auto most = static_cast<std::int64_t>(std::clamp(memberOr(args, "max", kMostReply), 0.0, 1e9));
  LiveContext& context = host.context();
  const Json request{{"messages", Json::array({message})}, {"more", true}};
  say(context, "chat", request);
  context.submit("chat", request, [&context, most, session = context.sessionNumber()](const Result<Json>& said) {
    if (!said) return void(emit context.failed(said.error()));
    if (most <= 0 || session != context.sessionNumber()) return;  // another session has no message to reply to
    (void)context.within({"run", {{"max_ticks", most}}, "Reply", "strip"},
                         [&] { return runTicks(context, most), ok(); });
  });
  return ok();
}

/// Takes edits back or does them again. A click, a key or a menu entry means an edit; scripts may also go by tick.
Status overEdits(CommandHost& host, const char* verb, const Json& count) {
  Json args{{"by", "edit"}};
  if (count != 1) args["n"] = count;
  return runVerb(host, verb, args);
}

/// As many edits as given; without a number a list asks.
Status overEditsTo(CommandHost& host, const char* verb, const Json& args) {
  if (!args.contains("edits")) return host.open(WindowPanel::Edits, {{"verb", verb}});
  const Json& edits = member(args, "edits");
  if (const auto many = jsonOr(edits, std::int64_t{0}); many >= 1) return overEdits(host, verb, many);
  return badArgument("nothing was done", "there are no " + edits.dump() + " edits", "give a whole number from 1 on",
                     "edits", edits);
}

/// Expands or collapses one node of the wLOD tree.
Status editTree(CommandHost& host, const Json& args, const char* verb) {
  Json all{{"node", memberOr(args, "node", std::int64_t{-1})}, {"now", true}};
  if (memberOr(args, "room", false)) all["room"] = true;
  return runVerb(host, verb, all);
}

const Rule needsUndo = rule(
    needsFreeAlone, [](const Snapshot& shown) { return shown.canUndo; }, "there is nothing to undo");
const Rule needsRedo = rule(
    needsFreeAlone, [](const Snapshot& shown) { return shown.canRedo; }, "there is nothing to redo");
const Rule needsTree = rule(
    needsFree, [](const Snapshot& shown) { return shown.wlod != nullptr; }, "the session has no wLOD tree");

}  // namespace

void addEditCommands(std::vector<Command>& list) {
  const std::vector<CommandArgument> edits{{"edits", "number", "how many; chosen from a list when missing"}};
  add(list, {"undo", "Undo", "Edit", "Take the last edit back: all that one command did, or single ticks in a row."},
      [](CommandHost& host, const Json&) { return overEdits(host, "undo", 1); }, needsUndo,
      {.keys = {"Ctrl+Z"}, .icon = "undo"});
  add(list, {"undo_to", "Undo To…", "Edit", "Choose from a list how many edits to take back."},
      [](CommandHost& host, const Json& args) { return overEditsTo(host, "undo", args); }, needsUndo,
      {.keys = {"Ctrl+Alt+Z"}, .icon = "undo_to", .args = edits});
  add(list, {"redo", "Redo", "Edit", "Do the edit again that undo took back."},
      [](CommandHost& host, const Json&) { return overEdits(host, "redo", 1); }, needsRedo,
      {.keys = {"Ctrl+Shift+Z", "Ctrl+Y"}, .icon = "redo"});
  add(list, {"redo_to", "Redo To…", "Edit", "Choose from a list how many edits to do again."},
      [](CommandHost& host, const Json& args) { return overEditsTo(host, "redo", args); }, needsRedo,
      {.keys = {"Ctrl+Alt+Y"}, .icon = "redo_to", .args = edits});
  add(list, {"copy", "Copy", "Edit", "Copy the focused view's table as tab-separated text, or its picture."},
      [](CommandHost& host, const Json&) { return host.views().copySelection(); }, needsView,
      {.keys = {"Ctrl+C"}, .startsGroup = true});
  add(list, {"prompt", "Prompt", "", "Append text to the context."}, theVerb("prompt"), needsClosed,
      {.args = {{"text", "string", "what to append", true}}, .view = shownIn("strip")});
  add(list, {"take_token", "Append Token", "", "Append one token to the context, whatever the model would choose."},
      takeToken, needsFree, {.args = {{"id", "number", "the token's id in the vocabulary", true}}});
  add(list,
      {"chat", "Chat", "", "Append a message in the words of the model's chat template, and let the model reply."},
      chat, needsFree,
      {.args = {{"text", "string", "the message", true},
                {"max", "number", "most tokens of the reply, 256 unless given; 0: no reply"}},
       .view = shownIn("strip")});
  add(list, {"inject", "Queue Actions", "", "Queue a list of actions for the next tick, or apply it at once."},
      theVerb("inject"), needsClosed,
      {.args = {{"actions", "array", "actions, as s.inject takes them", true},
                {"now", "boolean", "apply them at once, with what is pending, without generating"},
                {"instead", "boolean", "in place of what is pending"}}});
  add(list, {"apply", "Apply Pending Actions", "Edit", "Apply the queued actions now, without generating."},
      theVerb("apply"), needsPending, {.keys = {"Ctrl+Return"}, .startsGroup = true});
  add(list, {"clear_pending", "Clear Pending Actions", "Edit", "Forget the queued actions."}, theVerb("clearPending"),
      needsPending);
  add(list,
      {"session_settings", "Session Settings…", "Edit",
       "Change what a living session lets change: policy, layout, formats, rules and more; Undo takes each change "
       "back."},
      sessionSettings, needsFreeAlone,
      {.keys = {"Ctrl+,"},
       .args = {{"manifest", "object", "the settings to have; asked for when missing"}},
       .startsGroup = true});
  const CommandArgument ledger{"ledger", "number", "ledger id of a token in the context", true};
  add(list, {"pin", "Pin Row", "", "Pin a token, so that no policy evicts or culls the token, or end that."},
      theVerb("pin"), needsFree, {.args = {ledger, {"on", "boolean", "true unless given"}}});
  add(list, {"set_brightness", "Set Brightness", "", "Set the brightness of a token."}, theVerb("setBrightness"),
      needsFree, {.args = {ledger, {"value", "number", "0 to 255", true}}});
  const CommandArgument node{"node", "number", "number of the node in the tree", true};
  add(list, {"wlod_expand", "Expand Node", "", "Replace a node of the wLOD tree by its children, at once."},
      [](CommandHost& host, const Json& args) { return editTree(host, args, "expand"); }, needsTree,
      {.args = {node, {"room", "boolean", "where the budget is full, collapse the weakest blocks before it"}}});
  add(list,
      {"wlod_collapse", "Collapse Node", "", "Replace the children of a node of the wLOD tree by the node, at once."},
      [](CommandHost& host, const Json& args) { return editTree(host, args, "collapse"); }, needsTree,
      {.args = {node}});
  add(list, {"wlod_refocus", "Refocus", "", "Run a round of the focus allocator now."}, theVerb("refocus"), needsTree);
}

}  // namespace kvlab
