// SPDX-License-Identifier: Apache-2.0
// Counts of the calls that a run has tried: by verb, by value of each manifest key, by pair of values of two keys, and
// by verb and value. A key of a nested object is named "ring.window", one of an override of layers "layers.kv.k"; a key
// that a manifest leaves out has the value "default". A policy's name and its settings are two keys. One thread.
#pragma once
#include <unordered_map>

#include "property/random_sessions/play.h"

namespace kvlab::random_sessions {

/// "key=value" of everything that a manifest says.
std::vector<std::string> settingsOf(const json& manifest);

class Tried {
 public:
  /// Counts the pairs that manifests of these seeds would have, so that pairs which never came are known.
  void expect(std::uint64_t firstSeed, int manifests);
  void add(const Played& played);
  /// The rarity of a manifest's pairs so far, pairs of refused manifests included: a larger number is rarer.
  double rarity(const json& manifest);
  /// Sums, counts of verbs and values, and the pairs that came least; text in Markdown.
  std::string report() const;

 private:
  using Pair = std::uint64_t;  // two numbers of names
  std::vector<std::uint32_t> numbers(const std::vector<std::string>& names);
  template <class F>
  void eachPair(const json& manifest, F&& take);
  std::string pairsReport() const;

  std::unordered_map<std::string, std::uint32_t> m_numbers;
  std::vector<std::string> m_names;
  struct Calls {
    std::int64_t made = 0, wished = 0;  // wished: also of manifests that were refused
  };
  std::unordered_map<Pair, Calls> m_pairs;
  std::unordered_map<Pair, std::int64_t> m_verbPairs;  // calls
  std::map<std::string, std::map<std::string, std::int64_t>> m_values;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> m_verbs;  // calls, and those that were refused
  std::int64_t m_sessions = 0, m_unopened = 0;
};

}  // namespace kvlab::random_sessions
