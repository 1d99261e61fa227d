// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/tab_stops.h"

#include <QApplication>
#include <QLayout>
#include <QScrollArea>
#include <QSplitter>
#include <algorithm>

#include "widgets/base/inspector_view.h"

namespace kvlab {
namespace {
void addLaidOut(QLayout& layout, QList<QWidget*>& out) {
  for (int i = 0; i < layout.count(); ++i) {
    QLayoutItem* item = layout.itemAt(i);
    if (item->widget()) out << item->widget();
    else if (item->layout()) addLaidOut(*item->layout(), out);
  }
}

/// The parts of a widget in reading order.
QList<QWidget*> partsOf(QWidget& whole) {
  QList<QWidget*> parts;
  if (auto* splitter = qobject_cast<QSplitter*>(&whole))
    for (int i = 0; i < splitter->count(); ++i) parts << splitter->widget(i);
  else if (auto* area = qobject_cast<QScrollArea*>(&whole)) parts << area->widget();
  else if (whole.layout()) addLaidOut(*whole.layout(), parts);
  return parts;
}

bool takesTab(const QWidget& widget) {
  return (widget.focusPolicy() & Qt::TabFocus) && widget.isEnabled() && widget.isVisible();
}

void collect(QWidget& widget, QList<QWidget*>& stops) {
  if (!widget.isVisible()) return;
  const bool view = qobject_cast<InspectorView*>(&widget);
  if (takesTab(widget) && !view) {
    stops << (widget.focusProxy() ? widget.focusProxy() : &widget);
    return;
  }
  const qsizetype before = stops.size();
  for (QWidget* part : partsOf(widget))
    if (part) collect(*part, stops);
  if (view && stops.size() == before) stops << &widget;
}
}  // namespace

QList<QWidget*> tabStops(QWidget& root) {
  QList<QWidget*> stops;
  collect(root, stops);
  return stops;
}

bool moveAlong(const QList<QWidget*>& stops, bool forward) {
  if (stops.isEmpty()) return false;
  const QWidget* now = QApplication::focusWidget();
  const qsizetype count = stops.size();
  qsizetype at = -1;      // the stop that has the keyboard, or contains the control that has it
  qsizetype inside = -1;  // the first stop inside the control that has it
  for (qsizetype i = count - 1; now && i >= 0; --i) {
    if (stops[i] == now || stops[i]->isAncestorOf(now)) at = i;
    else if (now->isAncestorOf(stops[i])) inside = i;
  }
  if (at < 0) at = inside < 0 ? (forward ? count - 1 : 0) : forward ? inside - 1 : inside;
  const qsizetype next = (at + (forward ? 1 : count - 1)) % count;
  stops[next]->setFocus(forward ? Qt::TabFocusReason : Qt::BacktabFocusReason);
  return true;
}

}  // namespace kvlab
