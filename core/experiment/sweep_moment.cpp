// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_moment.h"

#include <algorithm>
#include <charconv>

#include "core/experiment/sweep_journal.h"
#include "core/experiment/sweep_runner.h"
#include "core/session/ticks.h"
#include "core/tasks/string_match.h"
#include "core/verbs/verbs.h"

namespace kvlab {

using nlohmann::json;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kNotOpened = "the cell was not opened";

/// The row of a cell that is done, with its answers.
Result<SweepRow> doneRow(const JournalLines& journal, const std::string& path, const SweepPlace& place) {
  for (const Json& line : journal.lines) {
    SweepRow row = KV_TRY(sweepRow(line.value("row", Json()), path));
    if (row.index != place.cell) continue;
    row.answers = KV_TRY(sweepAnswers(line.value("answers", Json()), path));
    if (!row.error) return row;
    return Error("missing_cells", kNotOpened, "cell " + std::to_string(place.cell) + " failed: " + row.error->text(),
                 "open another one");
  }
  return Error("missing_cells", kNotOpened, path + " has no cell " + std::to_string(place.cell),
               "let the sweep go on, or name the folder of the shard that has the cell");
}

Result<SweepSpec> specIn(const JournalLines& journal, const std::string& path) {
  if (!journal.head.is_object() || !journal.head.contains("spec"))
    return Error("bad_journal", kNotOpened, path + " has no specification in its first line", "run the sweep again");
  return SweepSpec::fromJson(json::parse(journal.head["spec"].dump()));
}

/// A policy that the reference run had to tell what comes cannot decide again without it.
Status needsNoFuture(const Manifest& manifest) {
  if (const PolicySpec* told = policyToldOfFuture(manifest))
    return Error("unsupported", kNotOpened, "the policy " + told->name + " was told the attention of the reference run",
                 "open a cell of another policy");
  return ok();
}

/// The manifest of the cell without the settings of cells on which no result depends: no history, no checks. Answers
/// are the likeliest tokens, whatever the manifest says of sampling.
Result<Manifest> openedManifest(const SweepSpec& spec, const SweepCell& cell) {
  json out = cell.manifest.toJson();
  for (const char* key : {"threads", "history_bytes", "check"})
    if (!spec.base.contains(key)) out.erase(key);
  out.erase("sampling");
  return Manifest::fromJson(out);
}

struct Asked {
  const SweepStory* story = nullptr;
  const SweepQuestion* question = nullptr;
  int storyPlace = 0, place = 0;  // in the prompt set
};

Result<Asked> questionOf(const std::vector<SweepStory>& stories, int wanted) {
  int count = 0;
  for (std::size_t s = 0; s < stories.size(); ++s)
    for (std::size_t q = 0; q < stories[s].questions.size(); ++q)
      if (count++ == wanted)
        return Asked{&stories[s], &stories[s].questions[q], static_cast<int>(s), static_cast<int>(q)};
  return Error("bad_argument", kNotOpened, "the cell has no question " + std::to_string(wanted),
               "name one from 0 to " + std::to_string(count - 1), "question", wanted);
}

/// The verbs that a session is given, which its history keeps.
class Telling {
 public:
  explicit Telling(Session& session) : m_session(session) {}

  Status read(const std::vector<TokenId>& tokens) { return tick("promptIds", {{"ids", numbers(tokens)}}); }

  /// One token a tick, as a sweep feeds them, whatever the session's block is.
  Status feed(const std::vector<TokenId>& tokens) {
    const auto each = m_session.manifest().ring.blockTokens > 1 ? std::size_t{1} : tokens.size();
    for (std::size_t i = 0; i < tokens.size(); i += each)
      KV_TRY(tick("step",
                  {{"tokens",
                    numbers({tokens.begin() + std::ptrdiff_t(i),
                             tokens.begin() + std::ptrdiff_t(std::min(tokens.size(), i + each))})}}));
    return ok();
  }

  /// The likeliest tokens up to an end of text: `most`, or one more than `reported`. The last one is not fed, as in a
  /// sweep.
  Result<std::vector<std::int32_t>> answer(std::size_t reported, std::int32_t most) {
    const std::vector<TokenId> ends = m_session.model().tokenizer().eos();
    std::vector<std::int32_t> out;
    while (out.size() <= reported) {
      const TokenId next = KV_TRY(peek(m_session));
      if (std::ranges::find(ends, next) != ends.end()) break;
      out.push_back(next.value());
      if (std::ssize(out) >= most) break;
      KV_TRY(tick(
          "step",
          m_session.manifest().ring.blockTokens > 1 ? json{{"tokens", json::array({next.value()})}} : json{{"n", 1}}));
    }
    return out;
  }

 private:
  static json numbers(const std::vector<TokenId>& tokens) {
    json out = json::array();
    for (const TokenId one : tokens) out.push_back(one.value());
    return out;
  }

  Status tick(const char* verb, const json& args) {
    const json reply = KV_TRY(execute(m_session, verb, args));
    const json& last = reply.is_array() ? reply.back() : reply;
    if (last.value("ok", false)) return ok();
    return Error::fromJson(last.value("error", json::object()));
  }

  Session& m_session;
};

/// Asks the question; the answer where the cell has one.
Status askAgain(const Asked& asked, Ask ask, SweepMoment& moment) {
  const SweepQuestion& question = *asked.question;
  Telling telling(*moment.session);
  std::vector<TokenId> prompt = asked.story->tokens;
  if (ask == Ask::Inside) prompt.insert(prompt.end(), question.tokens.begin(), question.tokens.end());
  KV_TRY(telling.read(prompt));
  if (ask == Ask::After) KV_TRY(telling.feed(question.tokens));
  if (!moment.reported) return telling.feed({question.reply.begin(), question.reply.end() - 1});
  SweepAnswer& out = moment.found.emplace(*moment.reported);
  out.ids = KV_TRY(telling.answer(moment.reported->ids.size(), question.newTokens));
  std::vector<TokenId> ids(out.ids.begin(), out.ids.end());
  out.text = moment.session->model().tokenizer().decode(ids, true);
  const StringMatch match = stringMatch(out.text, question.answers);
  out.score = match.all;
  out.part = match.part;
  return ok();
}

}  // namespace

Result<SweepPlace> sweepPlace(const std::string& folder, const std::string& text) {
  SweepPlace out{folder};
  const char *begin = text.data(), *end = begin + text.size();
  auto read = std::from_chars(begin, end, out.cell);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == ':')
    read = std::from_chars(read.ptr + 1, end, out.question);
  if (read.ec == std::errc() && read.ptr == end && out.cell >= 0 && out.question >= 0) return out;
  return Error("bad_argument", kNotOpened, text + " is no cell", "write CELL or CELL:QUESTION, such as 17:2", "cell",
               text);
}

Result<SweepMoment> openSweepCell(const SweepPlace& place, const std::string& resources, const Progress& progress) {
  const std::string path = place.folder + "/journal.jsonl";
  const JournalLines journal = KV_TRY(readJournal(path));
  const SweepSpec spec = KV_TRY(specIn(journal, path));
  SweepOptions options;
  options.resources = resources;
  const SweepCellInput input = KV_TRY(sweepCellInput(spec, options, place.cell));
  SweepMoment out;
  out.row = KV_TRY(doneRow(journal, path, place));
  if (out.row.id != input.id)
    return Error("sweep_changed", kNotOpened,
                 "model, prompts or arithmetic are not those that " + path + " was made with",
                 "use the files of then, or run the sweep again", "cell", place.cell);
  KV_TRY(needsNoFuture(input.cell.manifest));
  const Asked asked = KV_TRY(questionOf(input.stories, place.question));
  for (const SweepAnswer& one : out.row.answers)
    if (one.story == asked.storyPlace && one.question == asked.place) out.reported = one;
  const Manifest manifest = KV_TRY(openedManifest(spec, input.cell));
  out.session = KV_TRY(openSession(manifest, resources, progress));
  out.session->setProgress(progress);
  KV_TRY(askAgain(asked, spec.prompts[input.cell.prompts].ask, out));
  out.session->setProgress({});
  return out;
}

}  // namespace kvlab
