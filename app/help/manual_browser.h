// SPDX-License-Identifier: GPL-3.0-or-later
// Shows one page of the manual, with links, back and forward. Owned by the manual's window, which also owns the pages.
// GUI thread.
#pragma once
#include <QTextBrowser>

#include "app/help/manual_pages.h"

namespace kvlab {

class ManualBrowser : public QTextBrowser {
  Q_OBJECT
 public:
  ManualBrowser(const ManualPages& pages, QWidget* parent);

  /// Shows an existing page; `name` may have a heading after #.
  void open(const QString& name);
  /// Id of the shown page.
  QString page() const { return m_page; }
  /// Marks every occurrence of these words and scrolls to the first; empty marks nothing.
  void mark(const QString& words);
  int marks() const { return static_cast<int>(extraSelections().size()); }

  QVariant loadResource(int type, const QUrl& name) override;

 signals:
  void pageShown(const QString& id);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void follow(const QUrl& link);
  void dress();
  void dressCode(QTextCursor& cursor);
  void fitPictures();
  void goTo(const QString& anchor);
  QUrl address(const QString& id) const;
  QImage picture(const QUrl& name) const;

  const ManualPages& m_pages;
  QString m_page;
  bool m_dressing = false;
};

}  // namespace kvlab
