// SPDX-License-Identifier: GPL-3.0-or-later
// Commands that change how rows are stored: layout, formats, compaction.

#include "app/commands/command_registry.h"
#include "app/commands/command_rules.h"
#include "app/jobs/compact_job.h"
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
}

}  // namespace kvlab
