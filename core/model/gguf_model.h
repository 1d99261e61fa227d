// SPDX-License-Identifier: Apache-2.0
// Opens a model from a file in GGUF format, or from a folder that holds one. Any thread.
#pragma once
#include <memory>
#include <string>

#include "core/api/progress.h"
#include "core/model/files/gguf.h"
#include "core/model/model.h"
#include "core/model/tokens/gguf_tokenizer.h"

namespace kvlab {

/// `file` is any .gguf file of the model; `spec` is what Model::spec() and messages say. Errors: bad_model, bad_file,
/// bad_tokenizer, cancelled.
Result<std::shared_ptr<const Model>> openGguf(const std::string& spec, const std::string& file,
                                              const Progress& progress);

/// The keys "tokenizer.ggml.*" of a file, of the right kinds and lengths. `rows` is the number of embeddings: no more
/// tokens than that. Errors (bad_model) name the key.
Result<GgufTokenizer> tokenizerKeysOf(const Gguf& file, std::int64_t rows);

}  // namespace kvlab
