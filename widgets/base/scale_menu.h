// SPDX-License-Identifier: GPL-3.0-or-later
// The menu of colour scales in the strip of a view: the curve, the range that it covers, and whether the first tokens
// set the range. The choice belongs to a quantity or a figure of the view, and is shared by all views that colour it.
// Owned by its button. GUI thread.
#pragma once
#include <QToolButton>

#include "widgets/base/inspector_context.h"
#include "widgets/base/view_options.h"

namespace kvlab {

class ScaleMenu : public QObject {
  Q_OBJECT
 public:
  /// `of` names what the view colours now. `line` is its word for a line of the matrix; `tokens`: its items are tokens.
  ScaleMenu(InspectorContext& context, QToolButton* button, std::function<std::string()> of, const QString& line,
            bool tokens);

  const ScaleChoice& choice() const { return m_context.scale(m_of()); }
  void setVisible(bool visible) { m_button->setVisible(visible); }
  /// The ends of the scale in use, which a fixed range keeps.
  void setEnds(float low, float high);
  /// scale: the curve; range: "usual", "all", "line" or [low, high]; sinks: a switch.
  std::vector<ViewOption> options();

 signals:
  /// The person set an option.
  void chosen(const std::string& option);

 private:
  /// An entry that changes the choice, which is an option.
  QAction* add(const QString& text, const char* option, const std::function<void(ScaleChoice&, bool on)>& change);
  void addCurves();
  void addRanges(const QString& line);
  void addSinks();
  void showChoice();

  InspectorContext& m_context;
  QToolButton* m_button;
  std::function<std::string()> m_of;
  std::vector<QAction*> m_curves, m_ranges;
  QAction* m_sinks = nullptr;  // null where items are no tokens
  float m_low = 0, m_high = 1;
};

/// "by rank, of each line, without the first 4 tokens"; the usual curve has the given word.
QString scaleText(const ScaleChoice& choice, const QString& usual);
QString curveText(ScaleChoice::Curve curve);

}  // namespace kvlab
