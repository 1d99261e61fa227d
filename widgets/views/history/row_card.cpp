// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/history/row_card.h"

#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/base/button_use.h"
#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/theme.h"

namespace kvlab {

RowCard::RowCard(QWidget* parent)
    : QWidget(parent), m_token(new QLabel(this)), m_facts(new QLabel(this)), m_family(new QHBoxLayout) {
  setObjectName("card");
  setAttribute(Qt::WA_StyledBackground);
  auto* lines = new QVBoxLayout(this);
  lines->setContentsMargins(Theme::kLarge, Theme::kMedium, Theme::kLarge, Theme::kMedium);
  lines->setSpacing(Theme::kSmall);
  lines->addWidget(m_token);
  lines->addWidget(m_facts);
  lines->addLayout(m_family);
  m_family->setSpacing(Theme::kSmall);
  m_token->setObjectName("cardTitle");
  m_token->setTextFormat(Qt::PlainText);
  m_token->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setWordWrap(true);
  m_token->setFont(Theme::current()->strong);
  m_facts->setFont(Theme::current()->small);
}

void RowCard::clearFamily() {
  while (QLayoutItem* item = m_family->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

void RowCard::family(const Snapshot& snapshot, const QString& title, const std::vector<LedgerId>& ids) {
  if (ids.empty()) return;
  auto* label = new QLabel(title, this);
  label->setFont(Theme::current()->small);
  m_family->addWidget(label);
  QStringList names;
  for (LedgerId id : ids) {
    auto* button = new QToolButton(this);
    button->setText(QString("%1  %2").arg(id.value()).arg(tokenText(snapshot, id)));
    button->setAccessibleName(tr("Ledger row %1").arg(id.value()));
    button->setToolTip(tr("Focus ledger row %1").arg(id.value()));
    button->setFocusPolicy(Qt::TabFocus);
    setOwn({button});
    connect(button, &QToolButton::clicked, this, [this, id] { emit chosen(id); });
    m_family->addWidget(button);
    names << button->text();
  }
  m_lines << title + " " + names.join(", ");
}

void RowCard::showRow(const Snapshot& s, LedgerId id) {
  const LedgerRow& row = s.ledger[id];
  const auto at = std::find(s.context.begin(), s.context.end(), id);
  const QString place =
      at != s.context.end() ? tr("position %1").arg(at - s.context.begin()) : tr("not in the context");
  int resident = 0;
  for (const auto& layer : s.layers)
    resident += std::find(layer->ledger.begin() + layer->first, layer->ledger.end(), id) != layer->ledger.end();
  m_token->setText(tr("%1   ledger %2").arg(tokenText(s, id)).arg(id.value()));
  QStringList facts{
      wordOf(name(row.state)) + (row.pinned ? tr(", pinned") : QString()), place,
      (s.info && s.info->cacheLayers.byHead() ? tr("resident in %1 of %2 KV heads") : tr("resident in %1 of %2 layers"))
          .arg(resident)
          .arg(s.layers.size()),
      tr("from %1 in tick %2").arg(wordOf(name(row.source))).arg(row.born.value())};
  if (row.state != RowState::Live) facts << tr("%1 in tick %2").arg(wordOf(name(row.state))).arg(row.changed.value());
  m_facts->setText(facts.join(QStringLiteral("  ·  ")));
  m_lines = {m_token->text(), m_facts->text()};
  clearFamily();
  family(s, tr("replaces"), row.parents);
  family(s, tr("replaced by"), row.children);
  m_family->addStretch(1);
}

QString RowCard::text() const { return m_lines.join('\n'); }

}  // namespace kvlab
