// SPDX-License-Identifier: Apache-2.0
#include "core/session/observe.h"

#include <algorithm>

#include "core/session/check_marks.h"
#include "core/session/truth.h"

namespace kvlab {

std::vector<Exactness> lastLayerExactness(const Session& session) {
  const auto rows = static_cast<std::size_t>(session.state().length());
  if (!session.state().doubtful()) return std::vector<Exactness>(rows, Exactness::Exact);
  const ExactnessMap& map = exactnessMap(session);
  return map.layers.empty() ? std::vector<Exactness>(rows, Exactness::Exact) : map.layers.back();
}

SightState observeNow(Session& session, const std::function<bool(Need)>& needs) {
  SightState out;
  if (needs(Need::Kl))
    if (const Result<Drift> drift = measureDrift(session)) out.kl = drift->kl;
  if (needs(Need::Exactness)) out.exactness = lastLayerExactness(session);
  out.state = &session.state();  // a measurement may refresh its logits
  return out;
}

Sight sightNow(Session& session, const std::function<bool(Need)>& needs) {
  Sight at;
  at.now = observeNow(session, needs);
  const Timeline::Entry& here = session.timeline().current();
  if (here.parent >= 0) at.before.state = session.timeline().entry(here.parent).state();
  if (at.before.state) at.report = here.report.get();
  at.named = CheckMarks::anyNamed(here.checks);
  return at;
}

WatchValue valueNow(Session& session, const Expression& expression) {
  return expression.value(sightNow(session, [&](Need need) { return expression.needs(need); }));
}

std::vector<LedgerId> rowsWhere(Session& session, const Expression& condition) {
  const Sight at = sightNow(session, [&](Need need) { return condition.needs(need); });
  std::vector<LedgerId> out;
  for (const LedgerId row : session.state().context)
    if (condition.about(row).holds(at)) out.push_back(row);
  return out;
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
