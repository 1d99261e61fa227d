// SPDX-License-Identifier: GPL-3.0-or-later
// Base of all views: shows one aspect of the context's snapshot and focus, and knows how to describe
// itself as text, as a picture and as a table. A view holds a reference to the InspectorContext,
// which outlives it; nothing else is shared. A view that nobody sees does no work: snapshots are
// handed to it when it is visible, or when prepare() asks for it. GUI thread.
#pragma once
#include <QAction>
#include <QImage>
#include <QLabel>
#include <QList>
#include <QVBoxLayout>
#include <QWidget>

#include "widgets/base/empty_notice.h"
#include "widgets/base/inspector_context.h"
#include "widgets/base/strip_layout.h"
#include "widgets/base/theme.h"
#include "widgets/base/view_options.h"

class QCheckBox;
class QComboBox;
class QLineEdit;
class QToolButton;

namespace kvlab {

class InspectorView : public QWidget {
  Q_OBJECT
 public:
  InspectorView(InspectorContext& context, QWidget* parent);

  /// What is shown, as stable text: the same state gives the same text on every machine.
  virtual QString dump() const = 0;
  /// Shows the context's snapshot with everything it waited for. Screenshots wait for this.
  virtual bool ready() const;
  /// Actions of the view's menu and tool bar; the base gives those for copying and saving.
  virtual QList<QAction*> viewActions();
  /// The shown table as tab-separated values with a header line; empty if the view has none.
  virtual QString tsv() const { return {}; }

  /// What Ctrl+C does: the selected rows or text, the whole table, or the picture where there is none.
  virtual void copySelection();

  /// What the person can choose in this view, by name: for scripts (view.set) and saved layouts.
  nlohmann::json options() const;
  /// Sets one of them. Unknown names and bad values are errors that name the view and the option.
  Status setOption(const std::string& name, const nlohmann::json& value);

  /// Brings a view that is hidden up to date (replies of the engine still arrive later: ready()). A
  /// view without a parent is shown off screen for it. Give it its size first: what it asks for
  /// depends on what is in sight.
  void prepare();
  /// The view as a picture; a view without a parent takes the size, in device-independent pixels.
  QImage picture(QSize size, qreal dpr);
  /// Writes PNG or SVG, by the name's ending; false if the file cannot be written.
  bool savePicture(const QString& path);

 signals:
  void readyChanged();

 protected:
  /// Another session is shown; its snapshot follows. Called even while nobody looks, so that a view forgets.
  virtual void onSession() {}
  /// Hooks; the base calls them only while the view is in use. The default does update().
  virtual void onSnapshot();
  virtual void onFocus();
  virtual void onHover();
  virtual void onTheme();

  InspectorContext& context() const { return m_context; }
  /// The snapshot shown now; null before a session is open.
  SnapshotPtr shown() const { return m_context.snapshot(); }
  /// True if the shown tick is the newest one.
  bool newest() const;
  /// True if there is a snapshot with at least one token.
  bool hasRows() const;
  std::shared_ptr<const Theme> theme() const { return Theme::current(); }

  /// Asks for a file to write without blocking anything; `chosen` runs with its path.
  void askSaveFile(const QString& title, const QString& name, const QString& filter,
                   std::function<void(const QString& path)> chosen);
  /// The view's layout: a strip of controls over the content. Made on first use.
  QVBoxLayout* body();
  StripLayout* strip();
  /// Puts the content below the strip. setEmpty shows a notice in its place: what the view would
  /// show and how to get there; an empty title brings the content back.
  void setContent(QWidget* content);
  void setEmpty(const QString& title, const QString& how = {});
  bool isEmpty() const;
  /// The control of the content that has the keyboard when the view is given it.
  void setMainControl(QWidget* control);
  /// A muted label for the strip that names the control that follows. With a stretch it takes what is
  /// left of the line and elides: for texts that change from tick to tick.
  QLabel* stripLabel(const QString& text, int stretch = 0);
  /// A button and a choice of the strip, named for screen readers.
  QToolButton* stripButton(const QString& text, const QString& name, const QString& tip);
  QComboBox* stripChoice(const QStringList& items, const QString& name, const QString& tip);
  /// A flat button, a button with a menu, a box to check and a line to filter by. Clicks on the first and on the box
  /// change nothing but this view.
  QToolButton* stripTool(const QString& text, const QString& tip);
  QToolButton* stripMenu(const QString& text, const QString& name, const QString& tip);
  QCheckBox* stripCheck(const QString& text, const QString& name, const QString& tip);
  QLineEdit* stripFilter(const QString& hint, const QString& name, const QString& tip, int stretch = 0);
  /// A line below the content that reads out what is under the pointer or focused.
  QLabel* readoutLine();
  /// Adds an action of this view (see viewActions).
  QAction* addViewAction(const QString& text, const QString& tip, const QKeySequence& key = {});

  /// What to say before a session is open.
  static QString noSessionHow();
  /// What to say while the context has no token.
  static QString promptHow();

  /// A choice of the view. With a control: `words` name its items in their order, `changed` runs after it has a new
  /// value, whoever chose, and a choice by hand is also said as a script line.
  void addOption(
      const std::string& name, const std::vector<std::string>& words, QComboBox* control,
      const Changed& changed = [] {});
  void addOption(
      const std::string& name, QAbstractButton* control, const Changed& changed = [] {});
  void addOption(
      const std::string& name, QLineEdit* control, const Changed& changed = [] {});
  void addOption(ViewOption option);
  /// Says the script line that sets an option, after the person did it by hand.
  void sayOption(const std::string& name);

  /// What a click does: moves the focus and says the script line that does the same.
  void clickPosition(Position position);
  void clickCell(CacheLayer layer, Position position);
  void clickLedger(LedgerId ledger);
  void clickLedger(CacheLayer layer, LedgerId ledger);
  void clickLayer(CacheLayer layer);
  void clickTick(Tick tick);

  bool event(QEvent* event) override;
  /// The view's actions, by right click or the menu key.
  void contextMenuEvent(QContextMenuEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  bool inUse() const { return isVisible() || m_preparing; }
  void takeSnapshot();
  void copyPicture();
  void copyTable();
  void askSavePicture();

  InspectorContext& m_context;
  QVBoxLayout* m_body = nullptr;
  StripLayout* m_strip = nullptr;
  QWidget* m_content = nullptr;
  EmptyNotice* m_notice = nullptr;
  QWidget* m_mainControl = nullptr;
  QList<QAction*> m_actions;
  std::vector<ViewOption> m_options;
  QAction* m_copyTable = nullptr;
  bool m_stale = true;       // a snapshot came while nobody looked
  bool m_preparing = false;  // prepare() was asked for: stay up to date until shown and hidden
};

/// Text of a ledger row as people see it: spaces and line ends made visible. A gist is its first token, marked.
QString tokenText(const Snapshot& snapshot, LedgerId ledger);
/// What became of a focused row that is no longer in the context, as a line of a readout; else empty.
QString ghostText(const Snapshot& snapshot, const Focus& focus);
/// The same for a vocabulary entry.
QString tokenText(const SessionInfo& info, TokenId token);
/// Lines as TSV: cells never contain tabs or line ends.
QString tsvLine(const QStringList& cells);

}  // namespace kvlab
