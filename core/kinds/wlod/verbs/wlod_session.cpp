// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/verbs/wlod_session.h"

#include <algorithm>

#include "core/session/requests.h"
#include "core/session/ticks.h"

namespace kvlab {
namespace {

Error noLens(const char* what, std::string why, const char* remedy, std::string value) {
  return Error("no_lens", what, std::move(why), remedy, "lens", std::move(value));
}

/// The working context with the draft's tokens as normal tokens.
std::shared_ptr<const WlodState> accepted(const WlodState& state) {
  auto next = std::make_shared<WlodState>(state);
  next->draft.reset();
  return next;
}

/// True if the rows of a state lie in front of those that came since, in their slots.
bool inFront(const CacheState& before, const CacheState& now) {
  const auto begins = [](const auto& all, const auto& some) {
    return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
  };
  return std::ranges::all_of(before.layers(), [&](CacheLayer layer) {
    const ResidencyView &was = before.group(layer).stored(), &is = now.group(layer).stored();
    return begins(is.ledger, was.ledger) && begins(is.slotOf, was.slotOf);
  });
}

/// If layers work in place, the rows of an older state may have moved since: then they are computed again.
Status backInPlace(const CacheState& now, Commit& commit, CallContext& call) {
  const bool there = inFront(commit.state, now);
  call.parts.store.overwrites(there ? slotsBeside(now, commit.state) : slotsOf(now));
  call.parts.layouts.restart(call.parts.store, commit.state);
  if (there) return ok();
  Rebuilt anew = KV_TRY(call.parts.kind->rebuild(commit.state, call));
  if (!anew.commit) return Error("cancelled", "nothing was rolled back", "the pass was cancelled", "roll back again");
  commit.state.groups = std::move(anew.commit->state.groups);
  commit.state.groupOf = std::move(anew.commit->state.groupOf);
  return ok();
}

}  // namespace

Result<const WlodKind*> wlodOf(const Session& session, const char* what) {
  if (const auto* kind = dynamic_cast<const WlodKind*>(&session.kind())) return kind;
  return Error("no_wlod", what, "this session has no working context", "open one with \"wlod\": {} in the manifest",
               "wlod", nullptr);
}

TickReport refocus(Session& session) {
  constexpr const char* kWhat = "nothing was refocused";
  if (Status ready = session.changeable(); !ready) return session.refused(ready.error());
  if (const auto kind = wlodOf(session, kWhat); !kind) return session.refused(kind.error());
  if (!session.manifest().wlod->allocates())
    return session.refused(
        noLens(kWhat, "wlod.lens is off", "open the session with a lens, or expand and collapse by hand", "off"));
  if (Status none = noDraft(session, kWhat); !none) return session.refused(none.error());
  return session.tick({});
}

Status setLensScores(Session& session, std::vector<double> scores) {
  return session.change([&](CallContext&) -> Result<Commit> {
    const auto kind = KV_TRY(wlodOf(session, "the scores were refused"));
    const std::string& lens = kind->lens().name;
    if (lens != "script")
      return noLens("the scores were refused", "wlod.lens is " + lens, "open the session with wlod.lens script", lens);
    const WlodState& state = wlodIn(session.state());
    KV_TRY(refocus(state.context, scores, state.rules.focus, state.rules.working));
    auto next = std::make_shared<WlodState>(state);
    next->scores = std::move(scores);
    Commit commit{session.state()};
    commit.state.kind = std::move(next);
    return commit;
  });
}

TickReport speculate(Session& session, const std::vector<TokenId>& tokens) {
  constexpr const char* kWhat = "nothing was drafted";
  if (const auto kind = wlodOf(session, kWhat); !kind) return session.refused(kind.error());
  if (!session.pending().empty())
    return session.refused({"speculating", kWhat,
                            "actions are pending, and only tokens may be added to a speculative span",
                            "apply or clear them first"});
  return append(session, tokens, Source::Model, false, true);
}

Status endDraft(Session& session, bool keep) {
  return session.change([&](CallContext& call) -> Result<Commit> {
    KV_TRY(wlodOf(session, "there is nothing to end"));
    const WlodState& state = wlodIn(session.state());
    if (!state.draft)
      return Error("no_draft", keep ? "nothing was accepted" : "nothing was rolled back", "no speculative span is open",
                   "draft one with speculate");
    const CacheState& before = *state.draft->before;
    const CacheState& now = session.state();
    const bool inPlace = call.parts.layouts.inPlace();
    Commit commit{keep ? now : before};
    if (keep) commit.state.kind = accepted(state);
    else if (inPlace) KV_TRY(backInPlace(now, commit, call));
    if (!inPlace) commit.freed = keep ? slotsBeside(before, now) : slotsBeside(now, before);
    commit.state.tick = Tick(session.state().tick.value() + 1);
    return commit;
  });
}

}  // namespace kvlab
