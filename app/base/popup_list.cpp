// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/popup_list.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/base/theme.h"

namespace kvlab {

namespace {

enum Role { DataOfEntry = Qt::UserRole, MarkOfEntry, NoteOfEntry, BlockedEntry };

/// Paints the title, the note (or why the entry cannot be taken), and the mark at the right.
class EntryPainter : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {0, 26}; }
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto look = Theme::current();
    const bool current = (option.state & QStyle::State_Selected) && index.data(DataOfEntry).isValid();
    if (current) painter->fillRect(option.rect, Theme::mix(look->raised, look->accent, 0.25));
    const QString blocked = index.data(BlockedEntry).toString();
    QRect area = option.rect.adjusted(Theme::kLarge, 0, -Theme::kLarge, 0);
    const QString mark = index.data(MarkOfEntry).toString();
    painter->setFont(look->monoSmall);
    painter->setPen(look->muted);
    painter->drawText(area, Qt::AlignRight | Qt::AlignVCenter, mark);
    area.setRight(area.right() - QFontMetrics(look->monoSmall).horizontalAdvance(mark) - Theme::kLarge);
    const QString title = index.data(Qt::DisplayRole).toString();
    painter->setFont(look->ui);
    painter->setPen(blocked.isEmpty() ? look->text : look->faint);
    painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter, title);
    area.setLeft(area.left() + QFontMetrics(look->ui).horizontalAdvance(title) + Theme::kLarge);
    const QString note = blocked.isEmpty() ? index.data(NoteOfEntry).toString() : blocked;
    const QFontMetrics small(look->small);
    painter->setFont(look->small);
    painter->setPen(blocked.isEmpty() ? look->muted : look->faint);
    painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter, small.elidedText(note, Qt::ElideRight, area.width()));
  }
};

}  // namespace

PopupList::PopupList(const QString& hint, const QString& lineName, const QString& listName, QWidget* parent)
    : QFrame(parent), m_home(parent), m_line(new QLineEdit(this)), m_list(new QListWidget(this)) {
  setObjectName("palette");
  m_line->setPlaceholderText(hint);
  m_line->setAccessibleName(lineName);
  m_line->installEventFilter(this);
  m_list->setAccessibleName(listName);
  m_list->setItemDelegate(new EntryPainter(m_list));
  m_list->setUniformItemSizes(true);
  m_list->setFocusPolicy(Qt::NoFocus);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(Theme::kMedium, Theme::kMedium, Theme::kMedium, Theme::kMedium);
  column->setSpacing(Theme::kMedium);
  column->addWidget(m_line);
  column->addWidget(m_list);
  connect(m_line, &QLineEdit::textChanged, this, &PopupList::refresh);
  connect(m_list, &QListWidget::itemClicked, this, &PopupList::takeCurrent);
  hide();
}

void PopupList::open() {
  m_line->clear();
  refresh();
  place();
  show();
  raise();
  m_line->setFocus();
}

/// A child of the main window could not be seen behind a floating view, and would not get the keyboard.
void PopupList::place() {
  QWidget* active = QApplication::activeWindow();
  const bool floating = active && active != m_home && active->windowType() == Qt::Tool;
  setParent(m_home, floating ? Qt::Popup : Qt::Widget);
  const auto look = Theme::current();
  setStyleSheet(QString("#palette{background:%1;border:1px solid %2;border-radius:6px}")
                    .arg(look->raised.name(), Theme::mix(look->border, look->text, 0.2).name()));
  const QWidget* over = floating ? active : m_home;
  const QSize size(std::min(720, m_home->width() - 80), std::min(440, m_home->height() - 128));
  const QPoint corner((over->width() - size.width()) / 2, floating ? Theme::kLarge : 64);
  setGeometry({floating ? over->mapToGlobal(corner) : corner, size});
}

void PopupList::refresh() {
  m_list->clear();
  fill(m_line->text());
  m_list->setCurrentRow(0);
}

void PopupList::addEntry(const Entry& entry) {
  auto* item = new QListWidgetItem(entry.title, m_list);
  item->setData(DataOfEntry, entry.data);
  item->setData(MarkOfEntry, entry.mark);
  item->setData(NoteOfEntry, entry.note);
  item->setData(BlockedEntry, entry.blocked);
}

QVariant PopupList::dataOf(int row) const { return m_list->item(row)->data(DataOfEntry); }

QString PopupList::markOf(int row) const { return m_list->item(row)->data(MarkOfEntry).toString(); }

void PopupList::takeCurrent() {
  if (m_list->currentRow() < 0 || !dataOf(m_list->currentRow()).isValid()) return;
  const QVariant taken = dataOf(m_list->currentRow());
  hide();
  take(taken);
}

bool PopupList::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) hide();
  if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride)
    return QFrame::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  const bool ours = key == Qt::Key_Escape || key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp ||
      key == Qt::Key_PageDown || key == Qt::Key_Return || key == Qt::Key_Enter;
  if (!ours) return false;
  event->accept();
  if (event->type() == QEvent::ShortcutOverride) return true;
  if (key == Qt::Key_Escape) hide();
  else if (key == Qt::Key_Return || key == Qt::Key_Enter) takeCurrent();
  else QCoreApplication::sendEvent(m_list, event);
  return true;
}

}  // namespace kvlab
