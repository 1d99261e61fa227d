// SPDX-License-Identifier: Apache-2.0
// Measures how long keys are looked at, which no policy can know in advance. One fresh causal pass reads the whole
// context; every token sees every earlier token that the model's own mask permits. The pass neither reads nor writes
// live rows. Gates learn from the labels (semantics.md, section 6), and the oracle policy keeps rows by the mass.
//
// Rows are the tokens of the context, row = position. Per layer, KV head h and row p:
//   last_use   largest position q of a query with max over the query heads of h of its attention to p > threshold,
//              the row's own query included; -1: there is none
//   lifespan   max(1, last_use - p)
//   label      min(log4(lifespan), cap)
//   censored   1 where max(last_use, p) > rows - 1 - stretch: the key was used, or came, within the last `stretch`
//              queries, so that a longer text might have used it later; its lifespan is a lower bound
//   mass       sum over the queries behind position `after` of the mean attention of the query heads of h
//
// File (safetensors, written whole or not at all):
//   tokens I32 [rows]
//   per layer `layers.{l}.last_use` and `.lifespan` I32, `.label` and `.mass` F32, `.censored` U8, all [kvHeads, rows]
//   on request `layers.{l}.keys` F32 [rows, kvHeads, headDim], before k-norm and rotation
//   on request `hidden` F32 [rows, hidden]: output of the last layer, before the last norm (gists learn from it)
// Metadata: kvlab = lifespans, model, rows, after, threshold, cap, stretch.
#pragma once
#include <string>
#include <vector>

#include "core/analysis/rebuild.h"

namespace kvlab {

struct LifespanRules {
  std::int32_t after = -1;  // queries behind this position count for the mass; -1 = all
  float threshold = 0.05f;
  float cap = 6;
  std::int32_t stretch = 32;
  bool keys = true;
  bool hidden = false;
};

struct LayerLifespans {
  std::vector<std::int32_t> lastUse, lifespan;  // [kvHeads, rows]
  std::vector<float> label, mass;               // [kvHeads, rows]
  std::vector<std::uint8_t> censored;           // [kvHeads, rows]
  std::vector<float> keys;                      // [rows, kvHeads, headDim]; or empty
};

/// A value; any thread.
struct Lifespans {
  std::int32_t rows = 0, kvHeads = 0, headDim = 0;
  std::vector<std::int32_t> tokens;  // [rows]
  std::vector<LayerLifespans> layers;
  std::vector<float> hidden;  // [rows, hidden]; or empty
  LifespanRules rules;
  std::string model;  // fingerprint

  /// `keys` asks for the keys of a file that has them. Errors: bad_file, bad_lifespans (file, tensor or key as field).
  /// Without keys in the file the lists of keys stay empty. `hidden` is for training and is not read.
  static Result<Lifespans> load(const std::string& path, bool keys = false);
  Status write(const std::string& path) const;
};

/// Rows have the formats of `store`; input.state gives tokens and phases alone; `model` stays empty. Engine thread.
/// Errors: empty (no token), too_large (keys of more than 4 GiB), cancelled, out_of_memory, device.
Result<Lifespans> recordLifespans(const RebuildInput& input, const CacheStore& store, const LifespanRules& rules,
                                  const Progress& progress = {});

/// Position of the last token of the last prompt; -1 without a prompt.
std::int32_t endOfPrompt(const CacheState& state);

}  // namespace kvlab
