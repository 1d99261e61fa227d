// SPDX-License-Identifier: Apache-2.0
// Records what the networks of a model are trained from (`kvlab train`): one pass over each window of a text, nothing
// evicted. Files of a recording folder:
//
//   recording.json               what was asked for, and the model; a resumed recording must ask for the same
//   0000.safetensors, 0001 ..    one per window (core/analysis/lifespans.h), each whole or not at all
//
// Gates get keys and lifespans of every layer, with the attention that the window's second half pays to each row as
// `mass`. Gists and lens get the output of the last layer (`hidden`), from which the distribution of the next token
// follows. recordTraining() may be called on any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/api/progress.h"
#include "core/model/tokens/tokenizer.h"

namespace kvlab {

// Cuts a text file into the windows of tokens that training runs a model over. A file whose name ends with .json is a
// list of texts, each a string or an object with a string `text`; every other file is one text. No window goes over the
// end of a text. Each window begins with the token that the tokenizer puts before a text, if any. Any thread.

struct TrainingText {
  std::vector<std::vector<TokenId>> windows;  // at least two, of at least kLeastWindow tokens
  std::int64_t tokens = 0;                    // tokens of the whole file
  std::string hash;                           // hash of the file's bytes
};

constexpr int kLeastWindow = 64;

/// Windows of at most `window` tokens, spread evenly over the file, with about `rows` tokens in all. Errors:
/// unreadable_file, bad_text, short_text (says how many tokens are needed).
Result<TrainingText> trainingText(const Tokenizer& tokenizer, const std::string& path, int window, std::int64_t rows);

struct TrainingOrder {
  std::string what = "gates";  // or gists, lens
  nlohmann::json manifest = nlohmann::json::object();
  std::string resources;  // folder of the program's resources
  std::string text;       // file
  std::string folder;     // holds the recording; made where it is missing
  int window = 0;         // tokens; 0 = 1 024 for gates and 1 216 for others, or what the model has positions for
  std::int64_t rows = 0;  // tokens in all; 0 = 20 480 for gates and 38 912 for others
  bool resume = false;    // go on in a folder that has a recording; start where there is none
};

struct TrainingRecord {
  std::string model;  // fingerprint
  std::int64_t windows = 0;
  std::int64_t found = 0;  // windows that were recorded before
  std::int64_t rows = 0;
};

/// Progress counts windows. Errors: those of the model and of the text (trainingText), unsupported, train_exists,
/// train_changed (names the difference), bad_file, cancelled (finished windows stay).
Result<TrainingRecord> recordTraining(const TrainingOrder& order, const Progress& progress = {});

}  // namespace kvlab
