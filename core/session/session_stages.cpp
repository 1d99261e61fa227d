// SPDX-License-Identifier: Apache-2.0
// Ticks that stay open between two stages.
#include "core/session/session.h"

namespace kvlab {

/// Arguments of the step that makes a tick again.
nlohmann::json Session::againOf(const OpenTick& tick) const {
  nlohmann::json args = nlohmann::json::object();
  for (const TokenId token : tick.wish.forced) args["tokens"].push_back(token.value());
  for (const Action& action : m_pending) args["pending"].push_back(toJson(action));
  return args;
}

TickReport Session::stepStage(const StageStop& stops) {
  if (m_open) return goOn(std::move(m_open), stops);
  return refused({"no_tick_open", "there is nothing to go on with", "no tick is open", "stepStage begins a tick"});
}

Status Session::cancelTick() {
  if (!m_open) return Error("no_tick_open", "nothing was thrown away", "no tick is open", "stepStage begins a tick");
  if (m_open->committed)
    return Error("tick_committed", "the tick was not thrown away", "its commit is made and only waits to be verified",
                 "finish it with finishTick, then undo");
  m_open.reset();
  undone();
  m_stage = nullptr;
  publish();
  return ok();
}

Status Session::noOpenTick() const {
  if (!m_open) return ok();
  return Error(
      "tick_open", "the call was refused", "a tick is open, after its stage " + std::string(name(m_open->stage)),
      "go on with stepStage or finishTick, or throw the tick away with cancelTick", "stage", name(m_open->stage));
}

const CacheState& Session::withPending() const {
  if (m_open && m_open->preview) return *m_open->preview;
  const CacheState* waiting = m_open ? m_open->ticker.waiting() : nullptr;
  return waiting ? *waiting : state();
}

}  // namespace kvlab
