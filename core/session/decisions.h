// SPDX-License-Identifier: Apache-2.0
// The decisions that policies made about the rows of a cache layer: score, rank and threshold of each row that
// competed. Nothing is stored for them. The policy state behind a commit has the scores of its decision over the rows
// that the layer had then, and the bands; the rows that stayed are those of the layer's map. States that were dropped
// are made again (look_back.h). A tick that is stopped behind the stage prune has decided, and is asked by its number.
// semantics.md, section 6. Engine thread.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/session.h"

namespace kvlab {

enum class Verdict : std::uint8_t {
  Computed,  // the commit made the row in the layer
  Kept,      // the policy chose, and the row stayed
  Dropped    // the policy chose, and the row left
};
std::string_view name(Verdict verdict);

/// The part of the rule that a row stayed or left by.
enum class Ground : std::uint8_t {
  None,       // no policy chose
  Sink,       // stays, one of the first rows
  Window,     // stays, one of the last rows
  Pinned,     // stays, whatever its score
  Rank,       // by its place among the rows that competed
  Threshold,  // leaves, its score is below the policy's
  Repeated    // an added policy decided; history repeats the decision, and its scores are gone
};
std::string_view name(Ground ground);

struct RowDecision {
  int entry = 0;  // entry of the timeline; -1 = the open tick
  CacheLayer layer;
  LedgerId row;
  Verdict verdict = Verdict::Computed;
  Ground ground = Ground::None;
  float score = 0;                     // NaN = none
  std::int32_t rank = 0;               // 1 = the best of the rows that competed; 0 = it did not compete
  std::int32_t of = 0;                 // rows that competed
  std::int32_t stayed = 0;             // rows of these that stayed
  float threshold = 0;                 // the lowest score of those that stayed; NaN = none stayed
  LedgerId lowest{-1};                 // the row with this score
  LedgerId replacedBy{-1};             // of a dropped row: the one that left the window for its place, else `lowest`
  bool atPromptEnd = false;            // else in a tick
  const PolicySpec* policy = nullptr;  // of the layer; lives as long as the state. Null = none

  bool operator==(const RowDecision&) const = default;
};
/// "dropped by h2o at the end of the prompt: score 0.0121, rank 812 of 900, of which 64 stayed; the lowest of these is
/// row 41 with 0.05"
std::string decisionWords(const RowDecision& decision);

/// The decision of one commit about one cache layer.
class LayerDecision {
 public:
  /// None if no policy chose among the layer's rows in the commit that made `now`. before: the state before it; null =
  /// not known. Both must outlive the answer.
  static std::optional<LayerDecision> of(const CacheState* before, const CacheState& now, CacheLayer layer);

  /// None for a row that the layer did not have.
  std::optional<RowDecision> about(LedgerId row);
  /// Calls take(decision) for each row that the layer had, in context order, until it returns false.
  void each(const std::function<bool(const RowDecision&)>& take);

 private:
  LayerDecision(const CacheState& now, CacheLayer layer) : m_now(&now), m_layer(layer) {}
  void judge();
  RowDecision at(std::size_t i) const;  // i: of m_rows
  RowDecision blank(LedgerId row) const;
  LedgerId winner(LedgerId loser) const;

  const CacheState* m_now;
  CacheLayer m_layer;
  std::span<const LedgerId> m_rows;  // that the layer had, in context order
  std::span<const float> m_scores;   // of these; empty = the decision was repeated
  bool m_judged = false;
  std::vector<bool> m_stayed;        // of these, as soon as they are judged
  std::vector<Ground> m_ground;      // of these
  std::vector<std::int32_t> m_rank;  // of these
  std::int32_t m_of = 0, m_left = 0;
  LedgerId m_lowest{-1};
  float m_threshold = 0;
};

/// A question about decisions; what is left out stands for all.
struct DecisionsAsked {
  std::optional<Layer> layer = {};
  std::optional<Head> head = {};  // place among the cache layers of a layer
  std::optional<LedgerId> row = {};
  std::optional<Tick> tick = {};  // one tick, or the open one; left out: the present one, or all since a row came
};

/// Shows the decisions of commits on the way to the present state, oldest first, by layer and row; `take` returns false
/// when it has enough. Rows that a commit made come as Computed before the choice among them. Errors: those of
/// LookBack.
Status decisions(Session& session, const DecisionsAsked& asked, const std::function<bool(const RowDecision&)>& take);

}  // namespace kvlab
