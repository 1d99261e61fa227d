// SPDX-License-Identifier: GPL-3.0-or-later
// Help > Manual: a list of pages with a search line at the left, the page at the right. A separate window. Owned by the
// main window. GUI thread.
#pragma once
#include <QWidget>

#include "app/help/manual_browser.h"

class QAction;
class QLineEdit;
class QListWidget;
class QToolBar;

namespace kvlab {

class ManualWindow : public QWidget {
  Q_OBJECT
 public:
  /// remember: saves the window size in the settings.
  ManualWindow(ManualPages pages, bool remember, QWidget* parent);

  /// Shows the window with this page ("rings", "rings.md", "rings#blocks"). Errors: unknown_page.
  Status open(const QString& page);
  const ManualPages& pages() const { return m_pages; }
  ManualBrowser& browser() { return *m_browser; }
  /// Ids of the listed pages, after the search.
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
