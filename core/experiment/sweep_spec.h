// SPDX-License-Identifier: Apache-2.0
// The description of a sweep: one JSON object from which it can be run again. Unknown keys and bad values are
// errors (code bad_sweep) that name the key. Values; any thread.
//
//   {"name": "smartkv",                      names the output folder
//    "base": {manifest},                     what all cells share; default {"model": "demo"}
//    "reference": {manifest changes},        the run that KL is measured against; default {"policy": "full"}
//    "axes": [{"name", "key", "values"}      each value is put at a manifest key (dots between levels)
//             {"name", "values": [{"label", "set": {manifest changes}}]}
//             {"name", "budget": "ratio" | "tokens", "values": [numbers]}],   merged into the key policy
//    "seeds": [1, 2, 3],                     which stories; also sampling.seed and the seed of a policy that takes one
//    "prompts": [{"name", "file" | "set", "ask": "after" | "inside", "stories", "questions", "chat", "max_new_tokens"},
//                {"name"?, "task": NAME | [NAMES] | "all", "length": tokens | [tokens], "depth": [0 .. 1] | count,
//                 "samples", "ask", "chat", "max_new_tokens"}],
//    "measure": ["recall", "kl", "attention", "needles", "bytes", "answers"],
//    "expressions": ["rows(layer==3)"]}      what else is measured, in the language of core/watch/expression.h
//
// A value {"label", "value"} of the first form may also "set" other changes; it, or one of the second, may say
// "without": ["budget"]: it does not vary along that axis and has one cell there. A file's name is relative to the
// specification's folder, or "resource:prompts/recall-512.json". Prompts with a task are written for the model
// (core/tasks/task_samples.h): one set for each task and length, TASK-LENGTH by name, with the given name in front.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/api/manifest.h"
#include "core/api/sweep_table.h"
#include "core/experiment/prompt_set.h"

namespace kvlab {

struct SweepValue {
  std::string label;
  nlohmann::json set = nlohmann::json::object();  // changes to the manifest
  std::optional<SweepBudget> budget = {};
  std::vector<std::string> without = {};  // axes that this value does not vary along
};

struct SweepAxis {
  std::string name;
  std::string key = {};  // manifest key that values replace; empty = `set` is merged
  std::vector<SweepValue> values;
};

struct SweepPrompts {
  std::string name, file;
  nlohmann::json set;  // inline; null = in the file
  Ask ask = Ask::After;
  PromptUse use = {};
  TaskWish task = {};  // its length and name stand in the results; no name = in file or set
};

struct SweepSpec {
  std::string name = "sweep";
  nlohmann::json base = nlohmann::json::object(), reference = nlohmann::json::object();
  std::vector<SweepAxis> axes = {};
  std::vector<std::int64_t> seeds = {1};
  std::vector<SweepPrompts> prompts = {};
  std::vector<std::string> measure = {};      // groups of sweepMeasures()
  std::vector<std::string> expressions = {};  // each gives a number or a flag
  nlohmann::json given = {};                  // as written, what a resumed sweep is compared with

  static Result<SweepSpec> fromJson(const nlohmann::json& json);
  bool measures(std::string_view group) const;
};

/// The work of a cell: one manifest on the stories of one seed.
struct SweepCell {
  std::int64_t index = 0;
  std::size_t prompts = 0;  // entry of SweepSpec::prompts
  std::int64_t seed = 1;
  std::vector<std::pair<std::string, std::string>> axes = {};
  std::optional<SweepBudget> budget = {};
  Manifest manifest = {};
};

/// All cells in order: prompt set, seed, then the axes with the last one fastest. Errors: bad_sweep, naming the
/// axis values whose manifest is refused.
Result<std::vector<SweepCell>> sweepCells(const SweepSpec& spec);
/// The reference's manifest for a seed.
Result<Manifest> referenceManifest(const SweepSpec& spec, std::int64_t seed);

std::string_view askName(Ask ask);

}  // namespace kvlab
