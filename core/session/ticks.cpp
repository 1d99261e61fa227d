// SPDX-License-Identifier: Apache-2.0
#include "core/session/ticks.h"

#include <algorithm>

#include "core/session/observe.h"
#include "core/session/requests.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

/// Most tokens of a prompt in one tick. A prompt that is cancelled keeps the ticks that are done.
constexpr std::size_t kPromptPiece = 1024;

/// Tokens of a prompt that come in one tick. The whole prompt comes in one tick in three cases: a kind that derives its
/// context looks at the whole prompt to choose the parts that it keeps; a draft is taken back as a whole; and a prompt
/// that cannot fit is refused before its first token.
std::size_t pieceOf(const Session& session, std::size_t tokens, bool draft) {
  const bool whole = draft || session.state().kind->derivesContext() ||
      session.kind().remaining(session.parts(), session.state()) < static_cast<std::int64_t>(tokens);
  return whole ? tokens : kPromptPiece;
}

/// A tick over tokens [begin, end) of a text, whose progress counts the text.
TickReport tickOf(Session& session, TickWish wish, std::size_t begin, std::size_t end, std::size_t tokens) {
  const Progress whole = session.progress();
  if (whole)
    session.setProgress([&](const std::string& what, std::int64_t done, std::int64_t total) {
      const bool rows = total == static_cast<std::int64_t>(end - begin);  // not a pass that looks
      return rows ? whole(what, static_cast<std::int64_t>(begin) + done, static_cast<std::int64_t>(tokens))
                  : whole(what, done, total);
    });
  TickReport report = session.tick(std::move(wish));
  session.setProgress(whole);
  return report;
}

/// The report of a tick that ended a text before its end. Tokens of ticks before it stay.
TickReport stoppedAfter(TickReport report, std::size_t done, std::size_t tokens) {
  if (!report.error || done == 0) return report;
  Error& error = *report.error;
  const std::string taken = std::to_string(done) + " of " + std::to_string(tokens) + " tokens";
  if (error.code == "cancelled")
    error = {"cancelled", "the prompt was cancelled", "after " + taken,
             "the tokens that were taken stay: give the rest, or step from here"};
  else if (error.code != "replayed") error.why += "; " + taken + " were taken before and stay";
  return report;
}

}  // namespace

TickReport joined(const TickReport& before, TickReport last) {
  const auto ahead = [](auto& list, const auto& first) { list.insert(list.begin(), first.begin(), first.end()); };
  ahead(last.actions, before.actions);
  ahead(last.left, before.left);
  ahead(last.events, before.events);
  ahead(last.violations, before.violations);
  return last;
}

TickReport step(Session& session, const std::vector<TokenId>& forced, const StageStop& stops) {
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (session.state().length() == 0 && forced.empty() && session.pending().empty())
    return session.refused({"empty", "there is nothing to continue", "the context is empty",
                            "prompt some text first, or step with given tokens"});
  return session.tick({.generates = true, .forced = forced, .adds = Source::Model, .pending = true}, stops);
}

Result<TokenId> peek(Session& session) {
  KV_TRY(session.usable());
  KV_TRY(refreshLogits(session));
  return session.look([&](CallContext& call) {
    CacheState looked = session.state();
    return session.ticker(call).generate({}, looked);
  });
}

TickReport apply(Session& session) {
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (session.pending().empty())
    return session.refused(
        {"nothing_pending", "there is nothing to apply", "no action is pending", "inject actions first"});
  return session.tick({.pending = true});
}

TickReport stepAction(Session& session) {
  if (session.pending().empty()) return step(session);
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  // Highest position first, so that the remaining actions keep their references.
  Result<EditPlan> planned = plan(session, {});
  if (!planned) return session.refused(planned.error());
  std::size_t place = session.pending().size() - 1;
  for (auto detail = planned->details.rbegin(); detail != planned->details.rend(); ++detail) {
    place = static_cast<std::size_t>(detail->place);
    if (!std::holds_alternative<Add>(session.pending()[place])) break;
  }
  return session.tick({.pending = true, .place = place});
}

TickReport append(Session& session, const std::vector<TokenId>& tokens, Source source, bool last, bool draft) {
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (tokens.empty())
    return session.refused(
        {"empty_tokens", "nothing was appended", "the list of tokens is empty", "give at least one token"});
  const std::size_t piece = pieceOf(session, tokens.size(), draft);
  TickReport report;
  for (std::size_t done = 0; done < tokens.size(); done += piece) {
    if (done > 0) session.betweenTicks();
    const std::size_t end = std::min(tokens.size(), done + piece);
    const PassKind pass = last && end == tokens.size() ? PassKind::PromptEnd : PassKind::PromptPart;
    TickWish wish{.adds = source, .pass = pass, .draft = draft};
    for (std::size_t i = done; i < end; ++i) wish.actions.push_back(Add{tokens[i]});
    TickReport next = tickOf(session, std::move(wish), done, end, tokens.size());
    if (!next.ok) return stoppedAfter(std::move(next), done, tokens.size());
    report = joined(report, std::move(next));
  }
  if (!last || !session.wantsTick()) return report;
  // The prompt is complete. Before the first token is generated, a focus round may expand the entries that the prompt
  // attends to.
  TickReport focused = session.tick({});
  if (!focused.ok && session.usable()) {  // the prompt stands without a round
    report.tick = focused.tick;
    report.events.insert(report.events.end(), focused.events.begin(), focused.events.end());
    return report;
  }
  if (!focused.ok) return focused;
  return joined(report, std::move(focused));
}

TickReport score(Session& session, const std::vector<TokenId>& tokens, bool each) {
  TickReport report;
  const bool single = each || session.state().kind->derivesContext();
  const std::size_t most = single ? 1 : pieceOf(session, tokens.size(), false);
  for (std::size_t done = 0; done < tokens.size(); done += most) {
    if (done > 0) session.betweenTicks();
    if (!kvlab::report(session.progress(), "scoring tokens", static_cast<std::int64_t>(done),
                       static_cast<std::int64_t>(tokens.size())))
      return session.refused({"cancelled", "scoring was cancelled",
                              "after " + std::to_string(done) + " of " + std::to_string(tokens.size()) + " tokens",
                              "the tokens that were scored stay; score the rest"});
    const std::size_t end = std::min(tokens.size(), done + most);
    TickWish wish{.adds = Source::Prompt, .scores = true};
    if (single) wish.generates = true, wish.forced = {tokens[done]};
    else {
      wish.pass = end == tokens.size() ? PassKind::PromptEnd : PassKind::PromptPart;
      for (std::size_t i = done; i < end; ++i) wish.actions.push_back(Add{tokens[i]});
    }
    report = tickOf(session, std::move(wish), done, end, tokens.size());
    if (!report.ok) break;
  }
  return report;
}

bool promptOpen(const Session& session) { return session.state().policy && session.state().policy->prefilling; }

Result<std::shared_ptr<const PromptLooks>> lookAtPromptEnd(Session& session) {
  return session.look([&](CallContext& call) -> Result<std::shared_ptr<const PromptLooks>> {
    TransactionRules rules = session.ticker(call).rules(session.state());
    rules.keepLogits = true;
    return std::make_shared<const PromptLooks>(KV_TRY(lookAtPromptEnd(session.state(), rules, call)));
  });
}

TickReport endPrefill(Session& session, const StageStop& stops) {
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (!promptOpen(session)) {
    TickReport nothing;
    nothing.tick = session.state().tick;
    return nothing;
  }
  return session.tick({.adds = Source::Prompt, .pass = PassKind::PromptEnd}, stops);
}

Stops::Stops(Session& session)
    : m_session(session), m_breakpoints(session.history().executingAgain() ? m_none : session.breakpoints()) {}

void Stops::begin() {
  m_inside.clear();
  m_seen = m_breakpoints.views();
  if (!m_breakpoints.any()) return;
  m_then = observeBefore(m_session, [this](Need need) { return m_breakpoints.needs(need); });
  m_before = m_session.state();
  if (m_breakpoints.needs(Need::Attention)) keepAttention(m_session);
}

StageStop Stops::inside() {
  if (!m_breakpoints.needs(Need::Stage)) return {};
  return [this](Stage stage, const TickReport& report) {
    Sight at;
    at.before.state = at.now.state = &m_before;
    at.report = &report;
    at.stage = stage;
    m_inside = m_breakpoints.hit(at);
    return !m_inside.empty();
  };
}

std::string Stops::after(const TickReport& report) {
  std::string stopped = m_inside;
  if (!m_session.stage() && m_breakpoints.any()) {
    Sight at;
    at.before = m_then;
    at.before.state = &m_before;
    at.now = observeNow(m_session, [this](Need need) { return m_breakpoints.needs(need); });
    at.report = &report;
    stopped = m_breakpoints.hit(at);
  }
  if (m_breakpoints.views() != m_seen) m_session.publish();  // readers see that it held
  return stopped;
}

RunOutcome run(Session& session, int maxTicks, std::size_t reports) {
  RunOutcome out;
  const std::vector<TokenId> eos = session.model().tokenizer().eos();
  Stops stops(session);
  out.stoppedBy = "max_ticks";
  for (int i = 0; i < maxTicks; ++i) {
    if (i > 0) session.betweenTicks();
    if (!kvlab::report(session.progress(), "running", i, maxTicks)) {
      out.stoppedBy = "cancelled";
      break;
    }
    stops.begin();
    const TickReport last = step(session, {}, stops.inside());
    if (!session.stage()) {
      ++out.count;
      out.reports.push_back(last);
      if (out.reports.size() > reports) out.reports.pop_front();
    }
    if (const std::string hit = stops.after(last); !hit.empty()) {
      out.stoppedBy = hit;
      break;
    }
    if (!last.ok) out.stoppedBy = "error";
    else if (last.token && std::find(eos.begin(), eos.end(), *last.token) != eos.end()) out.stoppedBy = "end_of_text";
    else continue;
    break;
  }
  return out;
}

}  // namespace kvlab
