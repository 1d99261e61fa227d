// SPDX-License-Identifier: GPL-3.0-or-later
// What a person can do with the chosen rows (InspectorContext::chosenRows), as actions: one list for the menus and the
// keys of all views that show rows. Each action runs a command, which says its script line. Owned by its view. GUI
// thread.
#pragma once
#include <QAction>
#include <QHash>
#include <QList>
#include <QObject>
#include <functional>

#include "core/api/action.h"
#include "widgets/base/inspector_context.h"

class QMenu;

namespace kvlab {

class RowActions : public QObject {
  Q_OBJECT
 public:
  /// `control` has the keys; `placeOf` says where a row is in `view`.
  RowActions(InspectorContext& context, QWidget& view, QWidget& control, std::function<QRect(Position)> placeOf);
  const QList<QAction*>& actions() const { return m_actions; }
  /// Gives the actions the titles and states for the chosen rows while a menu is open. A key works at any time, and an
  /// error says why it cannot.
  void attend(QMenu& menu);

 private:
  enum class Needs { Row, Gist, OneRow, Shown };
  QAction* add(const QString& text, const QString& tip, QList<QKeySequence> keys, Needs needs,
               void (RowActions::*work)());
  void addLine();
  void retitle();
  /// Why the action cannot run now; empty if it can.
  QString obstacle(Needs needs) const;
  QString rowsText(const std::vector<Position>& rows) const;
  std::vector<LedgerId> ledgers() const;
  /// Runs a command; after it the focus is on the row at `then`.
  void run(const char* id, const nlohmann::json& args, Position then = Position(-1));
  void inject(const std::vector<Action>& actions, Position then = Position(-1));
  void typeWords(const QString& text, const QString& name, std::function<void(const std::vector<TokenId>&)> done);

  void replace();
  void insertBefore();
  void remove();
  void evictHere();
  void evictEverywhere();
  void pin();
  void setBrightness();
  void turnTree();
  void breakAt();
  void showHistory();
  void copyText();
  void copyScript();

  InspectorContext& m_context;
  QWidget &m_view, &m_control;
  std::function<QRect(Position)> m_placeOf;
  QList<QAction*> m_actions;
  QHash<QAction*, Needs> m_needs;
  QAction *m_replace, *m_delete, *m_evict, *m_pin, *m_tree;  // their titles follow the rows
};

}  // namespace kvlab
