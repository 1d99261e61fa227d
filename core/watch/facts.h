// SPDX-License-Identifier: Apache-2.0
// Facts that an expression can ask for, of a state and of the tick that led to it: a table with one line for each. A
// fact of rows or layers takes comparisons that choose them: rows(layer==3), evicted(layer==3, ledger==12). Without a
// comparison it means all of them. A flag holds where some chosen row or layer has it, a number is the largest among
// them unless its help says what else. A number that is not known is NaN, and no comparison with it holds. Pure; engine
// thread.
#pragma once
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/report.h"
#include "core/api/stage_view.h"
#include "core/api/table_cell.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// A state, and the measurements that are made only if an expression needs them.
struct SightState {
  const CacheState* state = nullptr;
  double kl = std::numeric_limits<double>::quiet_NaN();  // drift from a rebuild, nats
  std::shared_ptr<const AttentionErrors> errors = {};    // of the newest token's attention; null = not measured
  std::optional<std::vector<Exactness>> exactness = {};  // [length] of the last layer; none = not measured
  std::shared_ptr<const NewestAttention> read = {};      // the state's with every layer; null = not measured
};

/// Input of an expression: two states. The report is null where no tick led from one to the other.
struct Sight {
  SightState before, now;
  const TickReport* report = nullptr;
  std::optional<Stage> stage = {};        // the tick is stopped behind it
  bool named = false;                     // a check of this state, on demand or in its tick, named something
  std::span<const TableCell> cells = {};  // cells of the table's row, by column
};

/// Requirement of a fact besides states and report: passes over the state, or over the one before; a walk over all
/// rows, the attention of other layers than the last, a tick that is stopped, or the slots that the rows had at that
/// time.
enum class Need : std::uint8_t { None, Kl, KlBefore, Errors, ErrorsBefore, Exactness, Attention, Stage, Slots };
/// The requirement of a fact of the state before; for other facts that of the present.
constexpr Need before(Need need) {
  return need == Need::Kl ? Need::KlBefore : need == Need::Errors ? Need::ErrorsBefore : need;
}

enum class Compare : std::uint8_t { Equal, NotEqual, GreaterEqual, LessEqual, Greater, Less };
bool compares(double left, Compare how, double right);

/// Subject of a comparison in brackets. stage(plan) names a stage without a comparison.
enum class Key : std::uint8_t { ByLayer, ByLedger, BySlot, ByStage };
inline constexpr std::array<const char*, 3> kKeyNames = {"layer", "ledger", "slot"};

/// The comparisons in a fact's brackets; all of a key's must hold.
class Where {
 public:
  struct Test {
    Key key;
    Compare how;
    double value;
  };
  void add(const Test& test) { m_tests.push_back(test); }
  const std::vector<Test>& tests() const { return m_tests; }
  bool names(Key key) const;
  bool meets(Key key, double value) const;
  /// The one ledger row that can be meant; none where there may be several.
  std::optional<LedgerId> onlyRow() const;

 private:
  std::vector<Test> m_tests;
};

enum class ValueType : std::uint8_t { Number, Flag, Text };

struct Fact {
  using Numbers = double (*)(const Sight&, const Where&);
  using Flags = bool (*)(const Sight&, const Where&);
  using Texts = std::string (*)(const Sight&, const Where&);

  const char* name;
  const char* keys;  // names of the keys that it takes, separated by commas
  const char* help;
  Numbers number = nullptr;  // a fact may be a number and, where a condition is wanted, a flag
  Flags flag = nullptr;
  Texts text = nullptr;
  Need need = Need::None;
  bool ofTick = false;  // says nothing of a state without the tick that led to it

  bool takes(Key key) const;
  ValueType type() const { return number ? ValueType::Number : flag ? ValueType::Flag : ValueType::Text; }
};

/// All facts, by name.
std::span<const Fact> facts();
/// Null if there is none of the name.
const Fact* findFact(const std::string& name);

}  // namespace kvlab
