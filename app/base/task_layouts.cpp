// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/task_layouts.h"

#include "widgets/base/view_registry.h"

namespace kvlab {

TaskLayout firstLayout() {
  TaskLayout all;
  all.mostRight = 500;
  all.mostLow = 270;
  const auto place = [&](DockArea area) -> QStringList& {
    switch (area) {
      case DockArea::Centre: return all.centre;
      case DockArea::RightTop: return all.rightTop;
      case DockArea::RightBottom: return all.rightBottom;
      case DockArea::Left: return all.left;
      default: return all.bottom;
    }
  };
  for (const ViewInfo& view : views()) {
    place(view.area) << view.id;
    if (view.tab == DockTab::Front) all.front << view.id;
  }
  return all;
}

const std::vector<TaskLayout>& taskLayouts() {
  static const std::vector<TaskLayout> all = {
      {.id = "layout_edit",
       .title = "Edit",
       .help = "Show the views for edits of tokens and rows: Compose, Mirror, Row history, and the tool bar for rows.",
       .centre = {"map", "strip"},
       .rightTop = {"compose", "model"},
       .rightBottom = {"mirror", "ledger", "history", "invariants"},
       .bottom = {"events", "console", "log", "jobs"},
       .right = 36,
       .upper = 60,
       .rowTools = true},
      {.id = "layout_policies",
       .title = "Policies",
       .help = "Show the views for eviction policies: Policy, Audit, Lanes, Row history.",
       .centre = {"map", "strip"},
       .rightTop = {"smartkv"},
       .rightBottom = {"history", "ledger", "model"},
       .bottom = {"audit", "lanes", "quant", "numbers"},
       .right = 38,
       .low = 36,
       .upper = 62},
      {.id = "layout_rings",
       .title = "Rings",
       .help = "Show the views for ring layouts: large Rings, Storage, Mirror.",
       .centre = {"map", "strip"},
       .rightTop = {"rings"},
       .rightBottom = {"mirror", "ledger"},
       .bottom = {"storage", "events", "quant"},
       .right = 44,
       .low = 30,
       .upper = 66},
      {.id = "layout_wlod",
       .title = "wLOD",
       .help = "Show the views for wLOD sessions: a large Tree, the text, Row history.",
       .centre = {"strip"},
       .rightTop = {"history", "ledger"},
       .rightBottom = {"model", "invariants"},
       .bottom = {"tree", "numbers", "events"},
       .right = 28,
       .low = 62},
      {.id = "layout_sweep",
       .title = "Sweep",
       .help = "Show the views for comparisons: a large Sweep, Lanes, Audit.",
       .centre = {"map"},
       .rightTop = {},
       .rightBottom = {},
       .bottom = {"sweep", "lanes", "audit", "log", "jobs"},
       .low = 68},
      {.id = "layout_time",
       .title = "Time",
       .help = "Show the views for what happens over ticks: Time line, Events, Numbers, Row history.",
       .centre = {"map", "strip"},
       .rightTop = {"numbers"},
       .rightBottom = {"history", "invariants", "model"},
       .bottom = {"timeline", "events", "console", "log", "jobs"},
       .right = 38,
       .low = 40,
       .upper = 66}};
  return all;
}

}  // namespace kvlab
