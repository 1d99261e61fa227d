// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/tried.h"

#include <algorithm>
#include <limits>

#include "core/api/manifest.h"
#include "property/random_sessions/manifests.h"
#include "property/random_sessions/verbs.h"

namespace kvlab::random_sessions {
namespace {

constexpr std::int64_t kEnough = 50;   // calls of a pair
constexpr std::int64_t kRefused = 20;  // calls that a refused manifest counts for
constexpr std::size_t kListed = 30;

void addSettings(const std::string& key, const json& value, std::vector<std::string>& out) {
  const std::string last = key.substr(key.rfind('.') + 1);
  if (value.is_object())
    for (const auto& [name, inner] : value.items()) addSettings(key.empty() ? name : key + "." + name, inner, out);
  else if (value.is_array())
    for (const json& inner : value) addSettings(key, inner, out);
  else if (const std::size_t colon = value.is_string() ? value.get<std::string>().find(':') : std::string::npos;
           (last == "policy" || last == "layout") && colon != std::string::npos) {
    const std::string text = value;
    out.push_back(key + "=" + text.substr(0, colon));
    out.push_back(key + ".with=" + text.substr(colon + 1));
  } else out.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
}

std::string line(const std::string& name, std::int64_t first, std::int64_t second) {
  return "| " + name + " | " + std::to_string(first) + " | " + std::to_string(second) + " |\n";
}

}  // namespace

std::vector<std::string> settingsOf(const json& manifest) {
  std::vector<std::string> out;
  addSettings("", manifest, out);
  static const json all = Manifest{}.toJson();
  for (const auto& [key, value] : all.items())
    if (!manifest.contains(key)) out.push_back(key + "=default");
  return out;
}

std::vector<std::uint32_t> Tried::numbers(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> out;
  for (const std::string& name : names) {
    const auto [at, isNew] = m_numbers.try_emplace(name, static_cast<std::uint32_t>(m_names.size()));
    if (isNew) m_names.push_back(name);
    out.push_back(at->second);
  }
  return out;
}

template <class F>
void Tried::eachPair(const json& manifest, F&& take) {
  std::vector<std::uint32_t> all = numbers(settingsOf(manifest));
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) take(m_pairs[Pair{all[i]} << 32 | all[j]]);
}

void Tried::expect(std::uint64_t firstSeed, int manifests) {
  for (int i = 0; i < manifests; ++i) eachPair(manifestOf(firstSeed + static_cast<std::uint64_t>(i)), [](auto&) {});
}

void Tried::add(const Played& played) {
  const auto calls = static_cast<std::int64_t>(played.sequence.steps.size());
  const bool opened = played.unopened.empty();
  eachPair(played.sequence.manifest, [&](Calls& count) {
    count.made += calls;
    count.wished += opened ? calls : kRefused;
  });
  if (!opened) return (void)++m_unopened;
  ++m_sessions;
  const std::vector<std::string> settings = settingsOf(played.sequence.manifest);
  for (const std::string& one : settings) {
    const std::size_t equals = one.find('=');
    m_values[one.substr(0, equals)][one.substr(equals + 1)] += calls;
  }
  const std::vector<std::uint32_t> values = numbers(settings);
  for (const Step& step : played.sequence.steps) {
    ++m_verbs[step.verb].first;
    const std::uint32_t verb = numbers({step.verb})[0];
    for (const std::uint32_t value : values) ++m_verbPairs[Pair{verb} << 32 | value];
  }
  for (const auto& [verb, count] : played.refused) m_verbs[verb].second += count;
}

double Tried::rarity(const json& manifest) {
  double out = 0;
  eachPair(manifest, [&](const Calls& count) { out += 1.0 / static_cast<double>(1 + count.wished); });
  return out;
}

std::string Tried::report() const {
  std::string verbs = "| verb | calls | refused |\n| --- | --- | --- |\n", values;
  std::int64_t calls = 0, refused = 0;
  for (const auto& [verb, count] : m_verbs) {
    verbs += line('`' + verb + '`', count.first, count.second);
    calls += count.first, refused += count.second;
  }
  std::int64_t least = calls;
  for (const auto& [key, counts] : m_values) {
    values += "| `" + key + "` | ";
    for (const auto& [value, count] : counts) {
      values += (value.empty() ? "\"\"" : value) + " " + std::to_string(count) + ", ";
      least = std::min(least, count);
    }
    values.resize(values.size() - 2);
    values += " |\n";
  }
  return "# Calls of a run of random sessions\n" + std::to_string(m_sessions) + " sessions, " +
      std::to_string(m_unopened) + " refused manifests, " + std::to_string(calls) + " calls, " +
      std::to_string(refused) + " of them refused. A value was in force during at least " + std::to_string(least) +
      " calls.\n\n" + pairsReport() + "\n## By verb\n" + verbs +
      "\n## By value of each key\n| key | value and calls |\n| --- | --- |\n" + values;
}

std::string Tried::pairsReport() const {
  std::vector<std::pair<std::int64_t, Pair>> rare;
  std::size_t refused = 0;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), fewestOfVerb = fewest;
  for (const auto& [pair, calls] : m_pairs)
    if (calls.made == 0 && calls.wished > 0) ++refused;
    else if (fewest = std::min(fewest, calls.made); calls.made < kEnough) rare.emplace_back(calls.made, pair);
  for (const auto& [pair, calls] : m_verbPairs) fewestOfVerb = std::min(fewestOfVerb, calls);
  std::ranges::sort(rare);
  std::string out = std::to_string(m_pairs.size()) + " pairs of values were drawn. " + std::to_string(refused) +
      " of them came only in manifests that were refused. Of the others, the rarest was in force during " +
      std::to_string(fewest) + " calls, and " + std::to_string(rare.size()) + " during less than " +
      std::to_string(kEnough) + ". " + std::to_string(m_verbPairs.size()) +
      " pairs of a verb and a value came; the rarest has " + std::to_string(fewestOfVerb) + " calls.\n";
  rare.resize(std::min(rare.size(), kListed));
  for (const auto& [count, pair] : rare)
    out += "- `" + m_names[pair >> 32] + "` with `" + m_names[pair & 0xFFFFFFFF] + "`: " + std::to_string(count) + "\n";
  return out;
}

}  // namespace kvlab::random_sessions
