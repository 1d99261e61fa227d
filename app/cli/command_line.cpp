// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "app/cli/lists.h"
#include "app/cli/window_part.h"
#include "app/plain/read_file.h"
#include "core/api/manifest.h"
#include "core/api/texts.h"
#include "core/policy/outside_program.h"

namespace kvlab {

using nlohmann::json;

namespace {

struct SessionOptions {
  std::string manifest, model, backend, dtype, policy, policyModule, layout, kv, position;
  std::vector<std::string> set;
};

/// The options of a command line, and the values that they fill.
struct Grammar {
  Grammar();
  /// CommandLine::json, also after a refusal.
  std::optional<std::string> jsonGiven() const;

  CommandLine line;
  SessionOptions session;
  std::vector<const CLI::Option*> json;  // --json of each subcommand
  std::string jsonFile;                  // of all of them
  CLI::App app{"Inspector and experiment workbench for transformer KV caches", "kvlab"};
};

Error usage(const std::string& why, const std::string& remedy = "see kvlab --help") {
  return {"usage", "command line", why, remedy};
}

json valueOf(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& one : words) out += (out.empty() ? "" : ", ") + one;
  return out;
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

/// An option with a value. type: the name of the value in the help.
template <class Value>
CLI::Option* addOption(CLI::App& app, const char* name, const char* type, Value& value, const char* help) {
  return app.add_option(name, value, help)->type_name(type);
}

void addSessionOptions(CLI::App& app, SessionOptions& options) {
  const auto add = [&](const char* name, const char* type, auto& value, const char* help) {
    return addOption(app, name, type, value, help)->group("Session");
  };
  add("--manifest", "FILE", options.manifest, "JSON description of the run");
  add("--model", "MODEL", options.model,
      "demo, a name of kvlab model list, a Hugging Face directory, a GGUF file, or synthetic:NAME");
  add("--backend", "NAME", options.backend, "auto, cpu, cuda, or a device as cuda:1");
  add("--dtype", "TYPE", options.dtype, "f32, bf16 or f16");
  add("--policy", "NAME[:k=v,..]", options.policy, "eviction policy");
  add("--policy-module", "FILE", options.policyModule,
      "a Python file with policies (@kvlab.policy) and other rules, to be used by name");
  add("--layout", "NAME[:k=v,..]", options.layout, "storage layout");
  add("--kv", "K=f16,V=int8", options.kv, "row formats");
  add("--position", "MODE", options.position, "context, absolute or cache");
  add("--set", "KEY=VALUE", options.set, "any key of the manifest, dots between levels")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

/// The word behind --json is its FILE, unless it is an option or the last required word.
void addJson(CLI::App& app, Grammar& grammar) {
  grammar.json.push_back(addOption(app, "--json", "[FILE]", grammar.jsonFile,
                                   "write the outcome, or the error, as one JSON value here (to standard output, and "
                                   "other text to standard error, unless a file is named)")
                             ->expected(0, 1));
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
  const json named = KV_TRY(parseNamed(text, "--" + key));
  const bool plain = key == "layout" && named.size() == 1;
  manifest[key] = plain ? named["name"] : named;
  return ok();
}

Result<json> buildManifest(const SessionOptions& options) {
  json manifest = json::object();
  if (!options.policyModule.empty()) KV_TRY(addOutsideFile(options.policyModule));
  if (!options.manifest.empty()) manifest = KV_TRY(readManifest(options.manifest));
  for (const auto& [key, value] : {std::pair{"model", options.model},
                                   {"backend", options.backend},
                                   {"dtype", options.dtype},
                                   {"position", options.position}})
    if (!value.empty()) manifest[key] = value;
  KV_TRY(addNamed(manifest, "policy", options.policy));
  KV_TRY(addNamed(manifest, "layout", options.layout));
  KV_TRY(addKv(manifest, options.kv));
  for (const std::string& assignment : options.set) KV_TRY(setKey(manifest, assignment));
  const auto checked = Manifest::fromJson(manifest);
  if (checked) return manifest;
  Error error = checked.error();
  error.code = "usage";
  return error;
}

void addSweep(CLI::App& sweep, CommandLine& line) {
  SweepWords& words = line.sweep;
  CLI::Option* spec = addOption(sweep, "spec", "SPEC.json", line.file, "the specification");
  addOption(sweep, "--out", "DIR", line.out, "folder of the results");
  CLI::Option* resume = sweep.add_flag("--resume", line.resume, "go on where a sweep, or its shards, ended");
  CLI::Option* jobs =
      addOption(sweep, "--jobs", "N", line.jobs, "threads that run cells (all cores unless given; one with --slurm)")
          ->check(CLI::Range(1, 1024));
  CLI::Option* dry = sweep.add_flag("--dry-run", words.dryRun,
                                    "measure shortly and say how long it takes; with --slurm: write the files alone");
  CLI::Option* shard = addOption(sweep, "--shard", "I/N", words.shard, "run part I of N alone");
  CLI::Option* slurm =
      sweep.add_flag("--slurm", words.slurm, "run on a cluster: submit an array of shards and its merge");
  addOption(sweep, "--array", "N", words.array, "shards (one per prompt set and seed unless given)")
      ->check(CLI::Range(1, 100000))
      ->needs(slurm);
  addOption(sweep, "--partition", "P", words.partition, "partition of the cluster")->needs(slurm);
  addOption(sweep, "--time", "T", words.time, "time limit of a shard, as sbatch takes it")->needs(slurm);
  shard->excludes(slurm);
  CLI::Option* merge =
      addOption(sweep, "--merge", "DIR", words.merge, "merge shards, or a folder of them, into --out")->expected(1, -1);
  CLI::Option* status =
      addOption(sweep, "--status", "DIR", words.status, "what the journals of a sweep and of its shards say");
  CLI::Option* cell = addOption(
      sweep, "--cell", "CELL[:QUESTION]", words.cell,
      "SPEC.json is the folder of a sweep: ask a question of a cell again; --out FILE.kvcap keeps the session");
  for (CLI::Option* other : {spec, resume, jobs, dry, shard, slurm}) {
    merge->excludes(other);
    status->excludes(other);
    if (other != spec) cell->excludes(other);
  }
  merge->excludes(status);
  cell->needs(spec);
  sweep.footer(
      "With --slurm, words behind -- are options of sbatch. Exit codes: 0 all cells done, 1 a cell failed (of a shard, "
      "the merge says "
      "so) or Ctrl+C came, 2 wrong usage or the folder has a sweep already, 3 something was refused, 75 SIGTERM or "
      "SIGUSR1 came: start it again with --resume.");
}

void addTrain(CLI::App& train, CommandLine& line) {
  addOption(train, "what", "WHAT", line.train, "gates, gists or lens")
      ->required()
      ->check(CLI::IsMember({"gates", "gists", "lens"}));
  addOption(train, "--text", "FILE", line.file, "the text to learn from, or a list of texts (.json)")->required();
  addOption(train, "--out", "FILE", line.out, "the trained file (where sessions of the model find it, unless given)");
  addOption(train, "--work", "DIR", line.work,
            "folder of the recordings, checkpoints and reports (NAME.gates, NAME.gists, NAME.lens)");
  train.add_flag("--resume", line.resume, "go on where a training ended");
  train.add_flag("--record-only", line.recordOnly, "record, and train later with --resume");
  addOption(train, "--window", "N", line.window, "tokens of one pass")->check(CLI::Range(64, 1 << 20));
  addOption(train, "--rows", "N", line.rows, "tokens to record in all")->check(CLI::Range(128LL, 1LL << 40));
  addOption(train, "--python", "FILE", line.python, "an interpreter that has PyTorch (python3 unless given)");
}

void addPerplexity(CLI::App& perplexity, CommandLine& line) {
  addOption(perplexity, "--text", "FILE", line.file, "the text")->required();
  addOption(perplexity, "--context", "N", line.context,
            "tokens of a window (the whole text, or what the model has room for)")
      ->check(CLI::Range(2, 1 << 24));
  addOption(perplexity, "--stride", "N", line.stride, "tokens from one window to the next (half of a window)")
      ->check(CLI::Range(1, 1 << 24));
  addOption(perplexity, "--tokens", "N", line.rows, "tokens of the text at most")->check(CLI::Range(2LL, 1LL << 40));
}

void addClinic(CLI::App& clinic, CommandLine& line) {
  CLI::Option* name = addOption(clinic, "name", "NAME", line.file, "one bug (all of them, unless given)");
  addOption(clinic, "--blind", "SEED", line.blind, "a bug that this number draws; its name stays secret")
      ->excludes(name);
  clinic.add_flag("--reveal", line.reveal, "with --blind: say which bug it is");
}

void addCheck(CLI::App& check, CommandLine& line) {
  addOption(check, "tests", "TEST", line.names, "which tests of kvlab list selftests (all of them, unless given)");
  addOption(check, "--text", "FILE", line.file, "a text that the model is good at (plain English, unless given)");
  check.footer(
      "Exit codes: 0 every test passed or was skipped, 1 a test failed or the run was stopped, 2 wrong usage, 3 the "
      "model, the text or the file was refused.");
}

void addCompare(CLI::App& compare, CommandLine& line) {
  addOption(compare, "file", "FILE", line.file, "the cache: a file or a folder that another program wrote")->required();
  addOption(compare, "--ids", "IDS", line.ids,
            "token ids of its text, 1,2,3 or a file of them (those of the file, unless given)");
  addOption(compare, "--importer", "NAME", line.importer, "how to read it, of kvlab list importers (by its content)");
  addOption(compare, "--mapping", "FILE", line.mapping, "what the arrays of a file are, for the importer arrays");
  addOption(compare, "--sequence", "N", line.sequence, "sequence of a file that holds several")
      ->check(CLI::Range(0, 1 << 30));
  addOption(compare, "--baseline", "FILE", line.baseline,
            "a former answer, of --json FILE: exit 0 if this one is no worse");
  addOption(compare, "--html", "FILE", line.html, "write a report as one page, to attach to an issue");
  compare.footer(
      "Exit codes: 0 equal, 1 explained, 2 not explained or wrong usage, 3 the file, the model or the ids were "
      "refused.");
}

void addModel(CLI::App& model, Grammar& grammar) {
  CommandLine& line = grammar.line;
  model.require_subcommand(1, 1);
  const auto action = [&](const std::string& name, const std::string& help) -> CLI::App& {
    CLI::App* sub = model.add_subcommand(name, help);
    sub->callback([&line, name] {
      line.verb = "model";
      line.model = name;
    });
    addJson(*sub, grammar);
    return *sub;
  };
  CLI::App& get = action("get", "fetch a model with pip, so that --model NAME opens it");
  addOption(get, "name", "NAME", line.file, "a name of kvlab model list")->required();
  addOption(get, "--python", "FILE", line.python, "an interpreter that has pip (python3 unless given)");
  action("list", "list the models that can be fetched");
  addOption(action("remove", "delete the file of a fetched model"), "name", "NAME", line.file,
            "a name of kvlab model list")
      ->required();
}

void addTest(CLI::App& test, CommandLine& line) {
  addOption(test, "path", "DIR", line.file,
            "a folder, whose files NAME.test.js and those of the folders below are run, or one file")
      ->required();
  addOption(test, "--out", "DIR", line.out,
            "folder of what tests write, of pictures and texts that differ, and of index.html, which shows them "
            "(kvlab-test unless given)");
  addOption(test, "--junit", "FILE", line.junit, "write the results here as JUnit XML, for CI servers");
  addOption(test, "--filter", "TEXT", line.filter, "run only tests with this text in \"FILE: NAME\"");
  test.add_flag("--update", line.update, "write what expectImage and expectDump expect instead of failing");
  addOption(test, "--time-limit", "SECONDS", line.limit, "seconds that a test may take (60 unless given)")
      ->check(seconds(false));
  test.footer(
      "Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage or no test to run, 3 a report cannot be "
      "written.");
}

/// Adds the subcommands' own options; each subcommand also takes the session options.
void addVerbs(Grammar& grammar) {
  CLI::App& app = grammar.app;
  CommandLine& line = grammar.line;
  app.require_subcommand(0, 1);
  const auto verb = [&](const std::string& name, const std::string& help) -> CLI::App& {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->callback([&line, name] { line.verb = name; });
    addSessionOptions(*sub, grammar.session);
    addOption(*sub, "--log", "LEVEL", line.logLevel, "trace, debug, info, warning or error");
    if (name != "gui") addJson(*sub, grammar);
    if (std::ranges::find(windowPart().missing, name) != windowPart().missing.end()) sub->group("");  // see the footer
    return *sub;
  };
  verb("gui", "open the workbench (default)");
  CLI::App& run = verb("run", "run a script without a window: kvlab run SCRIPT.js [options] [-- ARGS...]");
  addOption(run, "script", "SCRIPT.js", line.file, "the script")->required();
  addOption(run, "--out", "DIR", line.out, "folder of the files it writes");
  run.add_flag("--update", line.update, "write what expectImage and expectDump expect instead of failing");
  run.add_flag("--frozen-clock", line.frozenClock, "show every measured time as 0: two runs write the same bytes");
  addOption(run, "--time-limit", "SECONDS", line.limit, "stop after so many seconds")->check(seconds(true));
  addTest(verb("test", "run the tests of scripts, and compare pictures: kvlab test DIR"), line);
  CLI::App& bench = verb("bench", "measure; a table on a terminal");
  addOption(bench, "names", "NAME", line.names, "which (all unless given)");
  bench.add_flag("--quick", line.quick, "few runs and small shapes: a test of the bench, not of the machine");
  addSweep(verb("sweep", "run a specification over many manifests, on one machine or in shards on a cluster"), line);
  addTrain(verb("train", "train what sessions of a model use: gates of the policy smartkv, or gists or a lens of wLOD"),
           line);
  addClinic(verb("clinic", "plant known bugs of KV caches and see which check finds them"), line);
  addCheck(verb("check", "test the engine and a checkpoint on a model: kvlab check --model M"), line);
  addCompare(
      verb("compare", "find what is wrong with a cache that another program wrote: kvlab compare FILE --model M"),
      line);
  addPerplexity(verb("perplexity", "measure how well a model, with a cache policy or row type, predicts a text"), line);
  addModel(*app.add_subcommand("model", "fetch, list and remove models that have a name"), grammar);
  CLI::App& replay = verb("replay", "open a capture, or print it as a table");
  addOption(replay, "capture", "FILE.kvcap", line.file, "the capture")->required();
  addOption(replay, "--to", "TICK", line.to, "stop at this tick")->check(CLI::Range(0LL, 1LL << 40, "NONNEGATIVE"));
  replay.add_flag("--verify", line.verify, "compare state hashes; 1 = mismatch");
  verb("info", "what is in the model, what it costs, which backends there are");
  CLI::App& list = verb("list", "list what there is");
  std::vector<std::string> names;
  for (const NamedList& one : lists()) names.push_back(one.name);
  addOption(list, "what", "WHAT", line.list, listNames().c_str())->required()->check(CLI::IsMember(names));
  list.add_flag("--markdown", line.markdown, "as a table of Markdown, as pages of the manual have it")
      ->excludes(list.get_option("--json"));
}

Grammar::Grammar() {
  app.set_version_flag("--version", KVLAB_VERSION);
  addOption(app, "--log", "LEVEL", line.logLevel, "trace, debug, info, warning or error");
  addSessionOptions(app, session);
  addVerbs(*this);
  if (const auto& missing = windowPart().missing; !missing.empty())
    app.footer(joined(missing) + ": this program was built without Qt.");
}

std::optional<std::string> Grammar::jsonGiven() const {
  for (const CLI::Option* one : json)
    if (one->count() > 0) return one->results().front();
  return std::nullopt;
}

/// The arguments before "--", in reverse order, as CLI11 takes them.
std::vector<std::string> ownWords(const std::vector<std::string>& arguments) {
  std::vector<std::string> out(arguments.begin(), std::find(arguments.begin(), arguments.end(), "--"));
  std::reverse(out.begin(), out.end());
  return out;
}

Status parse(Grammar& grammar, std::vector<std::string> arguments) {
  CLI::App& app = grammar.app;
  CommandLine& line = grammar.line;
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
  return ok();
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
  Grammar grammar;
  CommandLine& line = grammar.line;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  for (auto at = dashes; at != arguments.end(); ++at)
    if (at != dashes) line.args.push_back(*at);
  KV_TRY(parse(grammar, ownWords(arguments)));
  if (line.verb == "help" || line.verb == "version") return line;
  line.json = grammar.jsonGiven();
  if (!line.args.empty() && line.verb != "run" && line.verb != "train" && !line.sweep.slurm)
    return usage("-- " + line.args.front() + ": only kvlab run, train and sweep --slurm take arguments after --");
  if (line.verb == "sweep" && line.file.empty() && line.sweep.merge.empty() && line.sweep.status.empty())
    return usage("kvlab sweep names no specification", "write kvlab sweep SPEC.json, or see kvlab sweep --help");
  line.sweep.policyModule = grammar.session.policyModule;
  static const std::vector<std::string> levels{"trace", "debug", "info", "warning", "error"};
  if (std::find(levels.begin(), levels.end(), line.logLevel) == levels.end())
    return usage("--log " + line.logLevel + " is no level", "name trace, debug, info, warning or error");
  line.manifest = KV_TRY(buildManifest(grammar.session));
  return line;
}

std::optional<std::string> jsonAsked(const std::vector<std::string>& arguments) {
  Grammar grammar;
  const std::vector<std::string> words = ownWords(arguments);
  (void)parse(grammar, words);
  if (auto given = grammar.jsonGiven()) return given;
  const bool anywhere = std::ranges::any_of(
      words, [](const std::string& word) { return word == "--json" || word.starts_with("--json="); });
  return anywhere ? std::optional<std::string>("") : std::nullopt;
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
