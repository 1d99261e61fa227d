// SPDX-License-Identifier: GPL-3.0-or-later
// Commands for jobs: cancel a job, go to its outcome.
#include <QDesktopServices>
#include <QUrl>

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

Result<Job> jobOf(CommandHost& host, const Json& args, const char* refused) {
  const Json& number = member(args, "job");
  if (const Job* job = host.context().jobs().find(jsonOr(number, -1))) return *job;
  return badArgument(refused, "there is no job " + number.dump(), "the view Jobs lists the numbers", "job", number);
}

Status cancelJob(CommandHost& host, const Json& args) {
  const Job job = KV_TRY(jobOf(host, args, "no job was cancelled"));
  if (host.context().jobs().cancel(job.number)) return ok();
  return Error("blocked", "no job was cancelled", job.name.toStdString() + " has ended", "choose a job that runs");
}

Status showFolder(CommandHost& host, const QString& folder) {
  const auto refused = [&](const char* why) {
    return Error("blocked", "folder " + folder.toStdString() + " was not shown", why, "open it in a file manager");
  };
  if (!host.interactive()) return refused("nobody is there to look at it");
  return QDesktopServices::openUrl(QUrl::fromLocalFile(folder)) ? ok() : Status(refused("no program shows folders"));
}

Status goToJob(CommandHost& host, const Json& args) {
  const Job job = KV_TRY(jobOf(host, args, "the outcome was not shown"));
  const JobPlace& place = job.place;
  if (job.runs() || place.empty())
    return Error("blocked", "the outcome was not shown",
                 job.name.toStdString() + (job.runs() ? " still works" : " left nothing that a view shows"),
                 "choose a job that has ended");
  if (!place.view.isEmpty()) KV_TRY(host.views().showView(place.view));
  const bool here = place.session == host.context().sessionNumber();
  if (here && !place.focus.empty()) KV_TRY(host.views().setFocus(place.focus));
  return place.folder.isEmpty() ? ok() : showFolder(host, place.folder);
}

}  // namespace

void addJobCommands(std::vector<Command>& list) {
  const CommandArgument job{"job", "number", "the job's number in the view Jobs", true};
  add(list, {"cancel_job", "Cancel Job", "", "Cancel one job of the list at its next safe point."}, cancelJob, {},
      {.args = {job}});
  add(list, {"go_to_job", "Go to Job", "", "Show where the outcome of a job is: its view, its tick or its folder."},
      goToJob, {}, {.args = {job}});
}

}  // namespace kvlab
