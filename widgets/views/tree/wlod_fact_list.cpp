// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_fact_list.h"

#include <QCoreApplication>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/panes.h"
#include "widgets/views/tree/wlod_look.h"

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

void paintShare(QPainter& painter, const QRectF& box, FactShare::Of of, const Theme& theme) {
  using Of = FactShare::Of;
  switch (of) {
    case Of::Clean: return paintWhy(painter, box, DirtyWhy::Clean, theme);
    case Of::Temporal: return paintWhy(painter, box, DirtyWhy::Temporal, theme);
    case Of::Hierarchical: return paintWhy(painter, box, DirtyWhy::Hierarchical, theme);
    case Of::Both: return paintWhy(painter, box, DirtyWhy::Both, theme);
    case Of::Token: return painter.fillRect(box, levelColour(0, theme));
    case Of::Gist1: return painter.fillRect(box, levelColour(1, theme));
    case Of::Gist2: return painter.fillRect(box, levelColour(2, theme));
    case Of::Used: return painter.fillRect(box, Theme::mix(theme.surface, theme.accent, 0.7));
    default: return painter.fillRect(box, theme.sunken);
  }
}

void tintValue(QLabel* label, Tone tone) {
  const auto theme = Theme::current();
  tint(label, tone == Tone::Warning ? theme->warning : tone == Tone::Faint ? theme->faint : theme->text);
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

/// Shares of a whole, side by side, in the colours and patterns of the icicle.
class FactBar : public QWidget {
 public:
  explicit FactBar(QWidget* parent) : QWidget(parent) {
    setFixedHeight(9);
    setMinimumWidth(60);
  }
  void show(std::vector<FactShare> shares) {
    m_shares = std::move(shares);
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const auto theme = Theme::current();
    painter.fillRect(rect(), theme->sunken);
    double left = 0;
    for (const FactShare& share : m_shares) {
      if (!(share.part > 0)) continue;
      const double wide = std::max(2.0, std::round(share.part * width()));
      paintShare(painter, QRectF(left, 0, std::min(wide, width() - left), height()), share.of, *theme);
      left += wide;
    }
    painter.setPen(theme->border);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }

 private:
  std::vector<FactShare> m_shares;
};

WlodFactList::WlodFactList(QWidget* parent)
    : QScrollArea(parent), m_inner(new QWidget), m_grid(new QGridLayout(m_inner)) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidgetResizable(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(60);
  setAccessibleName(tr("Last edit"));
  setToolTip(tr("Rows that the last edit invalidated, the reason, and the cost"));
  m_grid->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kTight);
  m_grid->setHorizontalSpacing(Theme::kMedium);
  m_grid->setVerticalSpacing(3);
  m_grid->setColumnStretch(1, 1);
  setWidget(m_inner);
  settleBars(this);
}

/// Keeps its labels and their colours where the kinds of facts are the same: this runs in every tick, and a new palette
/// costs more than a new text.
void WlodFactList::show(std::vector<WlodFact> facts) {
  const auto alike = [](const WlodFact& a, const WlodFact& b) {
    return a.key == b.key && a.bar.empty() == b.bar.empty();
  };
  const bool same = std::equal(facts.begin(), facts.end(), m_facts.begin(), m_facts.end(), alike);
  m_facts = std::move(facts);
  if (!same) {
    build();
    follow();
  }
  QStringList said;
  for (std::size_t i = 0; i < m_facts.size(); ++i) {
    const WlodFact& fact = m_facts[i];
    Line& line = m_lines[i];
    line.value->setText(fact.value);
    if (std::exchange(line.tone, fact.tone) != fact.tone) tintValue(line.value, fact.tone);
    if (line.bar) line.bar->show(fact.bar);
    for (QWidget* one : std::initializer_list<QWidget*>{line.key, line.value, line.bar})
      if (one) one->setToolTip(fact.tip);
    said << fact.key + QStringLiteral(": ") + fact.value;
  }
  setAccessibleDescription(said.join(QStringLiteral("; ")));
  m_grid->activate();
}

void WlodFactList::build() {
  while (QLayoutItem* item = m_grid->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (int row = 0; row < m_grid->rowCount(); ++row) m_grid->setRowStretch(row, 0);
  m_lines.clear();
  const auto theme = Theme::current();
  int row = 0;
  for (const WlodFact& fact : m_facts) {
    Line line{new QLabel(fact.key, m_inner), new QLabel(m_inner), fact.bar.empty() ? nullptr : new FactBar(m_inner),
              fact.tone};
    for (QLabel* one : {line.key, line.value}) {
      one->setFont(theme->small);
      one->setTextFormat(Qt::PlainText);
    }
    line.value->setWordWrap(true);
    line.value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_grid->addWidget(line.key, row, 0, Qt::AlignTop);
    if (line.bar) m_grid->addWidget(line.bar, row++, 1, Qt::AlignVCenter);
    m_grid->addWidget(line.value, row++, 1);
    m_lines.push_back(line);
  }
  m_grid->setRowStretch(row, 1);
  for (int i = 0; i < m_grid->count(); ++i)
    if (QWidget* one = m_grid->itemAt(i)->widget()) one->show();
}

void WlodFactList::follow() {
  const auto theme = Theme::current();
  QPalette ground = m_inner->palette();
  ground.setColor(QPalette::Window, theme->surface);
  m_inner->setPalette(ground);
  m_inner->setAutoFillBackground(true);
  for (const Line& line : m_lines) {
    tint(line.key, theme->muted);
    tintValue(line.value, line.tone);
  }
}

}  // namespace kvlab
