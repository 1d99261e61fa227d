// SPDX-License-Identifier: GPL-3.0-or-later
// Vector pictures as SVG 1.1.
#include <QBuffer>
#include <QCryptographicHash>
#include <QFontInfo>
#include <QHash>
#include <QWidget>
#include <array>

#include "widgets/figure/figure.h"
#include "widgets/figure/figure_engine.h"

namespace kvlab {
namespace {

/// At most two digits behind the point, none that say nothing.
QByteArray number(double value) {
  QByteArray text = QByteArray::number(value, 'f', 2);
  while (text.endsWith('0')) text.chop(1);
  if (text.endsWith('.')) text.chop(1);
  return text == "-0" ? QByteArray("0") : text;
}

/// An attribute.
QByteArray said(const QByteArray& name, const QByteArray& value) { return ' ' + name + "=\"" + value + '"'; }
QByteArray said(const QByteArray& name, double value) { return said(name, number(value)); }

QByteArray boxSaid(const QRectF& box) {
  return said("x", box.x()) + said("y", box.y()) + said("width", box.width()) + said("height", box.height());
}

QByteArray colourSaid(const QByteArray& what, const QColor& colour) {
  const QByteArray opacity = colour.alpha() < 255 ? said(what + "-opacity", colour.alphaF()) : QByteArray();
  return said(what, colour.name().toLatin1()) + opacity;
}

/// A text of a document: marks are escaped, and characters that XML does not allow are replaced.
QByteArray escaped(const QString& text) {
  QString out;
  for (const char32_t one : text.toUcs4()) {
    const bool bad =
        (one < 0x20 && one != '\t' && one != '\n') || (one >= 0xd800 && one < 0xe000) || one == 0xfffe || one == 0xffff;
    out += QString::fromUcs4(bad ? U"\ufffd" : &one, 1);
  }
  return out.toHtmlEscaped().toUtf8();
}

QByteArray pathData(const QPainterPath& path) {
  QByteArray out, beforeX, beforeY;
  for (int i = 0; i < path.elementCount(); ++i) {
    const QPainterPath::Element& one = path.elementAt(i);
    const QByteArray x = number(one.x), y = number(one.y);
    if (one.isLineTo() && y == beforeY) out += 'H' + x;
    else if (one.isLineTo() && x == beforeX) out += 'V' + y;
    else out += (one.isMoveTo() ? 'M' : one.isLineTo() ? 'L' : one.isCurveTo() ? 'C' : ' ') + x + ' ' + y;
    beforeX = x, beforeY = y;
  }
  return out;
}

QByteArray matrix(const QTransform& t) {
  QByteArray out = "matrix(";
  const std::array<double, 6> parts{t.m11(), t.m12(), t.m21(), t.m22(), t.dx(), t.dy()};
  for (const double part : parts) out += QByteArray::number(part, 'g', 8) + ' ';
  out.back() = ')';
  return out;
}

QByteArray pngOf(const QImage& image) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes;
}

QByteArray imageTag(const QByteArray& place, const QByteArray& png, const QByteArray& more) {
  return "<image" + place + " preserveAspectRatio=\"none\"" + more + " xlink:href=\"data:image/png;base64," +
      png.toBase64() + "\"/>";
}

/// Families, size, weight and slant of a font.
QByteArray fontSaid(const QFont& font) {
  const QStringList named = font.families().isEmpty() ? QStringList(font.family()) : font.families();
  QByteArray families;
  for (const QString& one : named) families += '\'' + escaped(one) + "', ";
  const bool mono = named.join(' ').contains(QLatin1String("Mono"));
  const int pixels = font.pixelSize() > 0 ? font.pixelSize() : QFontInfo(font).pixelSize();
  return said("font-family", families + (mono ? "monospace" : "sans-serif")) + said("font-size", pixels) +
      (font.weight() == QFont::Normal ? QByteArray() : said("font-weight", font.weight())) +
      (font.italic() ? said("font-style", "italic") : QByteArray());
}

class SvgSink : public FigureSink {
 public:
  void shape(const QPainterPath& path, const FigureInk& ink) override {
    const QByteArray fill = brushed("fill", ink.brush), stroke = stroked(ink.pen);
    m_body += "<path" + said("d", pathData(path)) + fill + stroke;
    if (path.fillRule() == Qt::WindingFill) m_body += said("fill-rule", "nonzero");
    if (!ink.smooth) m_body += said("shape-rendering", "crispEdges");
    m_body += common(ink) + "/>\n";
  }

  void image(const QRectF& place, const QImage& image, const QTransform& turn, const FigureInk& ink) override {
    const bool moved = turn.type() <= QTransform::TxScale;
    const QRectF box = moved ? turn.mapRect(place) : place;
    const bool larger = image.width() < box.width() || image.height() < box.height();
    m_body += "<g" + common(ink) + '>' +
        imageTag(boxSaid(box), pngOf(image),
                 (moved ? QByteArray() : said("transform", matrix(turn))) +
                     (larger && !ink.smooth ? said("image-rendering", "pixelated") : QByteArray())) +
        "</g>\n";
  }

  /// The width is written down, so that the text has it in another font, too.
  void text(const QPointF& place, const QTextItem& item, const QTransform& turn, const FigureInk& ink) override {
    const bool moved = turn.type() <= QTransform::TxTranslate;
    const QPointF at = moved ? turn.map(place) : place;
    const QString words = item.text();
    if (words.trimmed().isEmpty()) return;
    const bool leftwards = item.renderFlags() & QTextItem::RightToLeft;
    QByteArray tag =
        "<text" + said("x", at.x()) + said("y", at.y()) + fontSaid(item.font()) + colourSaid("fill", ink.pen.color());
    if (words.size() > 1) tag += said("textLength", item.width()) + said("lengthAdjust", "spacingAndGlyphs");
    if (leftwards) tag += said("direction", "rtl") + said("text-anchor", "end");
    if (!moved) tag += said("transform", matrix(turn));
    tag += '>' + escaped(words) + "</text>";
    const QByteArray around = common(ink);
    m_body += around.isEmpty() ? tag + '\n' : "<g" + around + '>' + tag + "</g>\n";
  }

  /// What pens and paths have in Qt unless told otherwise stands at the top.
  QByteArray document(QSize size, const QString& title) const {
    const QByteArray wide = QByteArray::number(size.width()), tall = QByteArray::number(size.height());
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
           "xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" xml:space=\"preserve\" fill-rule=\"evenodd\" "
           "clip-rule=\"evenodd\" stroke-linecap=\"square\" stroke-linejoin=\"bevel\"" +
        said("width", wide) + said("height", tall) + said("viewBox", "0 0 " + wide + ' ' + tall) + ">\n<title>" +
        escaped(title) + "</title>\n<defs>\n" + m_defs + "</defs>\n" + m_body + "</svg>\n";
  }

 private:
  QByteArray stroked(const QPen& pen) {
    if (pen.style() == Qt::NoPen) return {};
    QByteArray out = brushed("stroke", pen.brush());
    if (pen.widthF() != 1) out += said("stroke-width", pen.widthF());
    if (pen.capStyle() != Qt::SquareCap)
      out += said("stroke-linecap", pen.capStyle() == Qt::RoundCap ? "round" : "butt");
    if (pen.joinStyle() != Qt::BevelJoin)
      out += said("stroke-linejoin", pen.joinStyle() == Qt::RoundJoin ? "round" : "miter");
    QByteArray dashes;
    for (const double one : pen.dashPattern()) dashes += number(one * pen.widthF()) + ' ';
    if (!dashes.isEmpty()) out += said("stroke-dasharray", dashes.trimmed());
    return out;
  }

  QByteArray brushed(const QByteArray& what, const QBrush& brush) {
    if (brush.style() == Qt::NoBrush) return said(what, "none");
    if (brush.style() != Qt::TexturePattern) return colourSaid(what, brush.color());
    return said(what, "url(#" + textureOf(brush.textureImage()) + ')');
  }

  QByteArray textureOf(const QImage& tile) {
    const QByteArray png = pngOf(tile);
    QByteArray& id = m_textures[QCryptographicHash::hash(png, QCryptographicHash::Sha1)];
    if (!id.isEmpty()) return id;
    id = "t" + QByteArray::number(m_textures.size());
    const QRectF box(QPointF(), tile.deviceIndependentSize());
    m_defs += "<pattern" + said("id", id) + boxSaid(box) + said("patternUnits", "userSpaceOnUse") + '>' +
        imageTag(boxSaid(box), png, said("image-rendering", "pixelated")) + "</pattern>\n";
    return id;
  }

  /// Clip and opacity.
  QByteArray common(const FigureInk& ink) {
    QByteArray out = ink.opacity < 1 ? said("opacity", ink.opacity) : QByteArray();
    if (!ink.clip) return out;
    const QByteArray data = pathData(*ink.clip);
    QByteArray& id = m_clips[data];
    if (id.isEmpty()) {
      id = "c" + QByteArray::number(m_clips.size());
      m_defs += "<clipPath" + said("id", id) + "><path" + said("d", data) + "/></clipPath>\n";
    }
    return out + said("clip-path", "url(#" + id + ')');
  }

  QByteArray m_defs, m_body;
  QHash<QByteArray, QByteArray> m_clips, m_textures;  // to their ids
};

}  // namespace

QByteArray svgOf(QWidget& widget, const QColor& ground) {
  SvgSink sink;
  drawFigure(widget, ground, sink);
  return sink.document(widget.size(), titleOf(widget));
}

}  // namespace kvlab
