// SPDX-License-Identifier: Apache-2.0
// Records the deeds of a commit where they happen, until the next commit begins: the rows that its passes were told to
// read and write, noted at the calls of attention and not taken from plan and maps; the keys that were turned; the
// decisions of policies, and the passes before them; the pairs that culling chose; and the origin of the tick's token.
// Checks judge a commit by this list, so that today's rules, pins and windows are not applied to deeds under older
// ones. A call that only looks leaves no record (CommitDeeds::Aside). Owned by a store; engine thread.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/api/snapshot.h"

namespace kvlab {

/// A part of a list of rows that a pass was given.
struct ListDeed {
  std::int32_t from = 0;                              // place of the first one in the list
  std::vector<std::int32_t> slots = {}, phases = {};  // [rows of the part]
};

/// The rows of a kind that derives its context, as the plan gave them to a pass in a cache layer. [rows] in the kind's
/// order.
struct GivenRows {
  Column<LedgerId> ledger;    // [rows]
  Column<Slot> slots;         // [rows] -1 = nowhere
  std::vector<bool> missing;  // [rows] evicted from the layer; empty = none

  GivenRows(Column<LedgerId> ids, Column<Slot> places, std::vector<bool> absent)
      : ledger(std::move(ids)), slots(std::move(places)), missing(std::move(absent)) {}
  virtual ~GivenRows() = default;
  bool lacks(std::size_t row) const { return !missing.empty() && missing[row]; }
  virtual double phaseOf(std::size_t row) const = 0;
  virtual double blurOf(std::size_t row) const = 0;
  virtual std::string nameOf(std::size_t row) const = 0;
  /// For checks: the rows that a row sees, itself last, by the kind's rules and a window of phases (0 = all), counted
  /// apart from the functions that passes use.
  virtual std::vector<std::int32_t> seenBy(std::size_t row, int window) const = 0;
};

/// One call for the rows of a chunk in a cache layer. [n] are its rows.
struct PassDeed {
  CacheLayer layer{0};
  std::vector<std::uint64_t> tags = {};                  // [n] ledger ids
  std::vector<std::int32_t> phase, begin, end, written;  // [n]; written: slots
  std::vector<std::int32_t> self = {};                   // [n] slots of rows that are seen beside the list; or empty
  std::shared_ptr<const ListDeed> list = {};             // rows that these rows read; calls on the same list share it
  std::shared_ptr<const ResidencyView> map = {};         // as the plan gave it to the pass; null where a kind
  std::shared_ptr<const GivenRows> given = {};           // has given these instead
  // For the last row; empty where the pass has not kept them (edit/witness.h):
  std::vector<float> input = {};     // [hidden] input of the layer
  std::vector<float> attended = {};  // [heads*headDim] output of attention

  std::size_t rows() const { return tags.size(); }
};

/// The pass that made a state: a tick or an edit; a part of a prompt (no row leaves); or the end of a prompt.
enum class PassKind : std::uint8_t { Decode, PromptPart, PromptEnd };

/// The origin of a tick's token.
struct DrawDeed {
  bool given = false;                                     // the caller named it; else the sampler chose
  std::shared_ptr<const std::vector<float>> logits = {};  // [vocab] logits that chose it; null = given
};

/// A pair of neighbours that culling chose.
struct CulledPair {
  Position first;
  std::optional<TokenId> token = {};  // takes its place; none = no token is near enough, and the pair stays
};

/// The decision of culling and its inputs. [length] is the length of the context before the tick.
struct CullDeed {
  int target = 0;
  double minCosine = 0;
  Column<float> brightness = {};       // [length] as the tick had observed it
  std::vector<bool> touched = {};      // [length] positions that the user's actions refer to
  std::vector<CulledPair> pairs = {};  // in the order of their choice
};

class CommitDeeds {
 public:
  /// While one lives, passes are not written down: they belong to a call that only looks.
  class Aside {
   public:
    explicit Aside(CommitDeeds& deeds) : m_deeds(deeds) { ++m_deeds.m_aside; }
    ~Aside() { --m_deeds.m_aside; }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

   private:
    CommitDeeds& m_deeds;
  };

  /// Passes are not written down until it is wanted. whole: every check of the commit is a full one.
  void want(bool wanted, bool whole) { m_wanted = wanted, m_whole = whole; }
  bool whole() const { return m_whole; }
  bool wanted() const { return m_wanted && m_aside == 0; }
  /// A deed to be filled. It may hold the values of an older deed, whose memory is used again.
  PassDeed& next() {
    if (m_count == m_all.size()) m_all.emplace_back();
    return m_all[m_count++];
  }
  /// In the order of the calls.
  std::span<const PassDeed> all() const { return std::span(m_all).first(m_count); }
  /// The policies of the session decided which rows leave.
  void decide(PassKind behind) { m_now.decided = behind; }
  /// The pass behind which policies decided; none = they did not.
  std::optional<PassKind> decided() const { return m_now.decided; }
  /// A tick has its token; the last of several counts.
  void draw(DrawDeed deed) { m_now.drawn = std::move(deed); }
  /// None where no tick generated.
  const std::optional<DrawDeed>& drawn() const { return m_now.drawn; }
  /// A tick has asked culling; the last of several counts.
  void cull(CullDeed deed) { m_now.culled = std::move(deed); }
  /// None where no tick asked.
  const std::optional<CullDeed>& culled() const { return m_now.culled; }
  /// The logits that the commit has left; null = none.
  void tell(std::shared_ptr<const std::vector<float>> logits) { m_now.told = std::move(logits); }
  const std::shared_ptr<const std::vector<float>>& told() const { return m_now.told; }
  /// A policy has asked a query for logits, over the rows before its decision: no pass of the commit made the commit's
  /// logits.
  void ask() { m_now.asked = true; }
  bool asked() const { return m_now.asked; }
  /// Stored keys of a layer were turned to other phases.
  void turn(CacheLayer layer) {
    if (m_now.turns.size() <= at(layer)) m_now.turns.resize(at(layer) + 1);
    ++m_now.turns[at(layer)];
  }
  /// [cache layers, or fewer] how often that was.
  std::span<const int> turns() const { return m_now.turns; }
  /// A pool has another size: rows that had left were not copied.
  void resize() { m_now.resized = true; }
  /// True also if the whole store is new.
  bool resized() const { return m_now.resized; }
  void clear() {
    m_now = {};
    if (m_all.size() > kKept) m_all.resize(kKept);
    for (PassDeed& deed : m_all) deed.list = {}, deed.map = {}, deed.given = {};
    m_count = 0;
  }

 private:
  static constexpr std::size_t kKept = 256;

  /// Beside the passes.
  struct Now {
    bool resized = false, asked = false;
    std::optional<PassKind> decided = {};
    std::optional<DrawDeed> drawn = {};
    std::optional<CullDeed> culled = {};
    std::shared_ptr<const std::vector<float>> told = {};
    std::vector<int> turns = {};
  };
  Now m_now{.resized = true};
  bool m_wanted = false, m_whole = false;
  int m_aside = 0;  // calls that only look, now
  std::vector<PassDeed> m_all;
  std::size_t m_count = 0;  // deeds of m_all in use
};

}  // namespace kvlab
