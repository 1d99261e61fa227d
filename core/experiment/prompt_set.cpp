// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/prompt_set.h"

#include <algorithm>

#include "core/model/files/json_fields.h"

namespace kvlab {

using nlohmann::json;

namespace {

constexpr const char* kRemedy = "correct the prompt set; resources/prompts/README.md has its fields";

class PromptReader {
 public:
  PromptReader(const std::string& file, const Model& model, const PromptUse& use)
      : m_file(file), m_model(model), m_limits(use) {}

  Result<std::vector<SweepStory>> stories(const json& list, const std::string& place) {
    if (!list.is_array() || list.empty()) return bad(place, "holds no story");
    std::vector<SweepStory> out;
    for (std::size_t i = 0;
         i < list.size() && (m_limits.stories == 0 || i < static_cast<std::size_t>(m_limits.stories)); ++i) {
      out.push_back(KV_TRY(story(list[i], place + "[" + std::to_string(i) + "]")));
    }
    return out;
  }

  Error bad(const std::string& place, const std::string& why) const { return badPrompts(m_file, place, why); }

 private:
  Status known(const json& object, const std::string& place, std::initializer_list<const char*> keys) const {
    if (!object.is_object()) return bad(place, "is no object");
    for (const auto& [key, value] : object.items())
      if (std::none_of(keys.begin(), keys.end(), [&key = key](const char* one) { return key == one; }))
        return bad(place + "." + key, "is not a known key");
    return ok();
  }

  /// `key` as a text, or `ids` as token ids.
  Result<std::vector<TokenId>> tokens(const json& object, const std::string& place, const char* key, const char* ids,
                                      bool opens) const {
    if (object.contains(key)) {
      if (!object[key].is_string()) return bad(place + "." + key, "is no text");
      Result<std::vector<TokenId>> out = m_model.tokenizer().encode(object[key].get<std::string>(), opens);
      if (!out) return bad(place + "." + key, "was not tokenised: " + out.error().text());
      return out->empty() ? Result<std::vector<TokenId>>(bad(place + "." + key, "has no tokens")) : out;
    }
    if (!object.contains(ids)) return bad(place, std::string("has neither ") + key + " nor " + ids);
    std::vector<TokenId> out;
    for (const json& id : object[ids]) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= m_model.config().vocab)
        return bad(place + "." + ids, "holds " + id.dump() + ", which is no token of the model");
      out.push_back(TokenId(id.get<std::int32_t>()));
    }
    return out.empty() ? Result<std::vector<TokenId>>(bad(place + "." + ids, "has no tokens")) : out;
  }

  Status whole(const json& object, const std::string& place, const char* key, std::int32_t& out, std::int64_t low,
               std::int64_t high) const {
    if (!object.contains(key)) return bad(place + "." + key, "is missing");
    const json& value = object[key];
    if (!value.is_number_integer() || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
      return bad(place + "." + key,
                 value.dump() + " is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    out = value.get<std::int32_t>();
    return ok();
  }

  Status needle(const json& object, const std::string& place, std::int32_t length, SweepQuestion& out) const {
    std::int32_t decides = 0;
    KV_TRY(whole(object, place, "needle_at", decides, 0, length - 1));
    out.needleAt = {decides};
    out.needles = {{decides, decides + 1}};
    if (object.contains("needle")) {
      const json& span = object["needle"];
      const bool pair =
          span.is_array() && span.size() == 2 && span[0].is_number_integer() && span[1].is_number_integer();
      if (!pair || span[0].get<std::int64_t>() < 0 || span[1].get<std::int64_t>() <= span[0].get<std::int64_t>() ||
          span[1].get<std::int64_t>() > length)
        return bad(place + ".needle",
                   span.dump() + " is no [begin, end) inside the story's " + std::to_string(length) + " tokens");
      out.needles = {{span[0].get<std::int32_t>(), span[1].get<std::int32_t>()}};
    }
    out.distance = length - decides;
    return object.contains("distance") ? whole(object, place, "distance", out.distance, 0, 1 << 30) : ok();
  }

  Result<SweepQuestion> question(const json& object, const std::string& place, std::int32_t length) const {
    KV_TRY(known(
        object, place,
        {"text", "ids", "reply", "reply_ids", "deciding", "needle", "needle_at", "distance", "held_out", "moved"}));
    SweepQuestion out;
    std::vector<TokenId> asked = KV_TRY(tokens(object, place, "text", "ids", false));
    std::vector<TokenId> reply = KV_TRY(tokens(object, place, "reply", "reply_ids", false));
    std::int32_t deciding = 0;
    KV_TRY(whole(object, place, "deciding", deciding, 0, static_cast<std::int64_t>(reply.size()) - 1));
    KV_TRY(needle(object, place, length, out));
    out.tokens = std::move(asked);
    out.reply.assign(reply.begin(), reply.begin() + deciding + 1);
    return out;
  }

  Result<SweepStory> story(const json& object, const std::string& place) const {
    KV_TRY(known(object, place, {"text", "ids", "tokens", "questions"}));
    SweepStory out;
    out.tokens = KV_TRY(tokens(object, place, "text", "ids", true));
    const auto length = static_cast<std::int32_t>(out.tokens.size());
    if (object.contains("tokens") && object["tokens"] != length)
      return bad(place + ".tokens",
                 "is " + object["tokens"].dump() + ", but this model's tokenizer gives " + std::to_string(length) +
                     ": positions would not fit");
    const json list = object.value("questions", json());
    if (!list.is_array() || list.empty()) return bad(place + ".questions", "holds no question");
    for (std::size_t i = 0;
         i < list.size() && (m_limits.questions == 0 || i < static_cast<std::size_t>(m_limits.questions)); ++i) {
      out.questions.push_back(KV_TRY(question(list[i], place + ".questions[" + std::to_string(i) + "]", length)));
    }
    return out;
  }

  const std::string& m_file;
  const Model& m_model;
  PromptUse m_limits;
};

}  // namespace

Error badPrompts(const std::string& file, const std::string& place, const std::string& why) {
  return {"bad_prompts", "cannot use the prompts of " + file, place + " " + why, kRemedy, place};
}

Result<std::vector<SweepStory>> readStories(const json& set, const std::string& file, std::int64_t seed,
                                            const Model& model, const PromptUse& use) {
  if (set.is_array()) return readSamples(set, file, model, use);
  PromptReader reader(file, model, use);
  if (!set.is_object()) return reader.bad("the file", "is neither an object nor lines of samples");
  if (use.chat || use.newTokens)
    return reader.bad("the file", "has stories, for which chat and max_new_tokens mean nothing");
  for (const auto& [key, value] : set.items())
    if (key != "name" && key != "about" && key != "sets" && key != "stories")
      return reader.bad(key, "is not a known key");
  if (set.contains("stories")) return reader.stories(set["stories"], "stories");
  const json sets = set.value("sets", json());
  if (!sets.is_array()) return reader.bad("sets", "is missing, and so is stories");
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (sets[i].is_object() && sets[i].value("seed", json()) == seed)
      return reader.stories(sets[i].value("stories", json()), "sets[" + std::to_string(i) + "].stories");
  return reader.bad("sets", "has no stories for seed " + std::to_string(seed));
}

}  // namespace kvlab
