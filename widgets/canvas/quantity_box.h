// SPDX-License-Identifier: GPL-3.0-or-later
// Controls for the shared quantity: a combo box bound to InspectorContext::quantity(), with the quantities in groups,
// and a bar with its legend. Owned by the strip of a view. GUI thread.
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

 private:
  void addHeading(const QString& title);
};

/// The shared quantity as an option of a view.
ViewOption quantityOption(InspectorContext& context);

class LegendBar : public QWidget {
  Q_OBJECT
 public:
  explicit LegendBar(QWidget* parent);
  void show(ColourLegend legend);
  /// True if all values are equal.
  bool plain() const { return m_legend.only.has_value(); }
  QSize sizeHint() const override { return {280, Theme::kStrip - 2}; }
  QSize minimumSizeHint() const override { return {190, Theme::kStrip - 2}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  ColourLegend m_legend;
};

}  // namespace kvlab
