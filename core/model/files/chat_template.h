// SPDX-License-Identifier: Apache-2.0
// The chat template beside a Hugging Face checkpoint. Any thread.
#pragma once
#include <string>

#include "core/api/error.h"

namespace kvlab {

/// chat_template.jinja, or "chat_template" of tokenizer_config.json: text, or a list of named ones, of which "default"
/// counts. Empty = none. Errors: bad_tokenizer.
Result<std::string> readChatTemplate(const std::string& directory);

}  // namespace kvlab
