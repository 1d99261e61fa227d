// SPDX-License-Identifier: GPL-3.0-or-later
// A view in a window of its own, ready for clicks and keys, and the controls in it by their accessible names.
#pragma once
#include "fake_context.h"
#include "golden.h"

namespace kvlab {

/// A view that is not ready, or a window that stays inactive, fails the test that runs.
template <class View>
std::unique_ptr<View> open(FakeContext& context, QSize size = {1000, 420}, bool visible = true) {
  auto view = std::make_unique<View>(context, nullptr);
  view->resize(size);
  if (visible) view->show();
  const bool active = !visible || QTest::qWaitForWindowActive(view.get());
  QTest::qVerify(active, "active", "the window of the view is not active", __FILE__, __LINE__);
  golden::settle(*view);
  return view;
}

template <class Button>
Button* named(QWidget& view, const char* name) {
  for (Button* button : view.findChildren<Button*>())
    if (button->accessibleName() == QLatin1String(name)) return button;
  return nullptr;
}

}  // namespace kvlab
