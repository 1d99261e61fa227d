// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_setup.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "core/api/guarded.h"
#include "core/api/log.h"
#include "core/api/manifest_values.h"
#include "core/api/program_memory.h"
#include "core/experiment/sweep_groups.h"
#include "core/files/fingerprint.h"
#include "core/policy/policy.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using nlohmann::json;
using Json = nlohmann::ordered_json;

namespace {

/// Bytes of rows that one of so many workers may keep for other cells: a quarter of the free memory in all, but enough
/// for small models.
std::int64_t roomForReads(std::int64_t workers) {
  constexpr std::int64_t kLeast = std::int64_t{2} << 30;
  return std::max(kLeast, memoryLeft() / 4 / std::max<std::int64_t>(1, workers));
}

}  // namespace

Status SweepSetup::open() {
  for (auto step : {&SweepSetup::expand, &SweepSetup::openModel, &SweepSetup::readPrompts}) KV_TRY((this->*step)());
  return ok();
}

Status SweepSetup::expand() {
  m_cells = KV_TRY(sweepCells(m_spec));
  KV_TRY(checkShard(m_spec, m_options.shard));
  std::map<std::string, int> idle;
  for (const SweepCell& cell : m_cells) {
    m_total += isOurs(cell);
    m_tellsFuture |= policyToldOfFuture(cell.manifest) != nullptr;
    for (std::string& one : idleKeys(cell.manifest)) ++idle[std::move(one)];
  }
  for (const auto& [said, cells] : idle)
    logWarning(said + " (" + std::to_string(cells) + " of " + std::to_string(m_cells.size()) + " cells)");
  for (const std::string& text : m_spec.expressions) m_expressions.push_back(KV_TRY(Expression::parse(text)));
  return ok();
}

bool SweepSetup::isOurs(const SweepCell& cell) const {
  return shardOf(m_spec, cell, m_options.shard.count) == m_options.shard.index;
}

std::int64_t SweepSetup::workers(std::int64_t cells) const {
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min<std::int64_t>(m_options.jobs > 0 ? m_options.jobs : cores, cells);
}

bool SweepSetup::feedsReference() const {
  return m_tellsFuture || m_spec.measures("kl") || m_spec.measures("attention");
}

Status SweepSetup::readPrompts() {
  for (std::size_t i = 0; i < m_spec.prompts.size(); ++i) {
    const json set = KV_TRY(setOf(m_spec.prompts[i]));
    for (const std::int64_t seed : m_spec.seeds) KV_TRY(readStoriesOf(i, seed, set));
  }
  for (const SweepCell& cell : m_cells) {
    if (!isOurs(cell)) continue;
    ++storiesOf(cell).waiting;
    storiesOf(cell).reads->expect(*m_host, cell.manifest);
  }
  return ok();
}

Status SweepSetup::openModel() {
  Manifest manifest = KV_TRY(referenceManifest(m_spec, m_spec.seeds.front()));
  m_host = KV_TRY(openSession(manifest, m_options.resources));
  m_model = modelFingerprint(m_host->model());
  m_numerics = m_host->snapshot()->info->numerics;
  return ok();
}

std::string SweepSetup::pathOf(const std::string& file) const {
  static constexpr std::string_view kResource = "resource:";
  if (file.rfind(kResource, 0) == 0) return m_options.resources + "/" + file.substr(kResource.size());
  return std::filesystem::path(file).is_absolute() || m_options.folder.empty() ? file : m_options.folder + "/" + file;
}

/// The set that a file or the specification has; null = it is written for each seed.
Result<json> SweepSetup::setOf(const SweepPrompts& prompts) const {
  return prompts.file.empty() ? prompts.set : readPromptFile(pathOf(prompts.file));
}

Status SweepSetup::readStoriesOf(std::size_t i, std::int64_t seed, const json& set) {
  const SweepPrompts& prompts = m_spec.prompts[i];
  const std::string place = prompts.file.empty() ? "prompts[" + std::to_string(i) + "].set" : pathOf(prompts.file);
  const json written = prompts.task.task.empty() ? json() : KV_TRY(writtenPrompts(prompts, seed));
  const json& used = prompts.task.task.empty() ? set : written;
  std::vector<SweepStory> stories = KV_TRY(readStories(used, place, seed, m_host->model(), prompts.use));
  auto& entry = m_stories[{i, seed}] = std::make_unique<SweepStories>();
  entry->stories = std::move(stories);
  entry->reads = std::make_unique<PromptReads>(roomForReads(workers(std::ssize(m_cells))));
  entry->hash = hashOf(used);
  return ok();
}

/// Samples of a generated task, kept as lines of questions.jsonl.
Result<json> SweepSetup::writtenPrompts(const SweepPrompts& prompts, std::int64_t seed) {
  const TaskFrame frame = KV_TRY(taskFrame(m_host->model(), prompts.use.chat));
  const Json samples = KV_TRY(taskSamples(prompts.task, seed, frame, m_host->model().tokenizer()));
  for (const Json& sample : samples) {
    Json line{{"prompts", prompts.name}, {"seed", seed}};
    line.update(sample);
    m_questions += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return json::parse(samples.dump());
}

std::string SweepSetup::idOf(const SweepCell& cell) const {
  json manifest = cell.manifest.toJson();
  manifest.erase("threads");
  const SweepPrompts& prompts = m_spec.prompts[cell.prompts];
  json content{{"schema", kSweepSchema},
               {"model", m_model},
               {"numerics", m_numerics},
               {"manifest", manifest},
               {"reference", m_spec.reference},
               {"base", m_spec.base},
               {"prompts", storiesOf(cell).hash},
               {"ask", askName(prompts.ask)},
               {"stories", prompts.use.stories},
               {"questions", prompts.use.questions},
               {"seed", cell.seed},
               {"measure", m_spec.measure}};
  if (!m_spec.expressions.empty()) content["expressions"] = m_spec.expressions;
  if (prompts.use.chat) content["chat"] = true;
  if (prompts.use.newTokens) content["max_new_tokens"] = prompts.use.newTokens;
  return hashOf(content);
}

/// Rules from outside that the specification names, by name: a sweep is not resumed with another rule.
json SweepSetup::addedRules() const {
  const std::string text = m_spec.given.dump();
  json out = json::object();
  for (const AddedKind kind : kAddedKinds)
    for (const Added* one : addedOf(kind))
      if (text.find(one->name) != std::string::npos) out[one->name] = one->revision;
  return out;
}

Json SweepSetup::head(const std::vector<std::string>& ids) const {
  json prompts = json::array();
  for (std::size_t i = 0; i < m_spec.prompts.size(); ++i)
    prompts.push_back(m_stories.at({i, m_spec.seeds.front()})->hash);
  Json head{{"kvlab_sweep", kSweepSchema},
            {"name", m_spec.name},
            {"cells", m_cells.size()},
            {"model", m_model},
            {"numerics", m_numerics},
            {"prompts", Json::parse(prompts.dump())},
            {"spec", Json::parse(m_spec.given.dump())},
            {"ids", hashOf(json(ids))},
            {"shard", Json()}};
  if (const SweepShard& shard = m_options.shard; shard.count > 1)
    head["shard"] = {{"index", shard.index}, {"count", shard.count}, {"cells", m_total}};
  if (const json rules = addedRules(); !rules.empty()) head["policies"] = Json::parse(rules.dump());
  return head;
}

CellWork SweepSetup::workOf(const SweepCell& cell, const SweepStories& stories, const Progress& goesOn,
                            PassRunner* runner) const {
  return {.stories = stories.stories,
          .reads = *stories.reads,
          .ask = m_spec.prompts[cell.prompts].ask,
          .recall = m_spec.measures("recall"),
          .kl = m_spec.measures("kl"),
          .attention = m_spec.measures("attention"),
          .needles = m_spec.measures("needles"),
          .bytes = m_spec.measures("bytes"),
          .answers = m_spec.measures("answers"),
          .future = m_tellsFuture,
          .expressions = m_expressions,
          .progress = goesOn,
          .runner = runner};
}

Result<SweepRow> SweepSetup::run(const SweepCell& cell, const std::string& id, SweepStories& stories,
                                 const Progress& goesOn, PassRunner* runner) const {
  const SweepPrompts& prompts = m_spec.prompts[cell.prompts];
  SweepRow head{cell.index, id, prompts.name, std::string(askName(prompts.ask)), cell.seed, cell.axes, cell.budget};
  head.task = prompts.task.task;
  head.length = prompts.task.length;
  SweepRow row = head;
  const Status done = guarded("the cell was given up", [&] {
    const auto& reference = referenceFor(cell, stories, goesOn);
    return reference ? runCell(*m_host, cell.manifest, workOf(cell, stories, goesOn, runner), *reference, row)
                     : Status(reference.error());
  });
  if (done) return row;
  if (done.error().code == "cancelled") return done.error();
  row = head;
  row.error = done.error();
  return row;
}

Status SweepSetup::runReference(const SweepCell& cell, SweepStories& stories, const Progress& goesOn) const {
  const auto& reference = referenceFor(cell, stories, goesOn);
  return reference ? ok() : Status(reference.error());
}

/// Without a runner: another cell may wait for the lock in the turn that would make the pass.
const Result<std::vector<StoryTrace>>& SweepSetup::referenceFor(const SweepCell& cell, SweepStories& stories,
                                                                const Progress& goesOn) const {
  const std::lock_guard lock(stories.making);
  if (!stories.reference) {
    Result<Manifest> manifest = referenceManifest(m_spec, cell.seed);
    if (manifest)
      stories.reference.emplace(kvlab::runReference(*m_host, *manifest, workOf(cell, stories, goesOn, nullptr)));
    else stories.reference.emplace(manifest.error());
  }
  return *stories.reference;
}

Result<SweepCellInput> SweepSetup::input(std::int64_t index) {
  m_cells = KV_TRY(sweepCells(m_spec));
  if (index < 0 || index >= std::ssize(m_cells))
    return Error("bad_argument", "the cell was not opened", "there is no cell " + std::to_string(index),
                 "name one from 0 to " + std::to_string(std::ssize(m_cells) - 1), "cell", index);
  KV_TRY(openModel());
  const SweepCell& cell = m_cells[static_cast<std::size_t>(index)];
  const json set = KV_TRY(setOf(m_spec.prompts[cell.prompts]));
  KV_TRY(readStoriesOf(cell.prompts, cell.seed, set));
  return SweepCellInput{cell, storiesOf(cell).stories, idOf(cell)};
}

}  // namespace kvlab
