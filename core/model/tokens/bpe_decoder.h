// SPDX-License-Identifier: Apache-2.0
// The "decoder" of a tokenizer.json: from token strings back to text. Sequence, ByteLevel,
// ByteFallback, Fuse, Replace, Strip, Metaspace.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

/// Rewrites a list of token strings; the text is the list joined. Immutable; any thread.
using Decoder = std::function<Status(std::vector<std::string>&)>;
Result<Decoder> decoderFromJson(const JsonFields& step);

/// The byte of a "<0x0A>", -1 for anything else.
int byteOfToken(const std::string& token);

}  // namespace kvlab::bpe
