// SPDX-License-Identifier: Apache-2.0
#include "core/files/older_commands.h"

#include <algorithm>

namespace kvlab {
namespace {

using nlohmann::json;

/// The entries of `args` with these names, where they say something.
json taken(const json& args, std::initializer_list<const char*> names) {
  json out = json::object();
  for (const char* name : names)
    if (args.contains(name) && !args[name].is_null() && args[name] != "") out[name] = args[name];
  return out;
}

json changeOf(const std::string& verb, const json& args) {
  if (verb == "setFormat") return {{"kv", taken(args, {"k", "v"})}};
  if (verb == "setCapacity") return {{"capacity", args.value("rows", json())}};
  return taken(args,
               {"layout", "policy", "after_edit", "executor", "sampling", "ring", "position", "check", "brightness"});
}

}  // namespace

void toPresent(std::string& verb, json& args) {
  static constexpr const char* kOlder[] = {"setLayout", "setFormat", "setPolicy", "setCapacity", "setRules"};
  if (std::ranges::find(kOlder, verb) == std::end(kOlder)) return;
  json change = changeOf(verb, args);
  if (const json layer = args.value("layer", json()); !layer.is_null()) {
    change["match"] = layer;
    change = {{"layers", json::array({change})}};
  }
  if (args.contains("pending")) change["pending"] = args["pending"];
  verb = "settings";
  args = std::move(change);
}

}  // namespace kvlab
