// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/theme.h"

#include <QFontDatabase>
#include <QStyleFactory>
#include <QVariant>
#include <QWidget>
#include <array>

Q_DECLARE_METATYPE(std::shared_ptr<const kvlab::Theme>)

static void initResources() { Q_INIT_RESOURCE(kvlab); }

namespace kvlab {
namespace {
constexpr const char* kProperty = "kvlabTheme";
constexpr const char* kStyled = "kvlabStyled";
constexpr const char* kFontFiles[] = {"Inter-Regular.otf", "Inter-SemiBold.otf", "JetBrainsMono-Regular.ttf",
                                      "JetBrainsMono-Bold.ttf"};

void loadFonts(QApplication& app) {
  if (app.property("kvlabFonts").toBool()) return;
  initResources();
  for (const char* file : kFontFiles)
    QFontDatabase::addApplicationFont(QStringLiteral(":/kvlab/fonts/") + QLatin1String(file));
  app.setProperty("kvlabFonts", true);
}

QFont font(const char* family, const char* fallback, int pixels, QFont::Weight weight) {
  QFont made;
  made.setFamilies({QLatin1String(family), QLatin1String(fallback)});
  made.setPixelSize(pixels);
  made.setWeight(weight);
  made.setHintingPreference(QFont::PreferVerticalHinting);
  made.setStyleStrategy(static_cast<QFont::StyleStrategy>(QFont::PreferAntialias | QFont::NoSubpixelAntialias));
  return made;
}

void setFonts(Theme& theme) {
  theme.ui = font("Inter", "DejaVu Sans", 13, QFont::Normal);
  theme.strong = font("Inter", "DejaVu Sans", 13, QFont::DemiBold);
  theme.small = font("Inter", "DejaVu Sans", 11, QFont::Normal);
  theme.smallStrong = font("Inter", "DejaVu Sans", 11, QFont::DemiBold);
  theme.mono = font("JetBrains Mono", "DejaVu Sans Mono", 12, QFont::Normal);
  theme.monoStrong = font("JetBrains Mono", "DejaVu Sans Mono", 12, QFont::Bold);
  theme.monoSmall = font("JetBrains Mono", "DejaVu Sans Mono", 11, QFont::Normal);
}

void setDark(Theme& t) {
  t.window = "#14171c", t.surface = "#1a1e25", t.raised = "#222731", t.sunken = "#0f1216";
  t.border = "#343b48", t.grid = "#272d37";
  t.text = "#e3e7ed", t.muted = "#a4adbb", t.faint = "#8892a0", t.accentText = "#0b1220";
  t.accent = "#5aa9ff", t.warning = "#f0b23e", t.error = "#ff6f6f", t.ok = "#46c08f";
  t.ghost = "#848f9e", t.missing = "#3d4654", t.focus = "#ffffff", t.hover = "#b9d9ff";
  t.selection = "#1d3650", t.stripe = "#1d222a";
}

void setLight(Theme& t) {
  t.window = "#eceff3", t.surface = "#ffffff", t.raised = "#f5f7fa", t.sunken = "#e3e7ed";
  t.border = "#c9d0da", t.grid = "#e4e8ee";
  t.text = "#1b2027", t.muted = "#4f5967", t.faint = "#616b79", t.accentText = "#ffffff";
  t.accent = "#155fc4", t.warning = "#9a5300", t.error = "#c4262e", t.ok = "#0d7258";
  t.ghost = "#687280", t.missing = "#b9c2ce", t.focus = "#0b1220", t.hover = "#155fc4";
  t.selection = "#d6e8fd", t.stripe = "#f7f9fb";
}
constexpr std::array<QRgb, kSeriesColours> kDarkSeries = {0x56b4e9, 0xe6a532, 0x2fbf94, 0xd98cb8,
                                                          0x8d9bff, 0xf0e06a, 0xf0794a, 0xaab4c0};
constexpr std::array<QRgb, kSeriesColours> kLightSeries = {0x0b6fb3, 0xb87300, 0x00805d, 0xa8457d,
                                                           0x4a55c4, 0x857900, 0xc04a12, 0x5c6773};
constexpr std::array kDashes = {Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};

/// The style sheet for parts where Fusion ignores the palette or wastes space.
constexpr const char* kSheet = R"(
QToolBar { border: 0; border-bottom: 1px solid @border; padding: 3px 6px; spacing: 2px; background: @raised; }
QToolBar::separator { background: @border; width: 1px; margin: 4px 5px; }
QMenuBar { background: @raised; border-bottom: 1px solid @border; }
QMenuBar::item { padding: 4px 9px; background: transparent; }
QMenuBar::item:selected { background: @selection; }
QStatusBar { background: @raised; border-top: 1px solid @border; }
QStatusBar::item { border: 0; }
QToolTip { background: @raised; color: @text; border: 1px solid @border; padding: 4px 6px; }
QHeaderView { background: @raised; }
QHeaderView::section { background: @raised; color: @muted; border: 0; border-right: 1px solid @grid;
  border-bottom: 1px solid @border; padding: 3px 6px; }
QTableView, QTreeView, QListView, QPlainTextEdit, QTextEdit { border: 0; background: @surface; }
QTableView QTableCornerButton::section { background: @raised; border: 0; }
QMainWindow::separator { background: @window; width: 5px; height: 5px; }
QMainWindow::separator:hover { background: @accent; }
QSplitter::handle { background: @border; }
QDockWidget { color: @muted; }
QDockWidget::title { background: @raised; border-bottom: 1px solid @border; padding: 5px 8px; text-align: left; }
QTabBar { background: @window; qproperty-drawBase: 0; }
QTabBar::tab { background: @window; color: @muted; border: 0; border-top: 2px solid transparent;
  padding: 5px 8px 6px 8px; }
QTabBar::tab:selected { background: @raised; color: @text; border-top: 2px solid @accent; }
QTabBar::tab:hover:!selected { background: @stripe; color: @text; }
QTabWidget::pane { border: 0; }
QScrollBar:vertical { background: @surface; width: 11px; margin: 0; border: 0; }
QScrollBar:horizontal { background: @surface; height: 11px; margin: 0; border: 0; }
QScrollBar::handle { background: @border; border-radius: 3px; }
QScrollBar::handle:vertical { min-height: 28px; margin: 2px 3px; }
QScrollBar::handle:horizontal { min-width: 28px; margin: 3px 2px; }
QScrollBar::handle:hover { background: @faint; }
QAbstractScrollArea::corner { background: @surface; border: 0; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
#controlStrip { background: @raised; border-bottom: 1px solid @border; }
#formHeading { font-size: 11px; font-weight: 600; }
#card { background: @raised; border-bottom: 1px solid @border; }
#card QLabel { color: @muted; }
#card #cardTitle { color: @text; }
#readout { background: @raised; border-top: 1px solid @border; color: @text; padding: 0 8px; }
#controlStrip QLabel { color: @muted; }
#controlStrip QToolButton[popupMode="2"] { padding-right: 16px; }
#controlStrip QToolButton[popupMode="2"]::menu-indicator { subcontrol-origin: padding;
  subcontrol-position: center right; width: 8px; right: 4px; }
#controlStrip #warning { color: @warning; border: 1px solid @warning; border-radius: 3px; padding: 1px 6px; }
#facts { background: @surface; border-top: 1px solid @border; }
#facts QLabel { color: @muted; }
#facts #fact { color: @text; }
#more { background: @raised; color: @accent; border-left: 1px solid @border; border-bottom: 1px solid @border;
  font-size: 11px; }
)";
}  // namespace

Theme Theme::named(const QString& name) {
  Theme theme;
  theme.dark = name != QLatin1String("light");
  theme.name = theme.dark ? "dark" : "light";
  theme.dark ? setDark(theme) : setLight(theme);
  setFonts(theme);
  return theme;
}

std::shared_ptr<const Theme> Theme::current() {
  if (qApp) {
    auto held = qApp->property(kProperty).value<std::shared_ptr<const Theme>>();
    if (held) return held;
  }
  return std::make_shared<const Theme>(named("dark"));
}

void Theme::apply(QApplication& app, const QString& name) {
  loadFonts(app);
  auto theme = std::make_shared<const Theme>(named(name));
  app.setProperty(kProperty, QVariant::fromValue(theme));
  if (!app.property(kStyled).toBool()) {  // both themes have the same style
    app.setStyle(QStyleFactory::create("Fusion"));
    app.setProperty(kStyled, true);
  }
  app.setFont(theme->ui);
  app.setPalette(theme->palette());
  app.setStyleSheet(theme->styleSheet());
}

QPalette Theme::palette() const {
  QPalette p;
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::WindowText, text);
  p.setColor(QPalette::Base, surface);
  p.setColor(QPalette::AlternateBase, stripe);
  p.setColor(QPalette::Text, text);
  p.setColor(QPalette::PlaceholderText, faint);
  p.setColor(QPalette::Button, raised);
  p.setColor(QPalette::ButtonText, text);
  p.setColor(QPalette::BrightText, error);
  p.setColor(QPalette::ToolTipBase, raised);
  p.setColor(QPalette::ToolTipText, text);
  p.setColor(QPalette::Highlight, selection);
  p.setColor(QPalette::HighlightedText, text);
  p.setColor(QPalette::Link, accent);
  p.setColor(QPalette::LinkVisited, accent);
  p.setColor(QPalette::Light, mix(raised, text, 0.10));
  p.setColor(QPalette::Midlight, mix(raised, text, 0.05));
  p.setColor(QPalette::Mid, border);
  p.setColor(QPalette::Dark, mix(window, QColor(Qt::black), dark ? 0.4 : 0.25));
  p.setColor(QPalette::Shadow, QColor(0, 0, 0, dark ? 160 : 60));
  for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, faint);
  p.setColor(QPalette::Disabled, QPalette::Highlight, grid);
  return p;
}

QString Theme::styleSheet() const {
  QString sheet = QString::fromLatin1(kSheet);
  const std::pair<const char*, QColor> names[] = {
      {"@window", window}, {"@surface", surface},     {"@raised", raised}, {"@border", border},
      {"@grid", grid},     {"@text", text},           {"@muted", muted},   {"@faint", faint},
      {"@accent", accent}, {"@selection", selection}, {"@stripe", stripe}, {"@warning", warning}};
  for (const auto& [key, colour] : names) sheet.replace(QLatin1String(key), colour.name());
  return sheet;
}

QColor Theme::faded(QColor colour, int alpha) {
  colour.setAlpha(alpha);
  return colour;
}

QColor Theme::mix(const QColor& a, const QColor& b, double t) {
  const auto blend = [t](int x, int y) { return static_cast<int>(x + (y - x) * t + 0.5); };
  return QColor(blend(a.red(), b.red()), blend(a.green(), b.green()), blend(a.blue(), b.blue()));
}

void tint(QWidget* widget, const QColor& colour) {
  QPalette colours = widget->palette();
  colours.setColor(QPalette::WindowText, colour);
  widget->setPalette(colours);
}

QColor seriesColour(int i, bool dark) {
  const auto place = static_cast<std::size_t>(i % kSeriesColours);
  return QColor::fromRgb(dark ? kDarkSeries[place] : kLightSeries[place]);
}

QPen seriesPen(int i, bool dark, double width) {
  QPen pen(seriesColour(i, dark), width);
  pen.setStyle(kDashes[static_cast<std::size_t>(i) % kDashes.size()]);
  pen.setJoinStyle(Qt::RoundJoin);
  return pen;
}

}  // namespace kvlab
