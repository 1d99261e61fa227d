// SPDX-License-Identifier: Apache-2.0
// Verbs with questions whose answers are no tables: tokens, logits, drift, the values that rows hold, the attention of
// queries, causes of what is stale.
#include <algorithm>
#include <cmath>

#include "core/api/json_values.h"
#include "core/session/attention_matrix.h"
#include "core/session/edit_words.h"
#include "core/session/knock_out.h"
#include "core/session/observe.h"
#include "core/session/row_story.h"
#include "core/session/row_values.h"
#include "core/session/truth.h"
#include "core/verbs/replies.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
Result<json> tokenise(const Session& session, VerbArgs& in) {
  std::vector<TokenId> ids = KV_TRY(session.model().tokenizer().encode(in.text("text"), false));
  json out = json::array();
  for (TokenId id : ids) out.push_back(id.value());
  return out;
}

Result<json> detokenise(const Session& session, VerbArgs& in) {
  const std::vector<TokenId> ids = in.tokens("ids", session.model().config().vocab);
  if (in.error()) return *in.error();
  return json(session.model().tokenizer().decode(ids));
}

Result<json> logits(Session& session, VerbArgs&) {
  KV_TRY(refreshLogits(session));
  if (!session.state().logits) return json::array();
  return json(*session.state().logits);
}

Result<json> driftVerb(Session& session, VerbArgs& in) {
  const bool rows = in.flag("rows");
  Drift drift = KV_TRY(measureDrift(session, in.flag("attention")));
  json worst = nullptr;
  if (drift.worstLayer)
    worst = {{"layer", session.cacheLayers().layerOf(*drift.worstLayer).value()}, {"index", drift.worstPosition}};
  json out{{"k", finiteList(drift.k)}, {"v", finiteList(drift.v)}, {"kl", finite(drift.kl)}, {"worst", worst}};
  if (in.flag("attention"))
    for (const std::vector<float>& heads : *drift.attention) out["attention"].push_back(finiteList(heads));
  if (rows)
    for (std::size_t layer = 0; layer < drift.kRows.size(); ++layer) {
      out["kRows"].push_back(finiteList(drift.kRows[layer]));
      out["vRows"].push_back(finiteList(drift.vRows[layer]));
    }
  return out;
}

Result<json> valueVerb(Session& session, VerbArgs& in) {
  const Expression expression = KV_TRY(readExpression(session, in.text("expression"), false));
  const WatchValue value = valueNow(session, expression);
  if (const double* number = std::get_if<double>(&value)) return finite(*number);
  if (const bool* flag = std::get_if<bool>(&value)) return json(*flag);
  return json(std::get<std::string>(value));
}

constexpr const char *kRebuild = "rebuild", *kBefore = "before";

Result<json> attention(Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  if (in.error()) return *in.error();
  return json(KV_TRY(attentionPerHead(session, layer)));
}

Result<json> attentionOfQueries(Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  const std::int64_t length = session.state().length();
  const std::int64_t end = in.within("end", 0, length, length);
  const std::int64_t begin = in.within("begin", 0, end, std::max<std::int64_t>(0, end - 1));
  const int heads = session.model().config().heads / session.cacheLayers().perLayer;
  std::optional<int> head;
  if (in.has("head")) head = static_cast<int>(in.within("head", 0, heads - 1));
  if (in.error()) return *in.error();
  const AttentionMatrix found =
      KV_TRY(attentionMatrix(session, layer, head, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)));
  const bool packed = in.flag("packed");
  const std::optional<Head> part = session.cacheLayers().headOf(layer);
  return json{{"tick", session.state().tick.value()},
              {"layer", session.cacheLayers().layerOf(layer).value()},
              {"kvHead", part ? json(part->value()) : json()},
              {"heads", found.heads},
              {"begin", found.begin},
              {"end", found.begin + found.queries},
              {"length", found.length},
              {"values", columnOf(found.values, packed)},
              {"own", columnOf(found.own, packed)}};
}

double lengthOf(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += double(x) * double(x);
  return std::sqrt(sum);
}

/// |values - other| / |other| of each head; 0 where both are the same. Not-a-number is infinitely far away.
json relativeByHead(const std::vector<float>& values, const std::vector<float>& other, std::size_t dim) {
  json out = json::array();
  for (std::size_t from = 0; from < values.size(); from += dim) {
    std::vector<float> apart(dim);
    for (std::size_t i = 0; i < dim; ++i) apart[i] = values[from + i] - other[from + i];
    const double error = lengthOf(apart), of = lengthOf({other.data() + from, dim});
    out.push_back(error == 0 ? json(0.0) : finite(error / of));
  }
  return out;
}

/// One tensor of a row, with the tensor that it is compared with, if any.
json tensorOf(const std::vector<float>& values, const std::vector<float>& scales, kernels::DType type, std::size_t dim,
              const std::vector<float>* other) {
  json norms = json::array();
  for (std::size_t from = 0; from < values.size(); from += dim)
    norms.push_back(finite(lengthOf({values.data() + from, dim})));
  json out{{"data", values}, {"norms", norms}, {"type", kernels::dtypeName(type)}, {"scales", nullptr}};
  if (!scales.empty()) out["scales"] = scales;
  if (!other) return out;
  out["other"] = *other;
  out["relative"] = relativeByHead(values, *other, dim);
  return out;
}

Result<json> row(Session& session, VerbArgs& in) {
  const CacheLayer layer = layerOf(in, session);
  const ResidencyView& map = session.state().map(layer);
  const auto index = at(in.within("index", map.first, static_cast<std::int64_t>(map.size()) - 1));
  const std::string which = in.text("which"), compare = in.text("compare");
  const bool rotated = in.flag("rotated");
  if (in.error()) return *in.error();
  EarlierRow other{session.state().tick, {}};
  if (compare == kRebuild) other.values = KV_TRY(rebuiltRow(session, layer, index));
  if (compare == kBefore) other = KV_TRY(rowBefore(session, layer, index));
  const RowPool& pool = session.store().pool(layer);
  StoredRow stored = storedRow(pool, map.slotOf[index]);
  turnKeys(session, layer, index, rotated, stored.values.k);
  if (other.values) turnKeys(session, layer, index, rotated, other.values->k);
  const kernels::RowFormat& format = pool.format();
  const std::size_t dim = at(format.headDim);
  json out{{"shape", {format.kvHeads, format.headDim}}};
  if (!compare.empty()) out["compared"] = {{"with", compare}, {"tick", other.tick.value()}, {"there", !!other.values}};
  const json k = tensorOf(stored.values.k, stored.kScales, format.k, dim, other.values ? &other.values->k : nullptr);
  const json v = tensorOf(stored.values.v, stored.vScales, format.v, dim, other.values ? &other.values->v : nullptr);
  if (which == "both") {
    out["k"] = k;
    out["v"] = v;
  } else {
    out.update(which == "k" ? k : v);
  }
  return out;
}

/// The last layer in which a row differs from a rebuild, or the last of all.
CacheLayer lastInexact(const Session& session, LedgerId row) {
  const Column<LedgerId>& context = session.state().context;
  const auto place = at(std::find(context.begin(), context.end(), row) - context.begin());
  const std::vector<std::vector<Exactness>>& layers = exactnessMap(session).layers;
  for (std::size_t layer = layers.size(); layer > 0 && place < context.size(); --layer)
    if (layers[layer - 1][place] != Exactness::Exact) return CacheLayer(static_cast<std::int32_t>(layer - 1));
  return session.cacheLayers().of(session.cacheLayers().last()).back();
}

Result<json> whyVerb(Session& session, VerbArgs& in) {
  const CacheLayers& layers = session.cacheLayers();
  const LedgerId row = KV_TRY(knownRow(in, session, "ledger"));
  const CacheLayer layer = in.has("layer") ? layerOf(in, session) : lastInexact(session, row);
  if (in.error()) return *in.error();
  const RowCause cause = KV_TRY(whyInexact(session, layer, row));
  json out{{"ledger", row.value()}, {"exactness", name(cause.exactness)}, {"cause", nullptr}};
  if (cause.entry < 0) return out;
  const std::optional<Head> part = layers.headOf(cause.layer);
  out["cause"] = commandJson(session.timeline(), cause.entry);
  out["cause"].update({{"rows", ledgerList(cause.rows)},
                       {"layer", layers.layerOf(cause.layer).value()},
                       {"kvHead", part ? json(part->value()) : json()},
                       {"exactness", name(cause.first)},
                       {"edit", editTitle(session.timeline(), cause.entry)}});
  return out;
}

Result<json> knockOutVerb(Session& session, VerbArgs& in) {
  const std::int64_t k = in.within("k", 1, session.model().config().vocab, in.integer("k"));
  if (in.error()) return *in.error();
  const Tokenizer& tokenizer = session.model().tokenizer();
  const KnockOutAsked asked{in.ids<LedgerId>("ledger"), in.flag("rebuild") ? KnockOutBy::Rebuild : KnockOutBy::Eviction,
                            static_cast<int>(k), in.flag("each")};
  const KnockOut found = KV_TRY(measureKnockOut(session, asked));
  json tokens = json::array(), each = json::array();
  for (const KnockOut::Token& one : found.tokens)
    tokens.push_back({{"id", one.id.value()},
                      {"text", tokenizer.tokenText(one.id)},
                      {"with", finite(one.with)},
                      {"without", finite(one.without)}});
  for (const KnockOut::Row& one : found.each)
    each.push_back({{"ledger", one.ledger.value()},
                    {"kl", finite(one.kl)},
                    {"id", one.likeliest.value()},
                    {"text", tokenizer.tokenText(one.likeliest)}});
  return json{{"kl", finite(found.kl)}, {"tokens", std::move(tokens)}, {"each", std::move(each)}};
}

}  // namespace

std::span<const Verb> queryVerbs() {
  static const Verb kVerbs[] = {
      {verb::reads("tokenise", {arg::text("text")}, "Gives the token ids of a text.", "number[]"), tokenise},
      {verb::reads("detokenise", {arg::tokens("ids", 0)}, "Gives the text of token ids.", "string"), detokenise},
      {verb::measures("logits", {}, "Gives the logits of the next token.", "number[]"), logits},
      {verb::measures("value", {arg::text("expression")},
                      "Gives the value of an expression now: a number, true or false, or a text; null where it is not "
                      "known. Facts of a tick speak of the commit that led here.",
                      "number | boolean | string | null"),
       valueVerb},
      {verb::measures(
           "drift", {arg::flag("rows", false), arg::flag("attention", false)},
           "Compares the live rows with a rebuild, by layer; with rows also each row. With attention also how far "
           "off the output of attention is for the newest token, by layer and query head, as a share of the right one: "
           "over the rows that the layer keeps, as they are stored, against the rows of all tokens, as a "
           "session computes them that evicts and rounds nothing (f32). The query is that session's in both. "
           "This takes another pass.",
           "Drift"),
       driftVerb},
      {verb::measures("attention", {layerArg(), headArg()},
                      "Gives the attention of the newest token by query head and row.", "number[][]"),
       attention},
      {verb::measures(
           "attentionMatrix",
           {layerArg(), arg::integer("head", 0, kMostLayer).orNone(), arg::integer("begin", 0, kMostId).orNone(),
            arg::integer("end", 0, kMostId).orNone(), headArg(), arg::flag("packed", false)},
           "Gives the attention of the tokens at positions begin (the newest unless given) to end over the resident "
           "rows of a layer, by query head: of one head, or of all. A pass for each query, which changes nothing, "
           "computes it. The call gives at most 4 194 304 values. With packed they come as bytes, 4 per value.",
           "AttentionMatrix"),
       attentionOfQueries},
      {verb::measures(
           "row",
           {layerArg(), arg::integer("index", 0, kMostId), arg::text("which", {"k", "v", "both"}).orElse("k"),
            arg::flag("rotated", false), headArg(), arg::text("compare", {kRebuild, kBefore}).orNone()},
           "Gives K or V of one row, or both, also beside what a rebuild computes (a pass over the context) or what "
           "the state before the last change held.",
           "StoredRow"),
       row},
      {verb::measures("why", {arg::integer("ledger", 0, kMostId), layerArg().orNone(), headArg()},
                      "Finds the command that made a row differ from what a rebuild would compute, in a layer, or else "
                      "in the last one where it differs; the cause is null for an exact row.",
                      "RowCause"),
       whyVerb},
      {verb::measures("knockOut",
                      {arg::of("ledger", ArgType::LedgerIds), arg::flag("rebuild", false),
                       arg::integer("k", 1, kMostId).orElse(10), arg::flag("each", false)},
                      "Tells what the next token would be without some rows, in a fork: log probabilities of the k "
                      "likeliest tokens, with the rows and without, and the KL divergence. The rows leave all layers, "
                      "and later rows keep what they took from them; with rebuild the tokens leave the text, and all "
                      "rows are computed again. With each also for every row alone: its KL divergence, and the token "
                      "that would be the likeliest (drop-one). Attention tells where a query looked, this verb what "
                      "came of it. The view Model shows the answer, and the colour Knock-out shows each.",
                      "KnockOut"),
       knockOutVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
