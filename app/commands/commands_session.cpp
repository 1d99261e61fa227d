// SPDX-License-Identifier: GPL-3.0-or-later
// Commands for sessions and files: open, save, scripts, sweeps, quit.
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>

#include "app/base/session_request.h"
#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/plain/read_file.h"
#include "app/plain/resources.h"
#include "app/plain/script_lines.h"
#include "core/api/read_json.h"
#include "widgets/base/save_file.h"
#include "widgets/base/sweep_source.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

void openNow(CommandHost& host, const Json& request) {
  host.openSession(request, [&host](const Result<SessionPtr>& opened) {
    if (!opened && opened.error().code != "cancelled") emit host.context().failed(opened.error());
  });
  emit host.context().scripted(QString::fromStdString(openingLine(request)));
}

Status openAsking(CommandHost& host, const Json& request) {
  host.beforeOpening(sessionName(request), [&host, request] { openNow(host, request); });
  return ok();
}

/// The form itself says which session opening ends.
Status newSession(CommandHost& host, const Json& args) {
  if (!args.contains("manifest")) return host.open(WindowPanel::NewSession);
  return openNow(host, args), ok();
}

/// The demo model has trained gists.
Status newWlodSession(CommandHost& host, const Json&) {
  const Json manifest{{"model", "demo"}, {"wlod", {{"budget", 512}, {"gist", "trained"}}}};
  return host.open(WindowPanel::NewSession, {{"manifest", manifest}});
}

Status openManifestFile(CommandHost& host, const QString& path) {
  const auto manifest = readManifest(path.toStdString());
  return manifest ? openAsking(host, {{"manifest", *manifest}}) : Status(manifest.error());
}

Status openModel(CommandHost& host, const QString& path) {
  return openAsking(host, {{"manifest", {{"model", path.toStdString()}}}});
}

Status openCapture(CommandHost& host, const QString& path) {
  return openAsking(host, {{"capture", path.toStdString()}});
}

PathAction fileVerb(const char* verb) {
  return [verb](CommandHost& host, const QString& path) { return runVerb(host, verb, {{"path", path.toStdString()}}); };
}

void addFile(std::vector<Command>& list, CommandHead head, const PathQuestion& question, PathAction action,
             Rule blocked = {}, CommandMore more = {}) {
  more.args = {{"path", "string", "the file; asked for when missing"}};
  const auto run = [question, action](CommandHost& host, const Json& args) {
    return withPath(host, args, question, action);
  };
  add(list, std::move(head), run, std::move(blocked), std::move(more));
}

constexpr auto kCaches = "Cache files (*.safetensors)";
constexpr auto kAnyCaches = "Cache files (*.safetensors *.ggsq *.npz *.pt *.bin);;All files (*)";

Status loadCache(CommandHost& host, const Json& args) {
  PathQuestion question{"Load Cache", kAnyCaches};
  question.choice = "Compare each row with what the model computes (takes as long as a prompt)";
  question.chosen = std::make_shared<bool>(memberOr(args, "verify", false));
  return withPath(host, args, question, [verify = question.chosen](CommandHost& window, const QString& path) {
    return runVerb(window, "loadCache", {{"path", path.toStdString()}, {"verify", *verify}});
  });
}

/// spec: a specification, or the path of one.
Status beginSweep(CommandHost& host, const Json& spec, const Json& out) {
  if (const Status shown = host.views().showView("sweep"); !shown) return shown;
  Json request{{"spec", spec}, {"resume", true}};
  Json options{{"resume", true}};
  if (!out.is_null()) request["out"] = options["out"] = out;
  emit host.context().scripted(
      QString::fromStdString("lab.sweep(" + scriptText(spec) + ", " + scriptText(options) + ")"));
  host.sweeps().start(request, [&host](const Result<Json>& reply) {
    if (!reply && reply.error().code != "cancelled") emit host.context().failed(reply.error());
  });
  return ok();
}

Status runSweep(CommandHost& host, const Json& args) {
  const Json out = member(args, "out");
  if (args.contains("spec")) return beginSweep(host, member(args, "spec"), out);
  PathQuestion specification{"Run Sweep", "Specifications (*.json)"};
  specification.folder = QString::fromStdString(resourceRoot() + "/sweeps");
  return withPath(host, args, specification, [out](CommandHost& window, const QString& path) {
    return beginSweep(window, resourcePath(path.toStdString()), out);
  });
}

Status openSweep(CommandHost& host, const QString& path) {
  KV_TRY(host.sweeps().open(path));
  return host.views().showView("sweep");
}

Status openSweepCell(CommandHost& host, const Json& args) {
  Json folder = member(args, "sweep");
  if (const SweepShownPtr shown = SweepSource::of(host.context()).sweep(); folder.is_null() && shown) {
    const QFileInfo place(QString::fromStdString(shown->place));
    folder = (place.isDir() ? place.filePath() : place.path()).toStdString();
  }
  if (folder.is_null())
    return Error("blocked", "the cell was not opened", "no sweep is shown", "open one with Open Sweep");
  return openAsking(
      host,
      {{"sweep", folder}, {"cell", member(args, "cell")}, {"question", memberOr(args, "question", std::int64_t{0})}});
}

Status saveScript(CommandHost& host, const QString& path) {
  KV_TRY(saveFile(path, host.views().sessionScript().toUtf8(), "the script"));
  emit host.context().noted("Saved " + path);
  return ok();
}

Status copyScript(CommandHost& host, const Json&) {
  QGuiApplication::clipboard()->setText(host.views().sessionScript());
  emit host.context().noted("Copied a script that opens the session and does the same");
  return ok();
}

void addFiles(std::vector<Command>& list) {
  addFile(list, {"open_manifest", "Open Manifest…", "File", "Open the session a manifest describes."},
          {"Open Manifest", "Manifests (*.json)"}, openManifestFile, nullptr, {.keys = {"Ctrl+O"}});
  addFile(list, {"open_model", "Open Model Folder…", "File", "Open a Hugging Face model directory."},
          {"Open Model Folder", ""}, openModel, nullptr, {.keys = {"Ctrl+Shift+O"}});
  addFile(list, {"open_model_file", "Open Model File…", "File", "Open a model in GGUF format."},
          {"Open Model File", "Models (*.gguf)"}, openModel);
  addFile(list, {"open_capture", "Open Capture…", "File", "Open a recorded session."},
          {"Open Capture", kSaveCapture.filter}, openCapture);
  addFile(list, {"save_capture", "Save Capture…", "File", "Write the whole session so that it can be replayed."},
          kSaveCapture, fileVerb("saveCapture"), needsIdle, {.keys = {"Ctrl+S"}, .icon = "save", .startsGroup = true});
  addFile(list, {"save_cache", "Save Cache…", "File", "Write the KV cache, exactly."},
          {"Save Cache", kCaches, true, ".safetensors"}, fileVerb("saveCache"), needsIdle);
  add(list,
      {"load_cache", "Load Cache…", "File",
       "Replace the KV cache with the one that a file of kvlab or of another program holds."},
      loadCache, needsFreeAlone,
      {.args = {{"path", "string", "the file; asked for when missing"},
                {"verify", "boolean", "compare each row with what the model computes"}}});
  add(list,
      {"copy_session_script", "Copy as Script", "File",
       "Copy a script that opens this session, does the same, and shows the same."},
      copyScript, needsSession, {.keys = {"Ctrl+Shift+C"}, .startsGroup = true});
  addFile(list,
          {"save_session_script", "Save as Script…", "File",
           "Write a script that opens this session, does the same, and shows the same."},
          {"Save as Script", "Scripts (*.js)", true, ".js"}, saveScript, needsSession);
  addFile(list, {"run_script", "Run Script…", "File", "Run a script file in this window."},
          {"Run Script", "Scripts (*.js)"}, &CommandHost::runScriptFile, nullptr, {.startsGroup = true});
  addFile(list, {"open_sweep", "Open Sweep…", "File", "Show the results of a sweep."},
          {"Open Sweep", "Results (*.jsonl)"}, openSweep, nullptr, {.startsGroup = true});
  add(list, {"new_sweep", "New Sweep…", "File", "Build the specification of a sweep in a form, save it and run it."},
      opens(WindowPanel::Sweep), {}, {.args = {{"spec", "object", "a specification to begin with"}}});
  add(list, {"run_sweep", "Run Sweep…", "File", "Run the sweep that a file specifies, or continue it."}, runSweep,
      rule(
          {}, [](const CommandHost& host) { return !host.sweeps().running(); },
          "a sweep runs; wait for it or cancel it"),
      {.args = {{"path", "string", "the file; asked for when missing"},
                {"spec", "object", "a specification that is in no file"},
                {"out", "string", "the folder of the results; NAME.sweep when missing"}}});
  add(list,
      {"open_sweep_cell", "Open Cell as Session", "",
       "Open a session as a cell of a sweep was one, at the moment of an answer."},
      openSweepCell, {},
      {.args = {{"cell", "number", "the cell's index in the results", true},
                {"question", "number", "which of the cell's questions, 0 unless given"},
                {"sweep", "string", "the folder of the sweep; that of the shown one when missing"}}});
}

}  // namespace

void addSessionCommands(std::vector<Command>& list) {
  add(list, {"new_session", "New Session…", "File", "Choose a model and settings and open them."}, newSession, {},
      {.keys = {"Ctrl+N"},
       .icon = "new",
       .args = {{"manifest", "object", "the manifest; asked for when missing"},
                {"name", "string", "a name for the title and Open Recent"},
                {"start", "object", "{text} or {file}: what the session reads first"}}});
  add(list, {"new_wlod_session", "New wLOD Session…", "File", "Begin the form of a new session with wLOD on."},
      newWlodSession);
  addFiles(list);
}

}  // namespace kvlab
