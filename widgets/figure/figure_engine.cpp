// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/figure/figure_engine.h"

#include <QPainter>
#include <QWidget>
#include <cmath>
#include <limits>

#include "widgets/figure/figure.h"

namespace kvlab {
namespace {

/// Without the others Qt draws what needs them into an image. Compositions are drawn as if they were plain.
constexpr QPaintEngine::PaintEngineFeatures kFeatures = QPaintEngine::PrimitiveTransform |
    QPaintEngine::PatternTransform | QPaintEngine::PixmapTransform | QPaintEngine::PatternBrush |
    QPaintEngine::MaskedBrush | QPaintEngine::AlphaBlend | QPaintEngine::PorterDuff | QPaintEngine::BlendModes |
    QPaintEngine::PainterPaths | QPaintEngine::Antialiasing | QPaintEngine::BrushStroke | QPaintEngine::ConstantOpacity;

class FigureDevice : public QPaintDevice {
 public:
  FigureDevice(QWidget& like, FigureSink& sink) : m_like(like), m_engine(sink) {}
  QPaintEngine* paintEngine() const override { return &m_engine; }

 protected:
  int metric(PaintDeviceMetric which) const override {
    switch (which) {
      case PdmWidth: return m_like.width();
      case PdmHeight: return m_like.height();
      case PdmWidthMM: return m_like.widthMM();
      case PdmHeightMM: return m_like.heightMM();
      case PdmNumColors: return std::numeric_limits<int>::max();
      case PdmDepth: return 32;
      case PdmDpiX:
      case PdmPhysicalDpiX: return m_like.logicalDpiX();
      case PdmDpiY:
      case PdmPhysicalDpiY: return m_like.logicalDpiY();
      case PdmDevicePixelRatio: return 1;
      case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
    }
    return 0;
  }

 private:
  QWidget& m_like;
  mutable FigureEngine m_engine;
};

QPainterPath boxPath(const QRectF& box) {
  QPainterPath path;
  path.addRect(box);
  return path;
}

bool isBox(const QPainterPath& path) { return path == boxPath(path.boundingRect()); }

QPainterPath common(const QPainterPath& a, const QPainterPath& b) {
  if (isBox(a) && isBox(b)) return boxPath(a.boundingRect() & b.boundingRect());
  return a.intersected(b);
}

/// The pen in the picture's coordinates. Dashes of thin lines are as long as their pattern says, without caps.
QPen scaled(QPen pen, const QTransform& turn) {
  const double width = pen.widthF() > 0 ? pen.widthF() : 1;
  pen.setWidthF(pen.isCosmetic() ? width : width * std::sqrt(std::abs(turn.determinant())));
  pen.setCosmetic(false);
  if (pen.style() > Qt::SolidLine && pen.widthF() <= 1) pen.setCapStyle(Qt::FlatCap);
  return pen;
}

/// A thin line that is not smooth covers whole pixels: its middle lies in theirs.
QPainterPath onPixels(const QPainterPath& path) {
  QPainterPath out;
  for (int i = 0; i < path.elementCount(); ++i) {
    const QPainterPath::Element& one = path.elementAt(i);
    const QPointF middle(std::floor(one.x + 1e-6) + 0.5, std::floor(one.y + 1e-6) + 0.5);
    if (one.isCurveTo()) return path;
    if (one.isMoveTo()) out.moveTo(middle);
    else out.lineTo(middle);
  }
  return out;
}

QImage partOf(const QImage& image, const QRectF& part) {
  const QRect pixels = part.toAlignedRect();
  return pixels == image.rect() ? image : image.copy(pixels);
}

}  // namespace

bool paintsFigure(const QPainter& painter) {
  return painter.paintEngine() && painter.paintEngine()->type() == FigureEngine::kType;
}

FigureEngine::FigureEngine(FigureSink& sink) : QPaintEngine(kFeatures), m_sink(sink) {}

std::optional<QPainterPath> FigureEngine::clip() const {
  std::optional<QPainterPath> out;
  if (const QRegion widget = systemClip(); !widget.isEmpty()) {
    out.emplace();
    if (widget.rectCount() == 1) out->addRect(widget.boundingRect());
    else out->addRegion(widget);
  }
  if (!state->painter()->hasClipping()) return out;
  const QPainterPath own = state->transform().map(state->painter()->clipPath());
  return out ? common(*out, own) : own;
}

std::optional<FigureInk> FigureEngine::inkFor(const QRectF& bounds) const {
  FigureInk ink{scaled(state->pen(), state->transform()), state->brush(), state->opacity(),
                bool(state->renderHints() & QPainter::Antialiasing)};
  std::optional<QPainterPath> cut = clip();
  if (!cut) return ink;
  const QRectF left = cut->boundingRect() & bounds;
  if (left.isEmpty()) return {};
  if (!isBox(*cut) || left != bounds) ink.clip = std::move(cut);
  return ink;
}

void FigureEngine::draw(const QPainterPath& path, bool filled) {
  QPainterPath shape = state->transform().map(path);
  const QPen pen = scaled(state->pen(), state->transform());
  const bool stroked = pen.style() != Qt::NoPen, smooth = state->renderHints() & QPainter::Antialiasing;
  if (stroked && !smooth && pen.widthF() <= 1) shape = onPixels(shape);
  const double edge = stroked ? pen.widthF() / 2 : 0;
  std::optional<FigureInk> ink = inkFor(shape.boundingRect().adjusted(-edge, -edge, edge, edge));
  if (!ink) return;
  if (!filled) ink->brush = Qt::NoBrush;
  if (stroked || ink->brush.style() != Qt::NoBrush) m_sink.shape(shape, *ink);
}

void FigureEngine::drawPath(const QPainterPath& path) { draw(path, true); }

void FigureEngine::drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) {
  QPainterPath path;
  path.setFillRule(mode == WindingMode ? Qt::WindingFill : Qt::OddEvenFill);
  if (count > 0) path.moveTo(points[0]);
  for (int i = 1; i < count; ++i) path.lineTo(points[i]);
  if (mode != PolylineMode) path.closeSubpath();
  draw(path, mode != PolylineMode);
}

void FigureEngine::drawPixmap(const QRectF& place, const QPixmap& pixmap, const QRectF& part) {
  drawImage(place, pixmap.toImage(), part, Qt::AutoColor);
}

void FigureEngine::drawImage(const QRectF& place, const QImage& image, const QRectF& part, Qt::ImageConversionFlags) {
  const QTransform turn = state->transform();
  if (const auto ink = inkFor(turn.mapRect(place))) m_sink.image(place, partOf(image, part), turn, *ink);
}

/// Glyphs without a text are drawn as shapes.
void FigureEngine::drawTextItem(const QPointF& place, const QTextItem& item) {
  if (item.text().isEmpty()) return QPaintEngine::drawTextItem(place, item);
  if (state->pen().style() == Qt::NoPen) return;
  const QTransform turn = state->transform();
  const QRectF box(place.x(), place.y() - item.ascent(), item.width(), item.ascent() + item.descent());
  if (const auto ink = inkFor(turn.mapRect(box))) m_sink.text(place, item, turn, *ink);
}

QString titleOf(const QWidget& widget) {
  return widget.windowTitle().isEmpty() ? widget.objectName() : widget.windowTitle();
}

void drawFigure(QWidget& widget, const QColor& ground, FigureSink& sink) {
  FigureDevice device(widget, sink);
  QPainter painter(&device);
  painter.fillRect(widget.rect(), ground);
  widget.render(&painter);
}

}  // namespace kvlab
