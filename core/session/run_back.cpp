// SPDX-License-Identifier: Apache-2.0
#include "core/session/run_back.h"

#include <algorithm>

#include "core/session/look_back.h"

namespace kvlab {
namespace {

Status askable(std::span<const Expression> conditions) {
  const auto stage = std::ranges::find_if(conditions, [](const Expression& one) { return one.needs(Need::Stage); });
  if (stage == conditions.end()) return ok();
  return Error{"bad_condition",
               "the history was not searched",
               "stage(..) holds inside ticks, and history has commits",
               "leave stage(..) out",
               std::nullopt,
               "condition",
               stage->text()};
}

}  // namespace

Result<Held> lastHeld(Session& session, std::span<const Expression> conditions) {
  KV_TRY(askable(conditions));
  LookBack back(session, [conditions](Need need) {
    return std::ranges::any_of(conditions, [need](const Expression& one) { return one.needs(need); });
  });
  const Expression* by = nullptr;
  const int entry = KV_TRY(back.lastOf(std::max(0, session.timeline().current().parent), [&](const Sight& at, int) {
    const auto held = std::ranges::find_if(conditions, [&](const Expression& one) { return one.holds(at); });
    if (held != conditions.end()) by = &*held;
    return held != conditions.end();
  }));
  return Held{entry, by};
}

Result<Held> runBack(Session& session, std::span<const Expression> conditions) {
  KV_TRY(session.noOpenTick());
  const Held held = KV_TRY(lastHeld(session, conditions));
  if (held.entry >= 0) KV_TRY(session.travel(held.entry));
  return held;
}

}  // namespace kvlab
