// SPDX-License-Identifier: GPL-3.0-or-later
// Commands about the window: views, theme, pictures, help.
#include "app/command_registry.h"
#include "app/command_rules.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

template <class Body>
auto always(Body body) {
  return [body](CommandHost& host, const Json&) {
    body(host);
    return ok();
  };
}

Status setTheme(CommandHost& host, const Json& args) {
  const QString wanted = args.contains("name") ? QString::fromStdString(args["name"])
      : host.theme() == "dark"                 ? QString("light")
                                               : QString("dark");
  return host.setTheme(wanted);
}

Status savePicture(CommandHost& host, const Json& args) {
  PictureRequest request;
  request.what = QString::fromStdString(args.value("view", std::string("window")));
  if (args.contains("path")) {
    request.path = QString::fromStdString(args["path"]);
    const auto saved = host.savePicture(request);
    return saved ? ok() : Status(saved.error());
  }
  return host.askPath({"Save Picture", "Pictures (*.png)", true, ".png"},
                      [&host, request](const QString& path) mutable {
                        request.path = path;
                        const auto saved = host.savePicture(request);
                        if (!saved) emit host.context().failed(saved.error());
                      });
}

void addViews(std::vector<Command>& list, const std::vector<ViewName>& views) {
  for (const ViewName& view : views) {
    Command show{"show_" + view.id, view.title, "View", "Show " + view.title + " and give it the keyboard."};
    if (!view.key.isEmpty()) show.keys = {view.key};
    show.run = [id = view.id](CommandHost& host, const Json&) { return host.showView(id); };
    list.push_back(std::move(show));
  }
}

}  // namespace

void addWindowCommands(std::vector<Command>& list, const std::vector<ViewName>& views) {
  addViews(list, views);
  list.push_back({"next_view",
                  "Next View",
                  "View",
                  "Give the keyboard to the next view that can be seen.",
                  {"F6"},
                  "",
                  {},
                  always([](CommandHost& h) { h.showNeighbour(true); })});
  list.push_back({"previous_view",
                  "Previous View",
                  "View",
                  "Give the keyboard to the view before.",
                  {"Shift+F6"},
                  "",
                  {},
                  always([](CommandHost& h) { h.showNeighbour(false); })});
  list.push_back({"type_prompt",
                  "Type a Prompt",
                  "View",
                  "Go to the line that appends text to the context.",
                  {"Alt+0"},
                  "",
                  {},
                  [](CommandHost& h, const Json&) { return h.typePrompt(); },
                  needsSession});
  list.push_back({"theme",
                  "Dark or Light",
                  "View",
                  "Change between the dark and the light theme.",
                  {"Ctrl+Shift+L"},
                  "theme",
                  {{"name", "string", "dark or light; the other when missing"}},
                  setTheme,
                  {},
                  true});
  list.push_back({"reset_layout",
                  "Reset Layout",
                  "View",
                  "Put every view back to its first place.",
                  {},
                  "",
                  {},
                  always([](CommandHost& h) { h.resetLayout(); })});
  list.push_back(
      {"screenshot",
       "Save Picture…",
       "View",
       "Write the window or one view as a PNG.",
       {"Ctrl+Shift+S"},
       "camera",
       {{"path", "string", "the file; asked for when missing"}, {"view", "string", "a view's id, or window"}},
       savePicture});
  list.push_back({"palette",
                  "Command Palette",
                  "Help",
                  "Find any command by typing a part of its name.",
                  {"Ctrl+P", "Ctrl+Shift+P"},
                  "",
                  {},
                  always([](CommandHost& h) { h.showPalette(); })});
  list.push_back({"manual",
                  "Manual",
                  "Help",
                  "Open the manual at the page of the view that has the keyboard.",
                  {"F1"},
                  "",
                  {{"page", "string", "a page, as rings or view-map; the view's own when missing"}},
                  [](CommandHost& h, const Json& args) {
                    return h.showManual(QString::fromStdString(args.value("page", std::string())));
                  }});
  list.push_back({"help_commands",
                  "Commands and Shortcuts",
                  "Help",
                  "List every command.",
                  {"Shift+F1"},
                  "",
                  {},
                  always([](CommandHost& h) { h.showCommandHelp(); })});
  list.push_back({"tour",
                  "Tour",
                  "Help",
                  "Walk through the workbench in ten minutes.",
                  {},
                  "",
                  {},
                  [](CommandHost& h, const Json&) { return h.runScriptFile("tour.js"); }});
  list.push_back({"about",
                  "About kvlab",
                  "Help",
                  "Version, licences, numerics.",
                  {},
                  "",
                  {},
                  always([](CommandHost& h) { h.showAbout(); }),
                  {},
                  true});
}

}  // namespace kvlab
