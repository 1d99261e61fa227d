// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "core/experiment/prompt_set.h"
#include "core/model/files/strict_json.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr std::size_t kMostSampleBytes = std::size_t{2} << 30;
constexpr std::int64_t kMostNewTokens = 65'536;
constexpr int kUsualNewTokens = 50;  // where a sample does not say, as in kvpress's pipeline
constexpr std::string_view kLinesEnd = ".jsonl";

/// Reads one sample. Fields have the names of kvpress's data sets or of lm-eval's ruler tasks (input, outputs,
/// gen_prefix); other fields are passed over.
class SampleReader {
 public:
  SampleReader(const json& sample, const std::string& file, std::string place)
      : m_sample(sample), m_file(file), m_place(std::move(place)) {}

  Result<TaskDraft> draft() const {
    if (!m_sample.is_object()) return bad("", "is no object");
    TaskDraft out;
    out.context = KV_TRY(text({"context", "input"}, true));
    out.question = KV_TRY(text({"question"}, false));
    out.answerPrefix = KV_TRY(text({"answer_prefix", "gen_prefix"}, false));
    out.answers = KV_TRY(answers());
    if (out.context.empty()) return bad("context", "is empty");
    return out;
  }

  Result<std::int32_t> newTokens() const {
    const json value = m_sample.value("max_new_tokens", json());
    if (value.is_null()) return kUsualNewTokens;
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > kMostNewTokens)
      return bad("max_new_tokens", "is not a whole number from 1 to " + std::to_string(kMostNewTokens));
    return value.get<std::int32_t>();
  }

  Result<std::optional<double>> depth() const {
    const json value = m_sample.value("depth", json());
    if (value.is_null()) return std::optional<double>();
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
      return bad("depth", "is no number from 0 to 1");
    return std::optional(value.get<double>());
  }

  /// [begin, end) places inside `length` tokens.
  Result<std::vector<TaskSpan>> spans(const char* key, std::int64_t length) const {
    std::vector<TaskSpan> out;
    const json list = m_sample.value(key, json::array());
    if (!list.is_array()) return bad(key, "is no list of [begin, end]");
    for (const json& span : list) {
      const bool pair =
          span.is_array() && span.size() == 2 && span[0].is_number_integer() && span[1].is_number_integer();
      if (!pair || span[0].get<std::int64_t>() < 0 || span[1].get<std::int64_t>() <= span[0].get<std::int64_t>() ||
          span[1].get<std::int64_t>() > length)
        return bad(key,
                   "holds " + span.dump() + ", which is no [begin, end] inside the context's " +
                       std::to_string(length) + " tokens");
      out.push_back({span[0].get<std::int32_t>(), span[1].get<std::int32_t>()});
    }
    return out;
  }

  Error bad(const std::string& field, const std::string& why) const {
    return badPrompts(m_file, field.empty() ? m_place : m_place + "." + field, why);
  }

 private:
  Result<std::string> text(std::initializer_list<const char*> names, bool required) const {
    for (const char* name : names) {
      const json value = m_sample.value(name, json());
      if (value.is_null()) continue;
      if (!value.is_string()) return bad(name, "is no text");
      return value.get<std::string>();
    }
    if (required) return bad(*names.begin(), "is missing");
    return std::string();
  }

  Result<std::vector<std::string>> answers() const {
    for (const char* name : {"answers", "answer", "outputs"}) {
      json value = m_sample.value(name, json());
      if (value.is_null()) continue;
      if (value.is_string()) value = json::array({value});
      if (!value.is_array() || value.empty()) return bad(name, "is neither a text nor a list of texts");
      std::vector<std::string> out;
      for (const json& one : value) {
        if (!one.is_string() || one.get_ref<const std::string&>().empty())
          return bad(
              name,
              "holds " + one.dump(-1, ' ', false, json::error_handler_t::replace) + ", which is no text with letters");
        out.push_back(one.get<std::string>());
      }
      return out;
    }
    return bad("answers", "is missing");
  }

  const json& m_sample;
  const std::string& m_file;
  std::string m_place;
};

/// Joins samples of one context to a story.
class SampleStories {
 public:
  SampleStories(const std::string& file, const Model& model, const PromptUse& use, const TaskFrame& frame)
      : m_file(file), m_model(model), m_use(use), m_frame(frame) {}

  Status add(const json& sample, const std::string& place) {
    const SampleReader reader(sample, m_file, place);
    const TaskDraft draft = KV_TRY(reader.draft());
    const auto known = m_places.find(draft.context);
    const auto most = static_cast<std::size_t>(m_use.stories), each = static_cast<std::size_t>(m_use.questions);
    if (known == m_places.end() && most && m_stories.size() == most) return ok();
    if (known != m_places.end() && each && m_stories[known->second].questions.size() == each) return ok();
    Result<AskedTokens> tokens = askedTokens(draft, m_frame, m_model.tokenizer());
    if (!tokens) return reader.bad("", "was not tokenised: " + tokens.error().text());
    for (const auto* part : {&tokens->context, &tokens->question, &tokens->reply})
      if (const Status fits = checkRows(m_model.tokenizer(), *part, m_model.config().vocab); !fits)
        return reader.bad("", "cannot be read by the model: " + fits.error().text());
    if (tokens->context.empty() || tokens->reply.empty()) return reader.bad("", "has no tokens");
    const auto length = static_cast<std::int64_t>(tokens->context.size());
    SweepQuestion question{tokens->question, tokens->reply};
    question.answers = draft.answers;
    question.newTokens = m_use.newTokens ? m_use.newTokens : KV_TRY(reader.newTokens());
    question.depth = KV_TRY(reader.depth());
    question.needles = KV_TRY(reader.spans("needles", length));
    for (const TaskSpan& span : KV_TRY(reader.spans("answers_at", length)))
      for (std::int32_t at = span.begin; at < span.end; ++at) question.needleAt.push_back(at);
    const auto first = std::min_element(question.needleAt.begin(), question.needleAt.end());
    question.distance = static_cast<std::int32_t>(length) - (first == question.needleAt.end() ? 0 : *first);
    const std::size_t at = known == m_places.end() ? m_stories.size() : known->second;
    if (at == m_stories.size()) {
      m_places.emplace(draft.context, at);
      m_stories.push_back({std::move(tokens->context), {}});
    }
    m_stories[at].questions.push_back(std::move(question));
    return ok();
  }

  std::vector<SweepStory> take() { return std::move(m_stories); }

 private:
  const std::string& m_file;
  const Model& m_model;
  const PromptUse& m_use;
  const TaskFrame& m_frame;
  std::map<std::string, std::size_t> m_places;  // of stories, by their context
  std::vector<SweepStory> m_stories;
};

}  // namespace

Result<json> readPromptFile(const std::string& path) {
  if (!path.ends_with(kLinesEnd)) return readJsonFile(path, "bad_prompts");
  const std::string text = KV_TRY(readFile(path, "bad_prompts", kMostSampleBytes));
  json out = json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const bool blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    const std::string place = path + ", line " + std::to_string(out.size() + 1);
    out.push_back(blank ? json() : KV_TRY(parseJson(line, place, "bad_prompts")));
    begin = end + 1;
  }
  return out;
}

Result<std::vector<SweepStory>> readSamples(const json& list, const std::string& file, const Model& model,
                                            const PromptUse& use) {
  const TaskFrame frame = KV_TRY(taskFrame(model, use.chat));
  SampleStories stories(file, model, use, frame);
  const bool lines = file.ends_with(kLinesEnd);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!lines || !list[i].is_null())
      KV_TRY(stories.add(list[i], lines ? "line " + std::to_string(i + 1) : "[" + std::to_string(i) + "]"));
  std::vector<SweepStory> out = stories.take();
  if (out.empty()) return badPrompts(file, "the file", "holds no sample");
  return out;
}

}  // namespace kvlab
