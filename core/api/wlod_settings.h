// SPDX-License-Identifier: Apache-2.0
// The manifest key `wlod`: a working context of tokens and gists over a time line that may be many times longer.
// semantics.md, section 8. Values; any thread.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace kvlab {

class ManifestKeys;

enum class WlodRecompute : std::uint8_t { Chosen, Incremental, Full, Selective, Keep };  // Chosen: by the cost model

struct WlodSettings {
  std::string attention = "flat";  // flat | pyramid
  std::int32_t budget = 2048;      // W_max, entries
  std::int32_t moments = 0;        // longest time line; 0 = 32 budgets, or the model's context where that is longer
  std::int32_t near = 256, middle = 4096;  // w, w2: moments seen as entries, and through LOD1 at least
  bool nearCausal = false;                 // summaries see the rows of their own span, too
  double sigma = 1;                        // blur of a gist in halves of its span; 0 = its rotation is not damped
  std::string gist = "mean";               // mean | trained (shipped for the model) | a file | an added one
  std::string lens = "attention";          // attention | trained | script | off | a file | an added one
  double expandAt = 0.2, collapseAt = 0.2;
  std::int32_t edits = 4;     // per round
  double dirty = 0.2;         // share of the entries that an edit may make dirty, in all rounds but one of `patience`
  std::int32_t patience = 8;  // rounds
  std::int32_t every = 32;    // tokens between rounds
  std::int32_t cooldown = 2;  // rounds
  std::int32_t protectedTail = 128;                   // moments
  std::int32_t startTokens = 256, startGists = 2048;  // cold start: moments as tokens, and before them as LOD1
  WlodRecompute recompute = WlodRecompute::Chosen;
  double selectiveRatio = 0.15;  // share of the dirty rows that existed before
  double keepDrift = 0.1;        // deviation of layer 1, relative L2, that Keep leaves
  double threshold = 0.7;        // dirty share above which everything is computed

  bool operator==(const WlodSettings&) const = default;
  bool allocates() const { return lens != "off"; }
  void read(ManifestKeys& keys);
  nlohmann::json toJson() const;
};

}  // namespace kvlab
