// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that open lanes next to the shown session, and close them.
#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/plain/script_lines.h"
#include "core/api/lanes_view.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

/// Opens lanes. Without `changes` shows the view where changes are written.
Status open(CommandHost& host, const Json& args) {
  if (args.contains("changes")) {
    Json request{{"lanes", member(args, "changes")}};
    for (const char* key : {"together", "needles"})
      if (args.contains(key)) request[key] = member(args, key);
    emit host.context().scripted(
        QString("view.command(\"lanes_open\", %1)").arg(QString::fromStdString(scriptText(args))));
    host.context().submit("lanesOpen", request);
  }
  return host.views().showView(QStringLiteral("lanes"));
}

/// Puts a lane at the end of the list in the view, which opens the list. Without `changes` shows the form of a lane.
Status addLane(CommandHost& host, const Json& args) {
  KV_TRY(host.views().showView(QStringLiteral("lanes")));
  if (!args.contains("changes")) return host.open(WindowPanel::Lane);
  const Json options = KV_TRY(host.views().options(QStringLiteral("lanes")));
  Json list = member(options, "changes").is_array() ? member(options, "changes") : Json::array();
  list.push_back(member(args, "changes"));
  emit host.context().scripted(
      QString("view.set(\"lanes\", {\"changes\":%1})").arg(QString::fromStdString(scriptText(list))));
  return host.views().setOptions(QStringLiteral("lanes"), {{"changes", list}});
}

Status close(CommandHost& host, const Json& args) {
  const auto lanes = static_cast<int>(host.context().snapshot()->lanes->lanes.size());
  const double lane = memberOr(args, "lane", 0.0);
  if (!isPlace(lane, lanes))
    return badArgument("the lanes were not closed", "there is no lane " + member(args, "lane").dump(),
                       "name one from 0 to " + std::to_string(lanes - 1), "lane", member(args, "lane"));
  emit host.context().scripted(
      QString("view.command(\"lanes_close\", %1)").arg(QString::fromStdString(scriptText(args))));
  host.context().submit("lanesClose", {{"lane", static_cast<int>(lane)}});
  return ok();
}

const Rule needsLanes = rule(
    needsIdle, [](const Snapshot& shown) { return shown.lanes != nullptr; }, "no lanes are open; use Open Lanes first");

}  // namespace

void addLanesCommands(std::vector<Command>& list) {
  add(list,
      {"lanes_open", "Open Lanes…", "Run",
       "Run the session in lockstep with lanes that differ from it by keys of the manifest."},
      open, needsFreeAlone,
      {.args = {{"changes", "array",
                 "an object of manifest keys for each lane beside the reference; asked for in the view when missing"},
                {"together", "boolean", "one forward pass for all lanes; true unless given"},
                {"needles", "array", "places of tokens whose survival is reported"}},
       .view = shownIn("lanes")});
  add(list,
      {"add_lane", "Add Lane…", "Run",
       "Describe a lane in a form: its formats, layout, window or policy; Open Lanes then opens all lanes of the "
       "list."},
      addLane, needsFreeAlone,
      {.args = {{"changes", "object", "manifest keys that the lane changes; asked for when missing"}}});
  add(list,
      {"lanes_close", "Close Lanes", "Run",
       "Close the lanes and keep one of them as the session: the given lane, else the reference."},
      close, needsLanes, {.args = {{"lane", "number", "the lane to keep; 0 is the reference"}}});
}

}  // namespace kvlab
