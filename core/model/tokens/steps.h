// SPDX-License-Identifier: Apache-2.0
// The steps of a tokenizer.json: its normalizer, pre_tokenizer, decoder and post_processor, and steps that are lists of
// steps. The results are immutable; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

// The "normalizer": Sequence, Prepend, Replace, Strip, NFC, NFD, NFKC, NFKD.

/// Rewrites UTF-8 text in place. Immutable; any thread.
using Normaliser = std::function<Status(std::string&)>;
Result<Normaliser> normaliserFromJson(const JsonFields& step);

// The "pre_tokenizer": cuts text into the pieces that BPE works on. Sequence, Split, ByteLevel, Digits, Metaspace,
// Whitespace, WhitespaceSplit.

struct Piece {
  std::string text;
  bool first = false;  // starts where the whole text starts
};
using Pieces = std::vector<Piece>;

/// Cuts and rewrites pieces; none is empty afterwards. Immutable; any thread.
using PreTokeniser = std::function<Status(Pieces&)>;
Result<PreTokeniser> preTokeniserFromJson(const JsonFields& step);

// The "decoder": from token strings back to text. Sequence, ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace.

/// Rewrites a list of token strings; the text is the list joined. Immutable; any thread.
using Decoder = std::function<Status(std::vector<std::string>&)>;
Result<Decoder> decoderFromJson(const JsonFields& step);

/// The byte of a "<0x0A>", -1 for anything else.
int byteOfToken(const std::string& token);

// The "post_processor" as far as it adds ids: TemplateProcessing of a single text; ByteLevel only moves offsets;
// Sequence.

/// Ids before and after the text's own.
struct Surround {
  std::vector<std::int32_t> before, after;
};
Result<Surround> surroundFromJson(const JsonFields& step);

/// Reads each object of the list `key` with `read`.
template <class Step, class Read>
Result<std::vector<Step>> readSteps(const JsonFields& in, const char* key, Read read) {
  if (!in.has(key) || !in.json().at(key).is_array()) return in.bad(key, "is not a list");
  std::vector<Step> steps;
  for (const auto& json : in.json().at(key)) {
    if (!json.is_object()) return in.bad(key, "has something that is not an object");
    steps.push_back(KV_TRY(read(in.inside(json))));
  }
  return steps;
}

/// A step that applies all of a list to a Value in turn and stops at the first error.
template <class Step, class Value, class Read>
Result<Step> sequence(const JsonFields& in, const char* key, Read read) {
  auto steps = KV_TRY(readSteps<Step>(in, key, read));
  return Step([steps = std::move(steps)](Value& value) -> Status {
    for (const Step& step : steps) KV_TRY(step(value));
    return ok();
  });
}

}  // namespace kvlab::bpe
