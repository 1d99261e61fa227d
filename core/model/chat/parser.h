// SPDX-License-Identifier: Apache-2.0
// The grammar of chat templates: the part of Jinja that templates of models use. Anything else is refused by name.
// Any thread.
#pragma once
#include "core/model/chat/lexer.h"
#include "core/model/chat/nodes.h"

namespace kvlab::chat {

/// Errors: bad_template.
Result<Body> parse(std::string_view source);

}  // namespace kvlab::chat
