// SPDX-License-Identifier: Apache-2.0
// The messages of a conversation as a caller gives them. Any thread.
#pragma once
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab::chat {

/// Messages as objects; each is given as an object or as its JSON text. Templates write keys in their order, which a
/// text keeps and an object of arguments does not. Errors: bad_messages.
Result<nlohmann::ordered_json> orderedMessages(const nlohmann::json& list);

}  // namespace kvlab::chat
