// SPDX-License-Identifier: GPL-3.0-or-later
// A tool bar at the left of the window with the actions for the chosen rows. Each button triggers the action of the
// view where rows are edited: the strip, or the map while the strip is out of sight. Buttons keep their places and
// sizes; a button that does not apply is disabled, and its tool tip says why. Owned by the window. GUI thread.
#pragma once
#include <QHash>
#include <QToolBar>

#include "widgets/base/inspector_view.h"

namespace kvlab {

class RowTools : public QToolBar {
  Q_OBJECT
 public:
  RowTools(InspectorContext& context, InspectorView& strip, InspectorView& map, QWidget* parent);
  void refreshIcons();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void addTool(const QString& id);
  /// Takes states and tool tips from the actions.
  void refresh();
  RowActions& rows() const;

  InspectorContext& m_context;
  InspectorView &m_strip, &m_map;
  QHash<QString, QAction*> m_tools;  // by the action's id
};

}  // namespace kvlab
