// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that change how rows are stored, and which of them: layout, formats, compaction, eviction policies,
// trainings of what policies and wLOD ask.
#include <QCoreApplication>
#include <algorithm>

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/jobs/compact_job.h"
#include "app/jobs/program_job.h"
#include "core/api/policy_spec.h"
#include "core/api/read_json.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

const CommandArgument kLayer{"layer", "number", "the layer; all of them unless given"};

constexpr auto kStays = "the storage was not changed";

Status layout(CommandHost& host, const Json& args) {
  return submitSettings(host, {{"layout", member(args, "layout")}}, args, kStays);
}

Status format(CommandHost& host, const Json& args) {
  Json types = Json::object();
  for (const char* key : {"k", "v"})
    if (const auto type = memberOr(args, key, std::string()); !type.empty()) types[key] = type;
  if (types.empty()) return badArgument(kStays, "neither k nor v names a type", "name one or both", "k", "");
  return submitSettings(host, {{"kv", types}}, args, kStays);
}

Status compact(CommandHost& host, const Json& args) {
  const auto rows = memberOr(args, "rows", std::int64_t{args.contains("rows") ? 0 : 64});
  if (rows < 1)
    return badArgument("the pages were not compacted", "a step of " + std::to_string(rows) + " rows moves nothing",
                       "give a number of at least 1", "rows", rows);
  emit host.context().scripted(QString("while (!s.compact(%1).done);").arg(rows));
  (new CompactJob(host.context(), rows))->start();
  return ok();
}

const Rule needsHoles = rule(
    needsFree, [](const Snapshot& shown) { return pageTotals(shown).holes() > 0; }, "no layer has pages with holes");

constexpr auto kRefused = "the policy was refused";

/// Checks the layer now; the verb would report the error only after the menu has closed.
Status policySet(CommandHost& host, const Json& args) {
  const auto spec = PolicySpec::fromJson(member(args, "policy"));
  if (checkLayer(host, args, kRefused) && !spec) return spec.error();
  return submitSettings(host, {{"policy", member(args, "policy")}}, args, kRefused);
}

const Rule needsGates = rule(
    needsIdle,
    [](const Snapshot& shown) {
      const auto gated = [](const LayerAudit& layer) { return layer.policy == "smartkv"; };
      return shown.policies && std::ranges::any_of(shown.policies->layers, gated);
    },
    "no layer's policy is smartkv, so that no gate predicts");

Status train(CommandHost& host, const QString& what, const Json& args, const QString& file) {
  const auto given = [&](const char* key) { return QString::fromStdString(memberOr(args, key, std::string())); };
  const Json& manifest = host.context().snapshot()->settings->manifest;
  beginTraining(host.context().jobs(), QCoreApplication::applicationFilePath(),
                {.what = what,
                 .model = QString::fromStdString(memberOr(manifest, "model", std::string())),
                 .text = file,
                 .out = given("out"),
                 .work = given("work"),
                 .python = given("python"),
                 .recordOnly = memberOr(args, "record_only", false)});
  return host.views().showView("jobs");
}

/// A command for one kind of network.
void addTraining(std::vector<Command>& list, const QString& what, const QString& title, const QString& tip) {
  PathQuestion question{"Text to Train from", "Texts (*.txt *.md *.json)"};
  question.argument = "text";
  const auto run = [=](CommandHost& host, const Json& args) {
    return withPath(host, args, question,
                    [=](CommandHost& window, const QString& path) { return train(window, what, args, path); });
  };
  add(list, {"train_" + what, title, "Run", tip}, run, needsSession,
      {.args = {{"text", "string", "the file to train from; asked for when missing"},
                {"out", "string", "the trained file; beside the model unless given"},
                {"work", "string", "the folder of recordings; one in the data folder unless given"},
                {"python", "string", "the interpreter; python3 unless given"},
                {"record_only", "boolean", "record now, and train later"}},
       .startsGroup = what == "gates"});
}

}  // namespace

void addStorageCommands(std::vector<Command>& list) {
  add(list,
      {"storage_layout", "Set Layout", "",
       "Store the rows of a layer, or of all, in another layout; the content stays."},
      layout, needsFree,
      {.args = {{"layout", "string", "as `kvlab list layouts` names it, with parameters", true}, kLayer}});
  add(list,
      {"storage_format", "Set K and V Formats", "", "Convert the K or V rows of a layer, or of all, to another type."},
      format, needsFree,
      {.args = {{"k", "string", "type of the keys; empty leaves them", true},
                {"v", "string", "type of the values; empty leaves them", true},
                kLayer}});
  add(list,
      {"storage_compact", "Compact Pages", "Run",
       "Fill holes in pages step by step; Cancel keeps finished steps, and a later run continues."},
      compact, needsHoles, {.args = {{"rows", "number", "rows per layer and step, 64 unless given"}}});
  add(list,
      {"policy_set", "Set Eviction Policy", "",
       "Use another eviction policy in a layer, or in all layers, from the next tick on."},
      policySet, needsFree,
      {.args = {{"policy", "string", "as `kvlab list policies` names it, with keys: h2o:ratio=0.25", true}, kLayer}});
  add(list,
      {"lifespans_measure", "Measure Lifespans", "Run",
       "Measure how long rows are used without eviction, and compare with what gates predicted."},
      theVerb("measureLifespans"), needsGates, {.view = shownIn("smartkv")});
  addTraining(list, "gates", "Train Gates…", "Train gates for the model, which the policy smartkv asks.");
  addTraining(list, "gists", "Train Gists…", "Train a gist network for the model, which wLOD asks.");
  addTraining(list, "lens", "Train Lens…", "Train a lens network for the model, which says where detail is wanted.");
}

}  // namespace kvlab
