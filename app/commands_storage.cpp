// SPDX-License-Identifier: GPL-3.0-or-later
// Commands about how rows are stored: layout, formats, compaction.

#include "app/command_registry.h"
#include "app/command_rules.h"
#include "app/compact_job.h"

namespace kvlab {

namespace {

using Json = nlohmann::json;

const CommandArgument kLayer{"layer", "number", "the layer; all of them unless given"};

QString quoted(const Json& text) { return QString::fromStdString(text.dump()); }

Status layout(CommandHost& host, const Json& args) {
  if (Status known = checkLayer(host, args, "the rows were not stored anew"); !known) return known;
  QString line = "s.setLayout(" + quoted(args["layout"]);
  if (args.contains("layer")) line += ", " + quoted(args["layer"]);
  emit host.context().scripted(line + ")");
  host.context().submit("setLayout", args);
  return ok();
}

Status format(CommandHost& host, const Json& args) {
  if (Status known = checkLayer(host, args, "the rows were not stored anew"); !known) return known;
  QString line = "s.setFormat(" + quoted(args["k"]) + ", " + quoted(args["v"]);
  if (args.contains("layer")) line += ", " + quoted(args["layer"]);
  emit host.context().scripted(line + ")");
  host.context().submit("setFormat", args);
  return ok();
}

Status compact(CommandHost& host, const Json& args) {
  const auto rows = static_cast<std::int64_t>(args.value("rows", 64.0));
  if (rows < 1)
    return Error{"bad_argument",
                 "the pages were not compacted",
                 "a step of " + std::to_string(rows) + " rows moves nothing",
                 "name a number from 1 on",
                 {},
                 "rows",
                 rows};
  emit host.context().scripted(QString("while (!s.compact(%1).done);").arg(rows));
  (new CompactJob(host.context(), rows))->start();
  return ok();
}

QString needsHoles(const CommandHost& host) {
  if (const QString why = needsIdle(host); !why.isEmpty()) return why;
  return pageTotals(*host.context().snapshot()).holes() > 0 ? QString() : QString("no layer has pages with holes");
}

}  // namespace

void addStorageCommands(std::vector<Command>& list) {
  list.push_back({"storage_layout",
                  "Set Layout",
                  "",
                  "Store the rows of a layer, or of all, in another layout; the content stays.",
                  {},
                  "",
                  {{"layout", "string", "as `kvlab list layouts` names it, with parameters", true}, kLayer},
                  layout,
                  needsIdle});
  list.push_back({"storage_format",
                  "Set K and V Formats",
                  "",
                  "Convert the K or V rows of a layer, or of all, to another type.",
                  {},
                  "",
                  {{"k", "string", "type of the keys; empty leaves them", true},
                   {"v", "string", "type of the values; empty leaves them", true},
                   kLayer},
                  format,
                  needsIdle});
  list.push_back({"storage_compact",
                  "Compact Pages",
                  "Run",
                  "Fill the holes of pages, step by step; what a cancel leaves is whole and can be gone on with.",
                  {},
                  "",
                  {{"rows", "number", "rows per layer and step, 64 unless given"}},
                  compact,
                  needsHoles});
}

}  // namespace kvlab
