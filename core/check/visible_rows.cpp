// SPDX-License-Identifier: Apache-2.0
// A pass was given the rows that map, mask and window imply: for each of its rows the first and the last row that it
// sees, the phase that it is turned by, the slot that it is written to, and for the rows that are seen their slots
// and phases; and no row of a call is written over one that the call reads, or over one of the state before. Window and
// mask are taken from model and manifest, and counted here row by row. If a kind has given rows, its rules of attention
// replace the map.
#include <algorithm>
#include <unordered_map>

#include "core/check/checks.h"
#include "core/check/stored_heads.h"

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
    if (deed.given) return given();
    spared();
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
    const LedgerId id = m_of->ledger[*own];
    if (deed.begin[i] != implied.begin || deed.end[i] != implied.end)
      return tell(*own,
                  "read " + range(deed.begin[i], deed.end[i]) + " of the map; map and window imply " +
                      range(implied.begin, implied.end),
                  id);
    if (deed.phase[i] != m_of->phases[*own])
      return tell(*own,
                  "was turned by phase " + std::to_string(deed.phase[i]) + "; the map says " +
                      std::to_string(m_of->phases[*own]),
                  id);
    if (!deed.written.empty() && deed.written[i] != m_of->slotOf[*own].value())
      tell(*own,
           "was written to slot " + std::to_string(deed.written[i]) + "; the map says " +
               std::to_string(m_of->slotOf[*own].value()),
           id);
  }

  /// No row is written over one of the state before: history, or a tick that fails, goes back to that. Layouts that
  /// work in place, and kinds that derive their context where slots are few, bring such rows back from a log.
  void spared() {
    const CacheLayer layer = m_deed->layer;
    if (!m_input.before || m_input.before->groupOf.size() != m_input.state.groupOf.size() ||
        dynamic_cast<const RunSlots*>(&m_input.store.slots(layer)))
      return;
    const ResidencyView& was = m_input.before->group(layer).stored();
    if (&was == m_spared && m_deed->written == m_written) return;  // as in the layer before
    m_spared = &was;
    m_written = m_deed->written;
    std::vector<std::int32_t> sorted = m_written;
    std::ranges::sort(sorted);
    const std::span<const std::int32_t> slots = plain(was.residentSlots());
    const auto found = sorted.size() == 1
        ? std::ranges::find(slots, sorted.front())
        : std::ranges::find_if(slots, [&](std::int32_t slot) { return std::ranges::binary_search(sorted, slot); });
    if (found == slots.end()) return;
    const LedgerId lost = was.ledger[static_cast<std::size_t>(was.first + (found - slots.begin()))];
    const std::uint64_t writer =
        m_deed->tags[static_cast<std::size_t>(std::ranges::find(m_written, *found) - m_written.begin())];
    m_findings.add({layer, {}, lost},
                   "layer " + m_input.state.cacheLayers().name(layer) + ": ledger row " + std::to_string(writer) +
                       " was written over " + rowName(lost) + " of the state before, to which history goes back",
                   Harm{lost});
  }

  /// Rows are written before the queries of a call read: none of them may lie where an older one is read.
  void overwritten() {
    const PassDeed& deed = *m_deed;
    if (deed.written.size() < 2) return;  // one row has the slot of the map, or is told of
    std::unordered_map<std::int32_t, std::uint64_t> writers;
    for (std::size_t i = 0; i < deed.written.size(); ++i) writers[deed.written[i]] = deed.tags[i];
    const ListDeed& list = *deed.list;
    std::vector<std::int32_t> readers(list.slots.size() + 1);  // more, or less, from here on
    for (std::size_t i = 0; i < deed.rows(); ++i)
      if (deed.begin[i] < deed.end[i]) {
        ++readers[static_cast<std::size_t>(deed.begin[i] - list.from)];
        --readers[static_cast<std::size_t>(deed.end[i] - list.from)];
      }
    std::int32_t reading = 0;
    for (std::size_t j = 0; j < list.slots.size(); ++j) {
      const std::size_t in = j + static_cast<std::size_t>(list.from);
      reading += readers[j];
      if (reading == 0) continue;  // it lies between what the rows read
      const auto writer = writers.find(list.slots[j]);
      if (writer == writers.end() || in >= m_of->size()) continue;
      const auto own = static_cast<std::uint64_t>(m_of->ledger[in].value());
      if (writer->second != own)
        return tell(
            in,
            "was overwritten before it was read: " + rowName(LedgerId(static_cast<std::int32_t>(writer->second))) +
                " was written to its slot " + std::to_string(list.slots[j]) + " by the same call",
            m_of->ledger[in]);
    }
  }

  /// Checks a pass over given rows. A check that is not full looks at the last row alone, in one layer after another.
  void given() {
    const PassDeed& deed = *m_deed;
    const GivenRows& given = *deed.given;
    const auto layers = static_cast<std::int64_t>(m_input.state.groupOf.size());
    if (!m_input.full && m_input.state.tick.value() % layers != deed.layer.value()) return;
    std::size_t own = given.ledger.size();  // rows are computed in order
    for (std::size_t i = deed.rows(); i-- > (m_input.full ? 0 : deed.rows() - 1);) {
      while (own > 0 && given.ledger[own - 1].value() != static_cast<std::int32_t>(deed.tags[i])) --own;
      if (own == 0) return;
      if (const std::string wrong = differs(i, own - 1); !wrong.empty())
        return m_findings.add({deed.layer, {}, given.ledger[own - 1]},
                              "layer " + m_input.state.cacheLayers().name(deed.layer) + ": " +
                                  rowName(given.ledger[own - 1]) + ", " + given.nameOf(own - 1) + ", " + wrong,
                              Harm{given.ledger[own - 1]});
    }
  }

  /// A slot that is read and how it is turned there.
  struct Read {
    std::int32_t slot;
    double phase, blur;
    auto operator<=>(const Read&) const = default;
  };
  Read readAt(std::int32_t slot, std::int32_t rotaryRow) const {
    const Rotary& rotary = m_input.transformer->rotary();
    return {slot, static_cast<double>(rotary.phase(rotaryRow).value()), rotary.sigma(rotaryRow)};
  }
  Read impliedAt(std::size_t row) const {
    const GivenRows& given = *m_deed->given;
    return {given.slots[row].value(), given.phaseOf(row), given.blurOf(row)};
  }

  /// The difference between the rows that a row was given and those that the rules imply; empty = none.
  std::string differs(std::size_t i, std::size_t own) const {
    const PassDeed& deed = *m_deed;
    const Read self = impliedAt(own), turned = readAt(self.slot, deed.phase[i]);
    if (turned != self)
      return "was turned by phase " + std::to_string(turned.phase) + " and blur " + std::to_string(turned.blur) +
          "; its node has " + std::to_string(self.phase) + " and " + std::to_string(self.blur);
    if (!deed.written.empty() && deed.written[i] != self.slot)
      return "was written to slot " + std::to_string(deed.written[i]) + "; the plan says " + std::to_string(self.slot);
    std::vector<Read> was, wanted;
    for (std::int32_t j = deed.begin[i] - deed.list->from; j < deed.end[i] - deed.list->from; ++j)
      was.push_back(
          readAt(deed.list->slots[static_cast<std::size_t>(j)], deed.list->phases[static_cast<std::size_t>(j)]));
    if (!deed.self.empty() && deed.self[i] >= 0) was.push_back(readAt(deed.self[i], deed.phase[i]));
    for (const std::int32_t row : deed.given->seenBy(own, m_window))
      wanted.push_back(impliedAt(static_cast<std::size_t>(row)));
    if (was == wanted) return {};  // as a rule: both are in the order of time
    std::ranges::sort(was), std::ranges::sort(wanted);
    const auto [read, implied] = std::ranges::mismatch(was, wanted);
    if (read == was.end() && implied == wanted.end()) return {};
    const bool lacks = read == was.end() || (implied != wanted.end() && implied->slot < read->slot);
    const bool same = !lacks && implied != wanted.end() && implied->slot == read->slot;
    return "read " + std::to_string(was.size()) + " rows, and the rules of attention imply " +
        std::to_string(wanted.size()) + "; slot " + std::to_string(lacks ? implied->slot : read->slot) +
        (lacks      ? " is missing"
             : same ? " was turned by another phase or blur"
                    : " is not among them");
  }

  /// True if slots and phases of a list are those of the map.
  bool asMapped(const ListDeed& list) const {
    const auto from = static_cast<std::size_t>(list.from), rows = list.slots.size();
    return from + rows <= m_of->size() && list.phases.size() == rows &&
        std::ranges::equal(list.slots, plain(m_of->slotOf.span().subspan(from, rows))) &&
        std::ranges::equal(list.phases, m_of->phases.span().subspan(from, rows));
  }

  void list() {
    const ListDeed& list = *m_deed->list;
    if (asMapped(list)) return;
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

  /// harmed: none = the last row of the pass, which has read what is told of.
  void tell(std::optional<std::size_t> index, const std::string& what, std::optional<LedgerId> harmed = {}) {
    const std::string layer = "layer " + m_input.state.cacheLayers().name(m_deed->layer);
    const Harm harm{harmed ? harmed : LedgerId(static_cast<std::int32_t>(m_deed->tags.back()))};
    if (!index) return m_findings.add({m_deed->layer}, layer + ": a pass " + what, harm);
    const LedgerId id = m_of->ledger[*index];
    m_findings.add({m_deed->layer, *index, id}, layer + ": " + rowName(id) + " " + what, harm);
  }

  const CheckInput& m_input;
  Findings& m_findings;
  const PassDeed* m_deed = nullptr;
  int m_window = 0;
  const ResidencyView* m_spared = nullptr;  // compared last with m_written
  std::vector<std::int32_t> m_written;
  std::shared_ptr<const ResidencyView> m_of;                // map whose rows are in m_indices
  std::unordered_map<std::int32_t, std::size_t> m_indices;  // empty where a pass has few rows
  std::shared_ptr<const ListDeed> m_listed;                 // compared last
  std::shared_ptr<const ResidencyView> m_listedOf;          // with this map
};

}  // namespace

void checkVisibleRows(const CheckInput& input, Findings& findings) {
  if (!input.transformer) return;
  Look look(input, findings);
  for (const PassDeed& deed : input.deeds) look.at(deed);
}

}  // namespace kvlab
