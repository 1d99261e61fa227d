// SPDX-License-Identifier: GPL-3.0-or-later
// Controls for the shared quantity: a combo box bound to InspectorContext::quantity(), and a bar with its legend. Owned
// by the strip of a view. GUI thread.
#pragma once
#include <QComboBox>

#include "widgets/base/inspector_context.h"
#include "widgets/base/view_options.h"
#include "widgets/canvas/colour_map.h"

namespace kvlab {

class QuantityBox : public QComboBox {
  Q_OBJECT
 public:
  QuantityBox(InspectorContext& context, QWidget* parent);
 signals:
  /// The user chose a quantity; the context has it already.
  void chosen(kvlab::Quantity quantity);
};

/// The shared quantity as an option of a view.
ViewOption quantityOption(InspectorContext& context);

class LegendBar : public QWidget {
  Q_OBJECT
 public:
  explicit LegendBar(QWidget* parent);
  /// values: the values that the scale is for.
  void setScale(const ColourScale& scale, const std::vector<float>& values = {});
  /// True if all values are equal.
  bool plain() const { return m_only.has_value(); }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {190, Theme::kStrip - 2}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  ColourScale m_scale;
  std::optional<float> m_only;
};

}  // namespace kvlab
