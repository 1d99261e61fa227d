// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/focus_allocator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>

namespace kvlab {
namespace {

constexpr std::size_t kListed = 16;
constexpr std::int32_t kStep = kGistBlock - 1;  // entries that an edit adds or saves

std::string shown(double score) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.3f", score);
  return text;
}

Status checkScores(const WorkingContext& context, std::span<const double> scores) {
  const auto bad = [](std::string why, const nlohmann::json& value) {
    return Error("bad_scores", "the scores were refused", std::move(why),
                 "give one score per entry, each between -1 and 1", "scores", value);
  };
  if (scores.size() != at(context.cost()))
    return bad(std::to_string(scores.size()) + " scores for " + std::to_string(context.cost()) + " entries",
               scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!(scores[i] > -1 && scores[i] < 1))
      return bad("score " + std::to_string(i) + " is not between -1 and 1", scores[i]);
  return ok();
}

struct FocusCandidate {
  LodEdit edit;
  double score = 0;
};

/// Gists by descending score; among equal scores the earlier gist comes first.
std::deque<FocusCandidate> expansions(const WorkingContext& context, std::span<const double> scores, double from) {
  std::deque<FocusCandidate> out;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (const TreeNode node = context.entries()[i]; node.level > 0 && scores[i] >= from)
      out.push_back({{true, node}, scores[i]});
  std::stable_sort(out.begin(), out.end(),
                   [](const FocusCandidate& a, const FocusCandidate& b) { return a.score > b.score; });
  return out;
}

/// Blocks of 32 siblings by ascending score, which is the highest score in the block; among equal scores the earlier
/// first.
std::deque<FocusCandidate> collapses(const WorkingContext& context, std::span<const double> scores, double upTo) {
  std::deque<FocusCandidate> out;
  for (std::size_t i = 0; i + kGistBlock <= scores.size(); ++i) {
    const TreeNode first = context.entries()[i];
    if (first.level == kTopLevel || first.start % spanOf(first.level + 1)) continue;
    if (context.entries()[i + kGistBlock - 1] != TreeNode{first.level, first.start + kStep * first.span()}) continue;
    const double highest = *std::max_element(scores.begin() + static_cast<std::ptrdiff_t>(i),
                                             scores.begin() + static_cast<std::ptrdiff_t>(i + kGistBlock));
    if (highest <= upTo) out.push_back({{false, {first.level + 1, first.start}}, highest});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const FocusCandidate& a, const FocusCandidate& b) { return a.score < b.score; });
  return out;
}

/// The share of the entries that an edit makes dirty: entries that end behind its start.
double dirtyShare(const WorkingContext& context, const LodEdit& edit) {
  const std::int32_t before = context.entryAt(edit.node.start);
  return static_cast<double>(context.cost() - before) / context.cost();
}

/// One round of `patience` takes every edit.
bool takesEarly(const WorkingContext& context, const FocusRules& rules) {
  return rules.dirty >= 1 || rules.patience <= 1 || context.round() % rules.patience == 0;
}

FocusCandidate first(std::deque<FocusCandidate>& from) {
  const FocusCandidate candidate = from.front();
  from.pop_front();
  return candidate;
}

bool expandsFirst(const std::deque<FocusCandidate>& expand, const std::deque<FocusCandidate>& collapse) {
  return !expand.empty() && (collapse.empty() || expand.front().score >= -collapse.front().score);
}

FocusCandidate strongestOf(std::deque<FocusCandidate>& expand, std::deque<FocusCandidate>& collapse) {
  return first(expandsFirst(expand, collapse) ? expand : collapse);
}

class Allocation {
 public:
  Allocation(const WorkingContext& context, const WorkingRules& working) : m_context(context), m_working(working) {
    m_out.round.round = context.round();
    m_out.round.length = context.length();
    m_out.round.budget = working.budget;
    m_out.round.before = m_cost = context.cost();
  }

  std::int32_t cost() const { return m_cost; }
  bool fits(std::int32_t more) const { return m_cost + more <= m_working.budget; }
  std::size_t edits() const { return m_out.edits.size(); }

  /// Applies the candidate unless a rule forbids it; records the reason.
  bool take(const FocusCandidate& candidate, const char* code, std::string reason) {
    if (overlaps(candidate.edit.node))
      return note(candidate, false, "overlap", "another edit of this round is in " + candidate.edit.node.text());
    if (const auto error = m_context.refusal(candidate.edit, m_working))
      return note(candidate, false, error->code, error->why);
    m_cost += candidate.edit.expand ? kStep : -kStep;
    m_out.edits.push_back(candidate.edit);
    return note(candidate, true, code, std::move(reason));
  }
  /// Takes the candidates that make too much dirty out of the list; records the strongest of them.
  void defer(std::deque<FocusCandidate>& candidates, const FocusRules& rules) {
    std::size_t listed = 0;
    std::erase_if(candidates, [&](const FocusCandidate& one) {
      const double share = dirtyShare(m_context, one.edit);
      if (share <= rules.dirty) return false;
      if (listed++ >= kListed) return (void)++m_out.round.unlisted, true;
      note(one, false, "deferred",
           "it makes " + shown(share).substr(1) + " of the entries dirty; one round of " +
               std::to_string(rules.patience) + " takes such edits");
      return true;
    });
  }
  bool note(const FocusCandidate& candidate, bool done, std::string code, std::string reason) {
    m_out.round.decisions.push_back(
        {candidate.edit.node, candidate.edit.expand, candidate.score, done, std::move(code), std::move(reason)});
    return done;
  }
  /// Records the strongest candidates beyond the limit of edits, and counts the rest.
  Refocus finish(std::deque<FocusCandidate> expand, std::deque<FocusCandidate> collapse, std::int32_t limit) {
    for (std::size_t i = 0; i < kListed && !(expand.empty() && collapse.empty()); ++i)
      note(strongestOf(expand, collapse), false, "edit_limit",
           "the limit of " + std::to_string(limit) + " edits per round is reached");
    m_out.round.unlisted += static_cast<std::int32_t>(expand.size() + collapse.size());
    m_out.round.after = m_cost;
    return std::move(m_out);
  }

 private:
  bool overlaps(TreeNode node) const {
    return std::any_of(m_out.edits.begin(), m_out.edits.end(),
                       [&](const LodEdit& edit) { return edit.node.moments().overlaps(node.moments()); });
  }

  const WorkingContext& m_context;
  const WorkingRules& m_working;
  std::int32_t m_cost = 0;
  Refocus m_out;
};

/// Moves blocks that make much dirty behind the others, and blocks whose entries changed lately behind all.
std::deque<FocusCandidate> rested(const WorkingContext& context, const FocusRules& rules, const WorkingRules& working,
                                  std::deque<FocusCandidate> blocks) {
  std::stable_partition(blocks.begin(), blocks.end(),
                        [&](const FocusCandidate& block) { return dirtyShare(context, block.edit) <= rules.dirty; });
  std::stable_partition(blocks.begin(), blocks.end(), [&](const FocusCandidate& block) {
    const auto error = context.refusal(block.edit, working);
    return !error || error->code != "cooldown";
  });
  return blocks;
}

/// Scores after collapses: a gist gets the highest score of its children.
std::vector<double> carried(const WorkingContext& from, std::span<const double> scores, const WorkingContext& to) {
  std::vector<double> out;
  std::size_t i = 0;
  for (const TreeNode entry : to.entries()) {
    out.push_back(scores[i]);
    for (; i < scores.size() && from.entries()[i].start < entry.end(); ++i)
      out.back() = std::max(out.back(), scores[i]);
  }
  return out;
}

/// Appends another part of the same round.
void join(Refocus& round, Refocus part) {
  FocusRound& all = round.round;
  const std::int32_t before = round.edits.empty() ? part.round.before : all.before;
  std::vector<FocusDecision> decisions = std::move(all.decisions);
  decisions.insert(decisions.end(), part.round.decisions.begin(), part.round.decisions.end());
  all = std::move(part.round);
  all.before = before;
  all.decisions = std::move(decisions);
  round.edits.insert(round.edits.end(), part.edits.begin(), part.edits.end());
}

std::string tooMuch(const Allocation& allocation, const WorkingRules& working) {
  return std::to_string(allocation.cost()) + " entries and " + std::to_string(kStep) +
      " more are above the budget of " + std::to_string(working.budget);
}

}  // namespace

Result<Refocus> refocus(const WorkingContext& context, std::span<const double> scores, const FocusRules& rules,
                        const WorkingRules& working) {
  KV_TRY(checkScores(context, scores));
  std::deque<FocusCandidate> expand = expansions(context, scores, rules.expandAt),
                             collapse = collapses(context, scores, -rules.collapseAt);
  Allocation allocation(context, working);
  const bool early = takesEarly(context, rules);
  const std::int32_t limit = early && rules.dirty < 1 ? rules.edits * rules.patience : rules.edits;
  if (!early)
    for (std::deque<FocusCandidate>* candidates : {&expand, &collapse}) allocation.defer(*candidates, rules);
  while (!expand.empty() || !collapse.empty()) {
    if (allocation.edits() >= at(limit)) return allocation.finish(expand, collapse, limit);
    const bool expands = expandsFirst(expand, collapse), roomless = expands && !allocation.fits(kStep);
    if (roomless && collapse.empty()) {
      allocation.note(first(expand), false, "over_budget", tooMuch(allocation, working));
    } else if (expands && !roomless) {
      const FocusCandidate next = first(expand);
      allocation.take(next, "accepted", "score " + shown(next.score) + ", at least " + shown(rules.expandAt));
    } else {
      const FocusCandidate next = first(collapse);
      allocation.take(
          next, roomless ? "makes_room" : "accepted",
          roomless ? "score " + shown(next.score) + ", makes room for " + expand.front().edit.node.text()
                   : "highest score of the block " + shown(next.score) + ", at most " + shown(-rules.collapseAt));
    }
  }
  return allocation.finish({}, {}, limit);
}

Result<Refocus> makeRoom(const WorkingContext& context, std::span<const double> scores, std::int32_t entries,
                         const FocusRules& rules, const WorkingRules& working) {
  KV_TRY(checkScores(context, scores));
  WorkingRules urgent = working;
  urgent.cooldown = 0;
  WorkingContext now = context;
  std::vector<double> nowScores(scores.begin(), scores.end());
  Refocus out;
  for (;;) {
    Allocation allocation(now, urgent);
    std::deque<FocusCandidate> collapse = rested(now, rules, working, collapses(now, nowScores, 1));
    while (!allocation.fits(entries) && !collapse.empty()) {
      const FocusCandidate next = first(collapse);
      allocation.take(next, "makes_room",
                      "score " + shown(next.score) + ", makes room for " + std::to_string(entries) + " more entries");
    }
    const std::int32_t cost = allocation.cost();
    Refocus part = allocation.finish({}, {}, 0);
    const bool stuck = part.edits.empty();
    Result<WorkingContext::Edited> edited = now.edited(part.edits, urgent);
    if (!edited) return edited.error();
    join(out, std::move(part));
    if (Status room = WorkingContext::fits(cost + entries, working); room) return out;
    else if (stuck) return room.error();
    nowScores = carried(now, nowScores, edited->context);
    now = std::move(edited->context);
  }
}

}  // namespace kvlab
