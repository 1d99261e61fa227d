// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views. Docks, menus, shortcuts, script names and golden pictures are made from it. A new view is a folder
// in widgets/views/ and one line in views.inc.
#pragma once
#include <QString>
#include <span>

#include "widgets/base/inspector_view.h"

namespace kvlab {

/// The right column shows two groups of tabs, one above the other.
enum class DockArea { Centre, Left, RightTop, RightBottom, Bottom };
enum class DockTab { Front, Behind };

struct ViewInfo {
  const char* id;     // "map": script name, dock name, name of its picture
  const char* title;  // "Map"
  DockArea area;      // initial dock
  DockTab tab;        // in front of or behind the other tabs
  const char* key;    // "Alt+1": shows the view and gives it the keyboard; may be empty
  const char* help;   // one sentence about the content of the view
  InspectorView* (*make)(InspectorContext& context, QWidget* parent);
};

std::span<const ViewInfo> views();
/// Null if no view has that id.
const ViewInfo* findView(const QString& id);
/// Makes the view, with its id as object name and its title as accessible name.
InspectorView* makeView(const ViewInfo& info, InspectorContext& context, QWidget* parent);

}  // namespace kvlab

/// Place at the end of a view's .cpp, outside any namespace: makes the class available to views.inc.
#define KVLAB_DEFINE_VIEW(Class)                                                                                \
  namespace kvlab {                                                                                             \
  InspectorView* make##Class(InspectorContext& context, QWidget* parent);                                       \
  InspectorView* make##Class(InspectorContext& context, QWidget* parent) { return new Class(context, parent); } \
  }
