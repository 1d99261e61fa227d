// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/palette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/base/theme.h"

namespace kvlab {

namespace {

enum Role { IdRole = Qt::UserRole, KeysRole, HelpRole, BlockedRole };

/// Paints title, help (or why the command cannot run), and keys at the right.
class EntryPainter : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {0, 26}; }
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto look = Theme::current();
    const bool current = option.state & QStyle::State_Selected;
    if (current) painter->fillRect(option.rect, Theme::mix(look->raised, look->accent, 0.25));
    const QString blocked = index.data(BlockedRole).toString();
    QRect area = option.rect.adjusted(Theme::kLarge, 0, -Theme::kLarge, 0);
    const QString keys = index.data(KeysRole).toString();
    painter->setFont(look->monoSmall);
    painter->setPen(look->muted);
    painter->drawText(area, Qt::AlignRight | Qt::AlignVCenter, keys);
    area.setRight(area.right() - QFontMetrics(look->monoSmall).horizontalAdvance(keys) - Theme::kLarge);
    const QString title = index.data(Qt::DisplayRole).toString();
    painter->setFont(look->ui);
    painter->setPen(blocked.isEmpty() ? look->text : look->faint);
    painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter, title);
    area.setLeft(area.left() + QFontMetrics(look->ui).horizontalAdvance(title) + Theme::kLarge);
    const QString note = blocked.isEmpty() ? index.data(HelpRole).toString() : blocked;
    const QFontMetrics small(look->small);
    painter->setFont(look->small);
    painter->setPen(blocked.isEmpty() ? look->muted : look->faint);
    painter->drawText(area, Qt::AlignLeft | Qt::AlignVCenter, small.elidedText(note, Qt::ElideRight, area.width()));
  }
};

}  // namespace

Palette::Palette(const CommandRegistry& registry, CommandHost& host, QWidget* parent)
    : QFrame(parent),
      m_home(parent),
      m_registry(registry),
      m_host(host),
      m_line(new QLineEdit(this)),
      m_list(new QListWidget(this)) {
  setObjectName("palette");
  m_line->setPlaceholderText(tr("Type a command"));
  m_line->setAccessibleName(tr("Command"));
  m_line->installEventFilter(this);
  m_list->setAccessibleName(tr("Commands"));
  m_list->setItemDelegate(new EntryPainter(m_list));
  m_list->setFocusPolicy(Qt::NoFocus);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(Theme::kMedium, Theme::kMedium, Theme::kMedium, Theme::kMedium);
  column->setSpacing(Theme::kMedium);
  column->addWidget(m_line);
  column->addWidget(m_list);
  connect(m_line, &QLineEdit::textChanged, this, &Palette::refresh);
  connect(m_list, &QListWidget::itemClicked, this, &Palette::runCurrent);
  hide();
}

void Palette::open() {
  m_line->clear();
  refresh();
  place();
  show();
  raise();
  m_line->setFocus();
}

/// A child of the main window could not be seen behind a floating view, and would not get the keyboard.
void Palette::place() {
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

void Palette::refresh() {
  struct Match {
    int score;
    const Command* command;
  };
  std::vector<Match> matches;
  for (const Command& command : m_registry.all()) {
    const auto required = [](const CommandArgument& arg) { return arg.required; };
    if (std::any_of(command.args.begin(), command.args.end(), required)) continue;
    const int score = std::max(fuzzyScore(m_line->text(), command.title), fuzzyScore(m_line->text(), command.id) - 2);
    if (score >= 0) matches.push_back({score, &command});
  }
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) { return a.score > b.score; });
  m_list->clear();
  for (const Match& match : matches) addEntry(*match.command);
  m_list->setCurrentRow(0);
}

void Palette::addEntry(const Command& command) {
  auto* item = new QListWidgetItem(command.title, m_list);
  item->setData(IdRole, command.id);
  item->setData(KeysRole, command.keys.value(0));
  item->setData(HelpRole, command.help);
  item->setData(BlockedRole, command.blocked ? command.blocked(m_host) : QString());
}

QStringList Palette::shownIds() const {
  QStringList ids;
  for (int row = 0; row < m_list->count(); ++row) ids << m_list->item(row)->data(IdRole).toString();
  return ids;
}

void Palette::runCurrent() {
  QListWidgetItem* item = m_list->currentItem();
  if (!item) return;
  const QString id = item->data(IdRole).toString();
  hide();
  m_host.context().runCommand(id, nlohmann::json::object());
}

bool Palette::eventFilter(QObject* watched, QEvent* event) {
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
  else if (key == Qt::Key_Return || key == Qt::Key_Enter) runCurrent();
  else QCoreApplication::sendEvent(m_list, event);
  return true;
}

}  // namespace kvlab
