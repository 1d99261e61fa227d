// SPDX-License-Identifier: Apache-2.0
// Measures how well a model predicts a text with the cache that a manifest describes: the negative log-likelihood of
// each token and the perplexity (Jelinek et al. 1977). The text is read in windows of `context` tokens that begin
// `stride` tokens apart; a window scores the tokens that the window before it has not scored, behind the tokens that
// both have. Every window starts with an empty cache. Any thread.
#pragma once
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/progress.h"

namespace kvlab {

struct PerplexityOrder {
  nlohmann::json manifest = nlohmann::json::object();
  std::string resources;    // folder of the program's resources
  std::string text;         // file
  int context = 0;          // tokens of a window; 0 = the whole text, or what the model has positions for
  int stride = 0;           // 0 = half of the window
  std::int64_t tokens = 0;  // most tokens to read of the text; 0 = all
};

struct Perplexity {
  std::string model, numerics;
  int context = 0, stride = 0;
  bool each = false;               // scored tokens came one by one, because something evicts rows between them
  std::vector<std::int32_t> ids;   // [tokens] the text
  std::vector<std::string> texts;  // [tokens] text of each token
  std::vector<float> losses;       // [tokens] nats; not-a-number of tokens that no window has scored
  std::int64_t scored = 0, windows = 0;
  double nll = 0, error = 0;  // mean, and its standard error over the tokens
  double perplexity = 0;
  double seconds = 0;
};

/// Progress counts tokens. Errors: those of the session and of the text, usage, short_text, cancelled.
Result<Perplexity> perplexity(const PerplexityOrder& order, const Progress& progress = {});

nlohmann::json toJson(const Perplexity& result);

}  // namespace kvlab
