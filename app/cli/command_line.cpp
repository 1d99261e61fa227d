// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "app/base/read_file.h"
#include "app/cli/lists.h"
#include "core/api/manifest.h"
#include "core/api/texts.h"

namespace kvlab {

using nlohmann::json;

namespace {

struct SessionOptions {
  std::string manifest, model, backend, dtype, policy, layout, kv, position;
  std::vector<std::string> set;
};

Error usage(const std::string& why, const std::string& remedy = "see kvlab --help") {
  return {"usage", "command line", why, remedy};
}

json valueOf(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

/// Checks a number of seconds. The ranges of CLI11 let not-a-number pass, and print the largest double in full.
CLI::Validator seconds(bool zero) {
  return {[zero](std::string& text) -> std::string {
            double value = 0;
            const bool number = CLI::detail::lexical_cast(text, value) && std::isfinite(value);
            if (number && (zero ? value >= 0 : value > 0)) return {};
            return text + " is not a number of seconds " + (zero ? "from 0 on" : "above 0");
          },
          zero ? "NONNEGATIVE" : "POSITIVE"};
}

void addSessionOptions(CLI::App& app, SessionOptions& options) {
  const auto group = "Session";
  app.add_option("--manifest", options.manifest, "JSON description of the run")->type_name("FILE")->group(group);
  app.add_option("--model", options.model,
                 "demo, a name of kvlab model list, a Hugging Face directory, a GGUF file, or synthetic:NAME")
      ->type_name("MODEL")
      ->group(group);
  app.add_option("--backend", options.backend, "auto, cpu or cuda")->type_name("NAME")->group(group);
  app.add_option("--dtype", options.dtype, "f32, bf16 or f16")->type_name("TYPE")->group(group);
  app.add_option("--policy", options.policy, "eviction policy")->type_name("NAME[:k=v,..]")->group(group);
  app.add_option("--layout", options.layout, "storage layout")->type_name("NAME[:k=v,..]")->group(group);
  app.add_option("--kv", options.kv, "row formats")->type_name("K=f16,V=int8")->group(group);
  app.add_option("--position", options.position, "context, absolute or cache")->type_name("MODE")->group(group);
  app.add_option("--set", options.set, "any key of the manifest, dots between levels")
      ->type_name("KEY=VALUE")
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

Status addKv(json& manifest, const std::string& text) {
  if (text.empty()) return ok();
  for (const std::string& part : split(text, ',')) {
    const bool key = part.rfind("K=", 0) == 0;
    if (!key && part.rfind("V=", 0) != 0)
      return usage("--kv " + text + ": " + part + " names neither K nor V", "write --kv K=f16,V=int8");
    manifest["kv"][key ? "k" : "v"] = part.substr(2);
  }
  return ok();
}

Status addNamed(json& manifest, const std::string& key, const std::string& text) {
  if (text.empty()) return ok();
  const auto named = parseNamed(text, "--" + key);
  if (!named) return named.error();
  const bool plain = key == "layout" && named->size() == 1;
  manifest[key] = plain ? (*named)["name"] : *named;
  return ok();
}

Result<json> buildManifest(const SessionOptions& options) {
  json manifest = json::object();
  if (!options.manifest.empty()) {
    auto read = readManifest(options.manifest);
    if (!read) return read.error();
    manifest = read.take();
  }
  for (const auto& [key, value] : {std::pair{"model", options.model},
                                   {"backend", options.backend},
                                   {"dtype", options.dtype},
                                   {"position", options.position}})
    if (!value.empty()) manifest[key] = value;
  for (const Status& added : {addNamed(manifest, "policy", options.policy),
                              addNamed(manifest, "layout", options.layout), addKv(manifest, options.kv)})
    if (!added) return added.error();
  for (const std::string& assignment : options.set)
    if (const Status set = setKey(manifest, assignment); !set) return set.error();
  const auto checked = Manifest::fromJson(manifest);
  if (checked) return manifest;
  Error error = checked.error();
  error.code = "usage";
  return error;
}

void addTrain(CLI::App& train, CommandLine& line) {
  train.add_option("what", line.train, "gates, gists or lens")
      ->required()
      ->type_name("WHAT")
      ->check(CLI::IsMember({"gates", "gists", "lens"}));
  train.add_option("--text", line.file, "the text to learn from, or a list of texts (.json)")
      ->required()
      ->type_name("FILE");
  train.add_option("--out", line.out, "the trained file (where sessions of the model find it, unless given)")
      ->type_name("FILE");
  train
      .add_option("--work", line.work,
                  "folder of the recordings, checkpoints and reports (NAME.gates, NAME.gists, NAME.lens)")
      ->type_name("DIR");
  train.add_flag("--resume", line.resume, "go on where a training ended");
  train.add_flag("--record-only", line.recordOnly, "record, and train later with --resume");
  train.add_option("--window", line.window, "tokens of one pass")->type_name("N")->check(CLI::Range(64, 1 << 20));
  train.add_option("--rows", line.rows, "tokens to record in all")->type_name("N")->check(CLI::Range(128LL, 1LL << 40));
  train.add_option("--python", line.python, "an interpreter that has PyTorch (python3 unless given)")
      ->type_name("FILE");
}

void addPerplexity(CLI::App& perplexity, CommandLine& line) {
  perplexity.add_option("--text", line.file, "the text")->required()->type_name("FILE");
  perplexity
      .add_option("--context", line.context, "tokens of a window (the whole text, or what the model has room for)")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 24));
  perplexity.add_option("--stride", line.stride, "tokens from one window to the next (half of a window)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  perplexity.add_option("--tokens", line.rows, "tokens of the text at most")
      ->type_name("N")
      ->check(CLI::Range(2LL, 1LL << 40));
  perplexity.add_option("--json", line.jsonFile, "write the figures, and the loss of each token, here")
      ->type_name("FILE");
}

void addClinic(CLI::App& clinic, CommandLine& line) {
  CLI::Option* name = clinic.add_option("name", line.file, "one bug (all of them, unless given)")->type_name("NAME");
  clinic.add_option("--blind", line.blind, "a bug that this number draws; its name stays secret")
      ->type_name("SEED")
      ->excludes(name);
  clinic.add_flag("--reveal", line.reveal, "with --blind: say which bug it is");
  clinic.add_flag("--json", line.json, "as JSON");
}

void addCheck(CLI::App& check, CommandLine& line) {
  check.add_option("tests", line.names, "which tests of kvlab list selftests (all of them, unless given)")
      ->type_name("TEST");
  check.add_option("--text", line.file, "a text that the model is good at (plain English, unless given)")
      ->type_name("FILE");
  check.add_option("--json", line.jsonFile, "write the figures here")->type_name("FILE");
  check.footer(
      "Exit codes: 0 every test passed or was skipped, 1 a test failed or the run was stopped, 2 wrong usage, 3 the "
      "model, the text or the file was refused.");
}

void addModel(CLI::App& model, CommandLine& line) {
  model.require_subcommand(1, 1);
  const auto action = [&](const std::string& name, const std::string& help) {
    CLI::App* sub = model.add_subcommand(name, help);
    sub->callback([&line, name] {
      line.verb = "model";
      line.model = name;
    });
    return sub;
  };
  CLI::App* get = action("get", "fetch a model with pip, so that --model NAME opens it");
  get->add_option("name", line.file, "a name of kvlab model list")->required()->type_name("NAME");
  get->add_option("--python", line.python, "an interpreter that has pip (python3 unless given)")->type_name("FILE");
  action("list", "list the models that can be fetched")->add_flag("--json", line.json, "as JSON");
  action("remove", "delete the file of a fetched model")
      ->add_option("name", line.file, "a name of kvlab model list")
      ->required()
      ->type_name("NAME");
}

void addTest(CLI::App& test, CommandLine& line) {
  test.add_option("path", line.file,
                  "a folder, whose files NAME.test.js and those of the folders below are run, or one file")
      ->required()
      ->type_name("DIR");
  test.add_option("--out", line.out,
                  "folder of what tests write, of pictures and texts that differ, and of index.html, which shows them "
                  "(kvlab-test unless given)")
      ->type_name("DIR");
  test.add_option("--junit", line.junit, "write the results here as JUnit XML, for CI servers")->type_name("FILE");
  test.add_option("--filter", line.filter, "run only tests with this text in \"FILE: NAME\"")->type_name("TEXT");
  test.add_flag("--update", line.update, "write what expectImage and expectDump expect instead of failing");
  test.add_option("--time-limit", line.limit, "seconds that a test may take (60 unless given)")
      ->type_name("SECONDS")
      ->check(seconds(false));
  test.footer(
      "Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage or no test to run, 3 a report cannot be "
      "written.");
}

/// Adds the subcommands' own options; each subcommand also takes the session options.
void addVerbs(CLI::App& app, CommandLine& line, SessionOptions& options) {
  app.require_subcommand(0, 1);
  const auto verb = [&](const std::string& name, const std::string& help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([&line, name] { line.verb = name; });
    addSessionOptions(*sub, options);
    sub->add_option("--log", line.logLevel, "trace, debug, info, warning or error")->type_name("LEVEL");
    return sub;
  };
  verb("gui", "open the workbench (default)");
  CLI::App* run = verb("run", "run a script without a window: kvlab run SCRIPT.js [options] [-- ARGS...]");
  run->add_option("script", line.file, "the script")->required()->type_name("SCRIPT.js");
  run->add_option("--out", line.out, "folder of the files it writes")->type_name("DIR");
  run->add_flag("--update", line.update, "write what expectImage and expectDump expect instead of failing");
  run->add_flag("--frozen-clock", line.frozenClock, "show every measured time as 0: two runs write the same bytes");
  run->add_option("--time-limit", line.limit, "stop after so many seconds")->type_name("SECONDS")->check(seconds(true));
  addTest(*verb("test", "run the tests of scripts, and compare pictures: kvlab test DIR"), line);
  CLI::App* bench = verb("bench", "measure; a table on a terminal");
  bench->add_option("names", line.names, "which (all unless given)")->type_name("NAME");
  bench->add_option("--json", line.jsonFile, "write the results here")->type_name("FILE");
  bench->add_flag("--quick", line.quick, "few runs and small shapes: a test of the bench, not of the machine");
  CLI::App* sweep = verb("sweep", "run a specification over many manifests");
  sweep->add_option("spec", line.file, "the specification")->required()->type_name("SPEC.json");
  sweep->add_option("--out", line.out, "folder of the results")->type_name("DIR");
  sweep->add_flag("--resume", line.resume, "go on where a sweep ended");
  sweep->add_option("--jobs", line.jobs, "cells at a time (all cores unless given)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  addTrain(
      *verb("train", "train what sessions of a model use: gates of the policy smartkv, or gists or a lens of wLOD"),
      line);
  addClinic(*verb("clinic", "plant known bugs of KV caches and see which check finds them"), line);
  addCheck(*verb("check", "test the engine and a checkpoint on a model: kvlab check --model M"), line);
  addPerplexity(*verb("perplexity", "measure how well a model, with a cache policy or row type, predicts a text"),
                line);
  addModel(*app.add_subcommand("model", "fetch, list and remove models that have a name"), line);
  CLI::App* replay = verb("replay", "open a capture, or print it as a table");
  replay->add_option("capture", line.file, "the capture")->required()->type_name("FILE.kvcap");
  replay->add_option("--to", line.to, "stop at this tick")
      ->type_name("TICK")
      ->check(CLI::Range(0LL, 1LL << 40, "NONNEGATIVE"));
  replay->add_flag("--verify", line.verify, "compare state hashes; 1 = mismatch");
  CLI::App* info = verb("info", "what is in the model, what it costs, which backends there are");
  info->add_flag("--json", line.json, "as JSON");
  CLI::App* list = verb("list", "list what there is");
  std::vector<std::string> names;
  for (const NamedList& one : lists()) names.push_back(one.name);
  list->add_option("what", line.list, listNames())->required()->type_name("WHAT")->check(CLI::IsMember(names));
  CLI::Option* asJson = list->add_flag("--json", line.json, "as JSON");
  list->add_flag("--markdown", line.markdown, "as a table of Markdown, as pages of the manual have it")
      ->excludes(asJson);
}

/// CLI11 takes the arguments in reverse order.
Result<CommandLine> parse(CLI::App& app, CommandLine& line, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto subs = app.get_subcommands();
    line.verb = "help";
    const CLI::App* asked = subs.empty() ? &app : subs.front();
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    line.text = asked->help();
  } catch (const CLI::CallForVersion&) {
    line.verb = "version";
  } catch (const CLI::ParseError& error) {
    return usage(error.what());
  }
  return line;
}

}  // namespace

Result<json> parseNamed(const std::string& text, const std::string& option) {
  Result<json> named = namedObject(text);
  if (named) return named;
  return usage(option + " " + text + ": " + named.error().why, "write " + option + " NAME:key=value,key=value");
}

Status setKey(json& manifest, const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return usage("--set " + assignment + " is not key=value", "write --set key=value");
  const auto path = split(assignment.substr(0, equals), '.');
  json* at = &manifest;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    at = &(*at)[path[i]];
    if (!at->is_object() && !at->is_null())
      return usage("--set " + assignment + ": " + path[i] + " is no object", "name a key that holds others");
  }
  (*at)[path.back()] = valueOf(assignment.substr(equals + 1));
  return ok();
}

Result<CommandLine> parseCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  SessionOptions options;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  for (auto at = dashes; at != arguments.end(); ++at)
    if (at != dashes) line.args << QString::fromStdString(*at);
  CLI::App app("Inspector and experiment workbench for transformer KV caches", "kvlab");
  app.set_version_flag("--version", KVLAB_VERSION);
  app.add_option("--log", line.logLevel, "trace, debug, info, warning or error")->type_name("LEVEL");
  addSessionOptions(app, options);
  addVerbs(app, line, options);
  auto parsed = parse(app, line, {arguments.begin(), dashes});
  if (!parsed || parsed->verb == "help" || parsed->verb == "version") return parsed;
  if (!line.args.isEmpty() && line.verb != "run" && line.verb != "train")
    return usage("-- " + line.args.join(' ').toStdString() +
                 ": only kvlab run and kvlab train take arguments after --");
  static const std::vector<std::string> levels{"trace", "debug", "info", "warning", "error"};
  if (std::find(levels.begin(), levels.end(), line.logLevel) == levels.end())
    return usage("--log " + line.logLevel + " is no level", "name trace, debug, info, warning or error");
  auto manifest = buildManifest(options);
  if (!manifest) return manifest.error();
  line.manifest = manifest.take();
  return line;
}

std::string errorLine(const Error& error) { return "kvlab: error: " + error.text(); }

Exit exitFor(const Error& error) {
  static const std::map<std::string, Exit> kOthers = {
      {"usage", Exit::Usage},         {"unknown_model", Exit::Usage},   {"sweep_exists", Exit::Usage},
      {"train_exists", Exit::Usage},  {"cancelled", Exit::Failed},      {"failed_cells", Exit::Failed},
      {"fetch_failed", Exit::Failed}, {"training_failed", Exit::Failed}};
  const auto found = kOthers.find(error.code);
  return found == kOthers.end() ? Exit::Refused : found->second;
}

}  // namespace kvlab
