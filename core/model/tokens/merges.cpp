// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokens/merges.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <queue>

#include "core/model/tokens/utf8.h"

namespace kvlab::bpe {
namespace {

constexpr std::size_t kMaxAffix = 64;

std::uint64_t pairKey(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

constexpr std::uint64_t kMostWork = std::uint64_t{1} << 33;  // bytes hashed

bool affordable(const ScoredTokens& in) {
  std::uint64_t work = 0;
  for (std::size_t i = 0; i < in.tokens.size(); ++i)
    if (in.joins[i]) work += std::uint64_t{in.tokens[i].size()} * in.tokens[i].size();
  return work <= kMostWork;
}

/// Ids, the most important token first.
std::vector<std::size_t> byImportance(const ScoredTokens& in) {
  std::vector<std::size_t> order(in.tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (in.first[a] != in.first[b]) return bool{in.first[a]};
    return !in.first[a] && in.scores[a] > in.scores[b];
  });
  return order;
}

}  // namespace

/// A part of a piece; parts form a list, joined ones drop out with length 0.
struct BpeModel::Symbol {
  std::int32_t id;
  std::int32_t previous, next;  // -1 = none
  bool gone = false;
};

Result<BpeModel> BpeModel::fromJson(const JsonFields& model) {
  const auto type = KV_TRY(model.text("type", "BPE"));
  if (type != "BPE") return model.bad("type", "is a model that is not implemented", "use a BPE tokenizer");
  double dropout = 0;
  KV_TRY(model.number("dropout", dropout, 0.0, 1.0, 0.0));
  if (dropout != 0) return model.bad("dropout", "makes tokens random", "set it to null");
  BpeModel out;
  out.m_fuseUnknown = KV_TRY(model.flag("fuse_unk", false));
  out.m_ignoreMerges = KV_TRY(model.flag("ignore_merges", false));
  const bool fallback = KV_TRY(model.flag("byte_fallback", false));
  for (const auto& [key, member] :
       {std::pair{"continuing_subword_prefix", &out.m_prefix}, std::pair{"end_of_word_suffix", &out.m_suffix}}) {
    auto text = KV_TRY(model.text(key, ""));
    if (text.size() > kMaxAffix) return model.bad(key, "is too long");
    *member = std::move(text);
  }
  KV_TRY(out.readVocabulary(model));
  KV_TRY(out.readMerges(model));
  if (model.has("unk_token")) {
    const auto unknown = KV_TRY(model.text("unk_token"));
    out.m_unknown = out.id(unknown);
    if (!out.m_unknown) return model.bad("unk_token", "is not in the vocabulary");
  }
  if (fallback) out.findBytes();
  return out;
}

std::optional<BpeModel> BpeModel::fromTokens(std::span<const std::string> tokens, const Options& options,
                                             std::string& why) {
  if (tokens.size() >= static_cast<std::size_t>(kMaxId)) return why = "are too many", std::nullopt;
  BpeModel out;
  out.m_ids.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [place, fresh] = out.m_ids.emplace(tokens[i], static_cast<std::int32_t>(i));
    if (tokens[i].empty()) return why = std::to_string(i) + " is empty", std::nullopt;
    if (!fresh) return why = std::to_string(place->second) + " and " + std::to_string(i) + " are equal", std::nullopt;
  }
  out.m_unknown = options.unknown;
  out.m_fuseUnknown = options.fuseUnknown;
  out.m_ignoreMerges = options.ignoreMerges;
  if (options.byteFallback) out.findBytes();
  return out;
}

void BpeModel::findBytes() {
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    m_bytes.push_back(id(name).value_or(-1));
  }
}

Status BpeModel::readVocabulary(const JsonFields& model) {
  if (!model.has("vocab") || !model.json().at("vocab").is_object()) return model.bad("vocab", "is not an object");
  for (const auto& [token, id] : model.json().at("vocab").items()) {
    if (!id.is_number_integer() || id < 0 || id >= kMaxId) {
      Error error = model.bad("vocab", "");
      error.why =
          "vocab: the id of \"" + token + "\" is " + id.dump() + ", not a number below " + std::to_string(kMaxId);
      error.value = id;
      return error;
    }
    m_ids.emplace(token, id.get<std::int32_t>());
  }
  return ok();
}

Status BpeModel::readMerges(const JsonFields& model) {
  if (!model.has("merges") || !model.json().at("merges").is_array()) return model.bad("merges", "is not a list");
  std::size_t rank = 0;
  for (const auto& entry : model.json().at("merges")) {
    std::string_view left, right;
    if (entry.is_string()) {  // "a b"
      const auto& text = entry.get_ref<const std::string&>();
      const auto space = text.find(' ');
      if (space != std::string::npos) {
        left = std::string_view(text).substr(0, space);
        right = std::string_view(text).substr(space + 1);
      }
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      left = entry[0].get_ref<const std::string&>();
      right = entry[1].get_ref<const std::string&>();
    }
    KV_TRY(readMerge(model, rank++, left, right));
  }
  return ok();
}

Status BpeModel::readMerge(const JsonFields& model, std::size_t rank, std::string_view left, std::string_view right) {
  const auto refuse = [&](const std::string& why) {
    Error error = model.bad("merges", "");
    error.why = "merge " + std::to_string(rank) + " " + why;
    error.value = static_cast<std::int64_t>(rank);
    return error;
  };
  if (left.empty() || right.empty()) return refuse("is not two tokens");
  if (right.size() < m_prefix.size()) return refuse("lacks the continuing prefix");
  if (!addMerge(left, right)) return refuse("has or makes a token that is not in the vocabulary");
  return ok();
}

bool BpeModel::addMerge(std::string_view left, std::string_view right) {
  const auto a = id(left), b = id(right);
  if (!a || !b || right.size() < m_prefix.size()) return false;
  const auto joined = id(std::string(left) + std::string(right.substr(m_prefix.size())));
  if (!joined) return false;
  m_merges[pairKey(*a, *b)] = {m_nextRank++, *joined};
  return true;
}

std::optional<std::int32_t> BpeModel::id(std::string_view token) const {
  const auto it = m_ids.find(token);
  return it == m_ids.end() ? std::nullopt : std::optional(it->second);
}

const BpeModel::Merge* BpeModel::merge(std::int32_t left, std::int32_t right) const {
  const auto it = m_merges.find(pairKey(left, right));
  return it == m_merges.end() ? nullptr : &it->second;
}

std::string BpeModel::decorated(std::string_view piece, std::size_t begin, std::size_t end) const {
  std::string out = begin > 0 ? m_prefix : std::string();
  out += piece.substr(begin, end - begin);
  if (end == piece.size()) out += m_suffix;
  return out;
}

/// False, with nothing appended, unless every byte has a token.
bool BpeModel::appendBytes(std::string_view character, std::vector<std::int32_t>& out) const {
  if (m_bytes.empty()) return false;
  for (const char c : character)
    if (m_bytes[static_cast<unsigned char>(c)] < 0) return false;
  for (const char c : character) out.push_back(m_bytes[static_cast<unsigned char>(c)]);
  return true;
}

std::vector<BpeModel::Symbol> BpeModel::symbols(std::string_view piece) const {
  std::vector<std::int32_t> ids;
  bool unknown = false;  // an unknown token waits to be written
  const auto flush = [&] {
    if (unknown) ids.push_back(*m_unknown);
    unknown = false;
  };
  for (std::size_t at = 0; at < piece.size();) {
    const auto end = at + static_cast<std::size_t>(std::max(codePointAt(piece, at).length, 1));
    const std::string character = decorated(piece, at, end);
    if (const auto known = id(character)) {
      flush();
      ids.push_back(*known);
    } else if (!appendBytes(character, ids) && m_unknown) {
      if (!m_fuseUnknown) flush();
      unknown = true;
    }
    at = end;
  }
  flush();
  std::vector<Symbol> out;
  out.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    out.push_back({ids[i], n - 1, i + 1 < ids.size() ? n + 1 : -1});
  }
  return out;
}

void BpeModel::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  if (m_ignoreMerges)
    if (const auto whole = id(piece)) return ids.push_back(*whole);
  auto list = symbols(piece);
  mergeAll(list);
  for (const Symbol& s : list)
    if (!s.gone) ids.push_back(s.id);
}

void BpeModel::mergeAll(std::vector<Symbol>& list) const {
  struct Join {
    std::uint32_t rank;
    std::int32_t left;  // index of the left symbol
    std::int32_t id;
    bool operator>(const Join& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
  };
  std::priority_queue<Join, std::vector<Join>, std::greater<>> joins;  // lowest rank first, leftmost among equals
  const auto at = [&](std::int32_t i) -> Symbol& { return list[static_cast<std::size_t>(i)]; };
  const auto offer = [&](std::int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    if (const Merge* m = merge(at(left).id, at(at(left).next).id)) joins.push({m->rank, left, m->id});
  };
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(list.size()); ++i) offer(i);
  while (!joins.empty()) {
    const Join join = joins.top();
    joins.pop();
    Symbol& left = at(join.left);
    if (left.gone || left.next < 0) continue;
    // A waiting join may name a neighbour that no longer exists.
    Symbol& right = at(left.next);
    const Merge* still = merge(left.id, right.id);
    if (!still || still->id != join.id) continue;
    left.id = join.id;
    left.next = right.next;
    right.gone = true;
    if (left.next >= 0) at(left.next).previous = join.left;
    offer(left.previous);
    offer(join.left);
  }
}

bool addScoreMerges(const ScoredTokens& in, BpeModel& model) {
  if (!affordable(in)) return false;
  const auto usable = [&](std::string_view part) {
    const auto id = model.id(part);
    return id && in.joins[static_cast<std::size_t>(*id)];
  };
  for (const std::size_t i : byImportance(in)) {
    const std::string_view token = in.tokens[i];
    if (!in.joins[i]) continue;
    for (std::size_t cut = token.size() - 1; cut > 0; --cut) {  // the longest left part first
      if ((static_cast<unsigned char>(token[cut]) & 0xc0) == 0x80) continue;
      if (usable(token.substr(0, cut)) && usable(token.substr(cut)))
        model.addMerge(token.substr(0, cut), token.substr(cut));
    }
  }
  return true;
}

}  // namespace kvlab::bpe
