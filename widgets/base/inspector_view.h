// SPDX-License-Identifier: GPL-3.0-or-later
// Base of all views. A view shows one aspect of the context's snapshot and focus, and can describe itself as text, as a
// picture and as a table. It holds a reference to the InspectorContext, which outlives it, and shares nothing else. A
// hidden view does no work: it gets snapshots only while a person can see it, or in prepare(). GUI thread.
#pragma once
#include <QAction>
#include <QImage>
#include <QLabel>
#include <QList>
#include <QVBoxLayout>
#include <QWidget>

#include "widgets/base/inspector_context.h"
#include "widgets/base/notices.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_options.h"

class QAbstractButton;
class QCheckBox;
class QComboBox;
class QLineEdit;
class QMenu;
class QToolButton;

namespace kvlab {

class EngineAsk;
class RowActions;
class ScaleMenu;
class TileCache;

class InspectorView : public QWidget {
  Q_OBJECT
 public:
  InspectorView(InspectorContext& context, QWidget* parent);

  /// The view's content as stable text: equal states give equal texts on every machine.
  virtual QString dump() const = 0;
  /// True if the view shows the context's snapshot, and neither a reply to its asks nor a tile is outstanding.
  /// Screenshots wait for this.
  virtual bool ready() const;
  /// Actions of the view's menu and tool bar; the base class adds copying and saving.
  virtual QList<QAction*> viewActions();
  /// The shown table as tab-separated values with a header line; empty if the view has none.
  virtual QString tsv() const { return {}; }

  /// Effect of Ctrl+C: copies the selected rows or text, else the whole table, else the picture.
  virtual void copySelection();

  /// The actions on the chosen rows; null where the view shows no rows to edit.
  RowActions* rowActions() const { return m_rowActions; }

  /// The user's choices in this view, by name, for scripts (view.set) and saved layouts.
  nlohmann::json options() const;
  /// Sets one option. Unknown names and bad values are errors that name the view and the option.
  Status setOption(const std::string& name, const nlohmann::json& value);

  /// Says whether the view is in front of other tabs. To Qt a dock behind a tab is visible.
  void setInFront(bool front);

  /// Brings a hidden view up to date; replies of the engine may still be outstanding, see ready(). A view without a
  /// parent is shown off screen. Set its size first, because requests depend on the visible range.
  void prepare();
  /// Lays the view out for a picture. A view without a parent is resized to `size`, in device-independent pixels.
  void arrange(QSize size);
  /// The view as a picture: the same, and its pixels (base/picture_file.h).
  QImage picture(QSize size, qreal dpr);

 signals:
  /// The view has taken a snapshot, a reply to one of its asks, or a tile.
  void readyChanged();

 protected:
  /// Another session is shown; its snapshot follows. Also called for hidden views, so that they drop old data.
  virtual void onSession() {}
  /// Hooks, which the base class calls only while the view is in use.
  virtual void onSnapshot() {}
  virtual void onFocus() {}
  virtual void onHover() {}
  virtual void onTheme() { update(); }

  InspectorContext& context() const { return m_context; }
  /// The snapshot shown now; null before a session is open.
  SnapshotPtr shown() const { return m_context.snapshot(); }
  /// True while a person can see the view, or a picture is made of it.
  bool inUse() const { return (isVisible() && m_inFront) || m_preparing; }
  /// Something other than the snapshot has changed the content of the view: it takes the snapshot again, once it is in
  /// use.
  void takeAgain();
  /// True if the shown tick is the newest one.
  bool newest() const;
  /// True if there is a snapshot with at least one token.
  bool hasRows() const;
  std::shared_ptr<const Theme> theme() const { return Theme::current(); }

  /// Asks for a file to write, without blocking; then calls `chosen` with its path.
  void askSaveFile(const QString& title, const QString& name, const QString& filter,
                   std::function<void(const QString& path)> chosen);
  /// The view's layout: a strip of controls above the content. Made on first use.
  QVBoxLayout* body();
  StripLayout* strip();
  /// Puts the content below the strip. setEmpty() shows a notice in its place, which says what the view would show, and
  /// how to get there. An empty title shows the content again.
  void setContent(QWidget* content);
  void setEmpty(const QString& title, const QString& how = {});
  bool isEmpty() const;
  /// The control of the content that takes the keyboard when the view gets it.
  void setMainControl(QWidget* control);
  /// The line to type in that takes the keyboard in place of the main control while that has nothing to choose from.
  void setWordField(QLineEdit* field);
  /// A muted label in the strip, for the control after it. With a stretch the label takes the rest of the line and
  /// elides, for texts that change with each tick.
  QLabel* stripLabel(const QString& text, int stretch = 0);
  /// A button and a choice in the strip, with accessible names. `command`: the command that a click runs (button_use).
  QToolButton* stripButton(const QString& text, const QString& name, const QString& tip, const char* command = nullptr);
  QComboBox* stripChoice(const QStringList& items, const QString& name, const QString& tip);
  /// Says in the strip to which ticks the view is limited, for views over ticks: the view takes the snapshot again when
  /// that changes.
  void stripTickLimits();
  /// A flat button, a button with a menu, a check box and a filter line. Clicks on the flat button and the check box
  /// change only this view.
  QToolButton* stripTool(const QString& text, const QString& tip);
  QToolButton* stripMenu(const QString& text, const QString& name, const QString& tip);
  QCheckBox* stripCheck(const QString& text, const QString& name, const QString& tip);
  QLineEdit* stripFilter(const QString& hint, const QString& name, const QString& tip, int stretch = 0);
  /// The menu of colour scales, and its options. `of` names what the view colours now; `line` is its word for a line.
  ScaleMenu* stripScale(std::function<std::string()> of, const QString& line, bool tokens = true);
  /// A line below the content for details of the hovered or focused item.
  QLabel* readoutLine();
  /// The same, where long texts take further lines: nothing of them is cut off.
  QLabel* wrappedReadout();
  /// Adds an action of this view (see viewActions), and what it does.
  QAction* addViewAction(const QString& text, const QString& tip, const std::function<void()>& does,
                         const QKeySequence& key = {});
  /// Says why an action cannot apply now, or nothing: the menu greys it, and its tip says why. Its key works at any
  /// time.
  void setObstacle(QAction* action, std::function<QString()> why);

  /// Notice for views without a session.
  static QString noSessionHow();
  /// Notice for views with an empty context.
  static QString promptHow();

  /// Adds an option of the view. With a control: `words` name its items in order; `changed` runs after each change. If
  /// the user changed the control, the script line is shown as well.
  void addOption(
      const std::string& name, const std::vector<std::string>& words, QComboBox* control,
      const Changed& changed = [] {});
  void addOption(
      const std::string& name, QAbstractButton* control, const Changed& changed = [] {});
  void addOption(
      const std::string& name, QLineEdit* control, const Changed& changed = [] {});
  void addOption(ViewOption option);
  /// Emits the script line that sets options, after the user set them.
  void sayOptions(const std::vector<std::string>& names);
  void sayOption(const std::string& name) { sayOptions({name}); }

  /// Handles a click on a position: moves the focus and emits the script line with this effect.
  void clickPosition(Position position, InspectorContext::Choice choice = InspectorContext::Choice::Only);
  void clickCell(CacheLayer layer, Position position, InspectorContext::Choice choice = InspectorContext::Choice::Only);
  /// Emits the script line of the focus with the selected rows.
  void saySelection();
  /// A menu is about rows: a row outside the selection is chosen alone first.
  void pointAt(CacheLayer layer, Position position);
  /// Adds the actions for the chosen rows to the view's menu, and their keys to the control. `placeOf` says where in
  /// the view a row is, for a line to type in.
  void addRowActions(QWidget& control, std::function<QRect(Position)> placeOf);
  void clickLedger(LedgerId ledger);
  void clickLedger(CacheLayer layer, LedgerId ledger);
  void clickLayer(CacheLayer layer);
  void clickTick(Tick tick);

  bool event(QEvent* event) override;
  /// Shows the view's actions, on right click or the menu key.
  void contextMenuEvent(QContextMenuEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  friend EngineAsk;
  friend TileCache;
  /// Runs work of a view. A failure is shown as an error, and the other views go on.
  void safely(const std::function<void()>& work);
  void takeSnapshot();
  /// Greys entries that cannot apply while the menu is open.
  void attend(QMenu& menu);
  void giveKeyboard();
  QLabel* addReadout(QLabel* label);
  void copyPicture();
  void copyTable();
  void askSavePicture();

  InspectorContext& m_context;
  QVBoxLayout* m_body = nullptr;
  StripLayout* m_strip = nullptr;
  QWidget* m_content = nullptr;
  EmptyNotice* m_notice = nullptr;
  QWidget* m_mainControl = nullptr;
  QLineEdit* m_wordField = nullptr;
  QList<QAction*> m_actions;
  struct Obstacle {
    QAction* action;
    QString tip;
    std::function<QString()> why;
  };
  std::vector<Obstacle> m_obstacles;
  std::vector<ViewOption> m_options;
  std::vector<std::function<bool()>> m_waits;  // for replies: each says whether one is outstanding
  QAction* m_copyTable = nullptr;
  RowActions* m_rowActions = nullptr;
  bool m_stale = true;  // a snapshot came while the view was hidden
  bool m_inFront = true;
  bool m_preparing = false;  // prepare() was called: stay up to date until shown and hidden
};

/// Text of a ledger row, with visible spaces and line ends. A gist shows its first token, marked.
QString tokenText(const Snapshot& snapshot, LedgerId ledger);
/// State of a focused row that has left the context, for a readout; else empty.
QString ghostText(const Snapshot& snapshot, const Focus& focus);
/// The same for views of the slots of a layer: why the focused row has none.
QString noSlotText(const Snapshot& snapshot, const Focus& focus, CacheLayer layer);
/// Text of a vocabulary entry, as above.
QString tokenText(const SessionInfo& info, TokenId token);
/// One TSV line; tabs and line ends in cells are replaced.
QString tsvLine(const QStringList& cells);

}  // namespace kvlab
