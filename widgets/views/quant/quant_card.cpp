// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/quant/quant_card.h"

#include <QGridLayout>

#include "widgets/base/elided_label.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"

namespace kvlab {

QuantCard::QuantCard(QWidget* parent) : QWidget(parent) {
  setObjectName("readout");
  setAttribute(Qt::WA_StyledBackground);
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kSmall);
  grid->setHorizontalSpacing(Theme::kLarge);
  grid->setVerticalSpacing(0);
  grid->setColumnStretch(0, 2);
  grid->setColumnStretch(1, 7);
  const auto label = [&](int row, int column, const QFont& font) {
    auto* made = new ElidedLabel(this);
    made->setTextFormat(Qt::PlainText);
    made->setFont(font);
    made->setFixedHeight(18);
    made->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    grid->addWidget(made, row, column);
    return made;
  };
  const auto theme = Theme::current();
  m_token = label(0, 0, theme->strong), m_keys = label(0, 1, theme->monoSmall);
  m_place = label(1, 0, theme->small), m_values = label(1, 1, theme->monoSmall);
}

void QuantCard::say(const QuantMeasure& measure, CacheLayer layer, int row, bool hovered) {
  const Snapshot& of = *measure.of;
  for (QLabel* one : {m_token, m_place, m_keys, m_values}) one->clear();
  if (row < 0 || row >= of.length()) return m_keys->setText(tr("no row of the measured context is focused"));
  const LedgerId id = of.context[at(row)];
  m_token->setText(tokenText(of, id));
  m_place->setText(tr("%1 %2, ledger %3, layer %4")
                       .arg(hovered ? tr("pointer at") : tr("position"))
                       .arg(row)
                       .arg(id.value())
                       .arg(layerText(of, layer)));
  m_keys->setText(rowText(measure, layer, true, row));
  m_values->setText(rowText(measure, layer, false, row));
}

QString QuantCard::text() const {
  return QStringLiteral("%1, %2\n%3\n%4").arg(m_token->text(), m_place->text(), m_keys->text(), m_values->text());
}

}  // namespace kvlab
