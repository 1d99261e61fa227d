// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verb_ticks.h"

#include <algorithm>

#include "core/session/ticks.h"

namespace kvlab {
namespace {

/// Restores the pending list after a tick that took none of the newly queued actions.
void takeBack(Session& session, std::size_t queued, std::vector<Action> before) {
  if (session.pending().size() < queued) return;
  session.setPending(std::move(before));
  session.publish();
}

}  // namespace

StepRequest::StepRequest(const Session& session, VerbArgs& in)
    : perBlock(static_cast<std::size_t>(session.manifest().ring.blockTokens)) {
  if (in.has("tokens")) tokens = in.tokens("tokens", session.model().config().vocab);
  const auto blocks = static_cast<std::int64_t>((tokens.size() + perBlock - 1) / perBlock);
  ticks = in.integer("n", tokens.empty() ? 1 : blocks);
  if (!tokens.empty() && ticks > blocks)
    in.fail("n", ticks, "is " + std::to_string(ticks) + ", but there are " + std::to_string(tokens.size()) + " tokens");
}

std::vector<TokenId> StepRequest::block(std::int64_t i) const {
  const auto from = std::min(tokens.size(), static_cast<std::size_t>(i) * perBlock),
             to = std::min(tokens.size(), from + perBlock);
  return {tokens.begin() + static_cast<std::ptrdiff_t>(from), tokens.begin() + static_cast<std::ptrdiff_t>(to)};
}

nlohmann::json withStage(const Session& session, const TickReport& report) {
  nlohmann::json out = toJson(report);
  out["stage"] = session.stage() ? toJson(*session.stage()) : nlohmann::json();
  return out;
}

Result<nlohmann::json> prompted(Session& session, const std::vector<TokenId>& tokens) {
  Stops stops(session);
  if (!session.state().policy || !stops.inside()) return single(append(session, tokens, Source::Prompt));
  nlohmann::json ids = nlohmann::json::array();
  for (const TokenId token : tokens) ids.push_back(token.value());
  session.history().beginCommand("prefill", {{"ids", std::move(ids)}, {"last", false}});
  const TickReport read = append(session, tokens, Source::Prompt, false);
  if (!read.ok) return single(read);
  session.betweenTicks();
  session.history().beginCommand("endPrefill", nlohmann::json::object());
  stops.begin();
  const TickReport report = joined(read, endPrefill(session, stops.inside()));
  if (!session.stage()) return single(report);
  nlohmann::json out = withStage(session, report);
  out["stoppedBy"] = stops.after(report);
  return out;
}

Queue queueOf(const VerbArgs& in) { return in.has("instead") && in.flag("instead") ? Queue::Instead : Queue::Behind; }

Result<nlohmann::json> queued(Session& session, std::vector<Action> actions, const VerbArgs& in) {
  const std::size_t count = actions.size();
  std::vector<Action> before = session.pending();
  if (!in.all().contains("pending")) KV_TRY(inject(session, actions, queueOf(in)));
  if (!in.flag("now")) return nlohmann::json{{"pending", session.pending().size()}};
  const std::size_t all = session.pending().size();
  const TickReport report = apply(session);
  if (!report.ok) takeBack(session, all, std::move(before));
  Result<nlohmann::json> reply = single(report);
  if (reply) (*reply)["queued"] = count;
  return reply;
}

}  // namespace kvlab
