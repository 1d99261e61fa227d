// SPDX-License-Identifier: GPL-3.0-or-later
// Series over ticks: one plot per unit, one above the other along a common axis of ticks, with a cursor that follows
// the pointer or arrow keys. Hides QCustomPlot from other code. GUI thread.
#pragma once
#include <QPointer>
#include <QVector>
#include <QWidget>

#include "widgets/views/numbers/tick_series.h"

class QCPAxis;
class QCPAxisRect;
class QCPGraph;
class QCPItemText;
class QCPMarginGroup;
class QCPRange;

namespace kvlab {

class PileFill;
class PlotOverlay;
class SharpPlot;

class NumberPlot : public QWidget {
  Q_OBJECT
 public:
  explicit NumberPlot(QWidget* parent);
  ~NumberPlot() override;

  /// Shows these series; `stacked` stacks the steps of the latency panel.
  void show(const TickSeries& series, const std::vector<QString>& ids, bool stacked);
  /// Times and bytes on logarithmic axes, steps beside each other instead of stacked.
  void setLogarithmic(bool logarithmic) { m_logarithmic = logarithmic; }
  /// Ends the axes of times below rare peaks, such as that of a prompt, which would flatten all other ticks. The title
  /// says which ticks go higher.
  void setClipped(bool clipped);
  /// The tick that the window shows, drawn as a line through all plots.
  void setShown(double tick);
  /// Index of the cursor in ticks(); -1 = none.
  int cursor() const { return m_cursor; }
  void setCursorAt(int place);
  void zoom(double factor);
  void resetZoom();
  bool zoomed() const { return m_zoomed; }
  void follow();  // takes colours and fonts of the theme in use
  int panels() const { return static_cast<int>(m_panels.size()); }
  QString panelTitle(int panel) const;
  bool logarithmic(int panel) const;
  /// Values at the ends of a panel, for tests.
  double bottom(int panel) const;
  double top(int panel) const;
  /// Pixel of a tick, for tests.
  QPointF pointOf(double tick) const;

 signals:
  void cursorMoved(int place);
  void picked(double tick);
  void zoomChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Curve {
    Series series;
    QVector<double> drawn;  // drawn values: sums if stacked
    int pen = 0;
    QCPGraph* graph = nullptr;
  };
  struct PanelPart {
    Panel panel = Panel::Latency;
    QCPAxisRect* rect = nullptr;
    QCPItemText* title = nullptr;
    PileFill* fill = nullptr;
    std::vector<Curve> curves;
    QVector<double> pile;  // sums of the stacked curves
    bool stacked = false, logarithmic = false;
    bool piles(const Curve& curve) const;
  };
  QCPAxis* bottom() const;
  void moveCursor(int by);
  void build(const TickSeries& all, const std::vector<QString>& ids, bool stacked);
  void addPanel(PanelPart& part, int row, bool last);
  void fitTicks();
  void pile(PanelPart& part) const;
  void fill();
  void wholeRange();
  void rescale();
  void draw(PanelPart& part, const QCPRange& keys) const;
  void stylePanel(PanelPart& part, bool few) const;
  void rescaleDecades(PanelPart& part, const QCPRange& keys) const;
  double belowPeaks(PanelPart& part, const QCPRange& keys, double high) const;
  void paint(QPainter& painter) const;
  void paintAt(QPainter& painter, double tick, const QPen& pen) const;
  void paintDots(QPainter& painter) const;
  void paintEdits(QPainter& painter) const;
  void paintLabel(QPainter& painter, double tick) const;
  bool sameShape(const std::vector<PanelPart>& other) const;

  SharpPlot* m_plot;
  PlotOverlay* m_layer;
  std::vector<double> m_ticks;
  std::vector<PanelPart> m_panels;
  std::vector<double> m_edits;         // ticks with an edit
  QPointer<QCPMarginGroup> m_margins;  // aligns the left edges
  double m_shown = -1;
  int m_cursor = -1;
  bool m_zoomed = false, m_syncing = false, m_moved = false, m_clipped = true, m_logarithmic = false;
  QPointF m_pressed;
};

}  // namespace kvlab
