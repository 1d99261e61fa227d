// SPDX-License-Identifier: GPL-3.0-or-later
// kvlab train: the engine records, a Python recipe of resources/ trains with PyTorch and prints its report. Exit codes:
// 0 = trained or recorded, 1 = stopped, or the recipe failed, 2 = the folder has a recording already, 3 = model, text,
// output or interpreter refused.
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "app/base/read_file.h"
#include "app/base/resources.h"
#include "app/cli/programs.h"
#include "core/api/part_file.h"
#include "core/experiment/training_record.h"
#include "core/model/files/gguf.h"
#include "core/model/named_models.h"

namespace kvlab {

using nlohmann::json;

namespace {

QString text(const std::string& from) { return QString::fromStdString(from); }

std::string modelOf(const CommandLine& line) { return line.manifest.value("model", ""); }

/// The Hugging Face directory or .gguf file of the model; empty for models without files.
QString filesOf(const CommandLine& line) {
  const auto path = modelPath(modelOf(line), resourceRoot().toStdString());
  if (!path || !QFileInfo::exists(text(*path))) return QString();
  if (QFileInfo::exists(text(*path) + "/config.json") || QFileInfo(text(*path)).isFile()) return text(*path);
  const auto inside = ggufOfDirectory(*path);
  return inside && *inside ? text(**inside) : text(*path);
}

bool isGguf(const CommandLine& line) { return QFileInfo(filesOf(line)).isFile(); }

std::string workOf(const CommandLine& line) {
  if (!line.work.empty()) return line.work;
  return QFileInfo(QDir::cleanPath(text(modelOf(line)))).fileName().replace(':', '-').toStdString() + "." + line.train;
}

/// Beside a model of a folder or file, where its sessions find it; else in the folder of the recordings.
std::string outOf(const CommandLine& line, const std::string& work) {
  if (!line.out.empty()) return line.out;
  if (modelOf(line) != "demo" && !filesOf(line).isEmpty())
    return trainedFile(line.train, modelOf(line), resourceRoot().toStdString());
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
  const QString folder = QFileInfo(text(out)).absolutePath();
  if (QDir().mkpath(folder) && PartFile(out).append("", 0)) return ok();
  return Error("io", "nothing was trained", "the folder of " + out + " cannot be written", "give another --out", "out",
               out);
}

/// Error (no_pytorch): the interpreter is not there, or lacks a module that the recipe imports.
Status usable(const QString& python, const CommandLine& line) {
  QStringList modules{"torch", "safetensors"};
  if (line.train != "gates") modules << "transformers";
  if (line.train != "gates" && isGguf(line))
    modules << "gguf"
            << "accelerate";
  const auto refused = [&](const std::string& why) {
    return Error("no_pytorch", "nothing was trained", why,
                 "make an environment with the modules (python3 -m venv V && V/bin/pip install " +
                     modules.join(' ').toStdString() +
                     ") and name its interpreter with --python V/bin/python, or only record with --record-only",
                 "python", python.toStdString());
  };
  QProcess process;
  process.start(python,
                QStringList{"-c",
                            "import importlib.util as u, sys; "
                            "print(', '.join(n for n in sys.argv[1:] if u.find_spec(n) is None))"}
                    << modules);
  if (!process.waitForFinished(60000) || process.exitCode() != 0)
    return refused("the interpreter " + python.toStdString() + " does not start");
  const std::string missing = process.readAllStandardOutput().trimmed().toStdString();
  return missing.empty() ? ok() : Status(refused(python.toStdString() + " lacks " + missing));
}

Progress tellRecorded(const std::string& what) {
  const auto begin = std::chrono::steady_clock::now();
  return [=](const std::string& unit, std::int64_t done, std::int64_t total) {
    if (total > 0 && unit.starts_with("windows"))
      std::cerr << "kvlab: train " << what << ": " << unit << " " << done << "/" << total << ", "
                << std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count()
                << " s" << std::endl;
    return !interrupted();
  };
}

/// The recipe prints its progress and its report itself.
Status runRecipe(const QString& python, const CommandLine& line, const std::string& work, const std::string& out) {
  const QString root = resourceRoot();
  QStringList arguments{root + "/" + text(line.train) + "/train.py", "--data", text(work), "--out", text(out)};
  if (line.train != "gates") arguments << "--model" << filesOf(line);
  if (const QString gists = text(trainedFile("gists", modelOf(line), root.toStdString()));
      line.train == "lens" && QFileInfo::exists(gists))
    arguments << "--gists" << gists;
  QProcess process;
  process.setProcessChannelMode(QProcess::ForwardedChannels);
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PYTHONDONTWRITEBYTECODE", "1");
  process.setProcessEnvironment(environment);
  process.start(python, arguments << line.args);
  while (!process.waitForFinished(200) && process.state() != QProcess::NotRunning)
    if (interrupted()) process.terminate();
  const bool ended = process.exitStatus() == QProcess::NormalExit && process.error() != QProcess::FailedToStart;
  if (ended && process.exitCode() == 0) return ok();
  if (interrupted()) return Error("cancelled", "the training was stopped", "on request", "go on with --resume");
  return Error("training_failed", "nothing was trained",
               ended ? "the recipe ended with exit code " + std::to_string(process.exitCode())
                     : "the recipe was killed, or the interpreter crashed",
               "what it printed says more; go on with --resume");
}

/// What the recipe measured (report.json of resources/python/kvlab_training.py); null if there is nothing to read.
json reportOf(const std::string& work) {
  const auto bytes = readBounded(text(work + "/report.json"), "the report");
  json report = bytes ? json::parse(bytes->toStdString(), nullptr, false) : json();
  return report.is_discarded() ? json() : report;
}

Ending train(const CommandLine& line) {
  KV_TRY(possibleModel(line));
  const std::string work = workOf(line), out = outOf(line, work);
  const QString python = line.python.empty() ? "python3" : text(line.python);
  if (!line.recordOnly) {
    KV_TRY(writable(out));
    KV_TRY(usable(python, line));
  }
  const TrainingOrder order{line.train, line.manifest, resourceRoot().toStdString(), line.file, work, line.window,
                            line.rows,  line.resume};
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
