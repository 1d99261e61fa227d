// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/quantity_box.h"

#include "widgets/base/format.h"

namespace kvlab {

QuantityBox::QuantityBox(InspectorContext& context, QWidget* parent) : QComboBox(parent) {
  setAccessibleName(tr("Quantity"));
  setToolTip(tr("Quantity that colours the rows, in all views"));
  for (int i = 0; i < kQuantities; ++i) {
    addItem(wordOf(title(static_cast<Quantity>(i))));
    setItemData(i, tr(lookOf(static_cast<Quantity>(i)).help), Qt::ToolTipRole);
  }
  setMaxVisibleItems(kQuantities);
  setMinimumWidth(90);  // may shrink in narrow docks
  setCurrentIndex(static_cast<int>(context.quantity()));
  connect(this, &QComboBox::activated, this, [this, &context](int i) {
    context.setQuantity(static_cast<Quantity>(i));
    emit chosen(static_cast<Quantity>(i));
  });
  connect(&context, &InspectorContext::quantityChanged, this,
          [this, &context] { setCurrentIndex(static_cast<int>(context.quantity())); });
}

ViewOption quantityOption(InspectorContext& context) {
  const auto set = [&context](const nlohmann::json& value) -> std::string {
    const auto quantity = quantityFromName(value.is_string() ? value.get<std::string>() : std::string());
    std::vector<std::string> names;
    for (int i = 0; i < kQuantities; ++i) names.emplace_back(name(static_cast<Quantity>(i)));
    if (!quantity) return useOneOf(names);
    context.setQuantity(*quantity);
    return {};
  };
  return {"quantity", [&context] { return std::string(name(context.quantity())); }, set};
}

LegendBar::LegendBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  setAccessibleName(tr("Legend"));
  setToolTip(tr("Legend of the colours"));
}

void LegendBar::show(ColourLegend legend) {
  m_legend = std::move(legend);
  const QString text = legendText(m_legend);
  setAccessibleDescription(text);
  setToolTip(tr("Legend of the colours. %1").arg(text));
  update();
}

void LegendBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintLegend(painter, rect(), m_legend, *Theme::current());
}

}  // namespace kvlab
