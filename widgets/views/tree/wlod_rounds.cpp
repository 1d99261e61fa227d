// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_rounds.h"

#include <QLabel>
#include <algorithm>

#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

namespace kvlab {

WlodRounds::WlodRounds(QWidget* parent)
    : QWidget(parent),
      m_strip(new WlodRoundStrip(this)),
      m_said(new QLabel(this)),
      m_model(new DecisionModel(this)),
      m_table(new DataTable(this)) {
  auto* column = tightColumn(this);
  m_said->setWordWrap(true);
  m_said->setTextFormat(Qt::PlainText);
  m_said->setFont(Theme::current()->small);
  m_said->setContentsMargins(Theme::kMedium, 3, Theme::kMedium, 3);
  m_said->setAccessibleName(tr("What the round did"));
  m_table->setModel(m_model);
  settleBars(m_table);
  m_table->setAccessibleName(tr("Decisions of the round"));
  m_table->setToolTip(tr("Candidates of the round in order of decision; select one to mark its node in the tree"));
  m_table->setMinimumHeight(70);
  column->addWidget(m_strip);
  column->addWidget(m_said);
  column->addWidget(m_table, 1);
  connect(m_strip, &TickPicker::picked, this, [this](Tick place) {
    m_chosen = m_strip->rounds()[at(place.value())]->round;
    showRound();
    emit roundPicked();
  });
  connect(m_table, &DataTable::chosen, this,
          [this](const QModelIndex& index) { emit decisionChosen(m_model->decision(index.row())); });
}

void WlodRounds::show(const WlodRoundStrip::Rounds& rounds) {
  const auto has =
      std::any_of(rounds.begin(), rounds.end(), [&](const auto& one) { return m_chosen && one->round == *m_chosen; });
  if (!has) m_chosen.reset();
  m_strip->show(rounds, -1);
  showRound();
}

bool WlodRounds::choose(std::optional<std::int32_t> round) {
  const auto& all = m_strip->rounds();
  if (round && std::none_of(all.begin(), all.end(), [&](const auto& one) { return one->round == *round; }))
    return false;
  m_chosen = round;
  showRound();
  return true;
}

QString WlodRounds::said() const { return m_said->text(); }

void WlodRounds::showRound() {
  const auto& all = m_strip->rounds();
  int place = static_cast<int>(all.size()) - 1;
  for (std::size_t i = 0; m_chosen && i < all.size(); ++i)
    if (all[i]->round == *m_chosen) place = static_cast<int>(i);
  m_strip->show(all, place);
  m_model->show(place < 0 ? nullptr : all[at(place)]);
  m_table->clearSelection();
  m_table->setVisible(place >= 0);
  QString text = place < 0 ? tr("No round yet: every so many tokens, and by “Refocus”, the allocator decides what to "
                                "expand and what to collapse.")
                           : roundText(*all[at(place)]);
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  if (place >= 0 && place + 1 < static_cast<int>(all.size()))
    text += tr(". ⚠ An older round: the picture shows the newest state");
  m_said->setText(text);
  follow();
}

void WlodRounds::follow() {
  const auto& all = m_strip->rounds();
  const bool older = m_model->round() && !all.empty() && m_model->round() != all.back();
  QPalette colours = m_said->palette();
  colours.setColor(QPalette::WindowText, older ? Theme::current()->warning : Theme::current()->muted);
  m_said->setPalette(colours);
}

}  // namespace kvlab
