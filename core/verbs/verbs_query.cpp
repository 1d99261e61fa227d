// SPDX-License-Identifier: Apache-2.0
// Verbs with questions whose answers are no tables.
#include "core/api/json_values.h"
#include "core/session/observe.h"
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
  Drift drift = KV_TRY(measureDrift(session));
  json worst = nullptr;
  if (drift.worstLayer)
    worst = {{"layer", session.cacheLayers().layerOf(*drift.worstLayer).value()}, {"index", drift.worstPosition}};
  json out{{"k", finiteList(drift.k)}, {"v", finiteList(drift.v)}, {"kl", finite(drift.kl)}, {"worst", worst}};
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

}  // namespace

std::span<const Verb> queryVerbs() {
  static const Verb kVerbs[] = {
      {{"tokenise", {arg::text("text")}, "Gives the token ids of a text.", "number[]", Effect::Reads}, tokenise},
      {{"detokenise", {arg::tokens("ids", 0)}, "Gives the text of token ids.", "string", Effect::Reads}, detokenise},
      {{"logits", {}, "Gives the logits of the next token.", "number[]", Effect::Measures}, logits},
      {{"value",
        {arg::text("expression")},
        "Gives the value of an expression now: a number, true or false, or a text; null where it is not known. Facts "
        "of a tick speak of the commit that led here.",
        "number | boolean | string | null",
        Effect::Measures},
       valueVerb},
      {{"drift",
        {arg::flag("rows", false)},
        "Compares the live rows with a rebuild, by layer; with rows also each row.",
        "Drift",
        Effect::Measures},
       driftVerb},
  };
  return kVerbs;
}

}  // namespace kvlab
