// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/training_record.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/analysis/lifespans.h"
#include "core/api/part_file.h"
#include "core/files/fingerprint.h"
#include "core/model/files/strict_json.h"
#include "core/parts/cache_kind.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr std::size_t kMostText = std::size_t{256} << 20;

using Windows = std::vector<std::vector<TokenId>>;

Result<std::vector<std::string>> textsOf(const std::string& content, const std::string& path) {
  if (!path.ends_with(".json")) return std::vector{content};
  const json list = KV_TRY(parseJson(content, path, "bad_text"));
  std::vector<std::string> out;
  for (const json& one : list.is_array() ? list : json::array()) {
    const json text = one.is_object() ? one.value("text", json()) : one;
    if (!text.is_string())
      return Error("bad_text", path + " was not read", "entry " + std::to_string(out.size()) + " has no text",
                   "write a list of strings, or of objects with a text", "text", path);
    out.push_back(text.get<std::string>());
  }
  return out;
}

/// The token that the tokenizer puts before a text; -1 = none.
TokenId openingOf(const Tokenizer& tokenizer) {
  const auto empty = tokenizer.encode("", true);
  return empty && !empty->empty() && empty->front() == tokenizer.bos() ? tokenizer.bos() : TokenId(-1);
}

void cut(const std::vector<TokenId>& tokens, TokenId first, std::size_t window, Windows& out) {
  const std::size_t opening = first.value() < 0 ? 0 : 1, each = window - opening;
  for (std::size_t begin = 0; begin < tokens.size(); begin += each) {
    std::vector<TokenId> one(opening, first);
    const std::size_t end = std::min(tokens.size(), begin + each);
    for (std::size_t i = begin; i < end; ++i) one.push_back(tokens[i]);
    if (one.size() >= at(kLeastWindow)) out.push_back(std::move(one));
  }
}

Windows spread(Windows all, std::int64_t rows) {
  std::int64_t total = 0;
  for (const auto& one : all) total += std::ssize(one);
  if (total <= rows) return all;
  const auto count = std::max<std::size_t>(2, all.size() * at(rows) / at(total));
  Windows out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::move(all[i * all.size() / count]));
  return out;
}

class TrainingRecorder {
 public:
  TrainingRecorder(const TrainingOrder& order, const Progress& progress) : m_order(order), m_progress(progress) {}

  Result<TrainingRecord> run() {
    const auto model = KV_TRY(Model::open(specOf(m_order.manifest), m_order.resources, m_progress));
    m_window = KV_TRY(window(model->config()));
    m_text = KV_TRY(trainingText(model->tokenizer(), m_order.text, m_window, rows()));
    m_out.model = modelFingerprint(*model);
    m_out.windows = std::ssize(m_text.windows);
    KV_TRY(openFolder());
    for (std::int64_t i = 0; i < m_out.windows; ++i) KV_TRY(one(i));
    return m_out;
  }

 private:
  bool hidden() const { return m_order.what != "gates"; }  // records the last layer's output, and no keys
  std::int64_t rows() const { return m_order.rows ? m_order.rows : hidden() ? 38912 : 20480; }
  static std::string specOf(const json& manifest) { return manifest.value("model", "demo"); }

  Result<int> window(const ModelConfig& config) const {
    const int wanted = m_order.window ? m_order.window : hidden() ? 1216 : 1024;
    if (config.maxPositions <= 0 || wanted <= config.maxPositions) return wanted;
    if (!m_order.window) return config.maxPositions;
    return Error("out_of_range", "nothing was recorded",
                 "a window of " + std::to_string(wanted) + " tokens is longer than the model's " +
                     std::to_string(config.maxPositions) + " positions",
                 "give a smaller --window", "window", wanted);
  }

  json head() const {
    json manifest = m_order.manifest;
    manifest.erase("threads");
    return {{"kvlab_recording", 1}, {"what", m_order.what},     {"model", m_out.model},
            {"manifest", manifest}, {"text", m_text.hash},      {"window", m_window},
            {"rows", rows()},       {"windows", m_out.windows}, {"text_tokens", m_text.tokens}};
  }

  Status openFolder() const {
    std::error_code failed;
    std::filesystem::create_directories(m_order.folder, failed);
    if (failed)
      return Error("bad_file", "cannot use the folder " + m_order.folder, failed.message(), "give another --work");
    const std::string path = m_order.folder + "/recording.json";
    if (!std::filesystem::exists(path)) return writeWhole(path, head().dump(1) + "\n");
    if (!m_order.resume)
      return Error("train_exists", "nothing was recorded", m_order.folder + " holds a recording or a part of one",
                   "go on with --resume, or give another --work");
    return compare(KV_TRY(readJsonFile(path, "bad_file")));
  }

  /// A resumed recording must be the one that was begun.
  Status compare(const json& before) const {
    const json now = head();
    for (const auto& [key, value] : now.items())
      if (const json was = before.is_object() ? before.value(key, json()) : json(); was != value)
        return Error("train_changed", "the recording was not resumed",
                     m_order.folder + " was begun with " + key + " " + was.dump() + ", now it is " + value.dump(),
                     "give the options of the first run, or another --work", key, value);
    return ok();
  }

  Status openRecorder() {
    json manifest = m_order.manifest;
    manifest.update({{"capacity", m_window}, {"probes", false}, {"history_bytes", 0}, {"check", {{"level", "off"}}}});
    const Manifest checked = KV_TRY(Manifest::fromJson(manifest));
    m_session = KV_TRY(openSession(checked, m_order.resources, m_progress));
    return m_session->kind().allows(m_session->parts(), Capability::KeyLifespans, "nothing was recorded");
  }

  Status one(std::int64_t number) {
    const std::vector<TokenId>& tokens = m_text.windows[at(number)];
    m_out.rows += std::ssize(tokens);
    char name[32];
    std::snprintf(name, sizeof name, "/%04d.safetensors", static_cast<int>(number));
    if (std::filesystem::exists(m_order.folder + name)) return ++m_out.found, ok();
    if (!report(m_progress, "windows recorded", number, m_out.windows)) return cancelled();
    if (!m_session) KV_TRY(openRecorder());
    Lifespans recorded = KV_TRY(pass(tokens));
    recorded.model = m_out.model;
    return recorded.write(m_order.folder + name);
  }

  /// The pass reads tokens and phases of the state alone.
  Result<Lifespans> pass(const std::vector<TokenId>& tokens) {
    CacheState state = m_session->state();
    for (const TokenId token : tokens) {
      state.phases.push_back(state.length());
      LedgerRow row;
      row.token = token;
      state.context.push_back(state.ledger.append(std::move(row)));
    }
    LifespanRules rules;
    rules.after = static_cast<std::int32_t>(tokens.size() / 2) - 1;
    rules.keys = !hidden();
    rules.hidden = hidden();
    const auto wanted = [&](const std::string&, std::int64_t, std::int64_t) { return report(m_progress, "", 0, 0); };
    const RebuildInput input{state, m_session->transformer(), m_session->parts().faults};
    Result<Lifespans> out = recordLifespans(input, m_session->parts().store, rules, wanted);
    return out || out.error().code != "cancelled" ? out : cancelled();
  }

  static Error cancelled() { return {"cancelled", "the recording was stopped", "on request", "go on with --resume"}; }

  const TrainingOrder& m_order;
  const Progress& m_progress;
  int m_window = 0;
  TrainingText m_text;
  TrainingRecord m_out;
  std::unique_ptr<Session> m_session;  // opened when the first window is recorded
};

}  // namespace

Result<TrainingText> trainingText(const Tokenizer& tokenizer, const std::string& path, int window, std::int64_t rows) {
  const std::string content = KV_TRY(readFile(path, "unreadable_file", kMostText));
  TrainingText out;
  out.hash = contentHash(std::as_bytes(std::span(content)));
  Windows all;
  for (const std::string& text : KV_TRY(textsOf(content, path))) {
    const std::vector<TokenId> tokens = KV_TRY(tokenizer.encode(text, false));
    out.tokens += std::ssize(tokens);
    cut(tokens, openingOf(tokenizer), at(window), all);
  }
  if (all.size() < 2)
    return Error("short_text", "nothing was recorded",
                 path + " has " + std::to_string(out.tokens) + " tokens, and training needs at least " +
                     std::to_string(window + kLeastWindow) + ": a window of " + std::to_string(window) +
                     " to learn from, and " + std::to_string(kLeastWindow) + " more to measure on",
                 "give a longer text, or a smaller --window", "text", path);
  out.windows = spread(std::move(all), rows);
  return out;
}

Result<TrainingRecord> recordTraining(const TrainingOrder& order, const Progress& progress) {
  return TrainingRecorder(order, progress).run();
}

}  // namespace kvlab
