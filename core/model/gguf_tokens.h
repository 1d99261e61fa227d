// SPDX-License-Identifier: Apache-2.0
// The keys "tokenizer.ggml.*" of a GGUF file, of the right kinds and lengths. Any thread.
#pragma once
#include "core/model/files/gguf.h"
#include "core/model/tokens/gguf_tokenizer.h"

namespace kvlab {

/// `rows` is the number of embeddings: no more tokens than that. Errors (bad_model) name the key.
Result<GgufTokenizer> tokenizerKeysOf(const Gguf& file, std::int64_t rows);

}  // namespace kvlab
