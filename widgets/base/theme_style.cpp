// SPDX-License-Identifier: GPL-3.0-or-later
// The style sheet for parts where Fusion ignores the palette or wastes space.
#include "widgets/base/theme.h"

namespace kvlab {
namespace {
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

QString Theme::styleSheet() const {
  QString sheet = QString::fromLatin1(kSheet);
  const std::pair<const char*, QColor> names[] = {
      {"@window", window}, {"@surface", surface},     {"@raised", raised}, {"@border", border},
      {"@grid", grid},     {"@text", text},           {"@muted", muted},   {"@faint", faint},
      {"@accent", accent}, {"@selection", selection}, {"@stripe", stripe}, {"@warning", warning}};
  for (const auto& [key, colour] : names) sheet.replace(QLatin1String(key), colour.name());
  return sheet;
}

}  // namespace kvlab
