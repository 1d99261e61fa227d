// SPDX-License-Identifier: Apache-2.0
// Expressions that tokenizer.json files write for Oniguruma, in the syntax of Ruby, as PCRE2 reads them: translated
// where the two differ, refused by name where PCRE2 has nothing of the kind. The rest means the same to both.
// Any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kvlab::bpe {

/// Nothing, and the reason, where there is no translation. The result is for PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE.
std::optional<std::string> pcreFromOniguruma(std::string_view expression, std::string& why);

}  // namespace kvlab::bpe
