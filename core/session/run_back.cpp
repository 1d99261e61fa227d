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

LookBack lookFor(Session& session, std::span<const Expression> conditions) {
  return LookBack(session, [conditions](Need need) {
    return std::ranges::any_of(conditions, [need](const Expression& one) { return one.needs(need); });
  });
}

/// The commit that a search of LookBack finds, and the first condition that holds there.
template <class Search>
Result<Held> find(Session& session, std::span<const Expression> conditions, Search search) {
  KV_TRY(askable(conditions));
  LookBack back = lookFor(session, conditions);
  const Expression* by = nullptr;
  const int entry = KV_TRY(search(back, [&](const Sight& at, int) {
    const auto held = std::ranges::find_if(conditions, [&](const Expression& one) { return one.holds(at); });
    if (held != conditions.end()) by = &*held;
    return held != conditions.end();
  }));
  return Held{entry, by};
}

}  // namespace

Result<Held> lastHeld(Session& session, std::span<const Expression> conditions) {
  return find(session, conditions, [&](LookBack& back, const LookBack::Test& test) {
    return back.lastOf(std::max(0, session.timeline().current().parent), test);
  });
}

Result<Held> firstHeld(Session& session, std::span<const Expression> conditions) {
  return find(session, conditions, [&](LookBack& back, const LookBack::Test& test) {
    return back.firstOf(session.timeline().currentId(), test);
  });
}

Result<std::vector<int>> allHeld(Session& session, const Expression& condition, int first) {
  const std::span<const Expression> one(&condition, 1);
  KV_TRY(askable(one));
  std::vector<int> out;
  KV_TRY(lookFor(session, one).forward(first, session.timeline().currentId(), [&](const Sight& at, int entry) {
    if (condition.holds(at)) out.push_back(entry);
  }));
  return out;
}

Result<Held> runBack(Session& session, std::span<const Expression> conditions) {
  KV_TRY(session.noOpenTick());
  const Held held = KV_TRY(lastHeld(session, conditions));
  if (held.entry >= 0) KV_TRY(session.travel(held.entry));
  return held;
}

}  // namespace kvlab
