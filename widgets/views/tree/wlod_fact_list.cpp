// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/tree/wlod_fact_list.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <algorithm>

#include "widgets/base/panes.h"
#include "widgets/views/tree/wlod_look.h"

namespace kvlab {
namespace {
void tint(QLabel* label, const QColor& colour) {
  QPalette colours = label->palette();
  colours.setColor(QPalette::WindowText, colour);
  label->setPalette(colours);
}

void tintValue(QLabel* label, Tone tone) {
  const auto theme = Theme::current();
  tint(label, tone == Tone::Warning ? theme->warning : tone == Tone::Faint ? theme->faint : theme->text);
}
}  // namespace

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
