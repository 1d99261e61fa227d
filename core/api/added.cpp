// SPDX-License-Identifier: Apache-2.0
#include "core/api/added.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>

#include "core/api/texts.h"

namespace kvlab {
namespace {

using nlohmann::json;

struct KindName {
  const char *name, *code;
};
constexpr KindName kKindNames[] = {{"policy", "bad_policy"},
                                   {"codec", "bad_codec"},
                                   {"compressor", "bad_compressor"},
                                   {"gist", "bad_gist"},
                                   {"lens", "bad_lens"}};

const KindName& nameOf(AddedKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

struct AddedRegistry {
  std::mutex mutex;
  std::deque<Added> all;  // the last of a name counts
};
AddedRegistry& registry() {
  static auto* const all = new AddedRegistry;  // outlives every thread, and the interpreter whose functions it holds
  return *all;
}

Error refused(AddedKind kind, const std::string& name, const std::string& why, const std::string& remedy) {
  return Error(codeOf(kind), "the " + std::string(nameOf(kind).name) + " " + name + " was not added", why, remedy,
               "name", name);
}

/// "" or the reason why an option cannot be one.
std::string faultOf(const std::string& name, const json& value) {
  if (!isWord(name)) return "the option \"" + name + "\" is not a word of small letters, digits and underscores";
  if (name == "name" || name == "revision") return "the option " + name + " has the name of a key that all have";
  const bool right = value.is_number() || value.is_boolean() || value.is_string();
  return right ? "" : "the option " + name + " is neither a number, a text nor a flag";
}

Error unusable(AddedKind kind, const std::string& why) {
  return Error(codeOf(kind), "the " + std::string(nameOf(kind).name) + " was refused", why,
               "see what was added: kvlab." + std::string(nameOf(kind).name) + " in Python");
}

std::string written(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string textOf(const Added& what, const json& options) {
  std::string out = what.name;
  const auto key = [&out](const std::string& name, const std::string& value) {
    out += (out.find(':') == std::string::npos ? ":" : ",") + name + "=" + value;
  };
  for (const auto& [name, value] : options.items()) key(name, written(value));
  if (!what.revision.empty()) key("revision", what.revision);
  return out;
}

/// The latest rule of a name and a revision; an empty revision means any.
const Added* latest(AddedKind kind, const std::string& name, const std::string& revision) {
  AddedRegistry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find_if(all.all.rbegin(), all.all.rend(), [&](const Added& one) {
    return one.kind == kind && one.name == name && (revision.empty() || one.revision == revision);
  });
  return found == all.all.rend() ? nullptr : &*found;
}

}  // namespace

const char* name(AddedKind kind) { return nameOf(kind).name; }
const char* codeOf(AddedKind kind) { return nameOf(kind).code; }

bool isWord(std::string_view text) {
  const bool begins = !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  return begins && text.size() <= 64 &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

Status add(Added one) {
  const auto fault = [&](const std::string& why) {
    return refused(one.kind, one.name, why, "give it another one, and add it again");
  };
  if (!isWord(one.name)) return fault("its name is not a word of small letters, digits and underscores");
  if (!one.revision.empty() && one.kind != AddedKind::Policy && !isWord(one.revision))
    return fault("its revision is not a word of small letters, digits and underscores");
  if (one.options.is_null()) one.options = json::object();
  if (!one.options.is_object()) return fault("its options are not an object");
  for (const auto& [key, value] : one.options.items())
    if (const std::string why = faultOf(key, value); !why.empty()) return fault(why);
  AddedRegistry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.all.push_back(std::move(one));
  return ok();
}

const Added* addedNamed(AddedKind kind, std::string_view name) { return latest(kind, std::string(name), {}); }

std::vector<const Added*> everyAdded(AddedKind kind) {
  AddedRegistry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<const Added*> out;
  for (const Added& one : all.all)
    if (one.kind == kind) out.push_back(&one);
  return out;
}

std::vector<const Added*> addedOf(AddedKind kind) {
  std::vector<const Added*> out;
  for (const Added* one : everyAdded(kind)) {
    const auto before = std::ranges::find(out, one->name, [](const Added* other) { return other->name; });
    if (before == out.end()) out.push_back(one);
    else *before = one;
  }
  return out;
}

bool namesAdded(AddedKind kind, const json& given) {
  const Result<json> object = namedObject(given);
  if (!object) return false;
  const json named = object->value("name", json());
  return object->contains("revision") || (named.is_string() && addedNamed(kind, named.get<std::string>()));
}

Result<AddedUse> addedUse(AddedKind kind, const json& given) {
  const std::string word = nameOf(kind).name;
  const Result<json> object = namedObject(given);
  if (!object) return unusable(kind, "is no name of a " + word + ": " + object.error().why);
  const json named = object->value("name", json()), pinned = object->value("revision", json(""));
  if (!named.is_string() || !pinned.is_string()) return unusable(kind, "has a name or a revision that is no text");
  const std::string name = named.get<std::string>(), revision = pinned.get<std::string>();
  AddedUse out{.what = latest(kind, name, revision)};
  if (!out.what && addedNamed(kind, name))
    return unusable(
        kind, "names revision " + revision + " of the " + word + " " + name + ", and this program has another one");
  if (!out.what) {
    std::vector<std::string> names;
    for (const Added* one : addedOf(kind)) names.push_back(one->name);
    return unusable(kind,
                    "names the " + word + " " + name + ", which nobody has added: kvlab." + word + " in Python does" +
                        nearestNote(name, names));
  }
  out.options = out.what->options;
  for (const auto& [key, value] : object->items()) {
    if (key == "name" || key == "revision") continue;
    const auto known = out.options.find(key);
    if (known == out.options.end()) return unusable(kind, "has the key " + key + ", which " + name + " does not take");
    const bool alike = value.is_number() ? known->is_number() : value.type() == known->type();
    if (!alike) return unusable(kind, "has a " + key + " that is not of the type of its default, " + known->dump());
    *known = value;
  }
  out.text = textOf(*out.what, out.options);
  const Result<json> again = namedObject(out.text);
  for (const auto& [key, value] : out.options.items())
    if (!again || again->value(key, json()) != value)
      return unusable(kind, "has a " + key + " that cannot stand in a text: " + value.dump());
  return out;
}

}  // namespace kvlab
