// SPDX-License-Identifier: GPL-3.0-or-later
// Commands for the window: views, theme, pictures, help.
#include "app/base/task_layouts.h"
#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "core/api/read_json.h"
#include "widgets/base/picture_file.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

/// The argument `on`; nothing where it is not given.
std::optional<bool> onOf(const Json& args) {
  return args.contains("on") ? std::optional(memberOr(args, "on", false)) : std::nullopt;
}

void say(CommandHost& host, const QString& line) { emit host.context().scripted(line); }

/// A command without arguments that says its own line and then acts.
auto saying(const QString& id, std::function<void(CommandHost&)> act) {
  return [id, act = std::move(act)](CommandHost& host, const Json&) {
    say(host, QString("view.command(\"%1\")").arg(id));
    return act(host), ok();
  };
}

Status setTheme(CommandHost& host, const Json& args) {
  const QString wanted = args.contains("name") ? QString::fromStdString(memberOr(args, "name", std::string()))
      : host.theme() == "dark"                 ? QString("light")
                                               : QString("dark");
  KV_TRY(host.setTheme(wanted));
  say(host, QString("view.theme(\"%1\")").arg(wanted));
  return ok();
}

Status savePictureCommand(CommandHost& host, const Json& args) {
  const QString what = QString::fromStdString(memberOr(args, "view", std::string("window")));
  return withPath(host, args, {"Save Picture", kPictureFilter, true, ".png"},
                  [what](CommandHost& window, const QString& path) -> Status {
                    return savePicture(path, KV_TRY(window.views().pictureFile({what}, path)));
                  });
}

void addViews(std::vector<Command>& list, const std::vector<ViewName>& views) {
  for (const ViewName& view : views) {
    add(list, {"show_" + view.id, view.title, "View", "Show " + view.title + " and give it the keyboard."},
        [id = view.id](CommandHost& host, const Json&) {
          say(host, QString("view.show(\"%1\")").arg(id));
          return host.views().showView(id);
        },
        {}, {.keys = view.key.isEmpty() ? QStringList() : QStringList(view.key)});
  }
}

Status showNewest(CommandHost& host, const nlohmann::json&) {
  LiveContext& context = host.context();
  const Tick newest = context.history().back()->tick;
  emit context.scripted(QString("view.focus({tick: %1})").arg(newest.value()));
  context.showTick(newest);
  return ok();
}

Status limitTicks(CommandHost& host, const Json& args) {
  const auto first = memberOr(args, "first", std::int64_t{-1}), last = memberOr(args, "last", std::int64_t{-1});
  const char* wrong = first < 0 ? "first" : "last";
  if (first < 0 || last < first)
    return badArgument("the ticks were not limited",
                       "no tick lies from " + member(args, "first").dump() + " to " + member(args, "last").dump(),
                       "give two ticks, the earlier one first", wrong, member(args, wrong));
  say(host, QString("view.command(\"limit_ticks\", {first: %1, last: %2})").arg(first).arg(last));
  host.context().limitTicks(TickRange{Tick(first), Tick(last)});
  return ok();
}

const Rule needsLimits = rule(
    {}, [](const CommandHost& host) { return host.context().tickLimits().has_value(); }, "all ticks are shown");
const Rule looksBack = rule(
    needsSession, [](const CommandHost& host) { return !host.context().following(); }, "the newest tick is shown");

auto onView(Status (ViewDesk::*body)(const QString&)) {
  return [body](CommandHost& host, const Json& args) {
    return (host.views().*body)(QString::fromStdString(memberOr(args, "view", std::string())));
  };
}

auto toNeighbour(bool forward) {
  return [forward](CommandHost& host, const Json&) { return host.views().showNeighbour(forward), ok(); };
}

void addPlaces(std::vector<Command>& list) {
  const std::vector<CommandArgument> view{{"view", "string", "a view's id; the one with the keyboard when missing"}};
  add(list, {"close_view", "Close View", "View", "Close a view; its entry in the View menu brings it back."},
      onView(&ViewDesk::closeView), {}, {.keys = {"Ctrl+W"}, .args = view, .startsGroup = true, .bare = needsView});
  add(list, {"float_view", "Float or Dock View", "View", "Make a view a window of its own, or put it back."},
      onView(&ViewDesk::floatView), {}, {.keys = {"Ctrl+Shift+W"}, .args = view, .bare = needsView});
  for (const TaskLayout& layout : taskLayouts())
    add(list, {layout.id, layout.title + " Layout", "View/Layout", layout.help},
        saying(layout.id, [&layout](CommandHost& host) { host.views().arrangeViews(layout); }));
  add(list, {"row_tools", "Row Tools", "View", "Show or hide the tool bar for the chosen rows."},
      [](CommandHost& host, const Json& args) {
        const char* on = !args.contains("on") ? "" : memberOr(args, "on", false) ? ", {on: true}" : ", {on: false}";
        say(host, QString("view.command(\"row_tools\"%1)").arg(on));
        return host.views().showRowTools(onOf(args)), ok();
      },
      {}, {.keys = {"Ctrl+Alt+R"}, .args = {{"on", "boolean", "whether to show it; the other when missing"}}});
  add(list, {"reset_layout", "Reset Layout", "View/Layout", "Put every view back to its first place."},
      saying("reset_layout", [](CommandHost& host) { host.views().arrangeViews(firstLayout()); }), {},
      {.startsGroup = true});
}

}  // namespace

void addWindowCommands(std::vector<Command>& list, const std::vector<ViewName>& views) {
  addViews(list, views);
  add(list, {"next_view", "Next View", "View", "Give the keyboard to the next view that can be seen."},
      toNeighbour(true), {}, {.keys = {"F6"}});
  add(list, {"previous_view", "Previous View", "View", "Give the keyboard to the previous view that can be seen."},
      toNeighbour(false), {}, {.keys = {"Shift+F6"}});
  addPlaces(list);
  add(list, {"type_prompt", "Type a Prompt", "View", "Go to the line that appends text to the context."},
      opens(WindowPanel::Prompt), needsSession, {.keys = {"Alt+0"}});
  add(list,
      {"chat_mode", "Chat Mode", "View",
       "Let the prompt line send messages to the model, which replies, or append text again."},
      [](CommandHost& host, const Json& args) { return host.chatMode(onOf(args)), ok(); }, {},
      {.keys = {"Alt+Shift+0"},
       .icon = "chat",
       .args = {{"on", "boolean", "whether it sends messages; the other when missing"}}});
  add(list, {"newest_tick", "Newest Tick", "View", "Show the newest tick in all views again."}, showNewest, looksBack,
      {.keys = {"Alt+End"}});
  add(list, {"focus_back", "Back", "View", "Focus the row, layer and tick that were focused before."},
      saying("focus_back", [](CommandHost& host) { host.views().trail().back(); }),
      rule(
          {}, [](const CommandHost& host) { return host.views().trail().canGoBack(); }, "nothing was focused before"),
      {.keys = {"Alt+Left"}, .startsGroup = true});
  add(list, {"focus_forward", "Forward", "View", "Focus what was focused before Back was used."},
      saying("focus_forward", [](CommandHost& host) { host.views().trail().forward(); }),
      rule(
          {}, [](const CommandHost& host) { return host.views().trail().canGoForward(); }, "Back was not used"),
      {.keys = {"Alt+Right"}});
  add(list,
      {"find", "Find…", "View",
       "Find a token, a ledger id, a tick, an event, a command, a manifest key or a line of the log, and go there."},
      opens(WindowPanel::Find), {}, {.keys = {"Ctrl+F"}});
  add(list, {"limit_ticks", "Limit Ticks", "", "Show only some ticks in all views over ticks."}, limitTicks,
      needsSession, {.args = {{"first", "number", "the first tick", true}, {"last", "number", "the last tick", true}}});
  add(list, {"all_ticks", "All Ticks", "View", "Show all ticks in all views over ticks again."},
      saying("all_ticks", [](CommandHost& host) { host.context().limitTicks({}); }), needsLimits);
  add(list, {"theme", "Dark or Light", "View", "Change between the dark and the light theme."}, setTheme, {},
      {.keys = {"Ctrl+Shift+L"},
       .icon = "theme",
       .args = {{"name", "string", "dark or light; the other when missing"}},
       .startsGroup = true});
  add(list,
      {"screenshot", "Save Picture…", "View",
       "Write the window or one view as a picture: PNG, SVG or PDF, by the suffix of the file."},
      savePictureCommand, {},
      {.keys = {"Ctrl+Shift+S"},
       .icon = "camera",
       .args = {{"path", "string", "the file; asked for when missing"}, {"view", "string", "a view's id, or window"}}});
  add(list, {"palette", "Command Palette", "Help", "Find any command by typing a part of its name."},
      opens(WindowPanel::Palette), {}, {.keys = {"Ctrl+P", "Ctrl+Shift+P"}});
  add(list, {"manual", "Manual", "Help", "Open the manual at the page of the view that has the keyboard."},
      opens(WindowPanel::Manual), {},
      {.keys = {"F1"}, .args = {{"page", "string", "a page, as rings or view-map; the view's own when missing"}}});
  add(list, {"help_commands", "Commands and Shortcuts", "Help", "List every command."}, opens(WindowPanel::Commands),
      {}, {.keys = {"Shift+F1"}});
  add(list, {"tour", "Tour", "Help", "Walk through the workbench in ten minutes."},
      [](CommandHost& host, const Json&) { return host.runTour(1); });
  add(
      list, {"resume_tour", "Resume Tour", "Help", "Go on with the tour at the caption where it was left."},
      [](CommandHost& host, const Json&) { return host.runTour(host.tourLeft()); },
      rule(
          {}, [](const CommandHost& host) { return host.tourLeft() > 0; }, "no tour was left before its end"));
  add(list, {"bug_clinic", "Bug Clinic…", "Help", "Plant known bugs of KV caches and find their causes."},
      opens(WindowPanel::Clinic), {}, {.startsGroup = true});
  add(list, {"check_model", "Check Model…", "Help", "Test the engine and the checkpoint on the session's model."},
      opens(WindowPanel::Check));
  add(list, {"about", "About kvlab", "Help", "Version, licences, numerics."}, opens(WindowPanel::About), {},
      {.startsGroup = true});
  add(list, {"quit", "Quit", "File", "Leave the program."},
      [](CommandHost& host, const Json&) { return host.quit(), ok(); }, {}, {.keys = {"Ctrl+Q"}, .startsGroup = true});
}

}  // namespace kvlab
