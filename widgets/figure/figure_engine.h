// SPDX-License-Identifier: GPL-3.0-or-later
// A paint engine that hands on what a widget and its children paint: each shape, image and text with all that it is
// clipped to. Qt's own engines for SVG and PDF do not know how far a child widget reaches, and that for SVG knows no
// clip and no texture. GUI thread.
#pragma once
#include <QImage>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainterPath>
#include <QPen>
#include <optional>

class QWidget;

namespace kvlab {

/// All coordinates are those of the picture, unless a transform stands beside them.
struct FigureInk {
  QPen pen;
  QBrush brush;
  double opacity = 1;
  bool smooth = false;                    // antialiased
  std::optional<QPainterPath> clip = {};  // only where the clip cuts something off
};

class FigureSink {
 public:
  virtual ~FigureSink() = default;
  virtual void shape(const QPainterPath& path, const FigureInk& ink) = 0;
  virtual void image(const QRectF& place, const QImage& image, const QTransform& turn, const FigureInk& ink) = 0;
  virtual void text(const QPointF& place, const QTextItem& item, const QTransform& turn, const FigureInk& ink) = 0;
};

class FigureEngine : public QPaintEngine {
 public:
  static constexpr Type kType = User;
  explicit FigureEngine(FigureSink& sink);

  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  void updateState(const QPaintEngineState&) override {}  // `state` is asked when something is drawn
  Type type() const override { return kType; }
  void drawPath(const QPainterPath& path) override;
  using QPaintEngine::drawPolygon;
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override;
  void drawPixmap(const QRectF& place, const QPixmap& pixmap, const QRectF& part) override;
  void drawImage(const QRectF& place, const QImage& image, const QRectF& part, Qt::ImageConversionFlags flags) override;
  void drawTextItem(const QPointF& place, const QTextItem& item) override;

 private:
  /// What may be painted on; nothing = all of the picture.
  std::optional<QPainterPath> clip() const;
  /// The ink for something within `bounds`; nothing where all of it is clipped away.
  std::optional<FigureInk> inkFor(const QRectF& bounds) const;
  void draw(const QPainterPath& path, bool filled);

  FigureSink& m_sink;
};

QString titleOf(const QWidget& widget);
/// Draws a widget as it is laid out, over a colour.
void drawFigure(QWidget& widget, const QColor& ground, FigureSink& sink);

}  // namespace kvlab
