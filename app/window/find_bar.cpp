// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/find_bar.h"

#include <QRegularExpression>
#include <algorithm>

#include "core/api/manifest_list.h"
#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"

namespace kvlab {

namespace {

constexpr std::size_t kMostRows = 12, kMostEvents = 8, kMostCommands = 6, kMostKeys = 8, kMostLines = 6,
                      kMostNotesShown = 8;  // most entries of each sort
constexpr std::size_t kLogLines = 10000;    // lines of the log that are searched
constexpr int kLookedAt = 200000;           // events that are looked at

bool holds(const std::string& text, const QString& wanted) {
  return QString::fromStdString(text).contains(wanted, Qt::CaseInsensitive);
}

}  // namespace

Palette::Palette(const CommandRegistry& registry, CommandHost& host, QWidget* parent)
    : PopupList(tr("Type a command"), tr("Command"), tr("Commands"), parent), m_registry(registry), m_host(host) {}

void Palette::fill(const QString& text) {
  for (const Command* command : m_registry.matching(text))
    addEntry({command->title, command->help, command->keys.value(0), obstacle(*command, m_host), command->id});
}

QStringList Palette::shownIds() const {
  QStringList ids;
  for (int row = 0; row < list().count(); ++row) ids << dataOf(row).toString();
  return ids;
}

void Palette::take(const QVariant& id) { m_host.context().runCommand(id.toString()); }

FindBar::FindBar(const CommandRegistry& registry, CommandHost& host, QWidget* parent)
    : PopupList(tr("Find a token, an id, a tick, an event, a note, a command, a manifest key, a log line, or rows "
                   "where a condition "
                   "holds"),
                tr("Find"), tr("Places"), parent),
      m_registry(registry),
      m_host(host) {
  connect(&host.context(), &InspectorContext::logged, this, [this](int, const QString& line) {
    m_log.push_back(line);
    if (m_log.size() > kLogLines) m_log.pop_front();
  });
}

void FindBar::addPlace(Entry entry, std::function<void()> go) {
  entry.data = static_cast<int>(m_places.size());
  m_places.push_back(std::move(go));
  addEntry(entry);
}

void FindBar::take(const QVariant& place) { m_places[at(place.toInt())](); }

QStringList FindBar::shownEntries() const {
  QStringList out;
  for (int row = 0; row < list().count(); ++row) out << markOf(row) + QStringLiteral(": ") + list().item(row)->text();
  return out;
}

void FindBar::fill(const QString& text) {
  m_places.clear();
  if (text.trimmed().isEmpty()) return;
  addCondition(text);
  addTicks(text);
  addRows(text);
  addNotes(text);
  addEvents(text);
  addCommands(text);
  addKeys(text);
  addLog(text);
  if (m_places.empty())
    addEntry({tr("Nothing was found"),
              {},
              {},
              tr("in tokens, ids, ticks, notes, events, commands, manifest keys and log; try a shorter text")});
}

void FindBar::addTicks(const QString& text) {
  bool number = false;
  const int tick = text.trimmed().toInt(&number);
  const auto& history = m_host.context().history();
  if (!number || history.empty() || tick < 0 || tick > history.back()->tick.value()) return;
  addPlace({tr("Tick %1").arg(tick), tr("show it in all views"), tr("tick")},
           [this, tick] { m_host.context().showTick(Tick(tick)); });
}

/// Offers to select rows if the text looks like a condition.
void FindBar::addCondition(const QString& text) {
  static const QRegularExpression comparison(QStringLiteral("[a-z] *(==|!=|<|>)"));
  if (!text.contains(comparison)) return;
  addPlace({tr("Select rows where %1").arg(text.trimmed()), tr("the ledger can show only these"), tr("condition")},
           [this, text] {
             m_host.context().runCommand(QStringLiteral("select_where"), {{"condition", text.trimmed().toStdString()}});
           });
}

void FindBar::addRows(const QString& text) {
  const SnapshotPtr shown = m_host.context().snapshot();
  const RowFinder::Found found = m_rows.find(shown, text, kMostRows);
  for (const FoundRow& row : found.rows) {
    const QString state = row.position >= 0
        ? tr("ledger %1, position %2").arg(row.row.value()).arg(row.position)
        : tr("ledger %1, %2").arg(row.row.value()).arg(wordOf(name(shown->ledger[row.row].state)).replace('_', ' '));
    addPlace({row.text, state, tr("token")}, [this, id = row.row] { m_host.context().focusLedger(id); });
  }
  if (found.all > std::ssize(found.rows))
    addPlace({tr("All %1 tokens").arg(found.all), tr("filter the ledger by this text"), tr("token")}, [this, text] {
      (void)m_host.views().setOptions(QStringLiteral("ledger"), {{"text", text.toStdString()}});
      (void)m_host.views().showView(QStringLiteral("ledger"));
    });
}

void FindBar::addNotes(const QString& text) {
  const SnapshotPtr shown = m_host.context().snapshot();
  std::size_t found = 0;
  for (const NoteView& note : shown && shown->notes ? *shown->notes : std::vector<NoteView>()) {
    if (!holds(note.text, text)) continue;
    if (++found > kMostNotesShown) return;
    addPlace({QString::fromStdString(note.text), tr("tick %1").arg(note.tick.value()), tr("note")},
             [this, id = note.id] {
               m_host.context().runCommand(QStringLiteral("note_go"), {{"id", id}});
             });
  }
}

/// The newest ticks in which an event has the text in its name or its detail.
void FindBar::addEvents(const QString& text) {
  const auto& history = m_host.context().history();
  std::size_t found = 0;
  int looked = 0;
  for (auto one = history.rbegin(); one != history.rend() && found < kMostEvents && looked < kLookedAt; ++one) {
    if (!(*one)->report) continue;
    const auto& events = (*one)->report->events;
    looked += static_cast<int>(events.size());
    const auto event = std::ranges::find_if(events, [&](const Event& e) {
      return e.depth < 3 && (holds(std::string(e.name), text) || holds(e.detail, text));
    });
    if (event == events.end()) continue;
    ++found;
    addPlace({QString::fromStdString(std::string(event->name)).replace('_', ' '),
              tr("tick %1  %2").arg((*one)->tick.value()).arg(QString::fromStdString(event->detail)), tr("event")},
             [this, tick = (*one)->tick] {
               m_host.context().showTick(tick);
               (void)m_host.views().showView(QStringLiteral("events"));
             });
  }
}

void FindBar::addCommands(const QString& text) {
  std::size_t found = 0;
  for (const Command* command : m_registry.matching(text)) {
    if (!command->title.contains(text.trimmed(), Qt::CaseInsensitive) &&
        !command->id.contains(text.trimmed(), Qt::CaseInsensitive))
      continue;
    if (++found > kMostCommands) return;
    addPlace({command->title, command->help, tr("command"), command->blocked ? command->blocked(m_host) : QString()},
             [this, id = command->id] { m_host.context().runCommand(id); });
  }
}

void FindBar::addKeys(const QString& text) {
  std::size_t found = 0;
  for (const ManifestKey& key : manifestKeys()) {
    if (!holds(key.key, text.trimmed())) continue;
    if (++found > kMostKeys) return;
    addPlace({QString::fromStdString(key.key), QString::fromStdString(key.meaning), tr("manifest")}, [this] {
      (void)m_host.open(WindowPanel::Manual, {{"page", "manifest"}});
    });
  }
}

void FindBar::addLog(const QString& text) {
  std::size_t found = 0;
  for (auto line = m_log.rbegin(); line != m_log.rend() && found < kMostLines; ++line) {
    if (!line->contains(text, Qt::CaseInsensitive)) continue;
    ++found;
    addPlace({*line, {}, tr("log")}, [this, text] {
      (void)m_host.views().setOptions(QStringLiteral("log"), {{"search", text.toStdString()}});
      (void)m_host.views().showView(QStringLiteral("log"));
    });
  }
}

}  // namespace kvlab
