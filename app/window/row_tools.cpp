// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/row_tools.h"

#include <QMenu>
#include <QToolButton>

#include "app/base/icons.h"
#include "widgets/base/row_actions.h"

namespace kvlab {

RowTools::RowTools(InspectorContext& context, InspectorView& strip, InspectorView& map, QWidget* parent)
    : QToolBar(tr("Row Tools"), parent), m_context(context), m_strip(strip), m_map(map) {
  setObjectName("row_tools");
  setMovable(false);
  setIconSize({16, 16});
  const QStringList groups[] = {{"replace", "insert_before", "paste", "delete"},
                                {"evict", "evict_head", "evict_all", "pin", "brightness"},
                                {"expand", "collapse"},
                                {"break", "back", "values", "history"},
                                {"copy_script"}};
  for (const QStringList& group : groups) {
    if (!actions().isEmpty()) addSeparator();
    for (const QString& id : group) addTool(id);
  }
  connect(&context, &InspectorContext::snapshotChanged, this, &RowTools::refresh);
  connect(&context, &InspectorContext::focusChanged, this, &RowTools::refresh);
  connect(&context, &InspectorContext::selectionChanged, this, &RowTools::refresh);
  connect(&context, &InspectorContext::busyChanged, this, &RowTools::refresh);
  refreshIcons();
}

void RowTools::addTool(const QString& id) {
  const QAction* action = m_strip.rowActions()->action(id);
  QAction* tool = addAction(action->text());
  auto* button = qobject_cast<QToolButton*>(widgetForAction(tool));
  button->setAccessibleName(action->text());
  button->setFocusPolicy(Qt::TabFocus);
  m_tools[id] = tool;
  if (action->menu()) {
    tool->setMenu(action->menu());
    button->setPopupMode(QToolButton::InstantPopup);
  } else {
    connect(tool, &QAction::triggered, this, [this, id] { rows().action(id)->trigger(); });
  }
}

RowActions& RowTools::rows() const {
  const bool map = !m_strip.isVisible() && m_map.isVisible();
  return *(map ? m_map : m_strip).rowActions();
}

void RowTools::refresh() {
  if (!isVisible()) return;
  for (auto tool = m_tools.begin(); tool != m_tools.end(); ++tool) {
    const QAction& action = *rows().action(tool.key());
    const QString why = rows().obstacle(action), key = action.shortcut().toString(QKeySequence::NativeText);
    tool.value()->setEnabled(why.isEmpty());
    tool.value()->setToolTip(tool.value()->text() + (key.isEmpty() ? QString() : " (" + key + ")") + "\n" +
                             rows().tip(action) + (why.isEmpty() ? QString() : "\n" + tr("Off: %1").arg(why)));
    tool.value()->setStatusTip(why.isEmpty() ? rows().tip(action) : tr("Off: %1").arg(why));
  }
}

void RowTools::refreshIcons() {
  const auto look = Theme::current();
  for (auto tool = m_tools.begin(); tool != m_tools.end(); ++tool)
    tool.value()->setIcon(themedIcon("row_" + tool.key(), look->text, look->faint));
}

void RowTools::showEvent(QShowEvent* event) {
  QToolBar::showEvent(event);
  refresh();
}

}  // namespace kvlab
