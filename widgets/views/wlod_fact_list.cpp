// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/wlod_fact_list.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>

#include "widgets/views/scroll_bars.h"
#include "widgets/views/wlod_look.h"

namespace kvlab {

FactBar::FactBar(QWidget* parent) : QWidget(parent) {
  setFixedHeight(9);
  setMinimumWidth(60);
}

void FactBar::show(std::vector<FactShare> shares) {
  m_shares = std::move(shares);
  update();
}

void FactBar::paintEvent(QPaintEvent*) {
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

WlodFactList::WlodFactList(QWidget* parent) : QScrollArea(parent), m_inner(new QWidget), m_grid(new QGridLayout(m_inner)) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidgetResizable(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(60);
  setAccessibleName(tr("Last edit"));
  setToolTip(tr("What the last edit invalidated, why, and what it cost"));
  m_grid->setContentsMargins(Theme::kMedium, Theme::kSmall, Theme::kMedium, Theme::kTight);
  m_grid->setHorizontalSpacing(Theme::kMedium);
  m_grid->setVerticalSpacing(3);
  m_grid->setColumnStretch(1, 1);
  setWidget(m_inner);
  settleBars(this);
}

void WlodFactList::show(std::vector<WlodFact> facts) {
  m_facts = std::move(facts);
  while (QLayoutItem* item = m_grid->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (int row = 0; row < m_grid->rowCount(); ++row) m_grid->setRowStretch(row, 0);
  const auto theme = Theme::current();
  int line = 0;
  QStringList said;
  for (const WlodFact& fact : m_facts) {
    auto* key = new QLabel(fact.key, m_inner);
    auto* value = new QLabel(fact.value, m_inner);
    for (QLabel* one : {key, value}) {
      one->setFont(theme->small);
      one->setTextFormat(Qt::PlainText);
      one->setToolTip(fact.tip);
    }
    value->setWordWrap(true);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_grid->addWidget(key, line, 0, Qt::AlignTop);
    if (!fact.bar.empty()) {
      auto* bar = new FactBar(m_inner);
      bar->show(fact.bar);
      bar->setToolTip(fact.tip);
      m_grid->addWidget(bar, line++, 1, Qt::AlignVCenter);
    }
    m_grid->addWidget(value, line++, 1);
    said << fact.key + QStringLiteral(": ") + fact.value;
  }
  m_grid->setRowStretch(line, 1);
  for (int i = 0; i < m_grid->count(); ++i)
    if (QWidget* one = m_grid->itemAt(i)->widget()) one->show();
  m_grid->activate();
  setAccessibleDescription(said.join(QStringLiteral("; ")));
  follow();
}

void WlodFactList::follow() {
  const auto theme = Theme::current();
  QPalette ground = m_inner->palette();
  ground.setColor(QPalette::Window, theme->surface);
  m_inner->setPalette(ground);
  m_inner->setAutoFillBackground(true);
  std::size_t fact = 0;
  for (int i = 0; i < m_grid->count(); ++i) {
    auto* label = qobject_cast<QLabel*>(m_grid->itemAt(i)->widget());
    if (!label || fact >= m_facts.size()) continue;
    const bool key = label->text() == m_facts[fact].key;
    const Tone tone = m_facts[fact].tone;
    QPalette colours = label->palette();
    colours.setColor(QPalette::WindowText, key ? theme->muted : tone == Tone::Warning ? theme->warning : tone == Tone::Faint ? theme->faint : theme->text);
    label->setPalette(colours);
    fact += !key;
  }
}

}  // namespace kvlab
