// SPDX-License-Identifier: Apache-2.0
// One session in a process of its own, so that a crash is a finding like any other. The parent has no other threads.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "property/random_sessions/checks.h"

namespace kvlab::random_sessions {

struct Played {
  Sequence sequence;               // up to the step of the finding
  std::optional<Failure> finding;  // the first; a crash has kind "crash", a session that does not end kind "hang"
  std::vector<Failure> all;        // it and those after it, where the sequence was played to its end
  std::string unopened;            // code of the error that refused the manifest
  int calls = 0;
  std::map<std::string, int> refused;  // calls, by verb
  std::string hash;                    // hash of the state at the end
};

struct Folders {
  std::string work, resources;  // work: of this process alone
};

/// A session whose process is running.
struct Playing {
  int process = -1;
  std::uint64_t seed = 0;
  Folders folders;
};
/// The manifest that a seed draws.
json manifestOf(std::uint64_t seed);
/// Begins to play the manifest of a seed and up to `steps` drawn steps.
Playing beginRandom(std::uint64_t seed, int steps, const Folders& folders);
Playing beginSequence(const Sequence& sequence, const Folders& folders);
/// The steps that a process played that ended with `status`, as waitpid() says it.
Played endOf(const Playing& playing, int status);
Played playSequence(const Sequence& sequence, const Folders& folders);
/// Goes on behind a finding unless it says that the cache itself is wrong.
Played playToTheEnd(const Sequence& sequence, const Folders& folders);

}  // namespace kvlab::random_sessions
