// SPDX-License-Identifier: GPL-3.0-or-later
// The interface of views to the program: the shown snapshot, the focus that all views share, and requests to the
// engine. app/live_context implements it with the engine thread; tests implement it with fixed snapshots. GUI thread
// only.
#pragma once
#include <QDateTime>
#include <QObject>
#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "core/api/table.h"
#include "core/api/tile.h"
#include "widgets/base/scale_choice.h"

namespace kvlab {

/// The shared focus. `position` is a context position of the shown tick. `ledger` names the same row permanently (-1 =
/// none); `position` follows it when edits move the row.
struct Focus {
  Tick tick;
  CacheLayer layer{0};
  Head head{0};
  Position position{-1};
  LedgerId ledger{-1};
  bool operator==(const Focus&) const = default;
};

/// Ticks from the first to the last, both included.
struct TickRange {
  Tick first, last;
  bool has(Tick tick) const { return first <= tick && tick <= last; }
  bool operator==(const TickRange&) const = default;
};

/// The outcome of a command of the registry.
struct CommandReply {
  QString id;
  nlohmann::json args;
  Result<nlohmann::json> reply;
};

/// The error of a failed edit: the reply's error, or that of a failed tick. Empty if the edit was made.
std::optional<Error> refusalOf(const Result<nlohmann::json>& reply);

class InspectorContext : public QObject {
  Q_OBJECT
 public:
  /// The way in which a click or key chooses a row. Only: the row alone. Extend: all rows from the one that was chosen
  /// before. Toggle: the row joins the others, or leaves them.
  enum class Choice { Only, Extend, Toggle };
  using Reply = std::function<void(const Result<nlohmann::json>&)>;
  using TileReply = std::function<void(std::shared_ptr<const Tile>)>;
  using QObject::QObject;

  /// The snapshot of the shown tick; null only before a session is open.
  virtual SnapshotPtr snapshot() const = 0;
  /// Snapshots kept for scrubbing, oldest first.
  virtual const std::vector<SnapshotPtr>& history() const = 0;
  /// Runs an engine verb (interface.md: the methods of a session, with named arguments). Verbs are never coalesced. The
  /// reply comes on the GUI thread, unless `receiver` was deleted.
  virtual void submit(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) = 0;
  /// Runs a read-only verb. A newer query with the same tag replaces a queued one, whose reply never comes.
  virtual void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, QObject* receiver,
                     Reply reply) = 0;
  /// Requests a dense column block of the newest tick; a newer request with the same tag replaces it.
  virtual void fetch(const std::string& tag, const TileRequest& request, QObject* receiver, TileReply reply) = 0;
  /// Shows an older (or the newest) snapshot in all views; the session is not affected.
  virtual void showTick(Tick tick) = 0;
  /// True while the snapshot of a tick is on its way whose snapshot the window had dropped.
  virtual bool arriving() const { return false; }
  /// True while views show the newest tick, also where the newest of a run is a frame ahead; false while the person
  /// looks at an older one.
  virtual bool following() const { return history().empty() || history().back() == snapshot(); }
  /// Runs a command of the registry ("step", "rebuild", ...). A receiver gets the reply to the command's verb, or the
  /// reason why the command did not run. Without a receiver, failed() is emitted on errors.
  virtual void runCommand(const QString& id, const nlohmann::json& args, QObject* receiver = nullptr,
                          Reply reply = {}) = 0;
  /// The reason why a command of the registry cannot run now, whatever its arguments; empty if it can.
  virtual QString obstacleOf(const QString&) const { return {}; }
  /// Evaluates a line of the script language; the reply is its printed value or its error.
  virtual void evaluate(const QString& line, QObject* receiver,
                        std::function<void(const QString& text, bool failed)> reply) = 0;
  virtual bool busy() const = 0;
  /// Bytes that the whole program had in memory when the newest snapshot was shown. 0 = nobody knows, or the clock is
  /// frozen.
  virtual qint64 programBytes() const { return 0; }

  /// The time for views; midnight if the clock is frozen.
  QDateTime now() const;
  /// Views show no measured time any more, and carets do not blink: two runs of a script give the same pictures and
  /// texts.
  virtual void freezeClock();
  bool clockFrozen() const { return m_clockFrozen; }

  /// Grows with every new session; replies of older sessions are dropped.
  quint64 sessionNumber() const { return m_sessionNumber; }

  const Focus& focus() const { return m_focus; }
  void setFocus(const Focus& focus);
  /// Moves the focus to a position and keeps layer and head; the ledger id is taken from the shown snapshot. Moving the
  /// focus to a row ends the selection.
  void focusPosition(Position position);
  void focusLedger(LedgerId ledger);
  void focusLayer(CacheLayer layer);

  /// Chooses a row; the focus goes there.
  void choose(Position position, Choice choice);
  /// Rows that were chosen together, which all views mark: ledger ids, ascending. Empty while only the focus is chosen.
  /// An edit may have taken some of them from the context.
  const std::vector<LedgerId>& selection() const { return m_selection; }
  bool selected(LedgerId row) const;
  void select(std::vector<LedgerId> rows);
  /// The target of an edit: positions of the selected rows, ascending, else of the focused row. A damaged context may
  /// name rows that the ledger does not have; these are left out.
  std::vector<Position> chosenRows() const;
  Position hovered() const { return m_hovered; }
  void setHovered(Position position);
  /// The ticks that all views over ticks show; empty = all.
  const std::optional<TickRange>& tickLimits() const { return m_tickLimits; }
  void limitTicks(std::optional<TickRange> range);
  /// The part of history() within the limits.
  std::span<const SnapshotPtr> historyInLimits() const;
  /// The quantity that colours map and token strip, shared by all views.
  Quantity quantity() const { return m_quantity; }
  void setQuantity(Quantity quantity);
  /// The scale that turns values of a quantity, or of a figure of one view, into colours, in all views.
  const ScaleChoice& scale(const std::string& of) const;
  const ScaleChoice& scale(Quantity of) const { return scale(std::string(name(of))); }
  void setScale(const std::string& of, const ScaleChoice& choice);

 signals:
  /// Another session is shown, or none; its first snapshot follows. Views must drop data of the old session.
  void sessionChanged();
  void snapshotChanged();
  void focusChanged();
  void selectionChanged();
  void hoverChanged();
  void quantityChanged();
  void scaleChanged();
  void ticksLimited();
  void busyChanged();
  /// Progress of long work: done of total (0 = unknown) and its name; total < 0 = finished.
  void progressed(const QString& what, qint64 done, qint64 total);
  /// The script line that has the effect of a click.
  void scripted(const QString& line);
  void failed(const kvlab::Error& error);
  /// The engine answered the verb of a command, whoever ran the command.
  void commandReplied(const kvlab::CommandReply& reply);
  void logged(int level, const QString& line);
  /// A person wants to write a note about a place, as the command `note` names it: the view Notes opens a line.
  void noteAsked(const nlohmann::json& place);

 protected:
  void meetSession();

 private:
  Focus m_focus;
  std::vector<LedgerId> m_selection;
  LedgerId m_anchor{-1};  // the row from which Extend begins
  Position m_hovered{-1};
  Quantity m_quantity = Quantity::Brightness;
  std::map<std::string, ScaleChoice> m_scales;
  std::optional<TickRange> m_tickLimits;
  quint64 m_sessionNumber = 0;
  bool m_clockFrozen = false;
};

/// The choice that goes with these keys: Shift extends, Control toggles.
InspectorContext::Choice choiceOf(Qt::KeyboardModifiers held);

}  // namespace kvlab
