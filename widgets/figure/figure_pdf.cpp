// SPDX-License-Identifier: GPL-3.0-or-later
// Vector pictures as PDF, by Qt's writer, which puts the fonts in.
#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QWidget>

#include "widgets/figure/figure.h"
#include "widgets/figure/figure_engine.h"

namespace kvlab {
namespace {

constexpr int kPointsPerInch = 72;

class PdfSink : public FigureSink {
 public:
  PdfSink(QIODevice& out, QSize size, const QString& title) : m_writer(&out) {
    m_writer.setResolution(kPointsPerInch);
    m_writer.setPageSize(QPageSize(QSizeF(size), QPageSize::Point, title, QPageSize::ExactMatch));
    m_writer.setPageMargins(QMarginsF());
    m_writer.setCreator(QStringLiteral("kvlab"));
    m_writer.setTitle(title);
    m_painter.begin(&m_writer);
    m_painter.setRenderHint(QPainter::LosslessImageRendering);
  }

  void shape(const QPainterPath& path, const FigureInk& ink) override {
    take(ink);
    m_painter.setPen(ink.pen);
    m_painter.setBrush(ink.brush);
    m_painter.drawPath(path);
  }
  void image(const QRectF& place, const QImage& image, const QTransform& turn, const FigureInk& ink) override {
    take(ink);
    m_painter.setTransform(turn);
    m_painter.drawImage(place, image);
    m_painter.resetTransform();
  }
  void text(const QPointF& place, const QTextItem& item, const QTransform& turn, const FigureInk& ink) override {
    take(ink);
    m_painter.setPen(ink.pen);
    m_painter.setTransform(turn);
    m_painter.drawTextItem(place, item);
    m_painter.resetTransform();
  }

 private:
  void take(const FigureInk& ink) {
    m_painter.setOpacity(ink.opacity);
    m_painter.setRenderHint(QPainter::Antialiasing, ink.smooth);
    if (ink.clip == m_clip) return;
    m_clip = ink.clip;
    if (m_clip) m_painter.setClipPath(*m_clip);
    else m_painter.setClipping(false);
  }

  QPdfWriter m_writer;
  QPainter m_painter;  // ends before its writer
  std::optional<QPainterPath> m_clip;
};

}  // namespace

QByteArray pdfOf(QWidget& widget, const QColor& ground) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  {
    PdfSink sink(buffer, widget.size(), titleOf(widget));
    drawFigure(widget, ground, sink);
  }
  return bytes;
}

}  // namespace kvlab
