// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets as vector pictures: shapes and texts, for papers. GUI thread.
#pragma once
#include <QByteArray>
#include <QColor>

class QPainter;
class QWidget;

namespace kvlab {

/// True while a painter makes a vector picture. What a canvas keeps as an image of its pixels, it then draws as shapes.
bool paintsFigure(const QPainter& painter);

/// A widget as it is laid out, over a colour. A device-independent pixel is a unit of the SVG, and a point of the PDF.
/// Texts are texts: the SVG names their fonts, the PDF holds them.
QByteArray svgOf(QWidget& widget, const QColor& ground);
QByteArray pdfOf(QWidget& widget, const QColor& ground);

}  // namespace kvlab
