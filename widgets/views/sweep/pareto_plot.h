// SPDX-License-Identifier: GPL-3.0-or-later
// The Pareto plot of a sweep: recall against budget with 95 % intervals, beside (or above) KL against bytes; one line
// per series, and a ring around the marked point in both. Hides QCustomPlot. GUI thread.
#pragma once
#include <QWidget>
#include <optional>
#include <vector>

#include "core/api/sweep_table.h"

class QCPAxis;
class QCPAxisRect;
class QCPAxisTickerText;
class QCPErrorBars;
class QCPGraph;
class QCPLegend;
class QCPTextElement;

namespace kvlab {

class PlotOverlay;
class SharpPlot;

class ParetoPlot : public QWidget {
  Q_OBJECT
 public:
  explicit ParetoPlot(QWidget* parent);
  ~ParetoPlot() override;

  /// Shows the points of one prompt set. `series` are all names in the order of their colours, including hidden ones.
  void show(std::vector<SweepPoint> points, std::vector<std::string> series);
  const std::vector<SweepPoint>& points() const { return m_points; }
  /// The marked point, -1 = none.
  int marked() const { return m_marked; }
  void mark(int point);
  /// Pixel of a point in a panel (0 recall, 1 KL); null if it is not drawn.
  QPointF pointOf(int point, int panel) const;
  void follow();  // takes colours and fonts of the theme in use

 signals:
  void hovered(int point);
  void picked(int point);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Curve {
    int style = 0;
    QCPGraph* graph = nullptr;
    QCPErrorBars* bars = nullptr;
    bool flat = false;  // the figure does not depend on the budget
  };
  struct PanelPart {
    QCPAxisRect* rect = nullptr;
    QCPTextElement* title = nullptr;
    std::vector<Curve> curves;
    QCPAxis* x() const;
    QCPAxis* y() const;
  };
  int nearest(const QPointF& at) const;
  std::optional<QPointF> place(const SweepPoint& point, int panel) const;
  void build();
  void addPanel(int panel);
  void addCurve(PanelPart& part, int panel, int style);
  void addLegend();
  void range(PanelPart& part, int panel);
  void name(PanelPart& part, int panel, bool low);
  void fit();
  void label(QCPAxisTickerText& ticker, double pixels) const;
  void paint(QPainter& painter) const;

  SharpPlot* m_plot;
  PlotOverlay* m_layer;
  std::vector<SweepPoint> m_points;
  std::vector<std::string> m_series;
  std::vector<PanelPart> m_panels;
  QCPLegend* m_legend = nullptr;
  bool m_budgets = false, m_wide = true, m_keyed = true;
  int m_marked = -1;
};

}  // namespace kvlab
