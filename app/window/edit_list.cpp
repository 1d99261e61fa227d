// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/edit_list.h"

#include <QLabel>
#include <QListWidget>
#include <QScreen>
#include <algorithm>

#include "core/api/read_json.h"
#include "core/api/table.h"
#include "widgets/base/format.h"
#include "widgets/base/panes.h"

namespace kvlab {
namespace {
constexpr int kRowsShown = 16, kWidth = 340;
}

QStringList editTitles(const nlohmann::json& answer, const std::string& way) {
  QStringList out;
  for (const nlohmann::json& edit : recordsOf(answer))
    if (memberOr(edit, "way", std::string()) == way)
      out << QString::fromStdString(memberOr(edit, "title", std::string()));
  return out;
}

EditList::EditList(const QString& what, const QStringList& titles, QWidget* parent)
    : QFrame(parent, Qt::Popup), m_what(what), m_list(new QListWidget(this)), m_count(new QLabel(this)) {
  setAttribute(Qt::WA_DeleteOnClose);
  setFrameShape(QFrame::StyledPanel);
  auto* column = tightColumn(this);
  column->setSizeConstraint(QLayout::SetFixedSize);
  column->addWidget(m_list);
  column->addWidget(m_count);
  m_count->setMargin(4);
  m_list->setAccessibleName(tr("Edits to %1").arg(what.toLower()));
  m_list->setToolTip(tr("A click takes all edits down to this one"));
  m_list->setSelectionMode(QAbstractItemView::MultiSelection);
  m_list->setMouseTracking(true);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->addItems(titles);
  for (int row = 0; row < m_list->count(); ++row) m_list->item(row)->setToolTip(titles[row]);
  m_list->setFixedHeight(m_list->sizeHintForRow(0) * std::min<int>(kRowsShown, m_list->count()) + 2);
  m_list->setFixedWidth(kWidth);
  setFocusProxy(m_list);
  connect(m_list, &QListWidget::itemEntered, this, [this](QListWidgetItem* one) { m_list->setCurrentItem(one); });
  connect(m_list, &QListWidget::currentRowChanged, this, &EditList::mark);
  const auto choose = [this](QListWidgetItem* one) {
    const int edits = m_list->row(one) + 1;
    close();
    emit chosen(edits);
  };
  connect(m_list, &QListWidget::itemClicked, this, choose);
  connect(m_list, &QListWidget::itemActivated, this, choose);
  m_list->setCurrentRow(0);
  mark(0);
}

void EditList::openAt(const QPoint& globalPlace) {
  adjustSize();
  const QRect there = screen()->availableGeometry();
  move(std::clamp(globalPlace.x(), there.left(), std::max(there.left(), there.right() - width())),
       std::clamp(globalPlace.y(), there.top(), std::max(there.top(), there.bottom() - height())));
  show();
  m_list->setFocus(Qt::PopupFocusReason);
}

void EditList::mark(int row) {
  for (int one = 0; one < m_list->count(); ++one) m_list->item(one)->setSelected(one <= row);
  m_count->setText(tr("%1 %2").arg(m_what, counted(row + 1, tr("edit"), tr("edits"))));
}

}  // namespace kvlab
