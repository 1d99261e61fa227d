// SPDX-License-Identifier: Apache-2.0
// Every state a session has been in, as a tree of commands. Restoring a kept state needs no computation: the rows that
// it names are still in the pools, or the entries between it and the current state keep them. A dropped state is
// reached by executing commands again, from the nearest state before it that is kept or has an anchor. Knows which
// slots older states still need. Engine thread.
#pragma once
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/report.h"
#include "core/api/verb.h"
#include "core/parts/session_parts.h"
#include "core/state/cache_store.h"
#include "core/state/commit.h"

namespace kvlab {

/// A check of a state, and which invariants it passed; bit i is invariant i.
struct CheckMade {
  bool full = false;
  std::int32_t part = 0, parts = 1;  // the slice of the rows, unless full; -1 = none
  std::uint32_t held = 0;            // named nothing
  std::uint32_t rest = 0;            // passed everything that it looked at except the rows that it named
  std::int32_t visit = 0;            // number of earlier travels of the session through its history
  bool operator==(const CheckMade&) const = default;
};

/// A state of a session with a copy of its rows, from which history executes commands again instead of from the start.
/// It stands in no pool, so it outlives a change of storage. Sessions on one thread share anchors.
struct Anchor {
  CacheState state;
  Manifest manifest;                            // storage and rules at that time
  std::vector<std::vector<std::uint8_t>> rows;  // [layers][rows, stride] records in the slots that the state holds
  std::int64_t bytes = 0;                       // size of the rows
};

class Timeline {
 public:
  /// A state that is there, and how it differs from its parent's while both are.
  struct Kept {
    CacheState state;
    int pools = 0;                      // number of the pools that the state has slots in
    bool apart = false;                 // the pools have rows for one of both states only; else for both
    LayerSlots added = {}, freed = {};  // unless apart
    KeptRows rows = {};                 // rows of the state, this or its parent's, farther from the current one
    std::shared_ptr<const StoredAs> storedBefore = {}, stored = {};  // both, where their pools differ
    std::int64_t bytes = 0;                                          // memory that keeping the farther state costs
    std::int64_t eventBytes = 0;                                     // memory of the report's events
  };
  /// A verb that changed the session, and the state it led to.
  struct Entry {
    int parent = -1;
    std::int32_t depth = 0;  // entries before it on the way from the start
    std::int64_t work = 0;   // these entries and the rows that they made: cost of executing them again
    std::string verb;
    nlohmann::json args;
    Tick tick;
    std::vector<int> children = {};
    int edit = 0;            // first entry of the edit that the entry belongs to
    std::string words = {};  // first entry of an edit: the edit in words; empty if it only generates
    EditSort sort = EditSort::Edit;
    std::shared_ptr<const TickReport> report = {};
    std::vector<CheckMade> checks = {};             // checks of the state, in their order
    std::vector<Evict> left = {};                   // rows that windows have left behind
    std::shared_ptr<const Decisions> decided = {};  // by added policies, see PolicyState
    std::unique_ptr<Kept> kept = {};                // null = dropped
    std::shared_ptr<const Anchor> anchor = {};
    int anchored = -1;  // nearest entry up to it that had an anchor when the entry was made

    const CacheState* state() const { return kept ? &kept->state : nullptr; }
  };

  /// Everything that push() and select() change, except entries.
  struct Place {
    int entries = 0, current = 0, branch = 0, starts = 0;
    std::size_t branches = 0;
    int tip = 0;  // tip of the branch
  };
  Place place() const { return {size(), m_current, m_branch, m_starts, m_branches.size(), tip()}; }

  /// A timeline to take the place of this one.
  Timeline another() const {
    Timeline out;
    out.m_starts = m_starts;
    return out;
  }
  /// Begins with one entry. If other entries lie before it, `depth` counts them, and `anchorBytes` is the size of their
  /// anchors.
  void start(const CacheState& state, int pools, std::int32_t depth = 0, std::int64_t anchorBytes = 0);
  /// The whole way to the entry `tip` as a new timeline that keeps only `state`, of the entry on this way that has
  /// `depth` entries before it. anchors: it has the anchors, too.
  Timeline trunk(int tip, std::int32_t depth, const CacheState& state, bool anchors) const;
  /// Adds an entry below the current one and makes it current. Below an entry that already has a successor this opens a
  /// branch; the older branch keeps its name. An edit is the effect of one command; single ticks that only generate are
  /// one edit together.
  void push(Entry entry);
  /// Takes the memory that the next push() needs.
  void roomForOne();
  /// Forgets the entries from this number on, none of which is the current one or leads there, with their branches, as
  /// if they had never come. Slots that only their states named become free.
  void forgetFrom(int id, CacheStore& store, const Place& back);

  /// Report of the tick that made the current entry. Its events go when the entry's state is dropped.
  void setReport(std::shared_ptr<const TickReport> report);
  /// Gives the current entry an anchor. Others go, those that stand closest first, until all take at most `most` bytes.
  void setAnchor(std::shared_ptr<const Anchor> anchor, std::int64_t most);
  /// Nearest entry up to this one that has an anchor; -1 = none.
  int anchored(int id) const;
  /// The entry itself, or the nearest one before it from which commands can be executed again, if its state is kept and
  /// no anchor is nearer; -1 = none.
  int keptUpTo(int id) const;
  /// First entry of the command that the entry belongs to: later ones have no verb.
  int commandOf(int id) const;
  /// True if the command that the entry belongs to does nothing but ticks, so that its rest is as many steps.
  bool onlyTicks(int id) const;
  std::int64_t anchorBytes() const { return m_anchorBytes; }
  /// Notes a check of the current state, in place of an earlier one that passed the same.
  void noteCheck(const CheckMade& made);
  /// Depth of the first entry with a check that was full; more than any depth if there is none.
  std::int32_t firstFullCheck() const { return m_firstFull; }
  const Entry& current() const { return m_entries[static_cast<std::size_t>(m_current)]; }
  const Entry& entry(int id) const { return m_entries[static_cast<std::size_t>(id)]; }
  int currentId() const { return m_current; }
  std::int32_t depth() const { return current().depth; }
  int size() const { return static_cast<int>(m_entries.size()); }
  bool canUndo() const { return current().parent >= 0; }
  bool canRedo() const { return redoTarget() >= 0; }
  /// Entry of the current branch with so many entries before it; -1 = none.
  int along(std::int32_t depth) const { return at(depth) < m_along.size() ? m_along[at(depth)] : -1; }
  /// True where an entry lies on the current branch, at `last` or before it; -1 lies nowhere.
  bool leads(int id, int last) const {
    return id >= 0 && entry(id).depth <= entry(last).depth && along(entry(id).depth) == id;
  }
  int redoTarget() const { return along(depth() + 1); }  // next entry towards the tip of the branch, -1 = at the tip
  /// The entry before an entry's edit.
  int beforeEdit(int id) const { return entry(entry(id).edit).parent; }
  /// Last entry on the current branch of an entry's edit.
  int editEnd(int id) const;
  /// Latest entry of a branch with this tick; -1 = none.
  int find(Tick tick, int branch) const;
  int find(Tick tick) const { return find(tick, m_branch); }
  /// Last entry on the ways to both.
  int parting(int a, int b) const;
  /// Last entry of the newest branch that leads on from an entry.
  int newestTip(int id) const;
  /// Replaces the current state, kept or dropped, by an equivalent one with slots in pools of this number; adds no
  /// entry.
  void refine(CacheState state, int pools);
  /// [entries] whether the rows of the state lie in the pools, and nothing need be exchanged to make it current.
  std::vector<bool> inPools() const;
  /// The same of one entry, which is kept.
  bool liesInPools(int id) const;
  /// The current entry and those around it on the branch whose states lie in pools of this number; ascending.
  std::vector<int> lying(int pools) const;
  /// Slots that the states of lying() hold beside the current one, [layers]; empty = none.
  LayerSlots lyingSlots(int pools) const;
  /// Keeps the states of another timeline's lying(), of which this one is a trunk() with pools of the number `own`.
  void keepLike(const Timeline& other, int pools, int own);
  /// Slots that kept states hold in pools of this number, and at most so many of these states, the nearest ones.
  HeldSlots held(int pools, std::size_t layers, std::size_t states) const;
  /// Makes a kept entry current.
  void select(int id) { m_current = id; }
  /// Entries from the root, or from `first` on the way, to `id`.
  std::vector<int> path(int id, int first = 0) const;
  /// Entries from the current one, without it, to `id`: back to where both ways part, then forward.
  std::vector<int> way(int id) const;
  /// `swaps` exchanges the rows that the entry keeps. Its error is returned.
  Result<std::int64_t> exchange(int id, const std::function<Result<std::int64_t>(KeptRows&)>& swaps);
  /// Drops kept states beside the way to the current one, and the oldest ones on it, where more than `most` are kept.
  void keepNewest(CacheStore& store, std::size_t most);
  /// Copies the rows of kept states into their entries, so that the pools hold rows of the current state only.
  void setApart(const CacheStore& store);

  /// The kept states on the way to the current one as a timeline that goes on there; all other states are dropped. This
  /// one keeps no state then, and adopt() brings them back.
  Timeline takeKept(CacheStore& store);
  /// Drops all kept states but the current one, because their rows were overwritten. Slots that only those states named
  /// become free, unless the layout counts slots itself.
  void dropAll(CacheStore& store, bool freeSlots);
  /// Makes `id` current with the states of another timeline, in which its commands were executed again from an entry
  /// before it on; no other state is kept. False if the other timeline did not go the same way, so that only its last
  /// state is kept.
  bool adopt(int id, Timeline again);
  /// Drops kept states, oldest first, until `slots` slots are free in every layer and history, its anchors included,
  /// uses at most `bytes`. Returns false if dropping all is not enough.
  bool makeRoom(CacheStore& store, std::int32_t slots, Placing placing, std::int64_t bytes);

  struct Branch {
    std::string name;
    int tip = 0;
  };
  const std::vector<Branch>& branches() const { return m_branches; }
  int tip() const { return m_branches[static_cast<std::size_t>(m_branch)].tip; }  // last entry of the current branch
  const std::string& branch() const { return m_branches[static_cast<std::size_t>(m_branch)].name; }
  /// Number of a branch; -1 = none has this name.
  int branchNamed(std::string_view name) const;
  /// Makes a branch the current one. The current entry must lie on it.
  void follow(int branch);
  /// Grows with every start(): entries of another start are others.
  int starts() const { return m_starts; }

 private:
  std::unique_ptr<Kept> dropState(Entry& entry);
  void moveState(Timeline& other, Entry& from, Entry& to);
  bool dropBeside(CacheStore& store);
  using Dropped = std::vector<std::unique_ptr<Kept>>;
  void dropAllBeside(CacheStore& store, Dropped& dropped);
  void dropAnchor();
  void weighAnchor(std::size_t i);

  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

  std::vector<bool> onPath() const;
  bool besideParent(int id) const;
  int oldestKept() const;
  void forget(Kept& kept);
  std::unique_ptr<Kept> dropLeaf(int id, CacheStore& store);
  std::unique_ptr<Kept> dropOldest(int id, CacheStore& store);
  bool dropOne(CacheStore& store);

  std::vector<Entry> m_entries;
  std::vector<Branch> m_branches;
  std::vector<int> m_along;  // [depth] entries of the current branch
  int m_current = 0, m_branch = 0, m_starts = 0;
  std::int32_t m_firstFull = kNever;
  std::int64_t m_bytes = 0;
  /// An entry with an anchor, and the bytes that the anchor costs beside the anchor before it.
  struct Standing {
    int entry = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Standing> m_anchors;  // ascending
  std::int64_t m_anchorBytes = 0;
  std::future<void> m_freeing;  // frees many dropped states at once, which takes its time
};

class EditWords;

/// The sort of a verb's commits, and the words for them.
struct CommandKind {
  EditSort sort = EditSort::Edit;
  /// The edit in words; null = the pending actions, or else the verb's name. "" = the command only generates.
  std::string (*says)(const nlohmann::json& args, const EditWords& words) = nullptr;
};

}  // namespace kvlab
