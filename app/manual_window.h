// SPDX-License-Identifier: GPL-3.0-or-later
// Help > Manual: the list of pages with a search line at the left, the page at the right. A window of its own beside
// the workbench. Owned by the main window. GUI thread.
#pragma once
#include <QWidget>

#include "app/manual_browser.h"

class QAction;
class QLineEdit;
class QListWidget;
class QToolBar;

namespace kvlab {

class ManualWindow : public QWidget {
  Q_OBJECT
 public:
  /// `remember`: the size is kept in the settings.
  ManualWindow(ManualPages pages, bool remember, QWidget* parent);

  /// Shows the window with this page ("rings", "rings.md", "rings#blocks"). Code unknown_page.
  Status open(const QString& page);
  const ManualPages& pages() const { return m_pages; }
  ManualBrowser& browser() { return *m_browser; }
  /// Ids of the pages in the list, as the search line leaves them.
  QStringList listed() const;

 protected:
  void closeEvent(QCloseEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QToolBar* buildBar();
  QWidget* buildList();
  QAction* action(const QString& title, const QList<QKeySequence>& keys);
  void refreshList();
  void addHeading(const QString& group);
  void addPage(const ManualPage& page, const QString& note);
  void selectPage(const QString& id);
  void openCurrent();

  ManualPages m_pages;
  bool m_remember;
  QLineEdit* m_line;
  QListWidget* m_list;
  ManualBrowser* m_browser;
};

}  // namespace kvlab
