// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help/manual_window.h"

#include <QAction>
#include <QCloseEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QSettings>
#include <QSplitter>
#include <QToolBar>
#include <QVBoxLayout>

#include "widgets/base/panes.h"
#include "widgets/base/theme.h"

namespace kvlab {

namespace {

constexpr int kListWidth = 280;
constexpr auto kGeometry = "manual/geometry";

}  // namespace

ManualWindow::ManualWindow(ManualPages pages, bool remember, QWidget* parent)
    : QWidget(parent, Qt::Window),
      m_pages(std::move(pages)),
      m_remember(remember),
      m_line(new QLineEdit(this)),
      m_list(new QListWidget(this)),
      m_browser(new ManualBrowser(m_pages, this)) {
  setObjectName("manual");
  setWindowTitle(tr("kvlab manual"));
  resize(1100, 760);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->setChildrenCollapsible(false);
  split->addWidget(buildList());
  split->addWidget(m_browser);
  split->setStretchFactor(1, 1);
  split->setSizes({kListWidth, width() - kListWidth});
  auto* column = tightColumn(this);
  column->addWidget(buildBar());
  column->addWidget(split, 1);
  connect(m_browser, &ManualBrowser::pageShown, this, &ManualWindow::selectPage);
  refreshList();
  if (m_remember) restoreGeometry(QSettings().value(kGeometry).toByteArray());
}

QAction* ManualWindow::action(const QString& title, const QList<QKeySequence>& keys) {
  auto* made = new QAction(title, this);
  made->setShortcuts(keys);
  made->setToolTip(title + " (" + keys.first().toString(QKeySequence::NativeText) + ")");
  addAction(made);
  return made;
}

QToolBar* ManualWindow::buildBar() {
  auto* bar = new QToolBar(tr("Pages"), this);
  QAction* back = action(tr("Back"), {QKeySequence("Alt+Left")});
  QAction* forward = action(tr("Forward"), {QKeySequence("Alt+Right")});
  QAction* first = action(tr("Contents"), {QKeySequence("Alt+Home"), QKeySequence("F1")});
  QAction* find = action(tr("Search"), {QKeySequence("Ctrl+F")});
  QAction* away = action(tr("Close"), {QKeySequence("Esc"), QKeySequence("Ctrl+W")});
  bar->addActions({back, forward, first});
  for (QAction* one : {back, forward}) one->setEnabled(false);
  connect(back, &QAction::triggered, m_browser, &QTextBrowser::backward);
  connect(forward, &QAction::triggered, m_browser, &QTextBrowser::forward);
  connect(m_browser, &QTextBrowser::backwardAvailable, back, &QAction::setEnabled);
  connect(m_browser, &QTextBrowser::forwardAvailable, forward, &QAction::setEnabled);
  connect(first, &QAction::triggered, this, [this] { m_browser->open("index"); });
  connect(find, &QAction::triggered, this, [this] {
    m_line->setFocus(Qt::ShortcutFocusReason);
    m_line->selectAll();
  });
  connect(away, &QAction::triggered, this, &QWidget::close);
  return bar;
}

QWidget* ManualWindow::buildList() {
  auto* holder = new QWidget(this);
  auto* column = new QVBoxLayout(holder);
  column->setContentsMargins(Theme::kMedium, Theme::kMedium, Theme::kMedium, Theme::kMedium);
  column->setSpacing(Theme::kMedium);
  m_line->setObjectName("manual_search");
  m_line->setPlaceholderText(tr("Search the manual (Ctrl+F)"));
  m_line->setAccessibleName(tr("Search the manual"));
  m_line->setClearButtonEnabled(true);
  m_line->installEventFilter(this);
  m_list->setObjectName("manual_list");
  m_list->setAccessibleName(tr("Pages"));
  m_list->setWordWrap(true);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  column->addWidget(m_line);
  column->addWidget(m_list, 1);
  connect(m_line, &QLineEdit::textChanged, this, &ManualWindow::refreshList);
  connect(m_line, &QLineEdit::returnPressed, this, &ManualWindow::openCurrent);
  connect(m_list, &QListWidget::currentItemChanged, this, &ManualWindow::openCurrent);
  connect(m_list, &QListWidget::itemClicked, this, &ManualWindow::openCurrent);
  return holder;
}

/// Lists all pages below their headings, or the pages that match the search, best first.
void ManualWindow::refreshList() {
  const QString words = m_line->text().trimmed(), shown = m_browser->page();
  const QSignalBlocker quiet(m_list);
  m_list->clear();
  QString group;
  if (words.isEmpty())
    for (const ManualPage& page : m_pages.all()) {
      if (page.group != group) addHeading(group = page.group);
      addPage(page, {});
    }
  else
    for (const ManualHit& hit : m_pages.search(words))
      addPage(m_pages.all()[hit.page],
              tr("%n place(s)", nullptr, hit.count).replace("(s)", hit.count == 1 ? "" : "s") +
                  (hit.line.isEmpty() ? QString() : ": " + hit.line));
  if (m_list->count() == 0) addHeading(tr("No page has these words."));
  m_browser->mark(words);
  words.isEmpty() ? selectPage(shown) : m_list->setCurrentRow(0);
}

void ManualWindow::addHeading(const QString& group) {
  auto* item = new QListWidgetItem(group, m_list);
  item->setFlags(Qt::NoItemFlags);
  item->setFont(Theme::current()->smallStrong);
}

void ManualWindow::addPage(const ManualPage& page, const QString& note) {
  constexpr int kNote = 90;
  const QString shortened = note.size() > kNote ? note.left(kNote) + "…" : note;
  auto* item = new QListWidgetItem(note.isEmpty() ? page.title : page.title + '\n' + shortened, m_list);
  item->setData(Qt::UserRole, page.id);
  item->setData(Qt::AccessibleTextRole, note.isEmpty() ? page.title : page.title + ", " + note);
}

QStringList ManualWindow::listed() const {
  QStringList ids;
  for (int row = 0; row < m_list->count(); ++row)
    if (const QString id = m_list->item(row)->data(Qt::UserRole).toString(); !id.isEmpty()) ids << id;
  return ids;
}

void ManualWindow::selectPage(const QString& id) {
  const QSignalBlocker quiet(m_list);
  m_list->setCurrentRow(-1);
  for (int row = 0; row < m_list->count(); ++row)
    if (!id.isEmpty() && m_list->item(row)->data(Qt::UserRole).toString() == id) m_list->setCurrentRow(row);
  const ManualPage* page = m_pages.find(id);
  setWindowTitle(page ? page->title + " — " + tr("kvlab manual") : tr("kvlab manual"));
}

void ManualWindow::openCurrent() {
  const QListWidgetItem* item = m_list->currentItem();
  const QString id = item ? item->data(Qt::UserRole).toString() : QString();
  if (id.isEmpty()) return;
  if (id != m_browser->page()) m_browser->open(id);
  m_browser->mark(m_line->text().trimmed());
}

Status ManualWindow::open(const QString& page) {
  KV_TRY(m_pages.resolve(page));
  m_line->clear();
  show();
  raise();
  activateWindow();
  m_browser->open(page);
  m_browser->setFocus(Qt::OtherFocusReason);
  return ok();
}

void ManualWindow::closeEvent(QCloseEvent* event) {
  if (m_remember) QSettings().setValue(kGeometry, saveGeometry());
  event->accept();
}

/// Up and Down move through the hits from the search line; the first Esc clears the line.
bool ManualWindow::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride)
    return QWidget::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  const bool moves = key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown;
  const bool empties = key == Qt::Key_Escape && !m_line->text().isEmpty();
  if (!moves && !empties) return false;
  event->accept();
  if (event->type() == QEvent::ShortcutOverride) return true;
  if (empties) m_line->clear();
  else QCoreApplication::sendEvent(m_list, event);
  return true;
}

}  // namespace kvlab
