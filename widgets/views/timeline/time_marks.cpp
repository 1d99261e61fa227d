// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/timeline/time_marks.h"

#include <QCoreApplication>
#include <QPainter>
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/api/verb.h"
#include "widgets/base/theme.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {

constexpr int kApart = 9;               // pixels between marks that stand alone
constexpr double kSize = 4, kTall = 6;  // half of a mark, and of a bar

enum class Form : std::uint8_t { Flag, Diamond, Disc, Square, Cross, Wedge, Ring, Pause, Page };

struct Look {
  Form form;
  QColor Theme::*colour;
  const char* words;
};
constexpr Look kLooks[kMarkSorts] = {{Form::Flag, &Theme::accent, "text"},
                                     {Form::Diamond, &Theme::warning, "edit"},
                                     {Form::Disc, &Theme::ok, "rebuild"},
                                     {Form::Square, &Theme::muted, "setting"},
                                     {Form::Cross, &Theme::error, "fault"},
                                     {Form::Disc, &Theme::ok, "row came"},
                                     {Form::Wedge, &Theme::accent, "row moved or left"},
                                     {Form::Diamond, &Theme::warning, "row changed"},
                                     {Form::Cross, &Theme::error, "row damaged"},
                                     {Form::Ring, &Theme::muted, "row"},
                                     {Form::Pause, &Theme::error, "breakpoint held"},
                                     {Form::Page, &Theme::text, "note"}};
const Look& lookOf(MarkSort sort) { return kLooks[static_cast<std::size_t>(sort)]; }

QPolygonF polygonOf(Form form, QPointF at) {
  const auto point = [at](double x, double y) { return at + QPointF(x, y); };
  switch (form) {
    case Form::Flag: return {{point(-3, -5), point(4.5, -2), point(-1.5, 1), point(-1.5, 5), point(-3, 5)}};
    case Form::Diamond: return {{point(0, -kSize), point(kSize, 0), point(0, kSize), point(-kSize, 0)}};
    case Form::Page: return {{point(-3, -4), point(1, -4), point(3, -2), point(3, 4), point(-3, 4)}};
    case Form::Wedge: return {{point(-kSize, -3), point(kSize, -3), point(0, kSize)}};
    default: return {{point(-3, -3), point(3, -3), point(3, 3), point(-3, 3)}};
  }
}

void paintForm(QPainter& painter, QPointF at, Form form, const QColor& colour) {
  const bool line = form == Form::Cross || form == Form::Ring;
  painter.setPen(line ? QPen(colour, form == Form::Cross ? 2 : 1.2) : QPen(Qt::NoPen));
  painter.setBrush(line ? QBrush(Qt::NoBrush) : QBrush(colour));
  if (form == Form::Disc || form == Form::Ring) return painter.drawEllipse(at, 3.2, 3.2);
  if (form == Form::Cross) {
    painter.drawLine(at + QPointF(-3, -3), at + QPointF(3, 3));
    return painter.drawLine(at + QPointF(-3, 3), at + QPointF(3, -3));
  }
  if (form != Form::Pause) return painter.drawPolygon(polygonOf(form, at));
  for (const double x : {-3.5, 1.0}) painter.drawRect(QRectF(at + QPointF(x, -kSize), QSizeF(2.5, 2 * kSize)));
}

MarkSort lowest(std::uint16_t bits) { return static_cast<MarkSort>(std::countr_zero(bits)); }

/// Bars of columns from `begin` to `end`, which have the same sorts.
void paintBar(QPainter& painter, QPointF left, std::size_t begin, std::size_t end, std::uint16_t bits,
              const Theme& theme) {
  const double part = 2 * kTall / std::popcount(bits), wide = static_cast<double>(end - begin);
  double top = left.y() - kTall;
  for (; bits; bits = static_cast<std::uint16_t>(bits & (bits - 1)), top += part)
    painter.fillRect(QRectF(left.x() + static_cast<double>(begin), top, wide, part), colourOf(lowest(bits), theme));
}

}  // namespace

/// The first marks are those of EditSort, in its order.
MarkSort sortOfEdit(const std::string& sort) {
  for (int i = 0; i < kEditSorts; ++i)
    if (sort == name(static_cast<EditSort>(i))) return static_cast<MarkSort>(i);
  return MarkSort::Edited;
}

MarkSort sortOfEvent(const QString& event) {
  switch (toneOfEvent(event)) {
    case Tone::Ok: return MarkSort::RowCame;
    case Tone::Accent: return MarkSort::RowLeft;
    case Tone::Warning: return MarkSort::RowChanged;
    case Tone::Error: return MarkSort::RowDamaged;
    default: return MarkSort::RowNoted;
  }
}

QString wordsOf(MarkSort sort) { return QCoreApplication::translate("kvlab::TimeStrip", lookOf(sort).words); }

QColor colourOf(MarkSort sort, const Theme& theme) { return theme.*lookOf(sort).colour; }

void paintMark(QPainter& painter, QPointF middle, MarkSort sort, const Theme& theme) {
  const bool smooth = painter.testRenderHint(QPainter::Antialiasing);
  painter.setRenderHint(QPainter::Antialiasing);
  paintForm(painter, middle, lookOf(sort).form, colourOf(sort, theme));
  painter.setRenderHint(QPainter::Antialiasing, smooth);
}

void addMark(MarkColumns& columns, const AxisMap& axis, std::int64_t tick, MarkSort sort) {
  const double column = std::floor(axis.pixel(static_cast<double>(tick) + 0.5));
  if (column < 0 || column >= static_cast<double>(columns.size())) return;
  columns[static_cast<std::size_t>(column)] |= static_cast<std::uint16_t>(1u << static_cast<unsigned>(sort));
}

void paintMarks(QPainter& painter, QPointF left, const MarkColumns& columns, const Theme& theme) {
  std::vector<std::size_t> marked;
  for (std::size_t x = 0; x < columns.size(); ++x)
    if (columns[x]) marked.push_back(x);
  const auto alone = [&](std::size_t i) {
    return std::has_single_bit(columns[marked[i]]) && (i == 0 || marked[i] - marked[i - 1] >= kApart) &&
        (i + 1 == marked.size() || marked[i + 1] - marked[i] >= kApart);
  };
  for (std::size_t i = 0; i < marked.size();) {
    const std::size_t begin = marked[i];
    const std::uint16_t bits = columns[begin];
    if (alone(i)) {
      paintMark(painter, left + QPointF(static_cast<double>(begin) + 0.5, 0), lowest(bits), theme);
      ++i;
      continue;
    }
    std::size_t end = begin;
    while (i < marked.size() && marked[i] == end && columns[end] == bits) ++i, ++end;
    paintBar(painter, left, begin, end, bits, theme);
  }
}

}  // namespace kvlab
