// SPDX-License-Identifier: Apache-2.0
// A session as scripts see it (script_call.h).
#pragma once
#include "core/tables/tables.h"
#include "core/verbs/verbs.h"
#include "support/script_call.h"

namespace kvlab::test {

inline Result<nlohmann::json> scripted(Session& session, const std::string& name,
                                       const nlohmann::json& given = nullptr) {
  return scripted([&](const std::string& verb, const nlohmann::json& args) { return execute(session, verb, args); },
                  name, given);
}

}  // namespace kvlab::test
