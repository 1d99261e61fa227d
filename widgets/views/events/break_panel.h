// SPDX-License-Identifier: GPL-3.0-or-later
// The conditions that stop a run: typed or chosen from examples, listed, removed. The engine can only add one or remove
// all, so removing one sets the others again. GUI thread.
#pragma once
#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QWidget>

#include "widgets/base/inspector_context.h"

namespace kvlab {

class BreakPanel : public QWidget {
  Q_OBJECT
 public:
  BreakPanel(InspectorContext& context, QWidget* parent);
  QStringList conditions() const;
  void add(const QString& condition);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void addTyped();
  void removeSelected();
  void take(const CommandReply& command);
  void buttons();

  InspectorContext& m_context;
  QComboBox* m_edit;
  QPushButton *m_add, *m_remove, *m_clear;
  QListWidget* m_list;
  QLabel* m_hint = nullptr;
};

}  // namespace kvlab
