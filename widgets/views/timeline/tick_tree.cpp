// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/tick_tree.h"

#include <algorithm>
#include <cstring>

#include "widgets/base/read_reply.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr auto kRefused = "the time line cannot be shown", kRemedy = "show the view again";

Error badHistory(const std::string& why) { return {"bad_reply", kRefused, why, kRemedy}; }

/// T: the type of a packed value.
template <class T>
std::vector<T> numbersFrom(const json& list) {
  if (!list.is_binary()) return list.get<std::vector<T>>();
  const auto& bytes = list.get_binary();
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

template <class T>
void append(std::vector<T>& to, const json& list) {
  const std::vector<T> more = numbersFrom<T>(list);
  to.insert(to.end(), more.begin(), more.end());
}

bool within(const std::vector<int>& values, int low, int high) {
  return std::ranges::all_of(values, [=](int one) { return low <= one && one < high; });
}

}  // namespace

Result<bool> TickTree::take(const json& reply) {
  return wholeReply(kRefused, kRemedy, [&] { return read(reply); });
}

Result<bool> TickTree::read(const json& reply) {
  const int starts = reply.at("starts"), since = reply.at("since");
  if (since != size() || (size() > 0 && starts != m_starts)) return false;
  TickTree next = *this;
  next.m_starts = starts;
  append(next.m_parent, reply.at("parent"));
  append(next.m_edit, reply.at("edit"));
  append(next.m_tick, reply.at("tick"));
  append(next.m_left, reply.at("left"));
  next.m_kept = numbersFrom<int>(reply.at("kept"));
  next.m_current = reply.at("current");
  const std::vector<int> entries = numbersFrom<int>(reply.at("edits").at("entry"));
  for (std::size_t i = 0; i < entries.size(); ++i)
    next.m_edits.emplace_back(entries[i],
                              TimeMark{0, sortOfEdit(reply.at("edits").at("sort").at(i)),
                                       QString::fromStdString(reply.at("edits").at("words").at(i))});
  KV_TRY(next.check(reply, reply.at("size")));
  for (auto& [entry, mark] : next.m_edits) mark.tick = next.tick(entry);
  next.makeLanes(reply.at("branches"));
  next.findKept();
  const std::string branch = reply.at("branch");
  for (std::size_t i = 0; i < next.m_lanes.size(); ++i)
    if (next.m_lanes[i].name.toStdString() == branch) next.m_lane = static_cast<int>(i);
  *this = std::move(next);
  return true;
}

Status TickTree::check(const json& reply, int entries) const {
  const std::size_t all = m_tick.size();
  bool good = entries == size() && all > 0 && m_parent.size() == all && m_edit.size() == all && m_left.size() == all &&
      m_current >= 0 && m_current < size() && within(m_kept, 0, size() + 1) && m_kept.size() % 2 == 0 &&
      std::ranges::is_sorted(m_kept) && !reply.at("branches").empty();
  for (int id = 0; good && id < size(); ++id)
    good = (id == 0 ? m_parent[0] == -1 : m_parent[at(id)] >= 0 && m_parent[at(id)] < id) && m_edit[at(id)] >= 0 &&
        m_edit[at(id)] <= id && m_tick[at(id)] >= 0;
  for (const auto& [entry, mark] : m_edits) good = good && entry >= 0 && entry < size();
  for (const json& branch : reply.at("branches")) good = good && branch.at("tip") >= 0 && branch.at("tip") < size();
  return good ? ok() : Status(badHistory("its columns do not fit together"));
}

/// The part that two branches share belongs to the older one.
void TickTree::makeLanes(const json& branches) {
  m_lanes.clear();
  m_laneOf.assign(m_tick.size(), -1);
  for (const json& branch : branches) {
    TickLane lane{QString::fromStdString(branch.at("name")), branch.at("tip")};
    int id = lane.tip;
    for (; id >= 0 && laneOf(id) < 0; id = m_parent[at(id)]) m_laneOf[at(id)] = static_cast<int>(m_lanes.size());
    lane.from = id;
    m_lanes.push_back(std::move(lane));
  }
  m_lastTick = 0;
  for (int id = 0; id < size(); ++id) {
    if (laneOf(id) < 0) continue;
    TickLane& lane = m_lanes[at(laneOf(id))];
    lane.entries.push_back(id);
    if (left(id) > 0) lane.left.push_back(id);
    m_lastTick = std::max(m_lastTick, tick(id));
  }
  for (const auto& [entry, mark] : m_edits)
    if (laneOf(entry) >= 0) {
      m_lanes[at(laneOf(entry))].edits.push_back(entry);
      m_lanes[at(laneOf(entry))].sorts.push_back(mark.sort);
    }
}

bool TickTree::kept(int entry) const { return (std::ranges::upper_bound(m_kept, entry) - m_kept.begin()) % 2 == 1; }

void TickTree::findKept() {
  for (TickLane& lane : m_lanes) {
    bool before = false;
    for (const int id : lane.entries) {
      const bool now = kept(id);
      if (now && before) lane.kept.back().second = tick(id);
      else if (now) lane.kept.emplace_back(tick(id), tick(id));
      before = now;
    }
  }
}

TimeMark TickTree::editOf(int entry) const {
  const auto found = std::ranges::lower_bound(m_edits, m_edit[at(entry)], {}, &std::pair<int, TimeMark>::first);
  return found != m_edits.end() && found->first == m_edit[at(entry)] ? found->second : TimeMark{tick(entry)};
}

std::vector<TickTree::Stretch> TickTree::way(int last, std::vector<int> TickLane::*list) const {
  std::vector<Stretch> out;
  while (last >= 0 && laneOf(last) >= 0) {
    const TickLane& lane = m_lanes[at(laneOf(last))];
    const std::vector<int>& all = lane.*list;
    out.push_back({&lane, static_cast<std::size_t>(std::ranges::upper_bound(all, last) - all.begin())});
    last = lane.from;
  }
  return out;
}

int TickTree::entryAt(int lane, std::int64_t tick) const {
  for (const auto& [on, size] : way(m_lanes[at(lane)].tip, &TickLane::entries)) {
    const auto end = on->entries.begin() + static_cast<std::ptrdiff_t>(size);
    const auto behind = std::upper_bound(on->entries.begin(), end, tick,
                                         [this](std::int64_t wanted, int id) { return wanted < m_tick[at(id)]; });
    if (behind != on->entries.begin()) return *std::prev(behind);
  }
  return 0;
}

int TickTree::onWay(int lane, int last) const {
  while (last >= 0 && laneOf(last) >= 0) {
    if (laneOf(last) == lane) return last;
    last = m_lanes[at(laneOf(last))].from;
  }
  return -1;
}

std::optional<std::int64_t> TickTree::tickBeside(int lane, std::int64_t tick, bool behind, bool edits) const {
  const auto list = edits ? &TickLane::edits : &TickLane::entries;
  std::optional<std::int64_t> out;
  for (const auto& [on, size] : way(m_lanes[at(lane)].tip, list)) {
    const auto begin = (on->*list).begin(), end = begin + static_cast<std::ptrdiff_t>(size);
    const auto place = behind
        ? std::upper_bound(begin, end, tick, [this](std::int64_t wanted, int id) { return wanted < m_tick[at(id)]; })
        : std::lower_bound(begin, end, tick, [this](int id, std::int64_t wanted) { return m_tick[at(id)] < wanted; });
    if (!behind && place != begin) return m_tick[at(*std::prev(place))];
    if (behind && place != end) out = m_tick[at(*place)];
  }
  return out;
}

}  // namespace kvlab
