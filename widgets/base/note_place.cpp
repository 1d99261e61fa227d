// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/note_place.h"

#include <QCoreApplication>
#include <algorithm>

#include "widgets/base/layer_text.h"
#include "widgets/base/tokens.h"

namespace kvlab {
namespace {

QString spoken(const char* text) { return QCoreApplication::translate("notes", text); }

/// The cache layer with the rows that a note is about; none for a note about no layer of the session.
std::optional<CacheLayer> cacheLayerOf(const Snapshot& snapshot, const NoteView& note) {
  const CacheLayers& layers = snapshot.info->cacheLayers;
  if (!note.layer || note.layer->value() >= layers.layers) return std::nullopt;
  const int part = layers.byHead() && note.kvHead ? std::min(note.kvHead->value(), layers.perLayer - 1) : 0;
  return layers.of(*note.layer)[part];
}

QStringList placeWords(const Snapshot& snapshot, const NoteView& note) {
  QStringList out;
  if (const std::optional<CacheLayer> layer = cacheLayerOf(snapshot, note))
    out << QStringLiteral("layer: %1").arg(layer->value());
  if (note.ledger && snapshot.ledger.contains(*note.ledger))
    out << QStringLiteral("ledger: %1").arg(note.ledger->value());
  return out;
}

QString saidFocus(const QStringList& words) {
  return words.isEmpty() ? QString() : QStringLiteral("view.focus({%1})").arg(words.join(", "));
}

}  // namespace

std::vector<NoteView> notesOf(const InspectorContext& context) {
  const auto& history = context.history();
  if (history.empty() || !history.back()->notes) return {};
  std::vector<NoteView> out = *history.back()->notes;
  std::ranges::stable_sort(out, {}, &NoteView::tick);
  return out;
}

QString placeText(const Snapshot& snapshot, const NoteView& note) {
  QStringList parts;
  if (note.layer) parts << spoken("layer %1").arg(note.layer->value());
  if (note.kvHead) parts << spoken("KV head %1").arg(note.kvHead->value());
  if (note.ledger && snapshot.ledger.contains(*note.ledger))
    parts << spoken("row %1 “%2”").arg(note.ledger->value()).arg(textOf(snapshot, snapshot.ledger[*note.ledger].token));
  else if (note.ledger) parts << spoken("row %1").arg(note.ledger->value());
  return parts.join(QStringLiteral(" · "));
}

QString apartText(const Snapshot& snapshot, const NoteView& note) {
  if (note.here) return {};
  if (note.entry < 0) return spoken("not in this history");
  const QString branch = QString::fromStdString(note.branch);
  return note.branch == snapshot.branch ? spoken("ahead on %1").arg(branch) : spoken("on %1").arg(branch);
}

bool canShow(const InspectorContext& context, const NoteView& note) {
  return note.here &&
      std::ranges::binary_search(context.history(), note.tick, {}, [](const SnapshotPtr& one) { return one->tick; });
}

void focusNote(InspectorContext& context, const NoteView& note) {
  const Snapshot& shown = *context.snapshot();
  if (const std::optional<CacheLayer> layer = cacheLayerOf(shown, note)) context.focusLayer(*layer);
  if (note.ledger && shown.ledger.contains(*note.ledger)) context.focusLedger(*note.ledger);
}

QString focusLine(const Snapshot& snapshot, const NoteView& note) { return saidFocus(placeWords(snapshot, note)); }

void showNote(InspectorContext& context, const NoteView& note) {
  context.showTick(note.tick);
  focusNote(context, note);
  const QStringList tick{QStringLiteral("tick: %1").arg(note.tick.value())};
  emit context.scripted(saidFocus(tick + placeWords(*context.snapshot(), note)));
}

nlohmann::json notePlace(const InspectorContext& context) {
  const Snapshot& shown = *context.snapshot();
  const Focus& focus = context.focus();
  nlohmann::json args{{"tick", shown.tick.value()}};
  if (focus.ledger.value() < 0) return args;
  args = withLayer(shown, focus.layer, std::move(args));
  args["ledger"] = focus.ledger.value();
  return args;
}

}  // namespace kvlab
