// SPDX-License-Identifier: GPL-3.0-or-later
// A ledger row in two lines: text, state, source and position; parents and children as buttons. Owned by HistoryView.
// GUI thread.
#pragma once
#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>

#include "core/api/snapshot.h"

namespace kvlab {

class RowCard : public QWidget {
  Q_OBJECT
 public:
  explicit RowCard(QWidget* parent);
  void showRow(const Snapshot& snapshot, LedgerId id);
  /// The card's lines as text.
  QString text() const;

 signals:
  void chosen(kvlab::LedgerId ledger);

 private:
  void family(const Snapshot& snapshot, const QString& title, const std::vector<LedgerId>& ids);
  void clearFamily();

  QLabel* m_token;
  QLabel* m_facts;
  QHBoxLayout* m_family;
  QStringList m_lines;
};

}  // namespace kvlab
