// SPDX-License-Identifier: GPL-3.0-or-later
// The status bar's contents: state of the session, tick, invariants, length and capacity, numerics, backend, and
// the progress of long work with its Cancel button. Owned by the main window. GUI thread.
#pragma once
#include <QStatusBar>

#include "app/live_context.h"
#include "widgets/base/progress_rate.h"

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
  /// Shows what the control under the pointer does, until an empty tip comes.
  void showTip(const QString& tip);

 signals:
  void cancelRequested();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void refresh();
  void refreshTick(const Snapshot& shown);
  void refreshHealth(const Snapshot& shown);
  void say(const CommandReply& command);
  void showSaid();
  void showProgress(const QString& what, qint64 done, qint64 total);
  QLabel* field(const QString& name);

  LiveContext& m_context;
  QString m_backendNote;
  QLabel* m_said = nullptr;  // what the last command did, or what the control under the pointer does
  QString m_last, m_tip;
  QLabel *m_state, *m_tick, *m_length, *m_bytes, *m_numerics, *m_backend, *m_work;
  QProgressBar* m_progress;
  ProgressRate m_rate;
  QToolButton *m_health, *m_cancel, *m_newest;
};

}  // namespace kvlab
