// SPDX-License-Identifier: Apache-2.0
// The splice against a reference that knows nothing of runs: a list of tokens edited by one operation
// after another from the highest position down. Thousands of random lists in every position mode, with
// evictions in between; a failure prints the seed.
#include <list>
#include <map>

#include "support/cache_fixture.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

using Random = std::mt19937_64;
int pick(Random& random, int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }

struct Token {
  int ledger = -1;  // -1 = not numbered yet
  int token = 0;
  int phase = -1;  // absolute mode
  float brightness = 255;
  Source source = Source::Prompt;
  bool gone = false;
  bool leads = false;  // first of the replacing tokens
  std::vector<int> parents;
  std::map<int, int> slots;  // layer -> slot, where it has a row
};

/// The context as a list; removed tokens stay in it, marked, until a whole action list is done.
class Reference {
 public:
  std::list<Token> tokens;
  std::map<int, std::vector<int>> children;
  std::map<int, RowState> states;  // states of tokens that left or were evicted
  std::map<int, float> leftAt;     // brightness on leaving

  /// The tokens as they stand now, to address the next list by.
  std::vector<std::list<Token>::iterator> places() {
    std::vector<std::list<Token>::iterator> out;
    for (auto it = tokens.begin(); it != tokens.end(); ++it) out.push_back(it);
    return out;
  }

  /// Everything of a list, from the highest position down; at one place a replacement first, so that
  /// inserts end up before it, and inserts from the last to the first.
  void run(std::vector<Action> actions) {
    const auto place = places();
    const auto anchor = [&](const Action& action) {
      if (const auto* a = std::get_if<Replace>(&action)) return a->positions.front().value();
      if (const auto* a = std::get_if<Delete>(&action)) return a->position.value();
      if (const auto* a = std::get_if<Insert>(&action)) return a->position.value();
      return -1;
    };
    const auto isInsert = [](const Action& action) { return std::holds_alternative<Insert>(action); };
    std::vector<TokenId> adds;
    for (const Action& action : actions)
      if (const auto* a = std::get_if<Add>(&action)) adds.push_back(a->tokenId);
    std::erase_if(actions, [&](const Action& action) { return anchor(action) < 0; });
    std::reverse(actions.begin(), actions.end());
    std::stable_sort(actions.begin(), actions.end(), [&](const Action& a, const Action& b) {
      return anchor(a) != anchor(b) ? anchor(a) > anchor(b) : isInsert(a) < isInsert(b);
    });
    std::map<int, std::list<Token>::iterator> front;  // first token at an anchor by now
    for (const Action& action : actions) {
      const int at = anchor(action);
      auto before = front.contains(at)          ? front[at]
          : at < static_cast<int>(place.size()) ? place[static_cast<std::size_t>(at)]
                                                : tokens.end();
      if (const auto* a = std::get_if<Insert>(&action)) {
        put(before, a->tokenIds, Source::Insertion, {});
        front[at] = std::prev(before, static_cast<int>(a->tokenIds.size()));
      } else if (const auto* a2 = std::get_if<Delete>(&action)) {
        remove(place[static_cast<std::size_t>(a2->position.value())], RowState::Deleted);
      } else if (const auto* a3 = std::get_if<Replace>(&action)) {
        std::vector<int> parents;
        for (Position p : a3->positions) {
          const auto it = place[static_cast<std::size_t>(p.value())];
          parents.push_back(it->ledger);
          remove(it, RowState::Replaced);
        }
        put(before, a3->newTokenIds, Source::Replacement, parents);
        front[at] = std::prev(before, static_cast<int>(a3->newTokenIds.size()));
        front[at]->leads = true;
        front[at]->phase = before->phase;  // wanted
      }
    }
    put(tokens.end(), adds, Source::Model, {});
  }

  /// Numbers the new tokens by final position, gives phases, forgets the removed.
  bool finish(int& nextLedger, bool absolute, bool shift) {
    std::erase_if(tokens, [](const Token& t) { return t.gone; });
    int last = -1, up = 0;
    for (Token& t : tokens) {
      if (t.ledger < 0) {
        t.ledger = nextLedger++;
        for (int parent : t.parents) children[parent].push_back(t.ledger);
        t.phase = t.leads ? std::max(t.phase, last + 1) : last + 1;
        t.leads = false;
      } else if (absolute) {
        if (t.phase + up <= last) {
          if (!shift) return false;
          up += last + 1 - (t.phase + up);
        }
        t.phase += up;
      }
      last = t.phase;
    }
    return true;
  }

 private:
  void put(std::list<Token>::iterator before, const std::vector<TokenId>& ids, Source source,
           const std::vector<int>& parents) {
    for (TokenId id : ids) {
      Token token;
      token.token = id.value();
      token.source = source;
      token.parents = parents;
      tokens.insert(before, token);
    }
  }
  void remove(std::list<Token>::iterator it, RowState state) {
    it->gone = true;
    states[it->ledger] = state;
    leftAt[it->ledger] = it->brightness;
  }
};

/// Disjoint edits at random places; about one insert in three may stand in a removed run.
std::vector<Action> randomList(Random& random, int length) {
  std::vector<int> free(static_cast<std::size_t>(length));
  for (int i = 0; i < length; ++i) free[static_cast<std::size_t>(i)] = i;
  std::shuffle(free.begin(), free.end(), random);
  const auto ids = [&](int most) {
    std::vector<TokenId> out;
    for (int i = 1 + pick(random, most); i > 0; --i) out.emplace_back(pick(random, CacheFixture::kVocab));
    return out;
  };
  std::vector<Action> out;
  for (int i = pick(random, 6); i > 0; --i) {
    const int kind = pick(random, 6);
    if (kind <= 2 && free.size() > 6) {
      std::vector<Position> positions;
      if (kind == 0 && std::find(free.begin(), free.end(), free.back() + 1) != free.end()) {
        positions = {Position(free.back()), Position(free.back() + 1)};
      } else {
        for (int n = 1 + pick(random, 4); n > 0; --n)
          positions.emplace_back(free[free.size() - static_cast<std::size_t>(n)]);
      }
      for (Position p : positions) std::erase(free, p.value());
      std::sort(positions.begin(), positions.end());
      out.push_back(Replace{positions, ids(3)});
    } else if (kind == 3 && free.size() > 6) {
      out.push_back(Delete{Position(free.back())});
      free.pop_back();
    } else if (kind == 4) {
      out.push_back(Insert{Position(pick(random, length + 1)), ids(3)});
    } else {
      out.push_back(Add{TokenId(pick(random, CacheFixture::kVocab))});
    }
  }
  return out;
}

bool insertInsideRemovedRun(const std::vector<Action>& actions) {
  std::vector<int> removed;
  for (const Action& action : actions) {
    if (const auto* a = std::get_if<Replace>(&action))
      for (Position p : a->positions) removed.push_back(p.value());
    if (const auto* d = std::get_if<Delete>(&action)) removed.push_back(d->position.value());
  }
  const auto has = [&](int p) { return std::find(removed.begin(), removed.end(), p) != removed.end(); };
  return std::any_of(actions.begin(), actions.end(), [&](const Action& action) {
    const auto* a = std::get_if<Insert>(&action);
    return a && has(a->position.value()) && has(a->position.value() - 1);
  });
}

/// A cache and its reference, edited alike.
class Pair {
 public:
  Pair(std::uint64_t seed, PositionMode positions, bool shiftOnOverflow)
      : random(seed),
        cache({.layers = 3, .slots = 600, .position = positions, .kvHeads = 1, .shift = shiftOnOverflow}),
        mode(positions),
        shift(shiftOnOverflow) {}

  /// False if they disagree; `said` tells how.
  bool step(QByteArray& said) {
    std::vector<Action> actions = randomList(random, cache.state.length());
    if (cache.state.length() > 90) actions = {Replace{firstPositions(40), {TokenId(1)}}};
    Reference edited = reference;
    edited.run(actions);
    int next = nextLedger;
    const bool fits = edited.finish(next, mode == PositionMode::Absolute, shift);
    const bool refused = insertInsideRemovedRun(actions) || !fits;
    dimSome(edited);
    addEvictions(actions, refused);
    const CacheState before = cache.state;
    const Status done = cache.apply(actions);
    if (bool(done) == refused) return say(said, "refusal differs: " + (done ? "" : done.error().text()));
    if (!done) return cache.state.context.sharesWith(before.context) || say(said, "a refused list changed the context");
    reference = std::move(edited);
    nextLedger = next;
    adopt(before, actions);
    return agree(before, actions, said);
  }

  Random random;
  CacheFixture cache;
  Reference reference;

 private:
  std::vector<Position> firstPositions(int n) const {
    std::vector<Position> out;
    for (int i = 0; i < n; ++i) out.emplace_back(i);
    return out;
  }

  bool say(QByteArray& said, const std::string& what) const {
    said = QByteArray::fromStdString(what);
    return false;
  }

  /// Now and then some tokens of the present are dimmed, in both.
  void dimSome(Reference& edited) {
    if (pick(random, 3) || !cache.state.length()) return;
    const auto p = static_cast<std::size_t>(pick(random, cache.state.length()));
    const int id = cache.state.context[p].value();
    const float dim = static_cast<float>(pick(random, 255));
    cache.state.brightness = changed(cache.state.brightness, [&](auto& v) { v[p] = dim; });
    for (Token& t : edited.tokens)
      if (t.ledger == id) t.brightness = dim;
    for (Token& t : reference.tokens)
      if (t.ledger == id) t.brightness = dim;
    if (edited.leftAt.contains(id)) edited.leftAt[id] = dim;
  }

  /// Rows that survive leave one or all layers.
  void addEvictions(std::vector<Action>& actions, bool refused) {
    if (refused || pick(random, 4)) return;
    std::vector<int> removed;
    for (const Action& action : actions) {
      if (const auto* a = std::get_if<Replace>(&action))
        for (Position p : a->positions) removed.push_back(p.value());
      if (const auto* d = std::get_if<Delete>(&action)) removed.push_back(d->position.value());
    }
    const bool everywhere = pick(random, 2);
    const int one = pick(random, 3);
    for (int layer = 0; layer < 3; ++layer) {
      if (!everywhere && layer != one) continue;
      std::vector<LedgerId> ids;
      const ResidencyView& map = cache.state.map(CacheLayer(layer));
      for (std::size_t p = everywhere ? 2 : 0; p < cache.state.context.size(); p += 7) {
        const LedgerId id = cache.state.context[p];
        const bool resident = std::find(map.ledger.begin(), map.ledger.end(), id) != map.ledger.end();
        const bool leaves = std::find(removed.begin(), removed.end(), static_cast<int>(p)) != removed.end();
        if (resident && !leaves) ids.push_back(id);
      }
      if (!ids.empty()) actions.push_back(Evict{Layer(layer), {}, ids});
    }
  }

  /// Adopts a fact that the reference cannot know: which slots new rows got. Survivors keep theirs.
  void adopt(const CacheState& before, const std::vector<Action>& actions) {
    for (const Action& action : actions)
      if (const auto* a = std::get_if<Evict>(&action))
        for (LedgerId id : a->ledger)
          for (Token& t : reference.tokens)
            if (t.ledger == id.value()) t.slots.erase(a->layer.value());
    for (Token& t : reference.tokens)
      if (t.ledger >= before.ledger.nextId().value())
        for (int layer = 0; layer < 3; ++layer) {
          const ResidencyView& map = cache.state.map(CacheLayer(layer));
          const auto found = std::find(map.ledger.begin(), map.ledger.end(), LedgerId(t.ledger));
          t.slots[layer] =
              found == map.ledger.end() ? -1 : map.slotOf[static_cast<std::size_t>(found - map.ledger.begin())].value();
        }
    for (Token& t : reference.tokens)
      if (t.slots.empty()) reference.states[t.ledger] = RowState::Evicted;
  }

  bool agree(const CacheState& before, const std::vector<Action>& actions, QByteArray& said) {
    const CacheState& state = cache.state;
    if (state.context.size() != reference.tokens.size()) return say(said, "lengths differ");
    std::size_t p = 0;
    std::array<std::size_t, 3> index{};
    for (const Token& t : reference.tokens) {
      const std::string where = "position " + std::to_string(p);
      const LedgerId id = state.context[p];
      if (id.value() != t.ledger) return say(said, where + ": ledger row differs");
      const LedgerRow& row = state.ledger[id];
      if (row.token.value() != t.token || row.source != t.source) return say(said, where + ": token or source differs");
      if (state.brightness[p] != t.brightness) return say(said, where + ": brightness differs");
      const int phase = mode == PositionMode::Absolute ? t.phase : static_cast<int>(p);
      if (state.phases[p] != phase) return say(said, where + ": phase differs");
      for (const auto& [layer, slot] : t.slots) {
        const ResidencyView& map = state.map(CacheLayer(layer));
        std::size_t& i = index[static_cast<std::size_t>(layer)];
        if (i >= map.size() || map.ledger[i] != id || map.slotOf[i].value() != slot)
          return say(said, where + ", layer " + std::to_string(layer) + ": row or slot differs");
        if (map.phases[i] != (mode == PositionMode::Cache ? static_cast<int>(i) : phase))
          return say(said, where + ", layer " + std::to_string(layer) + ": phase of the map differs");
        ++i;
      }
      ++p;
    }
    for (std::size_t layer = 0; layer < 3; ++layer)
      if (state.map(CacheLayer(static_cast<int>(layer))).size() != index[layer])
        return say(said, "a map has rows too many");
    return ledgerAgrees(said) && slotsAgree(before, said) && sharing(before, actions, said);
  }

  bool ledgerAgrees(QByteArray& said) {
    const CacheState& state = cache.state;
    if (state.ledger.size() != static_cast<std::size_t>(nextLedger)) return say(said, "ledger sizes differ");
    for (const auto& [id, rowState] : reference.states)
      if (state.ledger[LedgerId(id)].state != rowState)
        return say(said, "state of row " + std::to_string(id) + " differs");
    for (const auto& [id, brightness] : reference.leftAt)
      if (state.ledger[LedgerId(id)].brightness != brightness)
        return say(said, "brightness of row " + std::to_string(id) + " on leaving differs");
    for (const auto& [id, children] : reference.children) {
      const LedgerRow& row = state.ledger[LedgerId(id)];
      std::vector<int> have;
      for (LedgerId child : row.children) have.push_back(child.value());
      if (have != children) return say(said, "children of row " + std::to_string(id) + " differ");
    }
    const std::vector<Violation> found = checkAll(cache.input(true));
    return found.empty() || say(said, text(found).toStdString());
  }

  /// Slots in use and free ones make the pool, in every layer.
  bool slotsAgree(const CacheState&, QByteArray& said) {
    for (int layer = 0; layer < 3; ++layer)
      if (static_cast<int>(cache.state.map(CacheLayer(layer)).size()) +
              cache.store.slots(CacheLayer(layer)).available() !=
          600)
        return say(said, "layer " + std::to_string(layer) + " lost a slot or freed one twice");
    return true;
  }

  /// An append grows the columns in place; whole maps share the mirror's columns.
  bool sharing(const CacheState& before, const std::vector<Action>& actions, QByteArray& said) {
    const CacheState& state = cache.state;
    for (int layer = 0; layer < 3; ++layer)
      if (state.group(CacheLayer(layer)).absent == 0 &&
          (!state.map(CacheLayer(layer)).ledger.sharesWith(state.context) ||
           !state.map(CacheLayer(layer)).phases.sharesWith(state.phases)))
        return say(said, "a whole map does not share the context's columns");
    const bool onlyAdds =
        std::all_of(actions.begin(), actions.end(), [](const Action& a) { return std::holds_alternative<Add>(a); });
    const bool room = state.context.size() % 64 > 8 && state.context.size() < 64;
    if (onlyAdds && room && before.context.size() > 1 && state.context.data() != before.context.data() && !m_copied)
      return say(said, "an append copied the context");
    m_copied = !onlyAdds;
    return true;
  }

  PositionMode mode;
  bool shift;
  bool m_copied = false;
  int nextLedger = 0;
};

}  // namespace

class SpliceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void randomListsAgree_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<bool>("shift");
    QTest::newRow("context") << 0 << false;
    QTest::newRow("absolute, refuse") << 1 << false;
    QTest::newRow("absolute, shift") << 1 << true;
    QTest::newRow("cache") << 2 << false;
  }
  void randomListsAgree() {
    QFETCH(int, mode);
    QFETCH(bool, shift);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Pair pair(seed, static_cast<PositionMode>(mode), shift);
      for (int list = 0; list < 30; ++list) {
        QByteArray said;
        QVERIFY2(pair.step(said),
                 "seed " + QByteArray::number(static_cast<qulonglong>(seed)) + ", list " + QByteArray::number(list) +
                     ": " + said);
      }
    }
  }

  void appendsGrowInPlace() {
    for (int mode = 0; mode < 3; ++mode) {
      CacheFixture cache({.position = static_cast<PositionMode>(mode)});
      QVERIFY(cache.add(20));
      const CacheState before = cache.state;
      QVERIFY(cache.add(3));
      QCOMPARE(cache.state.context.data(), before.context.data());
      QCOMPARE(cache.state.brightness.data(), before.brightness.data());
      QCOMPARE(cache.state.map(CacheLayer(0)).slotOf.data(), before.map(CacheLayer(0)).slotOf.data());
      QCOMPARE(before.context.size(), std::size_t{20});
      QCOMPARE(before.map(CacheLayer(0)).size(), std::size_t{20});
    }
  }

  void editsLeaveTheOldStateAlone() {
    CacheFixture cache({});
    QVERIFY(cache.add(50));
    QVERIFY(cache.apply({Evict{Layer(1), {}, {LedgerId(3)}}}));
    const CacheState before = cache.state;
    const std::vector<LedgerId> context(before.context.begin(), before.context.end());
    const std::vector<Slot> slotOf(before.map(CacheLayer(1)).slotOf.begin(), before.map(CacheLayer(1)).slotOf.end());
    QVERIFY(cache.apply(
        {ReplacePair{Position(4), Position(5), {TokenId(9)}}, Insert{Position(9), {TokenId(1)}}, Add{TokenId(3)}}));
    QVERIFY(cache.add(4));
    QVERIFY(std::equal(context.begin(), context.end(), before.context.begin(), before.context.end()));
    QVERIFY(std::equal(slotOf.begin(), slotOf.end(), before.map(CacheLayer(1)).slotOf.begin(),
                       before.map(CacheLayer(1)).slotOf.end()));
    QCOMPARE(before.ledger.size(), std::size_t{50});
    QCOMPARE(before.ledger[LedgerId(4)].state, RowState::Live);
    QVERIFY(before.ledger[LedgerId(4)].children.empty());
  }

  void aBranchDoesNotWriteIntoItsSibling() {
    CacheFixture cache({.rows = false});
    QVERIFY(cache.add(50));
    const CacheState fork = cache.state;
    QVERIFY(cache.apply({Add{TokenId(7)}}));
    const CacheState first = cache.state;
    cache.state = fork;
    QVERIFY(cache.apply({Add{TokenId(8)}}));
    QCOMPARE(first.ledger[first.context[50]].token, TokenId(7));
    QCOMPARE(cache.state.ledger[cache.state.context[50]].token, TokenId(8));
  }

  void layersThatEvictAlikeStayTogether() {
    CacheFixture cache({.layers = 4});
    QVERIFY(cache.add(20));
    QCOMPARE(cache.state.groups.size(), std::size_t{1});
    QVERIFY(cache.apply({Evict{Layer(1), {}, {LedgerId(3)}}, Evict{Layer(3), {}, {LedgerId(3)}}}));
    QCOMPARE(cache.state.groups.size(), std::size_t{2});
    QCOMPARE(cache.state.groupOf[1], cache.state.groupOf[3]);
    QCOMPARE(cache.state.group(CacheLayer(1)).absent, 1);
    QCOMPARE(cache.state.group(CacheLayer(0)).absent, 0);
    QVERIFY(cache.apply({Evict{Layer(3), {}, {LedgerId(4)}}}));
    QCOMPARE(cache.state.groups.size(), std::size_t{3});
    QVERIFY2(checkAll(cache.input(true)).empty(), qPrintable(text(checkAll(cache.input(true)))));
  }
};

KV_TEST(SpliceTest)
#include "splice_test.moc"
