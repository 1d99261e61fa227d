// SPDX-License-Identifier: Apache-2.0
// The "normalizer" of a tokenizer.json: Sequence, Prepend, Replace, Strip, NFC, NFD, NFKC, NFKD.
#pragma once
#include <functional>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

/// Rewrites UTF-8 text in place. Immutable; any thread.
using Normaliser = std::function<Status(std::string&)>;
Result<Normaliser> normaliserFromJson(const JsonFields& step);

}  // namespace kvlab::bpe
