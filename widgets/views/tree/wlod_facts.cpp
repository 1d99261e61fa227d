// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_facts.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

#include "widgets/base/format.h"

namespace kvlab {
namespace {
QString tr(const char* text) { return QCoreApplication::translate("kvlab::WlodFacts", text); }
QString percent(double share) {
  return std::isfinite(share)
      ? QString::number(share * 100, 'f', share > 0 && share < 0.0995 ? 1 : 0) + QStringLiteral(" %")
      : QStringLiteral("–");
}
double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::int64_t count(const WlodChange& change, DirtyWhy why) {
  return std::count(change.why.begin(), change.why.end(), why);
}

QString momentsText(const std::vector<TimelineChange>& edits) {
  QStringList out;
  for (const TimelineChange& edit : edits) {
    if (out.size() == 3) {
      out << tr("and %1 more").arg(static_cast<qint64>(edits.size()) - 3);
      break;
    }
    out << QStringLiteral("[%1, %2)").arg(edit.moments.begin).arg(edit.moments.end) +
            (edit.content ? tr(" other tokens") : QString());
  }
  return out.join(QStringLiteral(", "));
}

WlodFact budget(const WlodView& view) {
  const auto used = static_cast<std::int64_t>(view.entries.size()), room = view.budget - used;
  const double part = share(used, view.budget);
  QString text = budgetText(view);
  text += room >= kGistBlock - 1
      ? tr(", room for %1").arg(counted(room / (kGistBlock - 1), tr("expansion"), tr("expansions")))
      : tr(", no room for an expansion");
  return {tr("Budget"),
          (budgetShort(view) ? QStringLiteral("⚠ ") : QString()) + text,
          tr("Entries of the working context against its budget; an expansion takes %1 more").arg(kGistBlock - 1),
          budgetShort(view) ? Tone::Warning : Tone::Normal,
          {{FactShare::Of::Used, std::min(1.0, part)}, {FactShare::Of::Free, std::max(0.0, 1 - part)}}};
}

void addChange(const WlodChange& c, std::vector<WlodFact>& out) {
  const auto all = static_cast<std::int64_t>(c.why.size());
  const std::int64_t clean = count(c, DirtyWhy::Clean), temporal = count(c, DirtyWhy::Temporal),
                     hierarchical = count(c, DirtyWhy::Hierarchical), both = count(c, DirtyWhy::Both);
  const std::int64_t kept0 = std::count(c.layer0.begin(), c.layer0.end(), true);
  out.push_back(
      {tr("Last edit"),
       tr("tick %1, %2; dirty from moment %3 on").arg(c.tick.value()).arg(momentsText(c.edits)).arg(c.earliest),
       tr("The last edit that made older rows dirty, and the moments that it changed")});
  out.push_back({tr("Dirty"),
                 tr("%1 of %2 (%3): %4 hierarchical, %5 temporal, %6 both")
                     .arg(all - clean)
                     .arg(counted(all, tr("row"), tr("rows")))
                     .arg(percent(share(all - clean, all)))
                     .arg(hierarchical)
                     .arg(temporal)
                     .arg(both),
                 tr("Hierarchical rows contain the edit, temporal rows come after it"),
                 Tone::Normal,
                 {{FactShare::Of::Clean, share(clean, all)},
                  {FactShare::Of::Temporal, share(temporal, all)},
                  {FactShare::Of::Hierarchical, share(hierarchical, all)},
                  {FactShare::Of::Both, share(both, all)}}});
  out.push_back({tr("Computed"),
                 (c.full ? tr("all rows: ") : tr("only dirty rows: ")) +
                     (c.reason.empty() ? tr("wlod.recompute says so") : QString::fromStdString(c.reason)),
                 tr("Whether the dirty rows or all rows were computed, and why")});
  QStringList work{tr("%1 computed").arg(c.computed), c.full ? tr("none kept") : tr("layer 0 of %1 kept").arg(kept0),
                   tr("%1 made anew").arg(counted(static_cast<qint64>(c.gists.size()), tr("gist"), tr("gists")))};
  if (c.kept > 0) work << tr("%1 left stale (selective)").arg(c.kept);
  work << tr("%1 written").arg(formatBytes(c.bytes));
  out.push_back(
      {tr("Rows"), work.join(QStringLiteral(", ")),
       tr("Computed rows, dirty rows whose layer 0 stayed valid, gists with a new embedding, K/V bytes written")});
  out.push_back({tr("Time"),
                 tr("%1 measured; estimated %2, full %3")
                     .arg(formatMicroseconds(c.us), formatMicroseconds(c.incrementalUs), formatMicroseconds(c.fullUs)),
                 tr("Measured time, and the estimates of the cost model")});
}
}  // namespace

QString budgetText(const WlodView& view) {
  return tr("%1 of %2 entries (%3)")
      .arg(view.entries.size())
      .arg(view.budget)
      .arg(percent(share(static_cast<std::int64_t>(view.entries.size()), view.budget)));
}

bool budgetShort(const WlodView& view) {
  return share(static_cast<std::int64_t>(view.entries.size()), view.budget) > 0.9;
}

std::vector<WlodFact> wlodFacts(const WlodView& view) {
  std::vector<WlodFact> out{budget(view)};
  if (!view.notice.empty())
    out.push_back({tr("Gists"), QStringLiteral("⚠ ") + QString::fromStdString(view.notice),
                   tr("What the training of the gists has measured beside truncation: as many of the last tokens"),
                   Tone::Warning});
  if (view.change) addChange(*view.change, out);
  else out.push_back({tr("Last edit"), tr("none yet: nothing was invalidated"), {}, Tone::Faint});
  const WlodRatios& r = view.ratios;
  if (view.change)
    out.push_back({tr("Shares"),
                   tr("spatial %1, temporal %2, hits %3, swaps %4")
                       .arg(percent(r.spatial), percent(r.temporal), percent(r.hits), percent(r.swaps)),
                   tr("For the last edit: rows that contain it, rows that only come after it, pairs of row and layer "
                      "that stayed valid, entries that replaced others")});
  out.push_back({tr("Stands as"),
                 tr("tokens %1, LOD1 %2, LOD2 %3 of the moments")
                     .arg(percent(r.residency[0]), percent(r.residency[1]), percent(r.residency[2])),
                 tr("Shares of the levels in the working context"),
                 Tone::Normal,
                 {{FactShare::Of::Token, r.residency[0]},
                  {FactShare::Of::Gist1, r.residency[1]},
                  {FactShare::Of::Gist2, r.residency[2]}}});
  return out;
}

}  // namespace kvlab
