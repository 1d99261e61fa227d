// SPDX-License-Identifier: GPL-3.0-or-later
// What every view holds instead of an engine: the snapshot shown now, the one focus that all views
// share, and a way to ask for work. app/live_context implements it over the engine thread; tests
// implement it over fixture snapshots. GUI thread only.
#pragma once
#include <QDateTime>
#include <QObject>
#include <QString>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/api/error.h"
#include "core/api/snapshot.h"
#include "core/api/tile.h"

namespace kvlab {

/// The one focus. `position` is a context position of the shown tick; `ledger` names the same row
/// for good (-1 = none) and follows it when edits move it.
struct Focus {
  Tick tick;
  CacheLayer layer{0};
  Head head{0};
  Position position{-1};
  LedgerId ledger{-1};
  bool operator==(const Focus&) const = default;
};

/// What a command of the registry came to.
struct CommandReply {
  QString id;
  nlohmann::json args;
  Result<nlohmann::json> reply;
};

/// Why an edit was not made: the reply is an error, or the report of a tick that failed. Nothing where the edit was
/// made.
std::optional<Error> refusalOf(const Result<nlohmann::json>& reply);

class InspectorContext : public QObject {
  Q_OBJECT
 public:
  using Reply = std::function<void(const Result<nlohmann::json>&)>;
  using TileReply = std::function<void(std::shared_ptr<const Tile>)>;
  using QObject::QObject;

  /// The snapshot of the tick shown now; never null once a session is open, null before.
  virtual SnapshotPtr snapshot() const = 0;
  /// Snapshots kept for scrubbing, oldest first.
  virtual const std::vector<SnapshotPtr>& history() const = 0;
  /// Runs an engine verb (interface.md: the methods of a session, with named arguments). Never
  /// coalesced. The reply comes on the GUI thread unless `receiver` is gone by then.
  virtual void submit(const std::string& verb, const nlohmann::json& args, QObject* receiver, Reply reply) = 0;
  /// A read-only verb; a newer query with the same tag replaces a queued one (whose reply never
  /// comes).
  virtual void query(const std::string& tag, const std::string& verb, const nlohmann::json& args, QObject* receiver,
                     Reply reply) = 0;
  /// A dense column block of the newest tick; replaced by a newer request of the same tag.
  virtual void fetch(const std::string& tag, const TileRequest& request, QObject* receiver, TileReply reply) = 0;
  /// Shows an older (or the newest) snapshot in all views without touching the engine.
  virtual void showTick(Tick tick) = 0;
  /// Runs a command of the registry ("step", "rebuild", ...), as a menu would. Without a receiver failed() tells what
  /// went wrong; a receiver gets the reply to the command's verb, or why the command did not run.
  virtual void runCommand(const QString& id, const nlohmann::json& args, QObject* receiver = nullptr,
                          Reply reply = {}) = 0;
  /// Evaluates a line of the script language; the reply is its printed value or its error.
  virtual void evaluate(const QString& line, QObject* receiver,
                        std::function<void(const QString& text, bool failed)> reply) = 0;
  virtual bool busy() const = 0;

  /// What time it is for views: midnight while the clock is frozen.
  QDateTime now() const;
  /// From now on views show no time that was measured, so that two runs of a script give the same pictures and texts.
  virtual void freezeClock() { m_clockFrozen = true; }
  bool clockFrozen() const { return m_clockFrozen; }

  /// Grows with every session that takes the place of the one before: what was asked of that one is answered no more.
  quint64 sessionNumber() const { return m_sessionNumber; }

  const Focus& focus() const { return m_focus; }
  void setFocus(const Focus& focus);
  /// Sets the row, keeping layer and head; the ledger id follows from the shown snapshot.
  void focusPosition(Position position);
  void focusLedger(LedgerId ledger);
  void focusLayer(CacheLayer layer);
  Position hovered() const { return m_hovered; }
  void setHovered(Position position);
  /// The quantity by which map and token strip colour rows: one choice for all views.
  Quantity quantity() const { return m_quantity; }
  void setQuantity(Quantity quantity);

 signals:
  /// Another session is shown from now on, or none; its first snapshot follows. What is known of the one before is
  /// to be forgotten.
  void sessionChanged();
  void snapshotChanged();
  void focusChanged();
  void hoverChanged();
  void quantityChanged();
  void busyChanged();
  /// Long work: done of total (total 0 = unknown), and what it is; total < 0 = finished.
  void progressed(const QString& what, qint64 done, qint64 total);
  /// The script line that does what a click just did.
  void scripted(const QString& line);
  void failed(const kvlab::Error& error);
  /// The engine of the shown session answered the verb of a command, whoever ran the command.
  void commandReplied(const kvlab::CommandReply& reply);
  void logged(int level, const QString& line);

 protected:
  void meetSession();

 private:
  Focus m_focus;
  Position m_hovered{-1};
  Quantity m_quantity = Quantity::Brightness;
  quint64 m_sessionNumber = 0;
  bool m_clockFrozen = false;
};

}  // namespace kvlab
