// SPDX-License-Identifier: GPL-3.0-or-later
// Every view of the registry with something to show: the sessions, places and sizes of the golden pictures.
#pragma once
#include "fake_context.h"
#include "golden.h"
#include "notes_fixture.h"
#include "widgets/base/view_registry.h"

namespace kvlab::golden {

inline fixture::Options optionsFor(const QString& id) {
  fixture::Options options;
  options.broken = id == "mirror" || id == "invariants";
  options.mixed = id == "rings" || id == "storage";
  options.policies = id == "audit" || id == "smartkv";
  options.lanes = id == "lanes";
  options.wlod = id == "tree";
  options.quant = id == "quant";
  options.watches = id == "watches";
  return options;
}

inline QSize sizeOf(const ViewInfo& info) {
  switch (info.area) {
    case DockArea::Centre: return {1180, 420};
    case DockArea::Bottom: return {1180, 300};
    default: return {560, 640};
  }
}

inline std::unique_ptr<InspectorView> show(const QString& id, FakeContext& context, QSize size = {}) {
  if (id == "notes" && context.snapshot()) fixture::setNotes(context, fixture::notes());
  std::unique_ptr<InspectorView> view(makeView(*findView(id), context, nullptr));
  if (context.snapshot()) {
    context.setFocus(
        Focus{context.snapshot()->tick, CacheLayer(id == "storage" ? 0 : 2), Head(0), Position(-1), LedgerId(-1)});
    context.focusPosition(Position(id == "history"      ? 44
                                       : id == "mirror" ? 50
                                       : id == "rings"  ? 84
                                       : id == "tree"   ? 12
                                                        : 52));
  }
  if (id == "row") (void)view->setOption("compare", "before");
  if (id == "quant" || id == "attention")
    QTest::qVerify(static_cast<bool>(view->setOption("follow", true)), "follow", "", __FILE__, __LINE__);
  view->resize(size.isEmpty() ? sizeOf(*findView(id)) : size);
  settle(*view);
  return view;
}

}  // namespace kvlab::golden
