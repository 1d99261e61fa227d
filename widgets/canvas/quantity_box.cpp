// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/quantity_box.h"

#include "widgets/base/format.h"

namespace kvlab {
namespace {
const char* helpOf(Quantity quantity) {
  switch (quantity) {
    case Quantity::Brightness: return "Brightness of the row, 0 to 255; culling replaces dim rows";
    case Quantity::Age: return "Ticks since the row was added";
    case Quantity::Residency: return "Whether the row's K and V are present in the layer";
    case Quantity::Attention: return "Attention that the newest query pays to the row";
    case Quantity::Received: return "Attention that the row received from all queries of the last prefill";
    case Quantity::PhaseLag:
      return "Difference between the phase at which the row is read and the phase at which it was computed";
    case Quantity::Staleness: return "Why the row may differ from a rebuild";
    case Quantity::DriftK: return "Relative difference of K from a rebuild; needs a drift pass";
    case Quantity::DriftV: return "Relative difference of V from a rebuild; needs a drift pass";
    case Quantity::KNorm: return "L2 norm of the row's K over all heads";
    case Quantity::VNorm: return "L2 norm of the row's V over all heads";
    case Quantity::QuantK: return "Relative error of the stored K; needs a quantisation pass";
    case Quantity::QuantV: return "Relative error of the stored V; needs a quantisation pass";
    case Quantity::QuantLogit:
      return "Error of the newest query's attention logits because of the stored K; needs a quantisation pass";
    case Quantity::Surprise: return "How unlikely the model found the token, in nats; needs a text that was scored";
    case Quantity::DifferenceK:
      return "Relative difference of K from the state that the view Difference compares with; 1 for rows that it lacks";
    case Quantity::DifferenceV:
      return "Relative difference of V from the state that the view Difference compares with; 1 for rows that it lacks";
    case Quantity::Score: return "Last score from the layer's eviction policy; rows with the lowest scores are evicted";
  }
  return "";
}
QString titleOf(Quantity quantity) { return wordOf(title(quantity)); }
}  // namespace

QuantityBox::QuantityBox(InspectorContext& context, QWidget* parent) : QComboBox(parent) {
  setAccessibleName(tr("Quantity"));
  setToolTip(tr("Quantity that colours the rows, in all views"));
  for (int i = 0; i < kQuantities; ++i) {
    addItem(titleOf(static_cast<Quantity>(i)));
    setItemData(i, tr(helpOf(static_cast<Quantity>(i))), Qt::ToolTipRole);
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
