// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/plain/core_sweep.h"

#include "core/experiment/sweep_runner.h"

namespace kvlab {

namespace {

using nlohmann::json;

json pointJson(const SweepPoint& p) {
  json out{{"prompts", p.prompts}, {"ask", p.ask},         {"series", p.series}, {"cells", p.cells},
           {"failed", p.failed},   {"stories", p.stories}, {"asked", p.asked},   {"right", p.right}};
  if (p.budget) out["budget"] = {{p.budget->ratio ? "ratio" : "tokens", p.budget->value}};
  if (p.asked) out.update({{"recall", p.recall}, {"low", p.low}, {"high", p.high}});
  if (!p.task.empty()) out.update({{"task", p.task}, {"length", p.length}});
  if (p.answers)
    out.update({{"answers", p.answers}, {"score", p.score}, {"scoreLow", p.scoreLow}, {"scoreHigh", p.scoreHigh}});
  for (const auto& [name, value] :
       {std::pair{"kl", p.kl}, {"klAnswer", p.klAnswer}, {"bytes", p.bytes}, {"share", p.share}})
    if (value) out[name] = *value;
  return out;
}

}  // namespace

Result<SweepOutcome> sweep(const json& specOrPath, SweepOptions& options) { return runSweep(specOrPath, options); }

Result<std::int64_t> sweepSize(const json& spec) {
  const SweepSpec read = KV_TRY(SweepSpec::fromJson(spec));
  const std::vector<SweepCell> cells = KV_TRY(sweepCells(read));
  return static_cast<std::int64_t>(cells.size());
}

json sweepAnswer(const std::string& name, const std::string& out, const SweepOutcome& outcome) {
  json reply{{"name", name},
             {"out", out},
             {"cells", outcome.rows.size()},
             {"found", outcome.found},
             {"failed", outcome.failed},
             {"points", json::array()},
             {"rows", json::array()}};
  for (const SweepPoint& point : sweepPoints(outcome.rows)) reply["points"].push_back(pointJson(point));
  for (const SweepRow& row : outcome.rows) reply["rows"].push_back(json::parse(sweepLine(row)));
  return reply;
}

}  // namespace kvlab
