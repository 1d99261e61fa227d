// SPDX-License-Identifier: GPL-3.0-or-later
// Actions on the chosen rows (InspectorContext::chosenRows): one list for the menus and the
// keys of all views that show rows. Each action runs a command, which says its script line. Owned by its view. GUI
// thread.
#pragma once
#include <QAction>
#include <QHash>
#include <QList>
#include <QObject>
#include <functional>
#include <memory>

#include "core/api/action.h"
#include "widgets/base/inspector_context.h"

class QMenu;

namespace kvlab {

class RowActions : public QObject {
  Q_OBJECT
 public:
  /// `control` has the keys; `placeOf` says where a row is in `view`.
  RowActions(InspectorContext& context, QWidget& view, QWidget& control, std::function<QRect(Position)> placeOf);
  ~RowActions() override;
  const QList<QAction*>& actions() const { return m_actions; }
  /// The action with this id: replace, insert_before, delete, evict, evict_head, evict_all, pin, brightness, expand,
  /// collapse, break, watch, back, why, why_dropped, knock_out, values, history, note, paste, copy_text, copy_script.
  /// Null = none.
  QAction* action(const QString& id) const;
  /// The reason why an action cannot run now; empty if it can.
  QString obstacle(const QAction& action) const;
  /// The effect of an action, in a sentence.
  QString tip(const QAction& action) const;
  /// Inserts text before a position, at once; the length = at the end. A text that does not fit is refused as a whole.
  void insertText(Position before, const QString& text);
  /// Gives the actions the titles and states for the chosen rows while a menu is open. A key works at any time, and an
  /// error says why it cannot.
  void attend(QMenu& menu);

 private:
  enum class Needs { Row, Newest, OneHead, Gist, Foldable, OneRow, Shown };
  using Reason = std::function<QString()>;
  using Layers = decltype(idRange<CacheLayer>(0, 0));
  struct Known {
    Needs needs;
    QString tip;
    const char* command = "";  // has to be able to run
    Reason why = {};           // another reason why the action cannot run; empty = it can
  };
  /// An entry of a submenu: a fact of the expression language about a row, or about the row in the focused layer.
  struct Fact {
    const char *id, *subject;
    bool ofLayer;
    QString text, tip;
  };
  QAction* make(const char* id, const QString& text, Known known, const std::function<void()>& work);
  void add(const char* id, const QString& text, const QString& tip, const QList<QKeySequence>& keys, Needs needs,
           const std::function<void()>& work, const char* command = "", Reason why = {});
  /// Adds a submenu. Its entries run the command for each of the rows, with the fact as an argument.
  void addMenu(const char* id, const QString& text, const QString& tip, Needs needs, const char* command,
               const char* argument, const std::vector<Fact>& facts);
  void addEdits();
  void addEvictions();
  void addTree();
  void addBreaks();
  void addWatches();
  void addBack();
  void addRest();
  void addLine();
  void retitle();
  QString obstacle(Needs needs) const;
  QString whyNotEvicted(const Layers& from) const;
  QString whyNothingBack(const char* subject) const;
  QString whyNotStale() const;
  QString whyNotDropped() const;
  /// The cache layers of the focused layer.
  Layers focusedLayers() const;
  QString treeObstacle(Needs needs, const Snapshot& snapshot, Position row) const;
  std::optional<Position> firstRow() const;
  QString rowsText(const std::vector<Position>& rows) const;
  std::vector<LedgerId> ledgers() const;
  /// Runs a command; after it the focus is on the row at `then`.
  void run(const char* id, const nlohmann::json& args, Position then = Position(-1));
  void inject(const std::vector<Action>& actions, Position then = Position(-1));
  void paste();
  /// The tokens of a text, unless the context has changed meanwhile.
  void tokenise(const QString& text, std::function<void(const std::vector<TokenId>&)> done);
  void typeWords(const QString& text, const QString& name, std::function<void(const std::vector<TokenId>&)> done);

  void replace();
  void insertBefore();
  void remove();
  /// Evicts the rows from those of the cache layers that have them.
  void evictFrom(const Layers& from);
  void pin();
  void setBrightness();
  void turnTree(const char* command, int up);
  std::string rowsOf(LedgerId row, bool layer) const;
  void writeNote();

  InspectorContext& m_context;
  QWidget &m_view, &m_control;
  std::function<QRect(Position)> m_placeOf;
  QList<QAction*> m_actions;
  QHash<QAction*, Known> m_known;
  std::vector<std::unique_ptr<QMenu>> m_menus;
};

/// While a menu is open, an action with a reason against it is grey, and its tip says why. Its key works at any time.
void greyWhileOpen(QMenu& menu, QAction& action, const QString& tip, const QString& why);

}  // namespace kvlab
