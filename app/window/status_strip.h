// SPDX-License-Identifier: GPL-3.0-or-later
// The status bar's contents: state of the session, tick, invariants, length and capacity, numerics, backend, and the
// job in front with its progress and its Cancel button. Says how each job ended, also to the log. Owned by the main
// window. GUI thread.
#pragma once
#include <QStatusBar>

#include "app/engine/live_context.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace kvlab {

class StatusStrip : public QStatusBar {
  Q_OBJECT
 public:
  StatusStrip(LiveContext& context, QString backendNote, QWidget* parent);
  /// The texts of the strip, one item per field.
  QStringList texts() const;
  /// The buttons that take the keyboard now, from left to right.
  QList<QWidget*> tabStops() const;
  /// Shows the tip of the control under the pointer, until an empty tip comes.
  void showTip(const QString& tip);
  /// The words of a job do not make the window wider.
  QSize minimumSizeHint() const override { return {0, QStatusBar::minimumSizeHint().height()}; }

 signals:
  void cancelRequested();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void refreshTick(const Snapshot& shown);
  static QString aboutToLeave(const StageView& stage);
  void refreshHealth(const Snapshot& shown);
  void say(const Job& ended);
  void forget();
  void showSaid();
  void showFront();
  void makeWork();
  QLabel* field(const QString& name);
  QToolButton* button(const QString& name);

  LiveContext& m_context;
  QString m_backendNote;
  QLabel* m_said = nullptr;  // outcome of the last command, or help on the control under the pointer
  QString m_last, m_tip;
  int m_newestJob = 0;
  QLabel *m_state, *m_tick, *m_length, *m_bytes, *m_numerics, *m_backend;
  QProgressBar* m_progress;
  QToolButton *m_health, *m_work, *m_cancel, *m_newest;
};

}  // namespace kvlab
