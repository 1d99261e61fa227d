// SPDX-License-Identifier: Apache-2.0
#include "core/session/attention_matrix.h"

#include <limits>
#include <numeric>

#include "core/session/tiles.h"

namespace kvlab {
namespace {

Status possible(const Session& session, const AttentionMatrix& wanted) {
  KV_TRY(session.usable());
  const char* what = "attention was not measured";
  if (wanted.length == 0) return Error("empty", what, "the context holds no token", "give the session a prompt first");
  const std::int64_t values = std::int64_t{std::ssize(wanted.heads)} * wanted.queries * wanted.length;
  if (values <= kMostAttention) return ok();
  return Error("too_large", what,
               "the heads, queries and rows make " + std::to_string(values) + " values, the limit is " +
                   std::to_string(kMostAttention),
               "ask for fewer queries, or for one head", "queries", wanted.queries);
}

/// Copies the attention of one query into its lines.
void take(AttentionMatrix& out, std::int32_t query, const CacheState& state, const ResidencyView& map,
          const std::vector<float>& seen) {
  if (seen.empty()) return;
  const std::size_t length = at(out.length), list = map.size() + 1;
  for (std::size_t h = 0; h < out.heads.size(); ++h) {
    const float* from = seen.data() + at(out.heads[h]) * list;
    const std::size_t line = h * at(out.queries) + at(query);
    forResident(state, map, 0, out.length,
                [&](std::int32_t p, std::size_t i) { out.values[line * length + at(p)] = from[i]; });
    out.own[line] = from[map.size()];
  }
}

}  // namespace

Result<AttentionMatrix> attentionMatrix(Session& session, CacheLayer layer, std::optional<int> head, std::int32_t begin,
                                        std::int32_t end) {
  const CacheState& state = session.state();
  AttentionMatrix out{std::vector<int>(1, head.value_or(0)), begin, end - begin, state.length(), {}, {}};
  if (!head) {
    out.heads.resize(at(session.model().config().heads / session.cacheLayers().perLayer));
    std::iota(out.heads.begin(), out.heads.end(), 0);
  }
  KV_TRY(possible(session, out));
  const std::size_t lines = out.heads.size() * at(out.queries);
  out.values.assign(lines * at(out.length), std::numeric_limits<float>::quiet_NaN());
  out.own.assign(lines, 0.0f);
  const int layers = session.cacheLayers().layerOf(layer).value() + 1;
  const auto ask = [&](CallContext& call) -> Status {
    call.makeRoom(1, Placing::Look);
    const TransactionRules rules = session.ticker(call).rules(state);
    for (std::int32_t q = 0; q < out.queries; ++q) {
      if (!report(session.progress(), "reading attention", q, out.queries))
        return Error("cancelled", "attention was not measured",
                     "after " + std::to_string(q) + " of " + std::to_string(out.queries) + " queries",
                     "nothing has changed; start it again");
      const auto seen = KV_TRY(session.kind().attended(state, Position(begin + q), layers, rules, call));
      if (seen) take(out, q, state, state.map(layer), seen->receivedPerHead[at(layer)]);
    }
    return ok();
  };
  KV_TRY(session.look(ask));
  return out;
}

}  // namespace kvlab
