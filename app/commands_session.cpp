// SPDX-License-Identifier: GPL-3.0-or-later
// Commands about sessions and their files: open, save, scripts, quit.
#include "app/command_line.h"
#include "app/command_registry.h"
#include "app/command_rules.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;
using PathAction = std::function<Status(CommandHost&, const QString& path)>;

/// With a path in the arguments acts at once, otherwise asks for one.
Status withPath(CommandHost& host, const Json& args, const PathQuestion& question, PathAction action) {
  if (args.contains("path")) return action(host, QString::fromStdString(args["path"]));
  return host.askPath(question, [&host, action](const QString& path) {
    if (const Status status = action(host, path); !status) emit host.context().failed(status.error());
  });
}

void showOpened(CommandHost& host, const Result<SessionPtr>& opened) {
  if (!opened) emit host.context().failed(opened.error());
}

Status open(CommandHost& host, const Json& request, const QString& line) {
  host.openSession(request, [&host](const Result<SessionPtr>& r) { showOpened(host, r); });
  emit host.context().scripted(line);
  return ok();
}

QString quoted(const QString& text) { return QString::fromStdString(Json(text.toStdString()).dump()); }

Status newSession(CommandHost& host, const Json& args) {
  if (args.contains("manifest"))
    return open(host, {{"manifest", args["manifest"]}},
                "s = lab.open(" + QString::fromStdString(args["manifest"].dump()) + ")");
  host.showNewSession();
  return ok();
}

Status openManifest(CommandHost& host, const QString& path) {
  const auto manifest = readManifest(path.toStdString());
  if (!manifest) return manifest.error();
  return open(host, {{"manifest", *manifest}}, "s = lab.open(" + QString::fromStdString(manifest->dump()) + ")");
}

Status openModel(CommandHost& host, const QString& path) {
  return open(host, {{"manifest", {{"model", path.toStdString()}}}}, "s = lab.open({model:" + quoted(path) + "})");
}

Status openCapture(CommandHost& host, const QString& path) {
  return open(host, {{"capture", path.toStdString()}}, "s = lab.openCapture(" + quoted(path) + ")");
}

PathAction fileVerb(const char* verb) {
  return [verb](CommandHost& host, const QString& path) {
    emit host.context().scripted(QString("s.%1(%2)").arg(verb, quoted(path)));
    host.context().submit(verb, {{"path", path.toStdString()}});
    return ok();
  };
}

void add(std::vector<Command>& list, Command command, const PathQuestion& question, PathAction action) {
  command.args = {{"path", "string", "the file; asked for when missing"}};
  command.run = [question, action](CommandHost& host, const Json& args) {
    return withPath(host, args, question, action);
  };
  list.push_back(std::move(command));
}

constexpr auto kCaptures = "kvlab captures (*.kvcap)";
constexpr auto kCaches = "Cache files (*.safetensors)";

Status runSweep(CommandHost& host, const QString& path) {
  if (const Status shown = host.showView("sweep"); !shown) return shown;
  const Json request{{"spec", path.toStdString()}, {"resume", true}};
  emit host.context().scripted("lab.sweep(" + quoted(path) + ", {resume: true})");
  host.sweep(request, [&host](const Result<Json>& reply) {
    if (!reply && reply.error().code != "cancelled") emit host.context().failed(reply.error());
  });
  return ok();
}

void addSweeps(std::vector<Command>& list) {
  Command open{"open_sweep", "Open Sweep…", "File", "Show the results of a sweep."};
  open.startsGroup = true;
  add(list, open, {"Open Sweep", "Results (*.jsonl)"},
      [](CommandHost& host, const QString& path) { return host.openSweep(path); });
  add(list, {"run_sweep", "Run Sweep…", "File", "Run a sweep's specification, or go on with it."},
      {"Run Sweep", "Specifications (*.json)"}, runSweep);
}

void addFiles(std::vector<Command>& list) {
  add(list, {"open_manifest", "Open Manifest…", "File", "Open the session a manifest describes.", {"Ctrl+O"}},
      {"Open Manifest", "Manifests (*.json)"}, openManifest);
  add(list, {"open_model", "Open Model Folder…", "File", "Open a Hugging Face model directory.", {"Ctrl+Shift+O"}},
      {"Open Model Folder", ""}, openModel);
  add(list, {"open_capture", "Open Capture…", "File", "Open a recorded session."}, {"Open Capture", kCaptures},
      openCapture);
  Command saveCapture{"save_capture", "Save Capture…", "File", "Write the whole session so that it can be replayed.",
                      {"Ctrl+S"},     "save"};
  saveCapture.blocked = needsIdle;
  saveCapture.startsGroup = true;
  add(list, saveCapture, {"Save Capture", kCaptures, true, ".kvcap"}, fileVerb("saveCapture"));
  Command saveCache{"save_cache", "Save Cache…", "File", "Write the KV cache, exactly."};
  saveCache.blocked = needsIdle;
  add(list, saveCache, {"Save Cache", kCaches, true, ".safetensors"}, fileVerb("saveCache"));
  Command loadCache{"load_cache", "Load Cache…", "File", "Replace the KV cache by a file's."};
  loadCache.blocked = needsIdleAlone;
  add(list, loadCache, {"Load Cache", kCaches}, fileVerb("loadCache"));
}

}  // namespace

void addSessionCommands(std::vector<Command>& list) {
  list.push_back({"new_session",
                  "New Session…",
                  "File",
                  "Choose a model and settings and open them.",
                  {"Ctrl+N"},
                  "new",
                  {{"manifest", "object", "the manifest; asked for when missing"}},
                  newSession});
  addFiles(list);
  Command script{"run_script", "Run Script…", "File", "Run a script file in this window."};
  script.startsGroup = true;
  add(list, script, {"Run Script", "Scripts (*.js)"},
      [](CommandHost& host, const QString& path) { return host.runScriptFile(path); });
  addSweeps(list);
  list.push_back({"quit",
                  "Quit",
                  "File",
                  "Leave the program.",
                  {"Ctrl+Q"},
                  "",
                  {},
                  [](CommandHost& host, const Json&) {
                    host.quit();
                    return ok();
                  },
                  {},
                  true});
}

}  // namespace kvlab
