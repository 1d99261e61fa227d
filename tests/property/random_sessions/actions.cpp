// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/actions.h"

namespace kvlab::random_sessions {
namespace {

json look(Drawing& in, const char* verb, const json& args = json::object()) {
  Result<json> result = test::scripted(in.session, verb, args);
  return result ? result.take() : json();
}

json drawAction(Drawing& in) {
  Draw& d = in.draw;
  const int length = lengthOf(in.session), p = d.below(std::max(1, length));
  const int kind = d.below(in.session.manifest().wlod ? 9 : 7);
  if (kind == 0)
    return {{"action", "replace_pair"},
            {"original_pos1", p},
            {"original_pos2", p + d.one({1, 1, 1, 3})},
            {"new_token_ids", drawTokens(in, 2)}};
  if (kind == 1) {
    json positions = json::array({p});
    for (int next = p + 1 + d.below(2); d.percent(50) && next < length; next += 1 + d.below(3))
      positions.push_back(next);
    return {{"action", "replace"}, {"positions", positions}, {"new_token_ids", drawTokens(in, 3)}};
  }
  if (kind == 2) return {{"action", "delete"}, {"position", p}};
  if (kind == 3) return {{"action", "insert"}, {"position", p + d.below(2)}, {"token_ids", drawTokens(in, 4)}};
  if (kind == 4) return {{"action", "add"}, {"token_id", drawTokens(in, 1)[0]}};
  if (kind <= 6) {
    json evict = drawEviction(in);
    evict["action"] = "evict";
    if (evict.contains("kvHead")) evict["kv_head"] = evict["kvHead"];
    evict.erase("kvHead");
    return evict;
  }
  return {{"action", kind == 7 ? "expand" : "collapse"}, {"node", drawNode(in, kind == 7)}};
}

}  // namespace

int lengthOf(const Session& session) { return static_cast<int>(session.state().length()); }

std::vector<int> drawTokens(Drawing& in, int most) {
  std::vector<int> out;
  for (int i = in.draw.between(1, most); i > 0; --i)
    out.push_back(in.draw.between(3, in.session.model().config().vocab - 1));
  return out;
}

std::string drawText(Drawing& in, int mostWords) {
  std::string out;
  for (int i = in.draw.between(1, mostWords); i > 0; --i)
    out +=
        (out.empty() ? "" : " ") + in.draw.one<std::string>({"anna", "bob", "is", "in", "the", "attic", "puts", "."});
  return out;
}

json drawActions(Drawing& in) {
  json out = json::array();
  for (int i = in.draw.one({1, 1, 2, 3}); i > 0; --i) out.push_back(drawAction(in));
  return out;
}

int drawLedger(Drawing& in) {
  const json ids = look(in, "pos2ledger");
  if (!ids.is_array() || ids.empty() || in.draw.percent(5)) return in.draw.below(40);
  return ids[static_cast<std::size_t>(in.draw.below(static_cast<std::int64_t>(ids.size())))];
}

json drawLayer(Drawing& in) {
  const ModelConfig& config = in.session.model().config();
  json out{{"layer", in.draw.below(config.layers)}};
  if (in.session.manifest().residentByHead()) out["kvHead"] = in.draw.below(config.kvHeads);
  return out;
}

json drawEviction(Drawing& in) {
  json out = drawLayer(in);
  const json ids = look(in, "pos2ledger", out);
  out["ledger"] = json::array();
  const auto rows = static_cast<std::int64_t>(ids.is_array() ? ids.size() : 0);
  for (int i = in.draw.between(1, 3); i > 0; --i)
    out["ledger"].push_back(rows ? ids[static_cast<std::size_t>(in.draw.below(rows))] : json(in.draw.below(20)));
  return out;
}

std::int64_t drawNode(Drawing& in, bool expand) {
  const json tree = look(in, "tree");
  if (!tree.is_object() || tree["entries"].empty()) return in.draw.below(5000);
  const json& entries = tree["entries"];
  const auto some = static_cast<std::size_t>(in.draw.below(static_cast<std::int64_t>(entries.size())));
  if (expand) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const json& one = entries[(some + i) % entries.size()];
      if (one["level"] > 0) return one["node"];
    }
    return in.draw.below(5000);
  }
  const std::int64_t level = entries[some]["level"], span = level == 0 ? 32 : 1024;
  return entries[some]["start"].get<std::int64_t>() / span * span * 4 + level + 1;
}

}  // namespace kvlab::random_sessions
