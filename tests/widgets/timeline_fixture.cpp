// SPDX-License-Identifier: GPL-3.0-or-later
#include "timeline_fixture.h"

#include <algorithm>

namespace kvlab::fixture {
namespace {

template <class T, class F>
nlohmann::json columnOf(const std::vector<Branching::Entry>& entries, int since, bool packed, F valueOf) {
  std::vector<T> out;
  for (auto i = static_cast<std::size_t>(since); i < entries.size(); ++i) out.push_back(valueOf(entries[i]));
  if (!packed) return out;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(out.data());
  return nlohmann::json::binary({bytes, bytes + out.size() * sizeof(T)});
}

/// Commits the edit of a fixture snapshot, and the rows that left in its tick.
void commitSnapshot(Branching& to, const Snapshot& s) {
  int left = 0;
  std::string words;
  for (const Action& action : s.report ? s.report->actions : std::vector<Action>()) {
    if (const auto* evict = std::get_if<Evict>(&action)) left += static_cast<int>(evict->ledger.size());
    if (!std::holds_alternative<Add>(action)) words = "edit of tick " + std::to_string(s.tick.value());
  }
  to.commit(s.tick.value(), words.empty() ? "ticks" : "edit", words, left);
}

}  // namespace

int Branching::commit(std::int64_t tick, const std::string& sort, const std::string& words, int left) {
  const int id = static_cast<int>(entries.size());
  if (branches[static_cast<std::size_t>(branch)].tip != current) {
    branches.push_back({"branch-" + std::to_string(branches.size()), current});
    branch = static_cast<int>(branches.size()) - 1;
  }
  const Entry& before = entries[static_cast<std::size_t>(current)];
  const bool goesOn = words.empty() && before.words.empty() && current > 0;
  entries.push_back({current, goesOn ? before.edit : id, left, tick, sort, words});
  branches[static_cast<std::size_t>(branch)].tip = current = id;
  return id;
}

void Branching::goTo(int entry, int other) {
  current = entry;
  branch = other;
}

nlohmann::json Branching::reply(int since, bool packed) const {
  using Strings = std::vector<std::string>;
  const int size = static_cast<int>(entries.size());
  since = std::min(since, size);
  std::vector<int> edits;
  Strings sorts, words;
  for (int id = std::max(1, since); id < size; ++id) {
    const Entry& one = entries[static_cast<std::size_t>(id)];
    if (one.words.empty()) continue;
    edits.push_back(id);
    sorts.push_back(one.sort);
    words.push_back(one.words);
  }
  nlohmann::json list = nlohmann::json::array();
  for (const Branch& one : branches) list.push_back({{"name", one.name}, {"tip", one.tip}});
  return {{"starts", starts},
          {"size", size},
          {"current", current},
          {"branch", branches[static_cast<std::size_t>(branch)].name},
          {"since", since},
          {"parent", columnOf<int>(entries, since, packed, [](const Entry& e) { return e.parent; })},
          {"edit", columnOf<int>(entries, since, packed, [](const Entry& e) { return e.edit; })},
          {"tick", columnOf<std::int64_t>(entries, since, packed, [](const Entry& e) { return e.tick; })},
          {"left", columnOf<int>(entries, since, packed, [](const Entry& e) { return e.left; })},
          {"edits", {{"entry", edits}, {"sort", sorts}, {"words", words}}},
          {"kept", {keptFrom, size}},
          {"branches", list}};
}

Branching branched(const std::vector<SnapshotPtr>& history) {
  constexpr std::size_t kParted = 15;  // snapshots before the branches
  Branching out;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (i == 0) out.commit(history[i]->tick.value(), "prompt", "prompt “the keeper of …”");
    else commitSnapshot(out, *history[i]);
    if (i != kParted) continue;
    const int here = out.current;
    out.goTo(8, 0);
    for (int tick = 8; tick < 17; ++tick)
      out.commit(tick, tick == 10 ? "edit" : "ticks", tick == 10 ? "replace “·storm” → “·calm”" : "");
    out.goTo(12 + 9, 1);
    out.commit(12, "setting", "policy h2o");
    for (int tick = 13; tick < 22; ++tick) out.commit(tick, "ticks", {}, 3);
    out.goTo(13, 0);
    out.commit(12, "rebuild", "rebuild");
    for (int tick = 13; tick < 16; ++tick) out.commit(tick);
    out.commit(15, "damage", "fault value_bit");
    out.goTo(here, 0);
  }
  if (history.size() > kParted) out.keptFrom = 6;
  return out;
}

Branching longHistory(int commits, int branches) {
  Branching out;
  out.commit(0, "prompt", "prompt “a long one”");
  for (int i = 1; i < commits; ++i) {
    if (i % (commits / branches) == 0) {
      const int back = out.current - (i * 7919) % std::max(1, commits / branches - 1);
      out.goTo(back, out.branch);
    }
    const std::int64_t tick = out.entries[static_cast<std::size_t>(out.current)].tick + 1;
    if (i % 3) out.commit(tick, "ticks", {}, i % 5 == 0);
    else out.commit(tick, i % 2 ? "edit" : "rebuild", i % 2 ? "evict 3 rows" : "rebuild");
  }
  out.keptFrom = commits / 2;
  return out;
}

Branching wideHistory(int commits, int branches, int every) {
  Branching out;
  for (int branch = 0; branch < branches; ++branch) {
    out.goTo(0, 0);
    for (int tick = 1; tick <= commits / branches; ++tick) {
      const bool edit = tick % every == 0;
      out.commit(tick, !edit ? "ticks" : tick / every % 2 ? "edit" : "prompt", edit ? "edit" : "", tick % 3 == 0);
    }
  }
  return out;
}

}  // namespace kvlab::fixture
