// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>

#include "core/model/tokens/bpe_tokenizer.h"
#include "core/model/tokens/merges.h"
#include "core/model/tokens/split_rules.h"
#include "core/model/tokens/tokenizer_files.h"
#include "core/model/tokens/utf8.h"

namespace kvlab {
namespace {

using nlohmann::json;

enum TokenType : std::int32_t { kNoType, kNormal, kUnknown, kControl, kUser, kUnused, kByte };

constexpr std::string_view kMetaspace = "\xe2\x96\x81";  // U+2581
constexpr std::size_t kMostAdded = 1 << 18, kMostToken = 1 << 16;

/// Makes the parts of one file's tokenizer. Lives for one call.
class GgufParts {
 public:
  GgufParts(const GgufTokenizer& keys, const std::string& file) : m_keys(keys), m_file(file) {}

  Result<bpe::Parts> parts() {
    KV_TRY(checkTokens());
    KV_TRY(findSpecial());
    if (m_keys.model == "gpt2") KV_TRY(byteLevel());
    else if (m_keys.model == "llama") KV_TRY(sentencePiece());
    else if (m_keys.model == "gemma4") KV_TRY(spacesMarked());
    else
      return bad("tokenizer.ggml.model is \"" + shownText(m_keys.model) + "\", which is not implemented",
                 "use a model whose vocabulary is gpt2 (byte-level BPE), llama (SentencePiece) or gemma4");
    addTokens();
    KV_TRY(surround());
    return std::move(m_out);
  }

 private:
  Error bad(const std::string& why, const std::string& remedy = "use an undamaged copy of the file") const {
    return badTokenizer(m_file, why, remedy);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(m_keys.tokens.size()); }
  std::int32_t type(std::size_t i) const {
    if (m_keys.types.empty()) return bpe::byteOfToken(m_keys.tokens[i]) >= 0 ? kByte : kNormal;
    return m_keys.types[i];
  }
  bool special(std::size_t i) const {
    const auto id = static_cast<std::int32_t>(i);
    return type(i) == kControl || type(i) == kUnknown || id == m_bos || id == m_eos || id == m_keys.eot ||
        id == m_unknown;
  }

  Status checkTokens();
  Status findSpecial();
  Status byteLevel();
  Status spacesMarked();
  Status sentencePiece();
  Status readMerges();
  Status scoreMerges();
  void addTokens();
  Status surround();
  Status vocabulary(const bpe::BpeModel::Options& options);
  template <class Step>
  Status read(const json& step, Result<Step> (*reader)(const JsonFields&), Step& out) const;

  const GgufTokenizer& m_keys;
  const std::string& m_file;
  std::vector<std::string> m_tokens;  // as merges spell them
  std::int32_t m_bos = -1, m_eos = -1, m_unknown = -1;
  bool m_addBos = false;  // the default if the file has no such key
  bpe::Parts m_out;
};

template <class Step>
Status GgufParts::read(const json& step, Result<Step> (*reader)(const JsonFields&), Step& out) const {
  if (!step.is_null()) out = KV_TRY(reader(JsonFields(step, m_file, "bad_tokenizer")));
  return ok();
}

Status GgufParts::checkTokens() {
  const std::size_t n = m_keys.tokens.size();
  if (n == 0) return bad("tokenizer.ggml.tokens is missing or empty");
  if (n >= static_cast<std::size_t>(bpe::BpeModel::kMaxId))
    return bad("tokenizer.ggml.tokens has " + std::to_string(n) + " entries, too many");
  for (const auto& [name, have] : {std::pair{"scores", m_keys.scores.size()}, {"token_type", m_keys.types.size()}})
    if (have != 0 && have != n)
      return bad(std::string("tokenizer.ggml.") + name + " has " + std::to_string(have) + " entries, tokens has " +
                 std::to_string(n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::string where = "tokenizer.ggml.tokens: token " + std::to_string(i);
    if (m_keys.tokens[i].size() > kMostToken) return bad(where + " is too long");
    if (invalidUtf8At(m_keys.tokens[i]) != std::string::npos) return bad(where + " is not UTF-8");
    if (!m_keys.types.empty() && (m_keys.types[i] < kNoType || m_keys.types[i] > kByte))
      return bad("tokenizer.ggml.token_type: token " + std::to_string(i) + " has type " +
                 std::to_string(m_keys.types[i]) + ", outside 1 to 6");
  }
  return ok();
}

/// Ids that the file names; SentencePiece's own names where the file names none.
Status GgufParts::findSpecial() {
  for (const auto& [name, id] : {std::pair{"bos", m_keys.bos}, std::pair{"eos", m_keys.eos},
                                 std::pair{"eot", m_keys.eot}, std::pair{"unknown", m_keys.unknown}})
    if (id < -1 || id >= size())
      return bad(std::string("tokenizer.ggml.") + name + "_token_id is " + std::to_string(id) + ", outside 0 to " +
                 std::to_string(size() - 1));
  m_bos = m_keys.bos;
  m_eos = m_keys.eos;
  m_unknown = m_keys.unknown;
  if (m_keys.model == "gpt2") return ok();
  for (const auto& [name, id] : {std::pair{"<s>", &m_bos}, std::pair{"</s>", &m_eos}, std::pair{"<unk>", &m_unknown}}) {
    const auto found = std::find(m_keys.tokens.begin(), m_keys.tokens.end(), name);
    if (*id < 0 && found != m_keys.tokens.end()) *id = static_cast<std::int32_t>(found - m_keys.tokens.begin());
  }
  return ok();
}

Status GgufParts::vocabulary(const bpe::BpeModel::Options& options) {
  std::string why;
  auto model = bpe::BpeModel::fromTokens(m_tokens, options, why);
  if (!model) return bad("tokenizer.ggml.tokens: " + why);
  m_out.model = std::move(*model);
  return ok();
}

Status GgufParts::readMerges() {
  if (m_keys.merges.empty()) return bad("tokenizer.ggml.merges is missing or empty");
  for (std::size_t rank = 0; rank < m_keys.merges.size(); ++rank) {
    const std::string_view merge = m_keys.merges[rank];
    const auto space = merge.find(' ', 1);
    const auto refuse = [&](const char* why) {
      return bad("tokenizer.ggml.merges: merge " + std::to_string(rank) + " " + why);
    };
    if (merge.size() > 2 * kMostToken || invalidUtf8At(merge) != std::string::npos) return refuse("is not UTF-8");
    if (space == merge.npos || space + 1 == merge.size()) return refuse("is not two tokens");
    if (!m_out.model.addMerge(merge.substr(0, space), merge.substr(space + 1)))
      return refuse("has or makes a token that is not in the vocabulary");
  }
  return ok();
}

Status GgufParts::byteLevel() {
  bpe::SplitRule rule;
  if (!bpe::splitRule(m_keys.pre, rule))
    return bad(m_keys.pre.empty() ? "tokenizer.ggml.pre is missing: nothing says how text is cut into pieces"
                                  : "tokenizer.ggml.pre is \"" + shownText(m_keys.pre) +
                       "\", a rule of cutting text into pieces that is not known",
               "open the checkpoint's directory with its tokenizer.json instead, or convert the model to a file that "
               "names one of: " +
                   bpe::splitRuleNames());
  m_tokens = m_keys.tokens;
  m_addBos = rule.addBos;
  m_out.byteLevel = true;
  KV_TRY(vocabulary({.ignoreMerges = rule.ignoreMerges}));
  KV_TRY(readMerges());
  KV_TRY(read(rule.normalizer, bpe::normaliserFromJson, m_out.normaliser));
  KV_TRY(read(rule.preTokenizer, bpe::preTokeniserFromJson, m_out.preTokeniser));
  return read({{"type", "ByteLevel"}}, bpe::decoderFromJson, m_out.decoder);
}

json replaceStep(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

/// Spaces are U+2581 and characters outside the vocabulary are bytes; no merges yet.
Status GgufParts::spacesMarked() {
  m_tokens = m_keys.tokens;
  for (std::string& token : m_tokens)  // files of Gemma spell runs of spaces with spaces
    if (token.size() > 1 && token.find_first_not_of(' ') == std::string::npos) {
      std::string marks;
      for (std::size_t i = 0; i < token.size(); ++i) marks += kMetaspace;
      token = std::move(marks);
    }
  const auto unknown = m_unknown < 0 ? std::nullopt : std::optional(m_unknown);
  KV_TRY(vocabulary({.unknown = unknown, .byteFallback = true, .fuseUnknown = true}));
  const bool prefix = m_keys.addSpacePrefix.value_or(m_keys.model == "llama");
  json normal = json::array({replaceStep(" ", kMetaspace)});
  json decoders = json::array({replaceStep(kMetaspace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix) {
    normal.insert(normal.begin(), json{{"type", "Prepend"}, {"prepend", kMetaspace}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  KV_TRY(read({{"type", "Sequence"}, {"normalizers", normal}}, bpe::normaliserFromJson, m_out.normaliser));
  KV_TRY(read({{"type", "Sequence"}, {"decoders", decoders}}, bpe::decoderFromJson, m_out.decoder));
  m_addBos = true;
  return m_keys.model == "gemma4" ? readMerges() : ok();
}

Status GgufParts::sentencePiece() {
  KV_TRY(spacesMarked());
  return m_keys.merges.empty() ? scoreMerges() : readMerges();
}

Status GgufParts::scoreMerges() {
  if (m_keys.scores.empty()) return bad("tokenizer.ggml.scores is missing");
  bpe::ScoredTokens in{m_tokens, m_keys.scores, {}, {}};
  for (std::size_t i = 0; i < m_tokens.size(); ++i) {
    if (!std::isfinite(m_keys.scores[i]))
      return bad("tokenizer.ggml.scores: the score of token " + std::to_string(i) + " is not a finite number");
    in.first.push_back(type(i) == kUser);
    in.joins.push_back(!special(i) && type(i) != kUnused && type(i) != kByte);
  }
  if (!bpe::addScoreMerges(in, m_out.model)) return bad("tokenizer.ggml.tokens: the tokens are too long");
  return ok();
}

/// Control tokens and tokens of the user are found in the text before anything else.
void GgufParts::addTokens() {
  for (std::size_t i = 0; i < m_tokens.size(); ++i) {
    const bool respelled = m_tokens[i] != m_keys.tokens[i];  // merges find it
    if (!special(i) && (type(i) != kUser || respelled)) continue;
    const auto id = static_cast<std::int32_t>(i);
    bpe::AddedToken token{.id = id, .content = m_tokens[i], .normalized = false, .special = special(i)};
    // Phi-3's tokenizer.json has it so; the file has no key for it.
    if (m_keys.architecture == "phi3" && m_keys.model == "llama" && special(i))
      token.rstrip = id != m_bos && id != m_unknown && token.content != "<|endoftext|>";
    m_out.added.push_back(std::move(token));
  }
}

Status GgufParts::surround() {
  if (m_out.added.size() > kMostAdded)
    return bad(std::to_string(m_out.added.size()) + " tokens are control tokens or tokens of the user, the limit is " +
               std::to_string(kMostAdded));
  const auto wanted = [&](const char* name, std::int32_t id, std::optional<bool> said, bool otherwise,
                          std::vector<std::int32_t>& out) -> Status {
    if (said.value_or(false) && id < 0)
      return bad(std::string("tokenizer.ggml.add_") + name + "_token is true, and there is no such token");
    if (said.value_or(otherwise) && id >= 0) out.push_back(id);
    return ok();
  };
  KV_TRY(wanted("bos", m_bos, m_keys.addBos, m_addBos, m_out.surround.before));
  KV_TRY(wanted("eos", m_eos, m_keys.addEos, false, m_out.surround.after));
  m_out.bos = TokenId(m_bos);
  for (const std::int32_t id : {m_eos, m_keys.eot})
    if (id >= 0 && std::find(m_out.eos.begin(), m_out.eos.end(), TokenId(id)) == m_out.eos.end())
      m_out.eos.emplace_back(id);
  return ok();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> tokenizerFromGguf(const GgufTokenizer& keys, const std::string& file) {
  return bpe::tokenizerOf(KV_TRY(GgufParts(keys, file).parts()), file);
}

}  // namespace kvlab
