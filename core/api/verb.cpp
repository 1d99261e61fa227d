// SPDX-License-Identifier: Apache-2.0
#include "core/api/verb.h"

namespace kvlab {
namespace {

std::string boundText(const ArgInfo& arg, double bound) {
  if (arg.type == ArgType::Integer) return std::to_string(static_cast<std::int64_t>(bound));
  return nlohmann::json(bound).dump();
}

std::string rangeText(const char* word, const ArgInfo& arg) {
  return std::string(word) + " " + boundText(arg, arg.low) + " .. " + boundText(arg, arg.high);
}

std::string wordsText(const ArgInfo& arg) {
  if (arg.words.empty()) return "text";
  std::string out = "one of ";
  for (const std::string& word : arg.words) out += (out.ends_with(" of ") ? "" : ", ") + word;
  return out;
}

}  // namespace

std::string typeText(const ArgInfo& arg) {
  switch (arg.type) {
    case ArgType::Integer: return rangeText("integer", arg);
    case ArgType::Number: return rangeText("number", arg);
    case ArgType::Text: return wordsText(arg);
    case ArgType::Flag: return "true or false";
    case ArgType::Path: return arg.written ? "file to write" : "file to read";
    case ArgType::Tokens: return "token ids";
    case ArgType::LedgerIds: return "ledger ids";
    case ArgType::Numbers: return "numbers";
    case ArgType::Actions: return "actions";
    case ArgType::List: return "list";
    case ArgType::Object: return "object";
    case ArgType::Policy: return "policy";
    case ArgType::Key: return "as in a manifest";
    case ArgType::Verb: return "verb";
    case ArgType::Arguments: return "arguments of the verb";
  }
  return {};
}

const char* name(Effect effect) {
  static constexpr const char* kNames[] = {"reads", "measures", "marks", "queues", "commits", "travels"};
  return kNames[static_cast<std::size_t>(effect)];
}

const char* name(InLanes lanes) {
  static constexpr const char* kNames[] = {"reference", "feeds",  "steps", "refused",     "own",
                                           "opens",     "closes", "batch", "opens batch", "closes batch"};
  return kNames[static_cast<std::size_t>(lanes)];
}

const char* name(EditSort sort) {
  static constexpr const char* kNames[] = {"prompt", "edit", "rebuild", "setting", "damage", "ticks"};
  return kNames[static_cast<std::size_t>(sort)];
}

}  // namespace kvlab
