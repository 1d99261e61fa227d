// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab train: the engine records, a Python recipe of resources/ trains with PyTorch and prints its report. Exit codes:
// 0 = trained or recorded, 1 = stopped, or the recipe failed, 2 = the folder has a recording already, 3 = model, text,
// output or interpreter refused.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "app/cli/programs.h"
#include "app/plain/child_process.h"
#include "app/plain/read_file.h"
#include "app/plain/resources.h"
#include "core/api/part_file.h"
#include "core/experiment/training_record.h"
#include "core/model/files/gguf.h"
#include "core/model/named_models.h"

namespace kvlab {

using nlohmann::json;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// False where it cannot be told.
bool isFile(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

std::string modelOf(const CommandLine& line) { return line.manifest.value("model", ""); }

/// The Hugging Face directory or .gguf file of the model; empty for models without files.
std::string filesOf(const CommandLine& line) {
  const auto path = modelPath(modelOf(line), resourceRoot());
  if (std::error_code unknown; !path || !fs::exists(*path, unknown)) return {};
  if (isFile(*path + "/config.json") || isFile(*path)) return *path;
  const auto inside = ggufOfDirectory(*path);
  return inside && *inside ? **inside : *path;
}

bool isGguf(const CommandLine& line) { return isFile(filesOf(line)); }

std::string workOf(const CommandLine& line) {
  if (!line.work.empty()) return line.work;
  std::string name = modelOf(line);
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  name = fs::path(name).lexically_normal().filename().string();
  std::ranges::replace(name, ':', '-');
  return name + "." + line.train;
}

/// Beside a model of a folder or file, where its sessions find it; else in the folder of the recordings.
std::string outOf(const CommandLine& line, const std::string& work) {
  if (!line.out.empty()) return line.out;
  if (modelOf(line) != "demo" && !filesOf(line).empty()) return trainedFile(line.train, modelOf(line), resourceRoot());
  return work + "/" + line.train + ".safetensors";
}

Status possibleModel(const CommandLine& line) {
  const std::string model = modelOf(line);
  if (model.empty())
    return Error("usage", "nothing was trained", "no model is named", "add --model and a folder, or --model demo");
  if (line.train != "gates" && model.starts_with("synthetic:"))
    return Error("unsupported", "nothing was trained", "PyTorch cannot open " + model + ", which has no files",
                 "name a folder or demo", "model", model);
  return ok();
}

/// Checks that files can be written to the folder of the result by writing one, because permissions alone do not tell.
Status writable(const std::string& out) {
  std::error_code failure;
  fs::create_directories(fs::absolute(out, failure).parent_path(), failure);
  if (!failure && PartFile(out).append("", 0)) return ok();
  return Error("io", "nothing was trained", "the folder of " + out + " cannot be written", "give another --out", "out",
               out);
}

/// Error (no_pytorch): the interpreter is not there, or lacks a module that the recipe imports.
Status usable(const std::string& python, const CommandLine& line) {
  std::vector<std::string> modules{"torch", "safetensors"};
  if (line.train != "gates") modules.emplace_back("transformers");
  if (line.train != "gates" && isGguf(line)) modules.insert(modules.end(), {"gguf", "accelerate"});
  std::string words, missing;
  for (const std::string& one : modules) words += " " + one;
  const auto refused = [&](const std::string& why) {
    return Error("no_pytorch", "nothing was trained", why,
                 "make an environment with the modules (python3 -m venv V && V/bin/pip install" + words +
                     ") and name its interpreter with --python V/bin/python, or only record with --record-only",
                 "python", python);
  };
  std::vector<std::string> arguments{"-c",
                                     "import importlib.util as u, sys; "
                                     "print(', '.join(n for n in sys.argv[1:] if u.find_spec(n) is None))"};
  arguments.insert(arguments.end(), modules.begin(), modules.end());
  const auto late = [begin = Clock::now()] { return Clock::now() - begin > std::chrono::minutes(1); };
  const ChildEnd end = runChild({python, arguments, [&](const std::string& said) { missing = said; }, true, late});
  if (end.exitCode != 0) return refused("the interpreter " + python + " does not start");
  return missing.empty() ? ok() : Status(refused(python + " lacks " + missing));
}

Progress tellRecorded(const std::string& what) {
  const auto begin = Clock::now();
  return [=](const std::string& unit, std::int64_t done, std::int64_t total) {
    if (total > 0 && unit.starts_with("windows"))
      std::cerr << "kvlab: train " << what << ": " << unit << " " << done << "/" << total << ", "
                << std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count() << " s" << std::endl;
    return !interrupted();
  };
}

/// The recipe prints its progress and its report itself.
Status runRecipe(const std::string& python, const CommandLine& line, const std::string& work, const std::string& out) {
  const std::string root = resourceRoot();
  std::vector<std::string> arguments{root + "/" + line.train + "/train.py", "--data", work, "--out", out};
  if (line.train != "gates") arguments.insert(arguments.end(), {"--model", filesOf(line)});
  if (const std::string gists = trainedFile("gists", modelOf(line), root); line.train == "lens" && isFile(gists))
    arguments.insert(arguments.end(), {"--gists", gists});
  arguments.insert(arguments.end(), line.args.begin(), line.args.end());
  const ChildEnd end = runChild({.program = python, .arguments = arguments, .stopped = interrupted});
  if (end.exitCode == 0) return ok();
  if (interrupted()) return Error("cancelled", "the training was stopped", "on request", "go on with --resume");
  return Error("training_failed", "nothing was trained",
               end.exitCode > 0 ? "the recipe ended with exit code " + std::to_string(end.exitCode)
                                : "the recipe was killed, or the interpreter does not start",
               "what it printed says more; go on with --resume");
}

/// What the recipe measured (report.json of resources/python/kvlab_training.py); null if there is nothing to read.
json reportOf(const std::string& work) {
  const auto bytes = readBounded(work + "/report.json", "the report");
  json report = bytes ? json::parse(*bytes, nullptr, false) : json();
  return report.is_discarded() ? json() : report;
}

Ending train(const CommandLine& line) {
  KV_TRY(possibleModel(line));
  const std::string work = workOf(line), out = outOf(line, work);
  const std::string python = line.python.empty() ? "python3" : line.python;
  if (!line.recordOnly) {
    KV_TRY(writable(out));
    KV_TRY(usable(python, line));
  }
  const TrainingOrder order{line.train, line.manifest, resourceRoot(), line.file,
                            work,       line.window,   line.rows,      line.resume};
  const TrainingRecord record = KV_TRY(recordTraining(order, tellRecorded(line.train)));
  std::cout << record.rows << " tokens in " << record.windows << " windows, " << record.found
            << " of them from before; recordings in " << work << std::endl;
  json value{{"what", line.train},        {"work", work},          {"model", record.model},
             {"windows", record.windows}, {"found", record.found}, {"tokens", record.rows}};
  if (line.recordOnly) return value;
  KV_TRY(runRecipe(python, line, work, out));
  std::cout << out << "\n";
  value.update({{"out", out}, {"report", reportOf(work)}});
  return value;
}

}  // namespace

Ending runTrain(const CommandLine& line) {
  watchInterrupts();
  return train(line);
}

}  // namespace kvlab
