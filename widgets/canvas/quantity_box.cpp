// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/quantity_box.h"

#include <QStandardItemModel>
#include <vector>

#include "widgets/base/format.h"

namespace kvlab {
namespace {
struct QuantityGroup {
  const char* title;
  std::vector<Quantity> members;
};

const std::vector<QuantityGroup>& quantityGroups() {
  using enum Quantity;
  static const std::vector<QuantityGroup> groups{
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Rows"), {Brightness, Age, Residency, PhaseLag, Surprise}},
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Attention and policy"), {Attention, Received, Score, KnockOut}},
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Against a rebuild"), {Staleness, DriftK, DriftV}},
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Against another state"), {DifferenceK, DifferenceV}},
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Quantisation"), {QuantK, QuantV, QuantLogit}},
      {QT_TRANSLATE_NOOP("kvlab::QuantityBox", "Norms"), {KNorm, VNorm}}};
  return groups;
}
}  // namespace

QuantityBox::QuantityBox(InspectorContext& context, QWidget* parent) : QComboBox(parent) {
  setAccessibleName(tr("Quantity"));
  setToolTip(tr("Quantity that colours the rows, in all views"));
  for (const QuantityGroup& group : quantityGroups()) {
    addHeading(tr(group.title));
    for (const Quantity one : group.members) {
      addItem(wordOf(title(one)), static_cast<int>(one));
      setItemData(count() - 1, tr(lookOf(one).help), Qt::ToolTipRole);
    }
  }
  setMaxVisibleItems(count());
  setMinimumWidth(90);  // may shrink in narrow docks
  const auto follow = [this, &context] { setCurrentIndex(findData(static_cast<int>(context.quantity()))); };
  follow();
  connect(this, &QComboBox::activated, this, [this, &context](int i) {
    const auto quantity = static_cast<Quantity>(itemData(i).toInt());
    context.setQuantity(quantity);
    emit chosen(quantity);
  });
  connect(&context, &InspectorContext::quantityChanged, this, follow);
}

/// A line that cannot be chosen.
void QuantityBox::addHeading(const QString& title) {
  addItem(title);
  auto* item = static_cast<QStandardItemModel*>(model())->item(count() - 1);
  item->setFlags(Qt::NoItemFlags);
  item->setFont(Theme::current()->smallStrong);
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
