// SPDX-License-Identifier: Apache-2.0
// The "pre_tokenizer" of a tokenizer.json: cuts text into the pieces that BPE works on. Sequence,
// Split, ByteLevel, Digits, Metaspace, Whitespace, WhitespaceSplit.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

struct Piece {
  std::string text;
  bool first = false;  // starts where the whole text starts
};
using Pieces = std::vector<Piece>;

/// Cuts and rewrites pieces; none is empty afterwards. Immutable; any thread.
using PreTokeniser = std::function<Status(Pieces&)>;
Result<PreTokeniser> preTokeniserFromJson(const JsonFields& step);

}  // namespace kvlab::bpe
