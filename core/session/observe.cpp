// SPDX-License-Identifier: Apache-2.0
#include "core/session/observe.h"

#include <algorithm>

#include "core/session/check_marks.h"
#include "core/session/look_back.h"
#include "core/session/truth.h"

namespace kvlab {
namespace {

/// Attention of the present commit's own pass, in every layer if that can be had. Its tick returned the last layer
/// only, unless somebody had asked for all.
std::shared_ptr<const NewestAttention> readEverywhere(Session& session) {
  keepAttentionForNow(session);
  std::shared_ptr<const NewestAttention> out = session.state().read;
  const int here = session.timeline().currentId(), before = session.timeline().current().parent;
  if (!out || out->whole() || before < 0) return out;
  LookBack back(session, [](Need need) { return need == Need::Attention; });
  static_cast<void>(back.forward(before, here, [&](const Sight& at, int) { out = at.now.state->read; }));
  return out;
}

/// What passes over a state show. A session that cannot measure the error of attention has its KL.
void measure(Session& session, const std::function<bool(Need)>& needs, SightState& out) {
  const bool errors = needs(Need::Errors);
  if (!errors && !needs(Need::Kl)) return;
  Result<Drift> drift = measureDrift(session, errors);
  if (!drift && errors && needs(Need::Kl)) drift = measureDrift(session);
  if (!drift) return;
  out.kl = drift->kl;
  if (errors) out.errors = drift->attention;
}

/// The same of an older state.
void measureAt(Session& session, int entry, const std::function<bool(Need)>& needs, SightState& out) {
  if (!needs(Need::KlBefore) && !needs(Need::ErrorsBefore)) return;
  const Result<Session*> there = session.past().at(session, entry);
  if (there)
    measure(
        **there, [&](Need need) { return needs(before(need)); }, out);
}

}  // namespace

std::vector<Exactness> lastLayerExactness(const Session& session) {
  const auto rows = static_cast<std::size_t>(session.state().length());
  if (!session.state().doubtful()) return std::vector<Exactness>(rows, Exactness::Exact);
  const ExactnessMap& map = exactnessMap(session);
  return map.layers.empty() ? std::vector<Exactness>(rows, Exactness::Exact) : map.layers.back();
}

std::vector<Exactness> lastLayerExactness(const Session& session, const CacheState& state) {
  ExactnessMap map;
  if (state.doubtful()) map = session.kind().exactness(session.parts(), state);
  if (map.layers.empty()) return std::vector<Exactness>(static_cast<std::size_t>(state.length()), Exactness::Exact);
  return std::move(map.layers.back());
}

SightState observeNow(Session& session, const std::function<bool(Need)>& needs) {
  SightState out;
  measure(session, needs, out);
  if (needs(Need::Exactness)) out.exactness = lastLayerExactness(session);
  out.state = &session.state();  // a measurement may refresh its logits
  return out;
}

SightState observeBefore(Session& session, const std::function<bool(Need)>& needs) {
  return observeNow(session, [&](Need need) { return needs(before(need)); });
}

Sight sightNow(Session& session, const std::function<bool(Need)>& needs) {
  Sight at;
  at.now = observeNow(session, needs);
  if (needs(Need::Attention)) at.now.read = readEverywhere(session);
  const Timeline::Entry& here = session.timeline().current();
  if (here.parent >= 0) at.before.state = session.timeline().entry(here.parent).state();
  if (at.before.state) {
    at.report = here.report.get();
    if (needs(Need::Exactness)) at.before.exactness = lastLayerExactness(session, *at.before.state);
    measureAt(session, here.parent, needs, at.before);
  }
  at.named = CheckMarks::anyNamed(here.checks);
  return at;
}

WatchValue valueNow(Session& session, const Expression& expression) {
  return expression.value(sightNow(session, [&](Need need) { return expression.needs(need); }));
}

Status fits(const Session& session, const Expression& expression) {
  std::int64_t slots = 0;
  for (const CacheLayer layer : session.store().layers())
    slots = std::max<std::int64_t>(slots, session.store().pool(layer).slots());
  return expression.fits(session.cacheLayers().layers, slots);
}

Result<Expression> readExpression(const Session& session, const std::string& text, bool condition) {
  const auto named = [&](Error error) {
    error.field = condition ? "condition" : "expression";
    return error;
  };
  Result<Expression> read = condition ? Expression::condition(text) : Expression::parse(text);
  if (!read) return named(read.error());
  if (const Status fitting = fits(session, *read); !fitting) return named(fitting.error());
  return read;
}

}  // namespace kvlab
