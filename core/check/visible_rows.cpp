// SPDX-License-Identifier: Apache-2.0
// What a pass was told to read is what map, mask and window imply: for each of its rows the first and the last row that
// it sees, the phase that it is turned by, the slot that it is written to, and for the rows that are seen their slots
// and phases; and no row of a call is written over one that the call reads. Window and mask are taken from model and
// manifest, and counted here row by row.
#include <unordered_map>

#include "core/check/checks.h"
#include "core/check/findings.h"
#include "core/check/implied_rows.h"

namespace kvlab {
namespace {

std::string range(std::int32_t begin, std::int32_t end) {
  return "rows " + std::to_string(begin) + " to " + std::to_string(end - 1);
}

class Look {
 public:
  Look(const CheckInput& input, Findings& findings) : m_input(input), m_findings(findings) {}

  void at(const PassDeed& deed) {
    m_deed = &deed;
    m_window = windowIn(m_input, deed.layer);
    if (m_of != deed.map) index(deed);
    for (std::size_t i = 0; i < deed.rows(); ++i) row(i);
    overwritten();
    if (m_listed != deed.list || m_listedOf != deed.map) list();
    m_listed = deed.list;
    m_listedOf = deed.map;
  }

 private:
  static constexpr std::size_t kFew = 8;  // rows that are looked for from the end of the map

  void index(const PassDeed& deed) {
    m_of = deed.map;
    m_indices.clear();
    if (deed.rows() <= kFew) return;
    for (std::size_t i = 0; i < m_of->size(); ++i) m_indices.emplace(m_of->ledger[i].value(), i);
  }

  /// The index of a row in the map; none = it has no row here.
  std::optional<std::size_t> indexOf(std::int32_t id) const {
    if (const auto found = m_indices.find(id); found != m_indices.end()) return found->second;
    if (m_indices.empty())
      for (std::size_t i = m_of->size(); i-- > 0;)
        if (m_of->ledger[i].value() == id) return i;
    return std::nullopt;
  }

  void row(std::size_t i) {
    const PassDeed& deed = *m_deed;
    const std::optional<std::size_t> own = indexOf(static_cast<std::int32_t>(deed.tags[i]));
    if (!own || static_cast<std::int32_t>(*own) < m_of->first) return;
    const ImpliedRows implied = impliedRows(*m_of, *own, m_window);
    if (deed.begin[i] != implied.begin || deed.end[i] != implied.end)
      return tell(*own,
                  "read " + range(deed.begin[i], deed.end[i]) + " of the map; map and window imply " +
                      range(implied.begin, implied.end));
    if (deed.phase[i] != m_of->phases[*own])
      return tell(*own,
                  "was turned by phase " + std::to_string(deed.phase[i]) + "; the map says " +
                      std::to_string(m_of->phases[*own]));
    if (!deed.written.empty() && deed.written[i] != m_of->slotOf[*own].value())
      tell(*own,
           "was written to slot " + std::to_string(deed.written[i]) + "; the map says " +
               std::to_string(m_of->slotOf[*own].value()));
  }

  /// Rows are written before the queries of a call read: none of them may lie where an older one is read.
  void overwritten() {
    const PassDeed& deed = *m_deed;
    if (deed.written.size() < 2) return;  // one row has the slot of the map, or is told of
    std::unordered_map<std::int32_t, std::uint64_t> writers;
    for (std::size_t i = 0; i < deed.written.size(); ++i) writers[deed.written[i]] = deed.tags[i];
    const ListDeed& list = *deed.list;
    for (std::size_t j = 0; j < list.slots.size(); ++j) {
      const std::size_t in = j + static_cast<std::size_t>(list.from);
      const auto writer = writers.find(list.slots[j]);
      if (writer == writers.end() || in >= m_of->size()) continue;
      const auto own = static_cast<std::uint64_t>(m_of->ledger[in].value());
      if (writer->second != own)
        return tell(
            in,
            "was overwritten before it was read: " + rowName(LedgerId(static_cast<std::int32_t>(writer->second))) +
                " was written to its slot " + std::to_string(list.slots[j]) + " by the same call");
    }
  }

  void list() {
    const ListDeed& list = *m_deed->list;
    for (std::size_t j = 0; j < list.slots.size(); ++j) {
      const std::size_t in = j + static_cast<std::size_t>(list.from);
      if (in >= m_of->size()) return tell({}, "read row " + std::to_string(in) + ", which the map does not have");
      if (list.slots[j] != m_of->slotOf[in].value())
        return tell(in,
                    "was read from slot " + std::to_string(list.slots[j]) + "; the map says " +
                        std::to_string(m_of->slotOf[in].value()));
      if (list.phases[j] != m_of->phases[in])
        return tell(in,
                    "was read at phase " + std::to_string(list.phases[j]) + "; the map says " +
                        std::to_string(m_of->phases[in]));
    }
  }

  void tell(std::optional<std::size_t> index, const std::string& what) {
    const std::string layer = "layer " + m_input.state.cacheLayers().name(m_deed->layer);
    if (!index) return m_findings.add({m_deed->layer}, layer + ": a pass " + what);
    const LedgerId id = m_of->ledger[*index];
    m_findings.add({m_deed->layer, *index, id}, layer + ": " + rowName(id) + " " + what);
  }

  const CheckInput& m_input;
  Findings& m_findings;
  const PassDeed* m_deed = nullptr;
  int m_window = 0;
  std::shared_ptr<const ResidencyView> m_of;                // whose rows m_indices has
  std::unordered_map<std::int32_t, std::size_t> m_indices;  // empty where a pass has few rows
  std::shared_ptr<const ListDeed> m_listed;                 // compared last
  std::shared_ptr<const ResidencyView> m_listedOf;          // with this map
};

}  // namespace

void checkVisibleRows(const CheckInput& input, std::vector<Violation>& out) {
  Findings findings("visible_rows", out);
  if (!input.transformer) return;
  Look look(input, findings);
  for (const PassDeed& deed : input.deeds) look.at(deed);
}

}  // namespace kvlab
