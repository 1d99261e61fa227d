// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/forms/start_field.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QToolButton>

#include "app/base/ask_path.h"
#include "app/base/session_request.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {
enum Kind { None, Story, Typed, TextFile };
}  // namespace

StartField::StartField(QWidget* parent)
    : QWidget(parent), m_kind(new QComboBox(this)), m_text(new QLineEdit(this)), m_browse(new QToolButton(this)) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(Theme::kSmall);
  m_kind->setObjectName("start");
  m_kind->setAccessibleName(tr("Starting text"));
  m_kind->setToolTip(tr("The text that the session reads first"));
  m_kind->addItems({tr("Start empty"), tr("Start with the demo's story"), tr("Start with this text:"),
                    tr("Start with a text file:")});
  m_text->setObjectName("start_text");
  m_browse->setText("…");
  m_browse->setFocusPolicy(Qt::TabFocus);
  m_browse->setAccessibleName(tr("Look for a text file"));
  m_browse->setToolTip(tr("Look for a text file"));
  row->addWidget(m_kind);
  row->addWidget(m_text, 1);
  row->addWidget(m_browse);
  row->addStretch(0);
  connect(m_kind, &QComboBox::activated, this, [this] { m_chosen = true; });
  connect(m_kind, &QComboBox::currentIndexChanged, this, &StartField::refresh);
  connect(m_browse, &QToolButton::clicked, this, [this] {
    askForPath(this, {tr("Choose a Text"), "Texts (*.txt *.md);;All files (*)"},
               [this](const QString& path) { m_text->setText(path); });
  });
  refresh();
}

nlohmann::json StartField::start() const {
  const std::string text = m_text->text().toStdString();
  if (m_kind->currentIndex() == Story) return storyStart();
  if (m_kind->currentIndex() == None || text.empty()) return {};
  return {{m_kind->currentIndex() == Typed ? "text" : "file", text}};
}

void StartField::suit(bool demo) {
  if (!m_chosen) m_kind->setCurrentIndex(demo ? Story : None);
}

void StartField::refresh() {
  const int kind = m_kind->currentIndex();
  m_text->setVisible(kind == Typed || kind == TextFile);
  m_text->setAccessibleName(kind == Typed ? tr("Text to start with") : tr("Path of the text file"));
  m_text->setPlaceholderText(m_text->accessibleName());
  m_browse->setVisible(kind == TextFile);
}

}  // namespace kvlab
