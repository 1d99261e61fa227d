// SPDX-License-Identifier: Apache-2.0
// The verbs of a session as data: one table serves scripts and resources/script_api.d.ts, the console, the window's
// commands, captures, lanes, `kvlab list verbs` and the tests. A verb takes one JSON object and returns one JSON value.
// The tables stand in core/verbs and core/lanes, which run them. Values; any thread.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvlab {

enum class ArgType : std::uint8_t {
  Integer,    // low .. high
  Number,     // low .. high
  Text,       // UTF-8; one of `words` where there are any
  Flag,       // true or false
  Path,       // name of a file that the verb reads, or writes
  Tokens,     // list of token ids
  LedgerIds,  // list of ids of the ledger
  Numbers,    // list
  Actions,    // list (core/api/action.h)
  List,       // list of any values
  Object,
  Policy,     // "NAME:key=value" or an object
  Key,        // value of the manifest's key with the argument's name
  Verb,       // name of another verb
  Arguments,  // object: arguments of the verb that an argument of type Verb names
};

struct ArgInfo {
  std::string name;
  ArgType type = ArgType::Text;
  double low = 0, high = 0;             // bounds of numbers, both included
  std::size_t least = 0;                // fewest entries of a list
  std::vector<std::string> words = {};  // texts that are allowed; empty = every text
  bool written = false;                 // the verb writes the file, else the verb reads it
  bool optional = false;
  nlohmann::json otherwise = {};  // value of an argument that is left out; null = the verb decides
  std::string shape = {};         // type in script_api.d.ts where `type` does not tell it: "ChatMessage[]"

  /// The same argument, which may be left out.
  ArgInfo orNone() const {
    ArgInfo out = *this;
    out.optional = true;
    return out;
  }
  ArgInfo orElse(nlohmann::json value) const {
    ArgInfo out = orNone();
    out.otherwise = std::move(value);
    return out;
  }
  ArgInfo as(std::string text) const {
    ArgInfo out = *this;
    out.shape = std::move(text);
    return out;
  }
};

/// "integer 1 .. 64", "one of k, v", "file to write": for lists and manuals.
std::string typeText(const ArgInfo& arg);

/// Short ways to write an argument in a table.
namespace arg {
inline ArgInfo integer(std::string name, std::int64_t low, std::int64_t high) {
  return {std::move(name), ArgType::Integer, static_cast<double>(low), static_cast<double>(high)};
}
inline ArgInfo number(std::string name, double low, double high) {
  return {std::move(name), ArgType::Number, low, high};
}
inline ArgInfo of(std::string name, ArgType type, std::size_t least = 0) {
  return {std::move(name), type, 0, 0, least};
}
inline ArgInfo text(std::string name, std::vector<std::string> words = {}) {
  return {std::move(name), ArgType::Text, 0, 0, 0, std::move(words)};
}
/// Left out, a flag is `otherwise`.
inline ArgInfo flag(std::string name, bool otherwise) { return of(std::move(name), ArgType::Flag).orElse(otherwise); }
inline ArgInfo tokens(std::string name, std::size_t least = 1) { return of(std::move(name), ArgType::Tokens, least); }
inline ArgInfo reads(std::string name) { return of(std::move(name), ArgType::Path); }
inline ArgInfo writes(std::string name) {
  ArgInfo out = of(std::move(name), ArgType::Path);
  out.written = true;
  return out;
}
}  // namespace arg

/// The most that a verb can do.
enum class Effect : std::uint8_t {
  Reads,     // reads the present state, also between two ticks of another verb
  Measures,  // computes something about the present state, whose content stays
  Marks,     // changes notes of a person: breakpoints, watches, notes; while a tick is open, too
  Queues,    // changes other things beside the content: pending actions, a capture, places of rows
  Commits,   // changes the content; captures record the verb
  Travels,   // goes to another state of the history; captures record the verb
};

/// The way in which lanes run a verb.
enum class InLanes : std::uint8_t {
  Reference,  // lane 0 runs it alone
  Feeds,      // every lane that is in step runs it with the same arguments
  Steps,      // all lanes make ticks together
  Refused,    // it would take lane 0 out of step with the others
  Own,        // only lanes have it
  Opens,      // makes lanes of a session
  Closes,     // makes a session of one lane
  // Lanes have none of these:
  Batch,        // only a batch has it
  OpensBatch,   // makes a batch of a session
  ClosesBatch,  // makes a session of one sequence
};

/// The sort of a command on the time line.
enum class EditSort : std::uint8_t {
  Prompt,   // tokens came from outside
  Edit,     // tokens or rows were changed
  Rebuild,  // rows were computed again
  Setting,  // storage, policies, rules, brightness, pins
  Damage,   // on purpose, by the fault drill
  Ticks,    // it generates: an edit only where actions were pending
};

struct VerbInfo {
  std::string name;           // "step"
  std::vector<ArgInfo> args;  // in script order
  std::string help;           // all that the manual and script_api.d.ts say of it
  std::string gives;          // type of the answer in script_api.d.ts: "TickReport[]"
  Effect effect = Effect::Reads;
  InLanes lanes = InLanes::Reference;
  bool ofTick = false;  // goes on with an open tick
  EditSort sort = EditSort::Edit;

  /// The verb may run while a tick is open.
  bool inOpenTick() const { return ofTick || effect <= Effect::Marks; }
  /// A capture holds the verb.
  bool recorded() const { return (effect == Effect::Commits || effect == Effect::Travels) && !ofLanes(); }
  /// One session alone does not have the verb; the owner of a session, of lanes or of a batch has it.
  bool ofLanes() const { return lanes >= InLanes::Own; }
  bool ofBatch() const { return lanes >= InLanes::Batch; }
};

/// Short ways to write a verb in a table, by the most that it can do.
namespace verb {
template <Effect effect>
struct Writer {
  VerbInfo operator()(std::string name, std::vector<ArgInfo> args, std::string help, std::string gives,
                      InLanes lanes = InLanes::Reference, EditSort sort = EditSort::Edit) const {
    return {std::move(name), std::move(args), std::move(help), std::move(gives), effect, lanes, false, sort};
  }
};
inline constexpr Writer<Effect::Reads> reads{};
inline constexpr Writer<Effect::Measures> measures{};
inline constexpr Writer<Effect::Marks> marks{};
inline constexpr Writer<Effect::Queues> queues{};
inline constexpr Writer<Effect::Commits> commits{};
inline VerbInfo travels(std::string name, std::vector<ArgInfo> args, std::string help, std::string gives) {
  return Writer<Effect::Travels>{}(std::move(name), std::move(args), std::move(help), std::move(gives),
                                   InLanes::Refused);
}
/// The verb goes on with an open tick, which lanes do not have.
inline VerbInfo ofTick(VerbInfo info) {
  info.ofTick = true;
  info.lanes = InLanes::Refused;
  return info;
}
}  // namespace verb

/// "reads", "feeds", ...
const char* name(Effect effect);
const char* name(InLanes lanes);
const char* name(EditSort sort);

}  // namespace kvlab
