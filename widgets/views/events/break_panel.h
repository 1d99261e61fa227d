// SPDX-License-Identifier: GPL-3.0-or-later
// The conditions that stop a run: typed or chosen from examples, listed with how often they have held, switched off,
// changed and removed. The newest snapshot says which there are, whoever set them. GUI thread.
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
  void outlineBoxes();
  void addTyped();
  void removeSelected();
  void refresh();
  void showMenu(const QPoint& place);
  void toggle(const char* what, bool on);
  const BreakpointView* selected() const;
  void buttons();

  InspectorContext& m_context;
  QComboBox* m_edit;
  QPushButton *m_add, *m_remove, *m_clear;
  QListWidget* m_list;
  QLabel* m_hint = nullptr;
  std::shared_ptr<const std::vector<BreakpointView>> m_shown;
};

}  // namespace kvlab
