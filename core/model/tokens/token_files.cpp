// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/token_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "core/model/files/strict_json.h"
#include "core/model/tokens/tokenizer_files.h"

namespace kvlab {
namespace {

using bpe::AddedToken;
using nlohmann::json;

/// In the order in which transformers adds them.
constexpr std::array kNames{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
constexpr std::array kLists{"additional_special_tokens", "extra_special_tokens"};

/// Null where there is no such file.
Result<json> readObject(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return json();
  auto read = KV_TRY(readJsonFile(file, "bad_tokenizer"));
  if (!read.is_object()) return badTokenizer(file, "not a JSON object");
  return read;
}

/// A text, or an object with flags. Nothing for anything else.
Result<std::optional<AddedToken>> specialToken(const json& value, const std::string& file) {
  AddedToken token{.content = value.is_string() ? value.get<std::string>() : "", .normalized = false, .special = true};
  if (value.is_string()) return std::optional(token);
  if (!value.is_object()) return std::optional<AddedToken>();
  json as = value;
  as["id"] = 0;
  as["special"] = true;
  return std::optional(KV_TRY(bpe::addedTokenFromJson(JsonFields(as, file, "bad_tokenizer"))));
}

class Reader {
 public:
  explicit Reader(const std::string& directory) : m_directory(directory) {}

  Result<TokenFiles> read() {
    m_config = KV_TRY(readObject(path("tokenizer_config.json")));
    if (m_config.is_null()) m_config = json::object();
    m_out.complete = m_config.contains("added_tokens_decoder");
    if (!m_out.complete) KV_TRY(mergeMap());
    KV_TRY(readSpecial());
    KV_TRY(m_out.complete ? readDecoder() : readAddedTokens());
    readFlags();
    return std::move(m_out);
  }

 private:
  std::string path(const char* name) const { return m_directory + "/" + name; }

  /// special_tokens_map.json overrides tokenizer_config.json, and adds to its lists.
  Status mergeMap() {
    const auto map = KV_TRY(readObject(path("special_tokens_map.json")));
    for (const auto& [key, value] : map.items()) {
      json merged = value;
      if (value.is_array() && m_config.contains(key) && m_config.at(key).is_array()) {
        merged = m_config.at(key);
        std::set<json> known(merged.begin(), merged.end());
        for (const json& one : value)
          if (known.insert(one).second) merged.push_back(one);
      }
      m_config[key] = merged;
    }
    return ok();
  }

  Status readSpecial() {
    for (const char* name : kNames) {
      if (!m_config.contains(name)) continue;
      const auto token = KV_TRY(specialToken(m_config.at(name), path("tokenizer_config.json")));
      m_out.names[name] = token ? token->content : "";
      if (token) m_out.special.push_back(*token);
    }
    for (const char* name : kLists) {
      const json list = m_config.value(name, json());  // or an object of names
      for (const json& one : list)
        if (const auto token = KV_TRY(specialToken(one, path("tokenizer_config.json"))))
          m_out.special.push_back(*token);
    }
    return ok();
  }

  /// {"32000": {"content": .., ..}, ..}
  Status readDecoder() {
    const std::string file = path("tokenizer_config.json");
    const json& decoder = m_config.at("added_tokens_decoder");
    if (!decoder.is_object()) return badTokenizer(file, "added_tokens_decoder is not an object");
    for (const auto& [key, value] : decoder.items()) {
      std::int32_t id = 0;
      const auto end = std::from_chars(key.data(), key.data() + key.size(), id);
      if (end.ec != std::errc{} || end.ptr != key.data() + key.size() || !value.is_object())
        return badTokenizer(file, "added_tokens_decoder has \"" + key + "\", which is not a token by its id");
      json token = value;
      token["id"] = id;
      m_out.listed.push_back(KV_TRY(bpe::addedTokenFromJson(JsonFields(token, file, "bad_tokenizer"))));
    }
    return sortListed();
  }

  /// {"<|im_end|>": 32000, ..}
  Status readAddedTokens() {
    const std::string file = path("added_tokens.json");
    const auto added = KV_TRY(readObject(file));
    std::set<std::string, std::less<>> named;
    for (const AddedToken& one : m_out.special) named.insert(one.content);
    for (const auto& [content, id] : added.items()) {
      if (!id.is_number_integer() || id < 0 || id >= bpe::BpeModel::kMaxId)
        return badTokenizer(file, "\"" + content + "\" has no id");
      const bool special = named.contains(content);
      m_out.listed.push_back(
          {.id = id.get<std::int32_t>(), .content = content, .normalized = !special, .special = special});
    }
    return sortListed();
  }

  Status sortListed() {
    std::stable_sort(m_out.listed.begin(), m_out.listed.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    return ok();
  }

  void readFlags() {
    const auto flag = [&](const char* key) {
      const auto it = m_config.find(key);
      return it != m_config.end() && it->is_boolean() ? std::optional(it->get<bool>()) : std::nullopt;
    };
    m_out.addBos = flag("add_bos_token");
    m_out.addEos = flag("add_eos_token");
    m_out.addPrefixSpace = flag("add_prefix_space");
    m_out.legacy = flag("legacy").value_or(true);
  }

  const std::string& m_directory;
  json m_config;
  TokenFiles m_out;
};

/// The tokens of the files to add to a tokenizer that has `own` tokens beside its vocabulary, in order.
std::vector<AddedToken> tokensToAdd(const TokenFiles& files, const std::vector<AddedToken>& own) {
  std::vector<AddedToken> out = files.listed;
  if (!files.complete) {
    std::map<std::int32_t, AddedToken> byId;
    for (const AddedToken& one : files.listed) byId.insert_or_assign(one.id, one);
    for (const AddedToken& one : own) byId.insert_or_assign(one.id, one);
    out.clear();
    for (const auto& [id, one] : byId) out.push_back(one);
  }
  std::set<std::string, std::less<>> known, special;
  for (const auto* list : {&own, &std::as_const(out)})
    for (const AddedToken& one : *list) known.insert(one.content);
  for (const AddedToken& one : files.special) {
    special.insert(one.content);
    if (!known.contains(one.content)) out.push_back(one);  // once more where it is named twice: the last flags count
  }
  for (AddedToken& one : out) one.special = one.special || special.contains(one.content);
  return out;
}

/// A token that is named again.
AddedToken renamed(const AddedToken& old, AddedToken next) {
  next.special = next.special || old.special;
  // The library looks for a token in the way that its first mention as a special token asks for, and before that
  // mention in the way of every other one.
  next.bothWays = old.bothWays || (!old.special && old.normalized != next.normalized);
  if (old.special) next.normalized = old.normalized;
  return next;
}

}  // namespace

Result<TokenFiles> readTokenFiles(const std::string& directory) { return Reader(directory).read(); }

void nameEnds(const TokenFiles& files, const std::vector<AddedToken>& added, TokenId& bos, std::vector<TokenId>& eos) {
  const auto named = [&](const char* name) -> std::optional<TokenId> {
    const auto text = files.names.find(name);
    if (text == files.names.end()) return {};
    for (const AddedToken& one : added)
      if (one.content == text->second) return TokenId(one.id);
    return TokenId(-1);
  };
  bos = named("bos_token").value_or(bos);
  const TokenId end = named("eos_token").value_or(TokenId(-1));
  if (end.value() < 0) return;
  std::erase(eos, end);
  eos.insert(eos.begin(), end);
}

std::optional<std::vector<AddedToken>> addedTokens(const TokenFiles& files, const std::vector<AddedToken>& own,
                                                   std::int32_t size, const IdOf& idOf) {
  std::map<std::int32_t, AddedToken> byId;
  std::unordered_map<std::string, std::int32_t> ids;
  for (const auto& list : {own, tokensToAdd(files, own)})
    for (AddedToken token : list) {
      if (token.content.empty()) continue;
      const auto named = ids.find(token.content);
      const std::int32_t free = byId.empty() ? size : std::max(size, byId.rbegin()->first + 1);
      token.id = named != ids.end() ? named->second : idOf(token.content).value_or(free);
      if (token.id >= bpe::BpeModel::kMaxId) return {};
      ids[token.content] = token.id;
      const auto known = byId.find(token.id);
      if (known != byId.end()) known->second = renamed(known->second, std::move(token));
      else byId.emplace(token.id, std::move(token));
    }
  std::vector<AddedToken> out;
  for (auto& [id, token] : byId) out.push_back(std::move(token));
  return out;
}

}  // namespace kvlab
