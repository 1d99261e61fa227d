// SPDX-License-Identifier: GPL-3.0-or-later
// Commands for sessions and files: open, save, scripts, sweeps, quit.
#include "app/command_line.h"
#include "app/command_registry.h"
#include "app/command_rules.h"
#include "app/resources.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;
using PathAction = std::function<Status(CommandHost&, const QString& path)>;

/// Uses the path in the arguments, else asks for one.
Status withPath(CommandHost& host, const Json& args, const PathQuestion& question, PathAction action) {
  if (args.contains("path")) return action(host, QString::fromStdString(args["path"]));
  return host.askPath(question, [&host, action](const QString& path) {
    if (const Status status = action(host, path); !status) emit host.context().failed(status.error());
  });
}

Status open(CommandHost& host, const Json& request, const QString& line) {
  host.openSession(request, [&host](const Result<SessionPtr>& opened) {
    if (!opened && opened.error().code != "cancelled") emit host.context().failed(opened.error());
  });
  emit host.context().scripted(line);
  return ok();
}

Status openManifest(CommandHost& host, const Json& manifest) {
  return open(host, {{"manifest", manifest}}, "s = lab.open(" + scriptText(manifest) + ")");
}

QString quoted(const QString& text) { return scriptText(text.toStdString()); }

Status newSession(CommandHost& host, const Json& args) {
  if (args.contains("manifest")) return openManifest(host, args["manifest"]);
  host.showNewSession();
  return ok();
}

Status openManifestFile(CommandHost& host, const QString& path) {
  const auto manifest = readManifest(path.toStdString());
  return manifest ? openManifest(host, *manifest) : Status(manifest.error());
}

Status openModel(CommandHost& host, const QString& path) {
  return open(host, {{"manifest", {{"model", path.toStdString()}}}}, "s = lab.open({model:" + quoted(path) + "})");
}

Status openCapture(CommandHost& host, const QString& path) {
  return open(host, {{"capture", path.toStdString()}}, "s = lab.openCapture(" + quoted(path) + ")");
}

PathAction fileVerb(const char* verb) {
  return [verb](CommandHost& host, const QString& path) {
    return submitSaid(host, QString("s.%1(%2)").arg(verb, quoted(path)), verb, {{"path", path.toStdString()}});
  };
}

using Blocked = QString (*)(const CommandHost&);

void addFile(std::vector<Command>& list, Command head, const PathQuestion& question, PathAction action,
             Blocked blocked = nullptr, CommandMore more = {}) {
  more.args = {{"path", "string", "the file; asked for when missing"}};
  const auto run = [question, action](CommandHost& host, const Json& args) {
    return withPath(host, args, question, action);
  };
  add(list, std::move(head), run, blocked, std::move(more));
}

constexpr auto kCaptures = "kvlab captures (*.kvcap)";
constexpr auto kCaches = "Cache files (*.safetensors)";

Status runSweep(CommandHost& host, const QString& path) {
  if (const Status shown = host.showView("sweep"); !shown) return shown;
  const Json request{{"spec", resourcePath(path).toStdString()}, {"resume", true}};
  emit host.context().scripted("lab.sweep(" + quoted(path) + ", {resume: true})");
  host.sweep(request, [&host](const Result<Json>& reply) {
    if (!reply && reply.error().code != "cancelled") emit host.context().failed(reply.error());
  });
  return ok();
}

void addFiles(std::vector<Command>& list) {
  addFile(list, {"open_manifest", "Open Manifest…", "File", "Open the session a manifest describes."},
          {"Open Manifest", "Manifests (*.json)"}, openManifestFile, nullptr, {.keys = {"Ctrl+O"}});
  addFile(list, {"open_model", "Open Model Folder…", "File", "Open a Hugging Face model directory."},
          {"Open Model Folder", ""}, openModel, nullptr, {.keys = {"Ctrl+Shift+O"}});
  addFile(list, {"open_model_file", "Open Model File…", "File", "Open a model in GGUF format."},
          {"Open Model File", "Models (*.gguf)"}, openModel);
  addFile(list, {"open_capture", "Open Capture…", "File", "Open a recorded session."}, {"Open Capture", kCaptures},
          openCapture);
  addFile(list, {"save_capture", "Save Capture…", "File", "Write the whole session so that it can be replayed."},
          {"Save Capture", kCaptures, true, ".kvcap"}, fileVerb("saveCapture"), needsIdle,
          {.keys = {"Ctrl+S"}, .icon = "save", .startsGroup = true});
  addFile(list, {"save_cache", "Save Cache…", "File", "Write the KV cache, exactly."},
          {"Save Cache", kCaches, true, ".safetensors"}, fileVerb("saveCache"), needsIdle);
  addFile(list, {"load_cache", "Load Cache…", "File", "Replace the KV cache by a file's."}, {"Load Cache", kCaches},
          fileVerb("loadCache"), needsIdleAlone);
  addFile(list, {"run_script", "Run Script…", "File", "Run a script file in this window."},
          {"Run Script", "Scripts (*.js)"}, &CommandHost::runScriptFile, nullptr, {.startsGroup = true});
  addFile(list, {"open_sweep", "Open Sweep…", "File", "Show the results of a sweep."},
          {"Open Sweep", "Results (*.jsonl)"}, &CommandHost::openSweep, nullptr, {.startsGroup = true});
  PathQuestion specification{"Run Sweep", "Specifications (*.json)"};
  specification.folder = resourceRoot() + "/sweeps";
  addFile(list, {"run_sweep", "Run Sweep…", "File", "Run a sweep's specification, or go on with it."}, specification,
          runSweep);
}

}  // namespace

void addSessionCommands(std::vector<Command>& list) {
  add(list, {"new_session", "New Session…", "File", "Choose a model and settings and open them."}, newSession, {},
      {.keys = {"Ctrl+N"}, .icon = "new", .args = {{"manifest", "object", "the manifest; asked for when missing"}}});
  addFiles(list);
  add(list, {"quit", "Quit", "File", "Leave the program."},
      [](CommandHost& host, const Json&) { return host.quit(), ok(); }, {}, {.keys = {"Ctrl+Q"}, .startsGroup = true});
}

}  // namespace kvlab
