// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/shrink.h"

#include <algorithm>
#include <chrono>

namespace kvlab::random_sessions {
namespace {

class Shrinker {
 public:
  Shrinker(const Played& played, const Folders& folders, double seconds)
      : m_best(played.sequence),
        m_finding(*played.finding),
        m_folders(folders),
        m_end(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000))) {
  }

  Sequence run() {
    for (bool smaller = true; smaller && !late();) {
      smaller = fewerSteps();
      smaller = fewerKeys(json::json_pointer()) || smaller;
      smaller = shorterLists() || smaller;
    }
    return m_best;
  }

 private:
  bool late() const { return std::chrono::steady_clock::now() > m_end; }

  /// Takes the candidate over if it shows the finding.
  bool take(const Sequence& candidate) {
    if (late()) return false;
    const Played played = playSequence(candidate, m_folders);
    if (!played.finding || !played.finding->same(m_finding)) return false;
    m_best = played.sequence;
    return true;
  }

  bool fewerSteps() {
    bool any = false;
    for (std::size_t many = std::max<std::size_t>(1, m_best.steps.size() / 2); many > 0; many /= 2)
      for (std::size_t from = 0; from + many < m_best.steps.size() && !late();) {
        Sequence candidate = m_best;
        const auto begin = candidate.steps.begin() + static_cast<std::ptrdiff_t>(from);
        candidate.steps.erase(begin, begin + static_cast<std::ptrdiff_t>(many));
        if (take(candidate)) any = true;
        else from += many;
      }
    return any;
  }

  bool fewerKeys(const json::json_pointer& where) {
    bool any = false;
    const json keys = m_best.manifest.at(where);
    if (!keys.is_object()) return false;
    for (const auto& [key, value] : keys.items()) {
      Sequence candidate = m_best;
      candidate.manifest.at(where).erase(key);
      if (take(candidate)) any = true;
      else if (value.is_object()) any = fewerKeys(where / key) || any;
    }
    return any;
  }

  /// Lists and counts of arguments, step by step.
  bool shorterLists() {
    bool any = false;
    for (std::size_t i = 0; i < m_best.steps.size() && !late(); ++i) {
      if (!m_best.steps[i].own() || !m_best.steps[i].args.is_object()) continue;
      const json args = m_best.steps[i].args;
      for (const auto& [key, value] : args.items()) any = shorter(i, key, value) || any;
    }
    return any;
  }

  bool shorter(std::size_t step, const std::string& key, const json& value) {
    bool any = false;
    if (value.is_array())
      for (std::size_t many = value.size() / 2; many > 0; many /= 2)
        while (m_best.steps[step].args[key].size() > many) {
          Sequence candidate = m_best;
          json& list = candidate.steps[step].args[key];
          list.erase(list.end() - static_cast<std::ptrdiff_t>(many), list.end());
          if (!take(candidate)) break;
          any = true;
          if (step >= m_best.steps.size()) return true;
        }
    if (value.is_number_integer() && value.get<std::int64_t>() > 1 &&
        (key == "n" || key == "maxTicks" || key == "rounds")) {
      Sequence candidate = m_best;
      candidate.steps[step].args[key] = 1;
      any = take(candidate);
    }
    return any;
  }

  Sequence m_best;
  const Failure m_finding;
  const Folders& m_folders;
  const std::chrono::steady_clock::time_point m_end;
};

}  // namespace

Sequence shrunk(const Played& played, const Folders& folders, double seconds) {
  return Shrinker(played, folders, seconds).run();
}

}  // namespace kvlab::random_sessions
