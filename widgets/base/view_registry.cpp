// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/view_registry.h"

namespace kvlab {

#define KVLAB_VIEW(id, title, Class, area, tab, key, help) \
  InspectorView* make##Class(InspectorContext& context, QWidget* parent);
#include "widgets/base/views.inc"
#undef KVLAB_VIEW

namespace {
constexpr ViewInfo kViews[] = {
#define KVLAB_VIEW(id, title, Class, area, tab, key, help) \
  {#id, title, DockArea::area, DockTab::tab, key, help, &make##Class},
#include "widgets/base/views.inc"
#undef KVLAB_VIEW
    {nullptr, nullptr, DockArea::Centre, DockTab::Front, nullptr, nullptr, nullptr}};
}  // namespace

std::span<const ViewInfo> views() { return std::span(kViews).first(std::size(kViews) - 1); }

const ViewInfo* findView(const QString& id) {
  for (const ViewInfo& info : views())
    if (id == QLatin1String(info.id)) return &info;
  return nullptr;
}

InspectorView* makeView(const ViewInfo& info, InspectorContext& context, QWidget* parent) {
  InspectorView* view = info.make(context, parent);
  view->setObjectName(info.id);
  view->setAccessibleName(info.title);
  view->setAccessibleDescription(info.help);
  view->setWindowTitle(info.title);
  return view;
}

}  // namespace kvlab
