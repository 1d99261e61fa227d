// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/watches/watch_model.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"

namespace kvlab {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double numberOf(const decltype(WatchView::value)& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return kUnknown;
}

/// Null: the snapshot has no such watch.
const WatchView* watchIn(const Snapshot& s, const WatchView& watch) {
  if (!s.watches) return nullptr;
  const auto found = std::ranges::find_if(
      *s.watches, [&](const WatchView& one) { return one.id == watch.id && one.expression == watch.expression; });
  return found == s.watches->end() ? nullptr : &*found;
}

WatchLine lineOf(const WatchView& watch, const std::vector<SnapshotPtr>& history, const SnapshotPtr& shown) {
  WatchLine out{.now = watch, .shown = {}, .course = {}};
  if (const WatchView* there = shown ? watchIn(*shown, watch) : nullptr) out.shown = watchText(there->value);
  const std::size_t first = history.size() - std::min(history.size(), WatchModel::kTicks);
  for (std::size_t i = first; i < history.size(); ++i) {
    const WatchView* there = watchIn(*history[i], watch);
    out.course.push_back(there ? numberOf(there->value) : kUnknown);
  }
  return out;
}

}  // namespace

QString watchText(const decltype(WatchView::value)& value) {
  if (const double* number = std::get_if<double>(&value)) return formatNumber(*number);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? WatchModel::tr("true") : WatchModel::tr("false");
  if (const std::string* text = std::get_if<std::string>(&value)) return QString::fromStdString(*text);
  return QStringLiteral("–");
}

WatchModel::WatchModel(QObject* parent) : LineModel(parent) {
  using Line = const WatchLine&;
  add("expression", tr("Expression"), tr("What is watched; Del removes the selected line"), QString(14, 'x'),
      [](Line line) { return QString::fromStdString(line.now.expression); });
  addNumber("now", tr("Now"), tr("Value in the newest tick; – where it is not known"), "context-edited",
            [](Line line) { return watchText(line.now.value); });
  addNumber("shown", tr("Shown"), tr("Value in the shown tick; empty where it was not watched then"),
            {"context-edited", 1}, [](Line line) { return line.shown; })
      .toned([](Line line) { return line.shown == watchText(line.now.value) ? Tone::Faint : Tone::Accent; });
  add("course", tr("Course"), tr("Values of the last 256 ticks, from the least to the largest; flags are 0 and 1"),
      {QString(12, 'x'), 2}, [](Line) { return QString(); })
      .with(CourseRole,
            [](Line line) { return QVariant::fromValue(QList<double>(line.course.begin(), line.course.end())); })
      .tips([](Line line) {
        double least = kUnknown, most = kUnknown;
        for (const double one : line.course) least = std::fmin(least, one), most = std::fmax(most, one);
        return std::isnan(least) ? QString() : tr("From %1 to %2").arg(formatNumber(least), formatNumber(most));
      });
}

void WatchModel::show(const std::vector<SnapshotPtr>& history, const SnapshotPtr& shown) {
  std::vector<WatchLine> lines;
  const auto now = history.empty() ? nullptr : history.back()->watches;
  for (const WatchView& watch : now ? *now : std::vector<WatchView>()) lines.push_back(lineOf(watch, history, shown));
  const bool same = std::ranges::equal(
      lines, m_lines, {}, [](const WatchLine& one) { return one.now.id; },
      [](const WatchLine& one) { return one.now.id; });
  replace(std::move(lines), same);
}

void CourseDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  DataDelegate::paint(painter, option, index);
  const auto course = index.data(WatchModel::CourseRole).value<QList<double>>();
  double least = kUnknown, most = kUnknown;
  for (const double one : course) least = std::fmin(least, one), most = std::fmax(most, one);
  if (std::isnan(least)) return;
  const auto theme = Theme::current();
  const QRectF box = QRectF(option.rect).adjusted(6, 4, -8, -4);
  const auto place = [&](qsizetype i) {
    const double x = course.size() > 1 ? static_cast<double>(i) / static_cast<double>(course.size() - 1) : 1;
    const double y = most > least ? (course[i] - least) / (most - least) : 0.5;
    return QPointF(box.left() + x * box.width(), box.bottom() - y * box.height());
  };
  QPainterPath path;
  for (qsizetype i = 0; i < course.size(); ++i) {
    if (std::isnan(course[i])) continue;
    const bool begins = i == 0 || std::isnan(course[i - 1]);
    begins ? path.moveTo(place(i)) : path.lineTo(place(i));
  }
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(QPen(theme->accent, 1.2));
  painter->drawPath(path);
  if (!std::isnan(course.back())) {
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme->accent);
    painter->drawEllipse(place(course.size() - 1), 2.2, 2.2);
  }
  painter->restore();
}

}  // namespace kvlab
