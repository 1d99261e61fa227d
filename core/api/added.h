// SPDX-License-Identifier: Apache-2.0
// What was added to the program from outside, as from Python: eviction policies, codecs of rows, compressors, gists and
// lenses, by name. This is the one registry of such things. Each folder that asks one of a kind knows the type of its
// rule. An entry is never changed or taken away, because a session may be asking it: a name that is added again gets a
// later entry. Any thread.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

enum class AddedKind : std::uint8_t { Policy, Codec, Compressor, Gist, Lens };
inline constexpr AddedKind kAddedKinds[] = {AddedKind::Policy, AddedKind::Codec, AddedKind::Compressor, AddedKind::Gist,
                                            AddedKind::Lens};

/// "codec", and the code of its errors.
const char* name(AddedKind kind);
const char* codeOf(AddedKind kind);

struct Added {
  AddedKind kind = AddedKind::Policy;
  std::string name, help = {};
  std::string revision = {};         // a word: another one for another rule; empty = not known
  nlohmann::json options = nullptr;  // null, or an object of texts, numbers and flags: settings, with defaults
  nlohmann::json more = nullptr;     // what else its kind tells of it
  std::shared_ptr<const void> rule = nullptr;  // of the type that its kind has
};

/// Errors (code of its kind): a name, a revision or an option is no word; an option is no text, number or flag.
/// Whoever adds a kind refuses the names that the program has itself.
Status add(Added one);
/// The latest of a name; null where there is none.
const Added* addedNamed(AddedKind kind, std::string_view name);
/// The latest of each name, in the order in which the names came.
std::vector<const Added*> addedOf(AddedKind kind);
/// All of them, earlier ones of a name too.
std::vector<const Added*> everyAdded(AddedKind kind);

/// One with its options, as manifests name it: "signs:bits=2".
struct AddedUse {
  const Added* what = nullptr;
  nlohmann::json options = nlohmann::json::object();  // complete
  /// With all options and the revision, so that a capture, a step back and another session mean the same rule.
  std::string text = {};
};
/// Reads a text or an object {"name", options, "revision"}; without a revision it means the latest rule. Errors (code
/// of the kind, with a `why` that goes on behind the name of a key): nobody has added it, or another revision of it; an
/// option is unknown, or not of the type of its default.
Result<AddedUse> addedUse(AddedKind kind, const nlohmann::json& given);

/// True if it means one that was added, here or elsewhere: its name is one, or it has a revision.
bool namesAdded(AddedKind kind, const nlohmann::json& given);

/// A name that stands in "name:key=value".
bool isWord(std::string_view text);

}  // namespace kvlab
