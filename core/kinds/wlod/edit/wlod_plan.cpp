// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/edit/wlod_plan.h"

#include <algorithm>

#include "core/edit/action_reader.h"
#include "core/kinds/wlod/tree/working_context.h"

namespace kvlab {
namespace {

class WlodPlanner : ActionReader {
 public:
  WlodPlanner(const WlodState& state, std::int32_t vocab)
      : ActionReader(state.context.cost(), vocab, Source::User), m_state(state), m_tailBegin(state.tree.tailBegin()) {
    for (std::int32_t t = m_tailBegin; t < state.tree.length(); ++t) m_tail.push_back({{t, {}, -1}, {}, false});
  }

  Result<WlodPlan> plan(std::vector<Action> actions) {
    checkDraft(actions);
    if (!m_error) readAll(actions);
    m_plan.actions = std::move(actions);
    for (std::size_t i = 0; i < m_changes.size() && !m_error; ++i) take(m_changes[i]);
    if (!m_error) checkTwice();
    if (!m_error) layOut();
    if (m_error) return *m_error;
    return std::move(m_plan);
  }

 private:
  /// A token of the tail, the tokens inserted before it, and whether it is removed.
  struct TailPlace {
    WlodPlan::TailToken token;
    std::vector<TokenId> before;
    bool removed = false;
  };

  void checkDraft(const std::vector<Action>& actions) {
    const auto other =
        std::ranges::find_if(actions, [](const Action& one) { return !std::holds_alternative<Add>(one); });
    if (!m_state.draft || other == actions.end()) return;
    m_place = static_cast<int>(other - actions.begin());
    fail("speculating", "action", nullptr, "a speculative span is open, and earlier rows must not change",
         "accept it or roll it back first");
  }

  bool hasToken(Position position, const char* field) override {
    if (position.value() < 0 || position.value() >= m_length) {
      fail("out_of_range", field, position.value(),
           std::string(field) + " " + std::to_string(position.value()) + " is outside the working context of " +
               std::to_string(m_length) + " entries",
           "name an entry of the working context");
      return false;
    }
    const TreeNode entry = m_state.context.entries()[at(position.value())];
    if (entry.level > 0)
      fail("not_a_token", field, position.value(), "entry " + std::to_string(position.value()) + " is " + entry.text(),
           "expand it first");
    return entry.level == 0;
  }

  void evict(const Evict&) override {
    fail("unsupported", "ledger", nullptr, "rows of a wLOD session leave layers by policies alone",
         "collapse blocks, set a policy, or open a session without wlod");
  }

  void changeLod(NodeId node, bool expand) override {
    m_edits.push_back({expand, TreeNode::of(node)});
    m_editPlaces.push_back(m_place);
  }

  /// Later moments may move: the tail begins here.
  void reach(std::int32_t moment) {
    if (inTail(moment)) return;
    std::vector<TailPlace> places;
    for (std::int32_t t = moment; t < m_tailBegin; ++t) places.push_back({{t, {}, -1}, {}, false});
    m_tail.insert(m_tail.begin(), places.begin(), places.end());
    m_tailBegin = moment;
  }

  std::int32_t momentOf(Position position) const { return m_state.context.entries()[at(position.value())].start; }
  bool inTail(std::int32_t moment) const { return moment >= m_tailBegin; }
  TailPlace& tailAt(std::int32_t moment) { return m_tail[at(moment - m_tailBegin)]; }

  /// Replaces tokens in place if their number stays. Otherwise the tail begins at the change.
  void take(const Change& change) {
    m_place = change.place;
    const std::vector<TokenId>& tokens = change.tokens;
    const std::vector<Position>& removed = change.removed;
    if (change.insert) m_plan.tailChanges = true;
    if (change.anchor == m_length) {
      m_behind.insert(m_behind.end(), tokens.begin(), tokens.end());
      return;
    }
    if (removed.size() == tokens.size()) {
      for (std::size_t i = 0; i < removed.size(); ++i)
        m_content.push_back({Moment(momentOf(removed[i])), tokens[i], m_place});
      return;
    }
    const std::int32_t moment = momentOf(Position(change.anchor));
    reach(moment);
    TailPlace& place = tailAt(moment);
    place.before.insert(place.before.end(), tokens.begin(), tokens.end());
    for (const Position position : removed) remove(momentOf(position));
  }

  void remove(std::int32_t moment) {
    if (tailAt(moment).removed)
      return fail("overlap", "position", moment, "moment " + std::to_string(moment) + " is edited twice",
                  "edit it once");
    tailAt(moment).removed = m_plan.tailChanges = true;
  }

  void checkTwice() {
    std::sort(m_content.begin(), m_content.end(), [](const auto& a, const auto& b) { return a.moment < b.moment; });
    for (std::size_t i = 0; i < m_content.size() && !m_error; ++i) {
      const std::int32_t moment = m_content[i].moment.value();
      m_place = m_content[i].place;
      const bool twice = i && m_content[i - 1].moment == m_content[i].moment;
      if (twice || (inTail(moment) && tailAt(moment).removed))
        fail("overlap", "position", moment, "moment " + std::to_string(moment) + " is edited twice", "edit it once");
    }
  }

  /// Builds the working context: expansions and collapses first, then the tail, then appended tokens.
  void layOut() {
    Result<WorkingContext::Edited> edited = m_state.context.edited(m_edits, editRules());
    if (!edited) {
      m_error = edited.error();
      if (m_error->action) m_error->action = m_editPlaces[at(*m_error->action)];
      return;
    }
    m_plan.context = std::move(edited->context);
    for (const Swap& swap : edited->swaps) m_plan.changes.push_back({swap.moments, false});
    takeTail();
    std::int32_t length = m_state.tree.length();
    if (m_plan.tailChanges || m_plan.added) {
      length = m_tailBegin + static_cast<std::int32_t>(m_plan.tail.size());
      const bool cold = startsCold(length);
      const Result<WorkingContext> resized =
          cold ? coldStart(length, m_state.rules.start, movedRules()) : m_plan.context.resized(length, editRules());
      if (!resized) {
        m_error = resized.error();
        return;
      }
      m_plan.context = *resized;
      if (cold) retiled();
      checkPins();
      m_plan.changes.push_back({{m_tailBegin + m_plan.kept, std::max(length, m_state.tree.length())}, true});
    }
    for (const WlodPlan::Content& one : m_plan.replaced)
      m_plan.changes.push_back({{one.moment.value(), one.moment.value() + 1}, true});
    m_plan.earliest = length;
    for (const TimelineChange& change : m_plan.changes)
      m_plan.earliest = std::min(m_plan.earliest, change.moments.begin);
    if (Status room = WorkingContext::fits(m_plan.context.cost(), m_state.rules.working); !room) m_error = room.error();
  }

  /// True if the new text does not fit as tokens even after all legal collapses.
  bool startsCold(std::int32_t length) const {
    const WorkingRules& rules = m_state.rules.working;
    const std::int32_t before = m_state.tree.length();
    return length > before && coarsestCost(before, rules) + length - before > rules.budget;
  }

  /// The session's rules with the pins of tokens that stay, where these stand after the edit.
  WorkingRules movedRules() const {
    WorkingRules rules = m_state.rules.working;
    std::vector<std::int32_t> moved;
    for (const std::int32_t moment : rules.pinned)
      if (!inTail(moment)) moved.push_back(moment);
    for (std::size_t i = 0; !rules.pinned.empty() && i < m_plan.tail.size(); ++i)
      if (const std::int32_t before = m_plan.tail[i].before; before >= 0 && rules.pinnedIn({before, before + 1}))
        moved.push_back(m_tailBegin + static_cast<std::int32_t>(i));
    rules.pinned = std::move(moved);
    return rules;
  }

  /// A pinned token must not move into a gist.
  void checkPins() {
    for (const std::int32_t moment : movedRules().pinned)
      if (const TreeNode entry = m_plan.context.entries()[at(m_plan.context.entryAt(moment))]; entry.level > 0)
        return fail(
            "pinned", "position", moment,
            "a pinned token would move to moment " + std::to_string(moment) + ", which stands in " + entry.text(),
            "unpin it, or expand " + entry.text() + " first");
  }

  /// Records where a cold start changes the detail of earlier moments.
  void retiled() {
    const auto before = m_state.context.entries().span(), after = m_plan.context.entries().span();
    const auto [first, ignored] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    const std::int32_t kept = m_tailBegin + m_plan.kept;
    if (first != before.end() && first->start < kept) m_plan.changes.push_back({{first->start, kept}, false});
  }

  /// Rules for single edits. The budget is checked for the whole list. Collapses that make room for new tokens ignore
  /// the cooldown.
  WorkingRules editRules() const {
    WorkingRules rules = m_state.rules.working;
    if (m_state.context.cost() + static_cast<std::int32_t>(m_adds.size()) > rules.budget) rules.cooldown = 0;
    rules.budget = kMostMoments;
    return rules;
  }

  /// Applies edits to the tail. Replacements inside the tail become part of it; its unchanged front is counted in
  /// `kept`.
  void takeTail() {
    for (const WlodPlan::Content& one : m_content) {
      if (!inTail(one.moment.value())) {
        m_plan.replaced.push_back(one);
        continue;
      }
      tailAt(one.moment.value()).token = {-1, one.token, one.moment.value()};
      m_plan.tailChanges = true;
    }
    m_plan.tailBegin = m_tailBegin;
    for (const TailPlace& place : m_tail) {
      m_plan.places.push_back(static_cast<std::int32_t>(m_plan.tail.size()));
      for (const TokenId token : place.before) m_plan.tail.push_back({-1, token, -1});
      if (!place.removed) m_plan.tail.push_back(place.token);
    }
    for (const TokenId token : m_behind) m_plan.tail.push_back({-1, token, -1});
    for (const Change& add : m_adds) m_plan.tail.push_back({-1, add.tokens.front(), -1});
    m_plan.added = static_cast<std::int32_t>(m_adds.size());
    while (at(m_plan.kept) < m_plan.tail.size() && m_plan.tail[at(m_plan.kept)].before == m_tailBegin + m_plan.kept)
      ++m_plan.kept;
  }

  const WlodState& m_state;
  std::int32_t m_tailBegin;  // first moment of m_tail
  WlodPlan m_plan;
  std::vector<TailPlace> m_tail;
  std::vector<WlodPlan::Content> m_content;
  std::vector<TokenId> m_behind;
  std::vector<LodEdit> m_edits;
  std::vector<int> m_editPlaces;
};

}  // namespace

Result<WlodPlan> planWlod(const WlodState& state, std::int32_t vocab, std::vector<Action> actions) {
  return WlodPlanner(state, vocab).plan(std::move(actions));
}

namespace {

/// Builds the report of one action: its entries before and after.
struct Told {
  const WlodState& state;
  const WlodPlan& plan;
  PlannedAction out = {};

  void stretch(const WorkingContext& context, Moments moments) {
    for (std::int32_t i = context.entryAt(moments.begin);
         i < context.cost() && context.entries()[at(i)].start < moments.end; ++i)
      out.removed.push_back(Position(i));
  }
  void place(std::int32_t moment) {
    const WorkingContext& after = plan.context;
    out.finalPosition = Position(moment < after.length() ? after.entryAt(moment) : after.cost());
  }
  /// Sets the final position of an edit of a token: its place after all edits of the list.
  void token(Position position) {
    const std::int32_t moment = state.context.entries()[at(position.value())].start;
    place(moment < plan.tailBegin ? moment : plan.tailBegin + plan.places[at(moment - plan.tailBegin)]);
  }
  void positions(std::vector<Position> list) {
    token(list.front());
    out.removed = std::move(list);
  }
  void lod(NodeId id) {
    const TreeNode node = TreeNode::of(id);
    stretch(state.context, node.moments());
    place(node.start);
  }
  void operator()(const ReplacePair& a) { positions({a.originalPos1, a.originalPos2}); }
  void operator()(const Replace& a) { positions(a.positions); }
  void operator()(const Delete& a) { positions({a.position}); }
  void operator()(const Add&) { end(); }
  void operator()(const Evict&) {}
  void operator()(const Expand& a) { lod(a.node); }
  void operator()(const Collapse& a) { lod(a.node); }
  void operator()(const Insert& a) {
    if (a.position.value() == state.context.cost()) return end();
    token(a.position);
    out.anchor = a.position;
  }
  void end() {
    out.anchor = Position(state.context.cost());
    place(plan.context.length() - plan.added);
  }
};

}  // namespace

EditPlan asEditPlan(const WlodState& state, const WlodPlan& plan) {
  EditPlan out;
  out.actions = plan.actions;
  out.lengthBefore = state.context.cost();
  out.lengthAfter = plan.context.cost();
  out.adds = plan.added;
  for (std::size_t i = 0; i < plan.actions.size(); ++i) {
    Told told{state, plan};
    told.out.place = static_cast<int>(i);
    std::visit(told, plan.actions[i]);
    if (!told.out.removed.empty()) told.out.anchor = told.out.removed.front();
    out.removed.insert(out.removed.end(), told.out.removed.begin(), told.out.removed.end());
    out.details.push_back(std::move(told.out));
  }
  std::sort(out.removed.begin(), out.removed.end());
  std::stable_sort(out.details.begin(), out.details.end(),
                   [](const PlannedAction& a, const PlannedAction& b) { return a.anchor < b.anchor; });
  for (std::size_t i = 0; i < plan.tail.size(); ++i)
    out.phaseShifted +=
        plan.tail[i].before >= 0 && plan.tail[i].before != plan.tailBegin + static_cast<std::int32_t>(i);
  const std::int32_t first =
      plan.earliest < plan.context.length() ? plan.context.entryAt(plan.earliest) : plan.context.cost();
  out.firstChange = first;
  for (std::int32_t i = first; i < plan.context.cost(); ++i) {
    if (state.context.hasEntry(plan.context.entries()[at(i)])) ++out.stale;
    else out.rows.emplace_back();
  }
  return out;
}

}  // namespace kvlab
