// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/banner.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QVBoxLayout>

#include "app/script/script_host.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {
constexpr int kLeastWidth = 640;  // pixels of width, where the window has them
}

Banner::Banner(QWidget* window, QWidget* slot)
    : QFrame(window),
      m_slot(slot),
      m_stripe(new QFrame(this)),
      m_title(new QLabel(this)),
      m_body(new QLabel(this)),
      m_next(new QPushButton(tr("Next"), this)),
      m_back(new QPushButton(tr("Back"), this)),
      m_close(new QPushButton(tr("Dismiss"), this)) {
  setObjectName("banner");
  setProperty(kDuringScript, true);
  setAccessibleName(tr("Message"));
  m_stripe->setFixedWidth(4);
  for (QLabel* label : {m_title, m_body}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  auto* text = new QVBoxLayout;
  text->setSpacing(Theme::kTight);
  text->addWidget(m_title);
  text->addWidget(m_body);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, Theme::kLarge, 0);
  row->setSpacing(Theme::kLarge);
  row->addWidget(m_stripe);
  text->setContentsMargins(0, Theme::kMedium, 0, Theme::kMedium);
  row->addLayout(text, 1);
  row->addWidget(m_next);
  row->addWidget(m_back);
  row->addWidget(m_close);
  connect(m_next, &QPushButton::clicked, this, [this] {
    if (const auto next = std::exchange(m_onNext, nullptr)) next();
  });
  connect(m_back, &QPushButton::clicked, this, [this] {
    if (const auto other = std::exchange(m_onOther, nullptr)) other();
    else if (m_isCaption) emit backAsked();
  });
  connect(m_close, &QPushButton::clicked, this, [this] {
    hide();
    if (m_isCaption) emit tourEnded();
  });
  m_slot->setFixedHeight(0);
  m_slot->installEventFilter(this);
  hide();
}

void Banner::showError(const Error& error) {
  m_isError = true;
  m_isCaption = false;
  m_question.clear();
  m_title->setText(QString::fromStdString(error.what));
  std::string body = error.why;
  if (!error.remedy.empty()) body += (body.empty() ? "" : ".  ") + std::string("→ ") + error.remedy;
  m_body->setText(QString::fromStdString(body));
  arrange();
}

void Banner::showCaption(const QString& text, std::function<void()> next, bool hasBefore) {
  m_hasBefore = hasBefore;
  m_isCaption = true;
  m_isError = false;
  m_question.clear();
  m_onNext = std::move(next);
  m_onOther = nullptr;
  m_title->setText(text);
  m_body->clear();
  arrange();
  if (isVisible()) m_next->setFocus();
}

void Banner::ask(const Question& question) {
  m_question = question.id;
  m_isError = m_isCaption = false;
  m_onNext = question.yes;
  m_onOther = question.otherwise;
  m_title->setText(question.text);
  m_body->setText(question.about);
  m_next->setText(question.agree);
  m_back->setText(question.other);
  m_close->setText(question.refuse);
  arrange();
}

void Banner::endQuestion(const QString& id) {
  if (m_question == id) hide();
}

void Banner::endError() {
  if (m_isError) hide();
}

QString Banner::text() const { return m_title->text() + "\n" + m_body->text(); }

void Banner::arrange() {
  const QScopedValueRollback<bool> arranging(m_arranging, true);
  const auto look = Theme::current();
  m_title->setFont(m_isCaption ? look->ui : look->strong);
  m_body->setFont(look->ui);
  m_body->setVisible(!m_body->text().isEmpty());
  m_next->setVisible(!m_isError && m_onNext);
  m_back->setVisible(!m_isError && (m_onOther || (m_isCaption && m_onNext && m_hasBefore)));
  m_back->setToolTip(m_isCaption ? tr("The line before: the tour runs to it again") : QString());
  m_close->setVisible(m_isError || m_onNext);
  if (m_isCaption) m_next->setText(tr("Next"));
  if (m_isCaption) m_back->setText(tr("Back"));
  if (m_question.isEmpty()) m_close->setText(m_isCaption ? tr("End Tour") : tr("Dismiss"));
  const QColor mark = m_isError ? look->error : look->accent;
  m_stripe->setStyleSheet(QString("background:%1;border:0").arg(mark.name()));
  setStyleSheet(QString("#banner{background:%1;border:0;border-bottom:1px solid %2}")
                    .arg(Theme::mix(look->surface, mark, 0.14).name(), look->border.name()));
  show();
  place();
}

/// The room of a caption does not shrink from line to line.
void Banner::place() {
  const int width = std::max(m_slot->width(), std::min(kLeastWidth, parentWidget()->width()));
  const int height = std::max(layout()->totalHeightForWidth(width), m_isCaption ? m_slot->height() : 0);
  m_slot->setFixedHeight(m_isCaption ? height : 0);
  setGeometry({m_slot->mapTo(parentWidget(), QPoint()), QSize(width, height)});
  raise();
}

void Banner::hideEvent(QHideEvent* event) {
  if (isHidden()) m_slot->setFixedHeight(0);
  QFrame::hideEvent(event);
}

bool Banner::eventFilter(QObject* watched, QEvent* event) {
  if (!isHidden() && (event->type() == QEvent::Resize || event->type() == QEvent::Move)) place();
  return QFrame::eventFilter(watched, event);
}

void Banner::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  // Setting a style sheet changes the palette, too; do not arrange recursively.
  if (event->type() != QEvent::PaletteChange || !isVisible() || m_arranging) return;
  arrange();
}

}  // namespace kvlab
