// SPDX-License-Identifier: Apache-2.0
// Verbs that look into rows: the values that rows hold, and what queries attend to.
#include <algorithm>
#include <cmath>

#include "core/session/attention_matrix.h"
#include "core/session/difference.h"
#include "core/session/requests.h"
#include "core/session/row_values.h"
#include "core/session/truth.h"
#include "core/verbs/ledger_list.h"
#include "core/verbs/packed_column.h"
#include "core/verbs/verb_layers.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;
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

/// One tensor of a row, with what it is compared with, if anything.
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

json layerJson(const Session& session, const LayerDifference& one) {
  const std::optional<Head> part = session.cacheLayers().headOf(one.layer);
  json changed = json::array();
  for (const RowDifference& row : one.changed)
    changed.push_back({{"ledger", row.row.value()},
                       {"phase", {row.phaseThen, row.phaseNow}},
                       {"k", finite(row.k)},
                       {"v", finite(row.v)}});
  return {{"layer", session.cacheLayers().layerOf(one.layer).value()},
          {"kvHead", part ? json(part->value()) : json()},
          {"type", {one.typeThen, one.typeNow}},
          {"onlyThen", ledgerList(one.onlyThen)},
          {"onlyNow", ledgerList(one.onlyNow)},
          {"changed", std::move(changed)},
          {"moved", one.moved},
          {"same", one.same}};
}

Result<json> differenceVerb(Session& session, VerbArgs& in) {
  Session* then = KV_TRY(sessionAt(session, Tick(in.integer("tick"))));
  const StateDifference found = KV_TRY(difference(*then, session));
  json layers = json::array(), exactness = json::array();
  for (const LayerDifference& one : found.layers) layers.push_back(layerJson(session, one));
  for (const ExactnessDifference& one : found.exactness)
    exactness.push_back({{"ledger", one.row.value()}, {"then", name(one.then)}, {"now", name(one.now)}});
  return json{{"then", found.then.value()},
              {"now", found.now.value()},
              {"alike", found.alike()},
              {"kl", found.kl ? json(finite(*found.kl)) : json()},
              {"onlyThen", ledgerList(found.onlyThen)},
              {"onlyNow", ledgerList(found.onlyNow)},
              {"exactness", std::move(exactness)},
              {"layers", std::move(layers)}};
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

}  // namespace

std::span<const Verb> rowVerbs() {
  static const Verb kVerbs[] = {
      {{"attention", {layerArg(), headArg()}, "Attention of the newest token by query head and row.", Effect::Measures},
       attention},
      {{"attentionMatrix",
        {layerArg(), arg::integer("head", 0, kMostLayer).orNone(), arg::integer("begin", 0, kMostId).orNone(),
         arg::integer("end", 0, kMostId).orNone(), headArg(), arg::flag("packed", false)},
        "Attention of the tokens at positions begin to end over the resident rows of a layer, by query head.",
        Effect::Measures},
       attentionOfQueries},
      {{"row",
        {layerArg(), arg::integer("index", 0, kMostId), arg::text("which", {"k", "v", "both"}).orElse("k"),
         arg::flag("rotated", false), headArg(), arg::text("compare", {kRebuild, kBefore}).orNone()},
        "K or V of one row, also beside what a rebuild computes or what the state before held.",
        Effect::Measures},
       row},
      {{"difference",
        {arg::integer("tick", 0, kMostId)},
        "How the present state differs from that of another tick of the branch: tokens, rows by layer, exactness and "
        "the KL divergence of the next token.",
        Effect::Measures},
       differenceVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
