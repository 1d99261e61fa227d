// SPDX-License-Identifier: GPL-3.0-or-later
// Colours, fonts and distances of the window, in a dark and a light set, and the colours of series. A Theme is an
// immutable value. The theme in use is a property of the application, so views need no state for it. GUI thread.
#pragma once
#include <QApplication>
#include <QColor>
#include <QFont>
#include <QPalette>
#include <QPen>
#include <QString>
#include <memory>

namespace kvlab {

struct Theme {
  QString name = "dark";  // "dark" or "light"
  bool dark = true;

  // Surfaces, from back to front.
  QColor window, surface, raised, sunken;
  QColor border, grid;
  // Text tiers; accentText is text on an accent fill.
  QColor text, muted, faint, accentText;
  // Colours with a meaning. Each is always combined with another sign.
  QColor accent, warning, error, ok;
  QColor ghost;      // tokens that are no longer in the context
  QColor missing;    // hatching of cells without a value
  QColor focus;      // the focused row
  QColor hover;      // the row under the pointer
  QColor selection;  // background of the selected line of a table
  QColor stripe;     // every second line of a table

  QFont ui, strong, small, smallStrong;  // Inter, 13 and 11 pixels
  QFont mono, monoStrong, monoSmall;     // JetBrains Mono, 12 and 11 pixels

  /// Distances in device-independent pixels.
  static constexpr int kTight = 2, kSmall = 4, kMedium = 8, kLarge = 12, kHuge = 20;
  /// Height of a line of a table and of a strip of controls.
  static constexpr int kRow = 22, kStrip = 34;

  /// The theme of that name; the dark one for unknown names.
  static Theme named(const QString& name);
  /// Loads the fonts and sets style, palette, font and style sheet; every widget gets a change event.
  static void apply(QApplication& app, const QString& name);
  /// The theme in use; the dark one before the first apply(). Do not keep values, because the theme may change.
  static std::shared_ptr<const Theme> current();

  QPalette palette() const;
  /// Style sheet for parts that ignore the palette.
  QString styleSheet() const;
  /// `colour` at `alpha` 0..255.
  static QColor faded(QColor colour, int alpha);
  /// `a` with the share `t` (0..1) of `b`.
  static QColor mix(const QColor& a, const QColor& b, double t);
};

/// Gives the text of a widget a colour.
void tint(QWidget* widget, const QColor& colour);

/// Colours that distinguish kinds, safe for common colour blindness, with dash patterns as a second sign. Hues after
/// Okabe and Ito, "Color Universal Design".
inline constexpr int kSeriesColours = 8;
QColor seriesColour(int i, bool dark);
/// Pen of series `i`; the dash pattern changes every four series of a panel.
QPen seriesPen(int i, bool dark, double width);

}  // namespace kvlab
