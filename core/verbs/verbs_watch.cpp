// SPDX-License-Identifier: Apache-2.0
// Verbs of watches.
#include "core/api/json_values.h"
#include "core/session/observe.h"
#include "core/session/watches.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

json watchesOf(const Session& session) {
  const auto views = session.watches().views();
  return views ? listJson(*views) : json::array();
}

Result<json> addWatch(Session& session, VerbArgs& in) {
  Expression expression = KV_TRY(readExpression(session, in.text("expression"), false));
  session.watches().add(std::move(expression));
  session.publish();
  return watchesOf(session);
}

Result<json> clearWatches(Session& session, VerbArgs& in) {
  if (!in.has("id")) session.watches().clear();
  else if (const auto id = static_cast<int>(in.integer("id")); !session.watches().remove(id))
    return Error("no_watch", "no watch was removed", "there is no watch " + std::to_string(id),
                 "s.watches() lists all of them", "id", id);
  session.publish();
  return watchesOf(session);
}

}  // namespace

std::span<const Verb> watchVerbs() {
  static const Verb kVerbs[] = {
      {verb::marks("watch", {arg::text("expression")},
                   "Adds an expression whose value is published, and shown in the window, with every state from now "
                   "on. The answer lists all watches. Forks have them too.",
                   "Watch[]"),
       addWatch},
      {verb::marks("clearWatches", {arg::integer("id", 0, kMostId).orNone()},
                   "Removes all watches, or the one with this id.", "Watch[]"),
       clearWatches},
  };
  return kVerbs;
}

}  // namespace kvlab
