// SPDX-License-Identifier: GPL-3.0-or-later
#include "sweep_fixture.h"

#include <cmath>

namespace kvlab::fixture {

SweepRow sweepCell(std::int64_t index, const std::string& prompts, const std::string& policy,
                   std::optional<double> ratio, std::int64_t seed, double skill) {
  SweepRow row{index,   "cell" + std::to_string(index),
               prompts, "after",
               seed,    {{"policy", policy}, {"budget", ratio ? nlohmann::json(*ratio).dump() : "-"}}};
  if (ratio) row.budget = SweepBudget{true, *ratio};
  const double kept = ratio.value_or(1);
  const int right =
      static_cast<int>(std::lround(100 * std::pow(kept, 1 / skill) * 0.96)) + static_cast<int>(seed % 2) * 2;
  for (int story = 0; story < 10; ++story) row.byStory.emplace_back(right / 10 + (story < right % 10), 10);
  const auto [low, high] = wilson(right, 100);
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, double>>{
           {"stories", 10},
           {"questions", 100},
           {"right", right},
           {"recall", right / 100.0},
           {"recall_low", low},
           {"recall_high", high},
           {"kl_mean", 2.5 * std::pow(1 - kept, 1 + skill / 4) / skill},
           {"kl_median", 1e-4},
           {"kl_p99", 9},
           {"kl_answer", 4 * (1 - kept)},
           {"top1", 0.7 + 0.3 * kept},
           {"attention_kept", std::pow(kept, 0.2)},
           {"needle_survival", std::pow(kept, 1 / skill)},
           {"rows_kept", 497 * kept},
           {"rows_prompt", 497},
           {"bytes_live", 636000 * kept},
           {"bytes_reference", 636000}})
    row.setMeasure(name, value);
  return row;
}

SweepShownPtr sweep(bool running) {
  SweepShown out{"smartkv", "smartkv.sweep", {}, 84, running, running ? 75.0 : -1};
  for (const char* prompts : {"recall-512", "recall-256"})
    for (std::int64_t seed : {1, 2}) {
      out.rows.push_back(sweepCell(static_cast<std::int64_t>(out.rows.size()), prompts, "full", {}, seed, 1));
      for (const auto& [policy, skill] :
           {std::pair{"random", 1.0}, {"streaming_llm", 1.1}, {"h2o", 2.2}, {"smartkv", 5.0}})
        for (double ratio : {0.05, 0.1, 0.25, 0.5, 1.0})
          out.rows.push_back(
              sweepCell(static_cast<std::int64_t>(out.rows.size()), prompts, policy, ratio, seed, skill));
    }
  SweepRow& bad = out.rows[17];
  bad.error = Error("capacity", "the prompt was refused", "497 rows do not fit into 400", "raise capacity");
  bad.measures.clear();
  bad.byStory.clear();
  if (running) out.rows.resize(30);
  return std::make_shared<const SweepShown>(std::move(out));
}

}  // namespace kvlab::fixture
