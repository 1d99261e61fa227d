// SPDX-License-Identifier: Apache-2.0
#include "core/tasks/task_words.h"

#include <cstdio>

namespace kvlab {
namespace {

constexpr std::string_view kAdjectives[] = {
    "amber",  "ancient", "awkward", "bitter", "blank",  "bold",   "brave",  "brief",  "bright", "broad",   "busy",
    "calm",   "careful", "cheap",   "clean",  "clever", "cloudy", "coarse", "cold",   "crisp",  "curious", "damp",
    "dark",   "deep",    "dense",   "dull",   "eager",  "early",  "empty",  "faint",  "fancy",  "fierce",  "firm",
    "flat",   "fond",    "fresh",   "frozen", "gentle", "giant",  "glad",   "golden", "grand",  "great",   "green",
    "happy",  "harsh",   "heavy",   "hollow", "honest", "humble", "idle",   "jolly",  "keen",   "kind",    "large",
    "late",   "lazy",    "light",   "lonely", "loud",   "lucky",  "mellow", "mild",   "modest", "narrow",  "neat",
    "noble",  "pale",    "plain",   "proud",  "quick",  "quiet",  "rapid",  "rare",   "rough",  "round",   "sharp",
    "silent", "silver",  "simple",  "slow",   "smooth", "solid",  "steep",  "strong", "sudden", "swift",   "tall"};
constexpr std::string_view kNouns[] = {
    "anchor", "apron",  "arrow",  "basket",  "beacon", "bench",  "blanket", "bottle", "bridge",  "bucket", "button",
    "cabin",  "candle", "canvas", "carpet",  "castle", "cellar", "chapel",  "circle", "clock",   "cloud",  "coffee",
    "corner", "cotton", "cradle", "crayon",  "desert", "dragon", "drawer",  "engine", "feather", "fence",  "ferry",
    "finger", "flute",  "forest", "garden",  "ginger", "glove",  "hammer",  "harbor", "helmet",  "island", "jacket",
    "jungle", "kettle", "ladder", "lantern", "lemon",  "letter", "lizard",  "marble", "market",  "meadow", "mirror",
    "needle", "office", "orange", "paddle",  "pencil", "pepper", "pillow",  "planet", "pocket",  "potato", "puzzle",
    "rabbit", "ribbon", "river",  "rocket",  "saddle", "salmon", "school",  "shadow", "shelf",   "signal", "spider",
    "spoon",  "stable", "statue", "summer",  "table",  "temple", "ticket",  "tunnel", "turtle",  "valley", "violin",
    "wagon",  "window", "winter", "yard"};
constexpr std::string_view kPeople[] = {"The miller",    "A sailor",     "My neighbour",  "The teacher",
                                        "An old friend", "The gardener", "A young clerk", "The baker",
                                        "His sister",    "The painter",  "A visitor",     "The captain"};
constexpr std::string_view kDeeds[] = {"painted",  "carried",  "repaired", "forgot", "described", "bought",
                                       "borrowed", "measured", "cleaned",  "hid",    "admired",   "moved"};
constexpr std::string_view kTimes[] = {"before breakfast",   "late in the evening", "on a rainy day",
                                       "without a word",     "for the third time",  "with great care",
                                       "after the fair",     "in early spring",     "as the bells rang",
                                       "and then went home", "to pass the time",    "by mistake"};
constexpr std::string_view kPlaces[] = {"near", "behind", "beside", "in front of", "not far from", "next to"};

enum Purpose : std::uint64_t { kNames = 101, kNumbers, kCodes, kSentences = 1'000'000 };

/// The n-th place in a random order of `count` things that repeats none of the first `count`: a Feistel network of four
/// rounds over twice `half` bits, applied until it gives a place (Black and Rogaway 2002, section 5).
std::size_t placeInOrder(std::uint64_t key, std::uint64_t purpose, std::size_t n, std::size_t count) {
  unsigned half = 1;
  while ((std::size_t{1} << (2 * half)) < count) ++half;
  const std::size_t mask = (std::size_t{1} << half) - 1;
  std::size_t place = n % count;
  do {
    std::size_t left = place >> half, right = place & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::size_t mixed = left ^ (randomBits(mix64(key) ^ purpose, round << 32 | right) & mask);
      left = right;
      right = mixed;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

}  // namespace

std::span<const std::string_view> taskAdjectives() { return kAdjectives; }
std::span<const std::string_view> taskNouns() { return kNouns; }
std::string_view taskNoise() {
  return "The kettle is warm. The street is quiet. The bus is late. We wait here. Then we walk on.";
}

std::string taskName(std::uint64_t key, std::size_t n) {
  const std::size_t at = placeInOrder(key, kNames, n, std::size(kAdjectives) * std::size(kNouns));
  return std::string(kAdjectives[at / std::size(kNouns)]) + "-" + std::string(kNouns[at % std::size(kNouns)]);
}

std::string taskNumber(std::uint64_t key, std::size_t n) {
  return std::to_string(1'000'000 + placeInOrder(key, kNumbers, n, 9'000'000));
}

std::string taskCode(std::uint64_t key, std::size_t n) {
  TaskDraw draw(key, kCodes + (n << 8));
  const auto a = static_cast<unsigned long long>(draw.bits()), b = static_cast<unsigned long long>(draw.bits());
  char text[48];
  std::snprintf(text, sizeof text, "%08llx-%04llx-4%03llx-%04llx-%012llx", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                (b >> 48 & 0x3fff) | 0x8000, b & 0xffffffffffff);
  return text;
}

std::string taskSentence(std::uint64_t key, std::size_t n) {
  TaskDraw draw(key, kSentences + n);
  const std::span<const std::string_view> adjectives = kAdjectives, nouns = kNouns, people = kPeople, deeds = kDeeds,
                                          times = kTimes, places = kPlaces;
  std::string out(draw.of(people));
  const auto add = [&out](std::string_view word) { out.append(1, ' ').append(word); };
  add(draw.of(deeds)), add("the"), add(draw.of(adjectives)), add(draw.of(nouns));
  if (draw.below(2)) add(draw.of(places)), add("the"), add(draw.of(nouns));
  add(draw.of(times));
  return out + ".";
}

}  // namespace kvlab
