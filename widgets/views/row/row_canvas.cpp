// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/row/row_canvas.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/base/format.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/read_reply.h"
#include "widgets/base/scale_menu.h"

namespace kvlab {
namespace {
RowTensor rowTensorFrom(const nlohmann::json& from) {
  RowTensor out;
  out.type = QString::fromStdString(from.at("type"));
  out.data = columnFrom(from.at("data"));
  out.norms = columnFrom(from.at("norms"));
  if (!from.at("scales").is_null()) out.scales = columnFrom(from.at("scales"));
  if (from.contains("other")) {
    out.other = columnFrom(from.at("other"));
    out.relative = columnFrom(from.at("relative"));
  }
  return out;
}

bool fits(const RowTensor& t, std::size_t heads, std::size_t dim) {
  const auto is = [](const std::vector<float>& list, std::size_t size) { return list.empty() || list.size() == size; };
  return t.data.size() == heads * dim && t.norms.size() == heads && is(t.other, heads * dim) && is(t.scales, heads) &&
      t.relative.size() == (t.other.empty() ? 0 : heads);
}

constexpr auto kRefused = "the row cannot be shown", kRemedy = "focus it again";

Error badRow(const std::string& why) { return {"bad_reply", kRefused, why, kRemedy}; }

Status readRow(RowPicture& out, const nlohmann::json& reply) {
  out.heads = reply.at("shape").at(0);
  out.dim = reply.at("shape").at(1);
  out.k = rowTensorFrom(reply.at("k"));
  out.v = rowTensorFrom(reply.at("v"));
  if (reply.contains("compared")) {
    const nlohmann::json& compared = reply.at("compared");
    out.with = QString::fromStdString(compared.at("with"));
    out.otherTick = Tick(compared.at("tick").get<std::int64_t>());
    out.there = compared.at("there");
  }
  const bool sane = out.heads > 0 && out.dim > 0;
  for (const RowTensor* one : {&out.k, &out.v})
    if (!sane || !fits(*one, at(out.heads), at(out.dim))) return badRow("the reply does not fit its shape");
  return out.k.other.empty() == out.v.other.empty() ? ok() : Status(badRow("K is compared and V is not"));
}

/// Lines stand apart where they are high enough.
double within(double tall) { return tall >= 5 ? tall - 2 : std::max(1.0, tall); }

/// The index of a signed value in a diverging table; the middle is 0.
std::uint8_t signedIndex(float value, const ColourScale& scale) {
  if (!std::isfinite(value)) return kUnmeasured;
  const float share = std::copysign(scale.unit(std::abs(value)), value);
  return std::max(kFirstColour, static_cast<std::uint8_t>(std::lround(128 + share * 127)));
}

/// Magnitudes begin at 0. Few dimensions are large, so the usual curve is a square root.
ColourScales magnitudes(std::vector<float> values, int lines, ScaleChoice choice) {
  for (float& value : values) value = std::abs(value);
  if (choice.curve == ScaleChoice::Curve::Usual) choice.curve = ScaleChoice::Curve::Root;
  const bool zeros = std::ranges::all_of(values, [](float value) { return value == 0; });
  if (zeros && choice.range != ScaleChoice::Range::Fixed) return {{{Quantity::QuantK, 0, 0}}, choice};
  return scalesFor(Quantity::QuantK, values, lines, choice);
}
}  // namespace

Result<RowPicturePtr> rowPicture(const nlohmann::json& reply) {
  auto out = std::make_shared<RowPicture>();
  KV_TRY(wholeReply(kRefused, kRemedy, [&] { return readRow(*out, reply); }));
  return RowPicturePtr(std::move(out));
}

RowCanvas::RowCanvas(InspectorContext& context, QWidget* parent) : MatrixCanvas(context, parent) {
  setAccessibleName(tr("Values of the row"));
  setToolTip(
      tr("Click chooses a head and a dimension; arrow keys move; the wheel, + and - zoom, dragging pans, 0 or a double "
         "click shows all dimensions"));
}

void RowCanvas::show(RowPicturePtr picture) {
  m_picture = std::move(picture);
  if (m_picture) choosePlace(m_head, m_dimension);
  setScale(m_choice);
}

void RowCanvas::setScale(const ScaleChoice& choice) {
  m_choice = choice;
  for (const bool keys : {true, false}) {
    if (!m_picture) break;
    const RowTensor& t = m_picture->of(keys);
    std::vector<float> apart;
    for (int i = 0; m_picture->compares() && i < m_picture->heads * m_picture->dim; ++i) apart.push_back(t.apart(i));
    m_scales[keys ? 0 : 1] = magnitudes(t.data, m_picture->heads, choice);
    m_scales[keys ? 2 : 3] = magnitudes(std::move(apart), m_picture->heads, choice);
  }
  changed();
}

void RowCanvas::choosePlace(int head, int dimension) {
  m_head = m_picture ? std::clamp(head, 0, m_picture->heads - 1) : head;
  m_dimension = m_picture ? std::clamp(dimension, 0, m_picture->dim - 1) : dimension;
  revealFocus();
}

MatrixShape RowCanvas::shape() const {
  return {.gutter = 44, .tallest = 34, .group = m_picture ? m_picture->heads : 0, .gap = 10};
}

QString RowCanvas::lineName(int line) const {
  return (keysOf(line) ? QStringLiteral("K ") : QStringLiteral("V ")) + QString::number(headOf(line));
}

QRectF RowCanvas::cellBox(const MatrixParts& p, CanvasCell cell) const {
  const QRectF line = p.line(cell.line);
  return {line.left() + std::floor(axis().pixel(cell.item)), line.top(), axis().scale, within(line.height())};
}

void RowCanvas::choose(CanvasCell cell) {
  m_keys = keysOf(cell.line);
  choosePlace(headOf(cell.line), cell.item);
  AxisCanvas::choose(cell);
}

QString RowCanvas::headText(bool keys, int head) const {
  const RowTensor& t = m_picture->of(keys);
  QString out =
      tr("%1 head %2  %3  norm %4").arg(keys ? "K" : "V").arg(head).arg(t.type, figureText(double(t.norms[at(head)])));
  if (!t.scales.empty()) out += tr("  scale %1").arg(figureText(double(t.scales[at(head)])));
  if (!t.relative.empty()) out += tr("  difference %1").arg(figureText(double(t.relative[at(head)])));
  return out;
}

QString RowCanvas::readout() const {
  if (!m_picture) return {};
  const CanvasCell cell = pointed();
  const RowTensor& t = m_picture->of(keysOf(cell.line));
  const int i = headOf(cell.line) * m_picture->dim + cell.item;
  QString out = headText(keysOf(cell.line), headOf(cell.line)) +
      tr("   [%1] = %2").arg(cell.item).arg(double(t.value(i)), 0, 'g', 6);
  if (!t.other.empty()) out += tr(", compared with %1").arg(double(t.other[at(i)]), 0, 'g', 6);
  return out;
}

void RowCanvas::paintLine(QPainter& painter, const QRectF& place, int line, const Theme& theme) {
  QRectF box(place.topLeft(), QSizeF(place.width(), within(place.height())));
  if (m_picture->compares()) {
    const QRectF below = box.adjusted(0, std::ceil(box.height() * 0.6), 0, 0);
    box.setBottom(below.top() - (box.height() >= 8 ? 1 : 0));
    paintCells(painter, below, line, true, theme);
  }
  paintCells(painter, box, line, false, theme);
}

/// Paints a cell per dimension, or a pixel per group of dimensions with the value of the largest magnitude.
void RowCanvas::paintCells(QPainter& painter, const QRectF& box, int line, bool apart, const Theme& theme) const {
  const RowTensor& tensor = m_picture->of(keysOf(line));
  const ColourTable colours = colourTable(MapKind::Diverging, theme);
  const ColourScale& scale = scales(keysOf(line), apart).of(headOf(line));
  const auto valueAt = [&](int i) {
    const int place = headOf(line) * m_picture->dim + i;
    return apart ? tensor.apart(place) : tensor.value(place);
  };
  const auto fill = [&](double left, double right, float value) {
    const std::uint8_t index = signedIndex(value, scale);
    const QRectF cell(left, box.top(), right - left, box.height());
    if (index == 0) painter.fillRect(cell, theme.error);
    else painter.fillRect(cell, QColor(colours[index]));
  };
  const auto [begin, end] = axis().inSight();
  for (int i = begin; i < end;) {
    const double left = box.left() + std::floor(axis().pixel(i));
    int next = i + 1;
    float value = valueAt(i);
    for (; next < end && box.left() + std::floor(axis().pixel(next)) <= left; ++next)
      if (const float one = valueAt(next); !std::isfinite(one) || std::abs(one) > std::abs(value)) value = one;
    fill(left, box.left() + std::floor(axis().pixel(next)), value);
    i = next;
  }
}

std::vector<LegendEntry> RowCanvas::legend(const Theme& theme) const {
  static constexpr int kBarWide = 54;
  std::vector<LegendEntry> out;
  if (!m_picture) return out;
  const auto bar = [&](const QString& words, bool keys, bool apart) {
    const ColourScales& of = scales(keys, apart);
    const double most = double(of.first().high);
    const QString ends = of.lines.size() > 1 ? words
        : most > 0                           ? tr("%1 −%2 to %2").arg(words, figureText(most))
                                             : tr("%1 0").arg(words);
    out.push_back({ends, kBarWide + Theme::kMedium, [&theme](QPainter& painter, const QRect& box) {
                     paintColours(painter, QRectF(box.left(), QRectF(box).center().y() - 5, kBarWide, 10),
                                  colourTable(MapKind::Diverging, theme));
                   }});
  };
  for (const bool keys : {true, false}) {
    bar(keys ? QStringLiteral("K") : QStringLiteral("V"), keys, false);
    if (m_picture->compares())
      bar(keys ? tr("difference of K, below it") : tr("difference of V, below it"), keys, true);
  }
  out.push_back({scaleText(scales(true, false).choice, {}), 0, [](QPainter&, const QRect&) {}});
  return out;
}

}  // namespace kvlab
