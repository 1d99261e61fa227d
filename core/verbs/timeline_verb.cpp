// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/verbs.h"

#include <algorithm>

#include "core/verbs/replies.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// [entries from `since` on]
template <class T, class F>
std::vector<T> column(const Timeline& timeline, int since, F&& valueOf) {
  std::vector<T> out;
  out.reserve(at(timeline.size() - since));
  for (int id = since; id < timeline.size(); ++id) out.push_back(valueOf(timeline.entry(id)));
  return out;
}

/// Runs of entries with a kept state, each as its first and the one behind its last.
std::vector<std::int32_t> keptRuns(const Timeline& timeline) {
  std::vector<std::int32_t> out;
  for (int id = 0; id < timeline.size(); ++id)
    if ((timeline.entry(id).kept != nullptr) != (out.size() % 2 == 1)) out.push_back(id);
  if (out.size() % 2 == 1) out.push_back(timeline.size());
  return out;
}

json branchList(const Timeline& timeline) {
  json out = json::array();
  for (const Timeline::Branch& branch : timeline.branches())
    out.push_back({{"name", branch.name}, {"tip", branch.tip}});
  return out;
}

/// First entries of edits that do more than generate.
json editList(const Timeline& timeline, int since, bool packed) {
  std::vector<std::int32_t> entries;
  json sorts = json::array(), words = json::array();
  for (int id = std::max(since, 1); id < timeline.size(); ++id) {
    const Timeline::Entry& entry = timeline.entry(id);
    if (entry.edit != id || entry.words.empty()) continue;
    entries.push_back(id);
    sorts.push_back(name(entry.sort));
    words.push_back(entry.words);
  }
  return {{"entry", columnOf(entries, packed)}, {"sort", std::move(sorts)}, {"words", std::move(words)}};
}

}  // namespace

std::int32_t rowsGone(const Timeline::Entry& entry) {
  std::size_t out = 0;
  for (const Evict& one : entry.left) out += one.ledger.size();
  if (!entry.report || !entry.report->ok) return static_cast<std::int32_t>(out);
  for (const Action& action : entry.report->actions)
    if (const auto* evict = std::get_if<Evict>(&action)) out += evict->ledger.size();
  return static_cast<std::int32_t>(out);
}

Result<json> timelineVerb(const Session& session, VerbArgs& in) {
  const Timeline& timeline = session.timeline();
  const int since = static_cast<int>(std::min<std::int64_t>(in.integer("since"), timeline.size()));
  const bool packed = in.flag("packed");
  using Entry = Timeline::Entry;
  const auto parents = column<std::int32_t>(timeline, since, [](const Entry& one) { return one.parent; });
  const auto edits = column<std::int32_t>(timeline, since, [](const Entry& one) { return one.edit; });
  const auto ticks = column<std::int64_t>(timeline, since, [](const Entry& one) { return one.tick.value(); });
  const auto left = column<std::int32_t>(timeline, since, rowsGone);
  return json{{"starts", timeline.starts()},
              {"size", timeline.size()},
              {"current", timeline.currentId()},
              {"branch", timeline.branch()},
              {"since", since},
              {"parent", columnOf(parents, packed)},
              {"edit", columnOf(edits, packed)},
              {"tick", columnOf(ticks, packed)},
              {"left", columnOf(left, packed)},
              {"edits", editList(timeline, since, packed)},
              {"kept", columnOf(keptRuns(timeline), packed)},
              {"branches", branchList(timeline)}};
}

}  // namespace kvlab
