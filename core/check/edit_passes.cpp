// SPDX-License-Identifier: Apache-2.0
// Checks the passes of an edit against its rules. The rows that passes were given follow from the state before and the
// present context: every remaining row to the left, in the order of the context, and none to the right. A row is turned
// by the phase that the position mode gives its place. `after_edit` says which rows behind the first change are
// computed again, and a row is computed after all such rows to its left. Kinds that derive their context have rules of
// their own (visible_rows). semantics.md, sections 2 and 3.
#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "core/api/column.h"
#include "core/check/checks.h"
#include "core/check/map_walk.h"

namespace kvlab {
namespace {

class EditPasses {
 public:
  EditPasses(const CheckInput& input, Findings& findings)
      : m_input(input),
        m_state(input.state),
        m_before(*input.before),
        m_findings(findings),
        m_position(placesOf(m_state.context, m_state.ledger.size())),
        m_was(placesOf(m_before.context, m_state.ledger.size())),
        m_written(m_state.ledger.size()) {
    for (const PassDeed& deed : input.deeds)
      for (const std::uint64_t tag : deed.tags)
        if (tag < m_written.size()) m_written[tag] = true;
  }

  void check() {
    const ResidencyView* last = nullptr;
    for (const PassDeed& deed :
         m_input.deeds | std::views::reverse)  // the last call on a map has most rows to its left
      if (deed.map && deed.map.get() != std::exchange(last, deed.map.get())) neighbours(deed);
    for (const PassDeed& deed : m_input.deeds)
      if (deed.map) phases(deed);
    if (m_findings.count() > 0) return;
    if (batch()) inOrder();
    if (m_input.manifest.afterEdit != AfterEdit::Keep) anew();
  }

 private:
  std::int32_t position(LedgerId id) const {
    return at(id.value()) < m_position.size() ? m_position[at(id.value())] : -1;
  }
  std::int32_t was(LedgerId id) const { return at(id.value()) < m_was.size() ? m_was[at(id.value())] : -1; }
  bool batch() const { return m_input.manifest.executor == Executor::Batch; }
  std::string name(CacheLayer layer) const { return "layer " + m_state.cacheLayers().name(layer); }

  /// A map that a pass was given has the rows to the left of its last row, in the order of the context.
  void neighbours(const PassDeed& deed) {
    const ResidencyView& map = *deed.map;
    const LedgerId computed(static_cast<std::int32_t>(deed.tags.back()));
    std::vector<bool> given(m_state.ledger.size());
    std::int32_t last = -1;
    for (std::size_t i = 0; i < map.size(); ++i) {
      const LedgerId id = map.ledger[i];
      const std::int32_t place = position(id);
      if (at(id.value()) < given.size()) given[at(id.value())] = true;
      if (place < 0) continue;  // a later action of the list removes it
      if (place < last)
        return m_findings.add({deed.layer, {}, id},
                              name(deed.layer) + ": a pass had " + rowName(id) + ", at position " +
                                  std::to_string(place) + " of the context, behind the row at position " +
                                  std::to_string(last),
                              Harm{computed});
      last = place;
    }
    const std::int32_t own = position(computed);
    const ResidencyView &old = m_before.map(deed.layer), &now = m_state.map(deed.layer);
    for (std::size_t i = at(now.first); i < now.size() && position(now.ledger[i]) < own; ++i) {
      const LedgerId id = now.ledger[i];
      if (given[at(id.value())] || was(id) < 0 || !holds(old, id)) continue;
      return m_findings.add({deed.layer, i, id},
                            name(deed.layer) + ": " + rowName(id) + " stands left of " + rowName(computed) +
                                ", and the pass that computed that row did not have it",
                            Harm{computed});
    }
  }

  /// Rows of a map stand in the order of their context.
  bool holds(const ResidencyView& old, LedgerId id) const { return among(old, id, m_was); }
  bool stays(const ResidencyView& now, LedgerId id) const { return among(now, id, m_position); }
  bool held(LedgerId id) const {
    return std::ranges::any_of(m_state.layers(), [&](CacheLayer layer) { return stays(m_state.map(layer), id); });
  }
  static bool among(const ResidencyView& map, LedgerId id, const std::vector<std::int32_t>& places) {
    const std::span<const LedgerId> rows = map.ledger.span().subspan(at(map.first));
    const auto place = [&](LedgerId one) { return places[at(one.value())]; };
    const auto found = std::ranges::lower_bound(rows, place(id), {}, place);
    return found != rows.end() && *found == id;
  }

  /// The phase that the position mode gives a row that a pass computed; none where a later action moves it.
  std::optional<std::int32_t> wanted(const PassDeed& deed, LedgerId id) const {
    const std::int32_t place = position(id);
    if (place < 0) return std::nullopt;
    switch (m_input.manifest.position) {
      case PositionMode::Cache: return std::nullopt;  // the index, which phases_increase counts
      case PositionMode::Absolute:
        return m_input.manifest.shiftOnOverflow ? std::nullopt : std::optional(m_state.phases[at(place)]);
      case PositionMode::Context: break;
    }
    const bool placed =
        batch() || (std::ranges::equal(deed.map->ledger, m_state.context) && hadAllThatLeft(deed.layer));
    return placed ? std::optional(place) : std::nullopt;
  }

  /// Rows that left the context were in the layer: a pass before they left had them in its map.
  bool hadAllThatLeft(CacheLayer layer) const {
    const ResidencyView& old = m_before.map(layer);
    return std::ranges::all_of(m_before.context, [&](LedgerId id) { return position(id) >= 0 || holds(old, id); });
  }

  void phases(const PassDeed& deed) {
    for (std::size_t i = 0; i < deed.rows(); ++i) {
      const LedgerId id(static_cast<std::int32_t>(deed.tags[i]));
      const std::optional<std::int32_t> phase = wanted(deed, id);
      if (!phase || deed.phase[i] == *phase) continue;
      return m_findings.add({deed.layer, {}, id},
                            name(deed.layer) + ": " + rowName(id) + " was turned by phase " +
                                std::to_string(deed.phase[i]) + "; its place in the context gives it " +
                                std::to_string(*phase),
                            Harm{id});
    }
  }

  /// A row is not computed before a row to its left that the same edit computes.
  void inOrder() {
    std::vector<std::int32_t> call(m_state.ledger.size(), -1);
    std::int32_t number = 0;
    for (const PassDeed& deed : m_input.deeds) {
      if (deed.layer != CacheLayer(0)) continue;
      ++number;
      for (const std::uint64_t tag : deed.tags)
        if (tag < call.size()) call[tag] = number;
    }
    std::int32_t latest = 0;
    LedgerId left{0};
    for (const LedgerId id : m_state.context.span()) {
      const std::int32_t own = call[at(id.value())];
      if (own < 0) continue;
      if (own < latest)
        return m_findings.add(
            {{}, {}, id},
            rowName(id) + " was computed before " + rowName(left) + " to its left was computed anew, and not again",
            Harm{id});
      if (own > latest) latest = own, left = id;
    }
  }

  /// `recompute`: all rows that stay behind the first change; `selective`: a share of them.
  void anew() {
    std::vector<std::pair<std::int32_t, LedgerId>> stale;  // by position
    const std::size_t first = m_state.context.alike(m_before.context);
    for (std::size_t p = first; p < m_state.context.size(); ++p)
      if (was(m_state.context[p]) >= 0 && counted(m_before.ledger[m_state.context[p]].state))
        stale.emplace_back(p, m_state.context[p]);
    if (first >= m_before.context.size()) return;
    if (m_input.manifest.afterEdit == AfterEdit::Recompute) {
      for (const auto& [p, id] : stale)
        if (!m_written[at(id.value())] && held(id))  // the same list may let a row go
          return m_findings.add({CacheLayer(0), p, id},
                                rowName(id) + " stands behind the first change, and no pass has computed it anew",
                                Harm{id});
      return;
    }
    const auto heldIn = [&](const auto& mapOf) {  // the first two layers are compared
      return std::ranges::count_if(stale, [&](const auto& one) {
        return std::ranges::all_of(m_state.layers() | std::views::take(2),
                                   [&](CacheLayer layer) { return mapOf(layer, one.second); });
      });
    };
    const auto share = [&](std::ptrdiff_t rows) {
      return static_cast<std::ptrdiff_t>(std::ceil(m_input.manifest.selectiveRatio * static_cast<double>(rows)));
    };
    const auto most = heldIn([&](CacheLayer layer, LedgerId id) { return holds(m_before.map(layer), id); }),
               least = heldIn([&](CacheLayer layer, LedgerId id) { return stays(m_state.map(layer), id); });
    const auto made = std::ranges::count_if(stale, [&](const auto& one) { return m_written[at(one.second.value())]; });
    const auto kept = std::ranges::find_if(stale, [&](const auto& one) { return !m_written[at(one.second.value())]; });
    if (made < share(least) || made > share(most))
      m_findings.add({},
                     std::to_string(made) + " of " + std::to_string(most) +
                         " rows behind the first change were computed anew, and the share makes " +
                         std::to_string(share(most)),
                     made < share(least) && kept != stale.end() ? Harm{kept->second} : Harm{});
  }

  const CheckInput& m_input;
  const CacheState &m_state, &m_before;
  Findings& m_findings;
  std::vector<std::int32_t> m_position, m_was;  // [ledger] places in the context now and before
  std::vector<bool> m_written;                  // [ledger] by a pass of the commit
};

}  // namespace

void checkEditPasses(const CheckInput& input, Findings& findings) {
  // Nothing is known of a state that history brings back.
  if (!input.transformer || input.deeds.empty() || !edited(input)) return;
  if (input.state.kind->derivesContext()) return;
  if (input.manifest.newRows == NewRows::EmbeddingOnly) return;
  if (!continues(input.state.context, input.before->context) ||
      input.state.context.size() == input.before->context.size())
    EditPasses(input, findings).check();
}

}  // namespace kvlab
