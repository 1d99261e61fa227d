// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/model/chance_model.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {
QString percent(double p) {
  if (!std::isfinite(p)) return shareText(p);
  const double value = p * 100;
  return QString::number(value, 'f', value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3) + QStringLiteral(" %");
}

QString change(double by) {
  if (!std::isfinite(by)) return shareText(by);
  if (std::abs(by) < 5e-5) return QStringLiteral("=");
  return (by > 0 ? QStringLiteral("▲ ") : QStringLiteral("▼ ")) + QString::number(std::abs(by) * 100, 'f', 2);
}
}  // namespace

ChanceModel::ChanceModel(QObject* parent) : LineModel(parent) {
  using Line = const ChanceLine&;
  addNumber("rank", tr("#"), tr("Rank"), "100", [](Line line) { return QString::number(line.rank); });
  add("token", tr("Token"), tr("Text of the token; · is a space"), "xxxxxxxxxxxx", [](Line line) {
    return visibleText(QString::fromStdString(line.chance.text));
  }).in(Tone::Normal);
  add("probability", tr("Probability"),
      tr("Probability over the whole vocabulary, before sampling; the mark shows the previous tick"),
      "100.00 % xxxxxxxx", [](Line line) { return percent(static_cast<double>(line.chance.p)); })
      .with(ShareRole, [](Line line) { return static_cast<double>(line.chance.p); })
      .with(BeforeRole,
            [](Line line) { return line.before ? QVariant(static_cast<double>(*line.before)) : QVariant(); });
  addNumber("change", tr("Change"), tr("Change since the previous tick, in percentage points"), {"▲ 100.00", 2},
            [](Line line) {
              if (!line.compared) return QString();
              return line.before ? change(static_cast<double>(line.chance.p - *line.before)) : tr("new");
            })
      .in(Tone::Muted);
  addNumber("id", tr("Id"), tr("Token id"), {"100000", 1},
            [](Line line) { return QString::number(line.chance.id.value()); });
  withLines(Qt::ToolTipRole, [](Line line) {
    const auto p = static_cast<double>(line.chance.p);
    return tr("token %1 %2: p = %3")
        .arg(line.chance.id.value())
        .arg(visibleText(QString::fromStdString(line.chance.text)))
        .arg(std::isfinite(p) ? QString::number(p, 'g', 6) : shareText(p));
  });
  withTone([](Line) { return Tone::Faint; });
}

void ChanceModel::show(const std::vector<TokenChance>& now, const std::vector<TokenChance>& before) {
  std::vector<ChanceLine> lines;
  for (const TokenChance& chance : now) {
    const auto was =
        std::find_if(before.begin(), before.end(), [&](const auto& other) { return other.id == chance.id; });
    lines.push_back({chance, static_cast<int>(lines.size()) + 1,
                     was == before.end() ? std::nullopt : std::optional(was->p), !before.empty()});
  }
  replace(std::move(lines));
}

double ChanceModel::covered() const {
  double sum = 0;
  for (const ChanceLine& line : lines()) sum += static_cast<double>(line.chance.p);
  return sum;
}

void ChanceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  painter->setFont(theme->mono);
  const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("99.99 %")) + Theme::kMedium;
  const QRectF room = QRectF(option.rect).adjusted(7, 5, -7 - figure, -5);
  const double share = index.data(ChanceModel::ShareRole).toDouble();
  painter->fillRect(room, theme->grid);
  painter->fillRect(QRectF(room.left(), room.top(), std::max(1.0, share * room.width()), room.height()),
                    index.row() == 0 ? theme->accent : Theme::mix(theme->surface, theme->accent, 0.6));
  const QVariant before = index.data(ChanceModel::BeforeRole);
  if (before.isValid() && std::abs(before.toDouble() - share) > 5e-4)
    painter->fillRect(QRectF(room.left() + before.toDouble() * room.width() - 1, room.top() - 2, 2, room.height() + 4),
                      theme->warning);
  painter->setPen(theme->text);
  painter->drawText(QRectF(room.right(), option.rect.top(), figure + 7, option.rect.height()).adjusted(0, 0, -7, 0),
                    Qt::AlignRight | Qt::AlignVCenter, index.data().toString());
  painter->restore();
}

}  // namespace kvlab
