// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views. Docks, menus, shortcuts, script names and the pictures that tests compare are
// loops over it. A new view is one file pair in widgets/views/ and one line in views.inc.
#pragma once
#include <QString>
#include <span>

#include "widgets/base/inspector_view.h"

namespace kvlab {

enum class DockArea { Centre, Left, Right, Bottom };

struct ViewInfo {
  const char* id;     // "map": script name, dock name, name of its picture
  const char* title;  // "Map"
  DockArea area;      // where it docks first
  const char* help;   // one sentence: what it shows
  InspectorView* (*make)(InspectorContext& context, QWidget* parent);
};

std::span<const ViewInfo> views();
/// Null if there is no view of that id.
const ViewInfo* findView(const QString& id);
/// The view, with its id as object name and its title as accessible name.
InspectorView* makeView(const ViewInfo& info, InspectorContext& context, QWidget* parent);

}  // namespace kvlab

/// At the end of a view's .cpp, outside of any namespace: makes the class known to views.inc.
#define KVLAB_DEFINE_VIEW(Class)                                                                                \
  namespace kvlab {                                                                                             \
  InspectorView* make##Class(InspectorContext& context, QWidget* parent);                                       \
  InspectorView* make##Class(InspectorContext& context, QWidget* parent) { return new Class(context, parent); } \
  }
