// SPDX-License-Identifier: Apache-2.0
// The "post_processor" of a tokenizer.json as far as it adds ids: TemplateProcessing of a single
// text; ByteLevel only moves offsets; Sequence.
#pragma once
#include <cstdint>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

/// Ids before and after the text's own.
struct Surround {
  std::vector<std::int32_t> before, after;
};
Result<Surround> surroundFromJson(const JsonFields& step);

}  // namespace kvlab::bpe
