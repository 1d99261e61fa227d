// SPDX-License-Identifier: GPL-3.0-or-later
// The scrolling text of the token strip: tokens in reading order, coloured by a value, as wrapped chips or as a
// transcript, on request with tokens that have left the context (ghosts). Lays out all tokens and paints the visible
// ones. Owned by StripView. GUI thread.
#pragma once
#include <QAbstractScrollArea>
#include <optional>
#include <vector>

#include "widgets/base/inspector_context.h"
#include "widgets/canvas/colour_map.h"
#include "widgets/canvas/plan_ghosts.h"
#include "widgets/views/strip/prose.h"

namespace kvlab {

/// A token or a ghost in reading order.
struct Chip {
  LedgerId ledger;
  std::int32_t position = -1;  // -1: a ghost, or a row that the queue would make
  std::uint8_t index = 0;      // index into the colour table
  float value = 0;             // NaN = none
  TokenId planned{-1};         // token of a row that the queue would make; -1 = the row is there, or was
  bool wrong = false;          // a check has found a row of the token wrong, in whichever layer

  bool isPlanned() const { return planned.value() >= 0; }
  bool isGhost() const { return position < 0 && !isPlanned(); }
};

/// Older ghosts are not shown: there is no end of them in a long run.
inline constexpr std::size_t kMostGhosts = 2048;

/// All tokens of a snapshot, those that the queue would add, and its newest ghosts. A ghost is placed before the tokens
/// that replaced it, else after the token that preceded it when it was added.
std::vector<Chip> chipsOf(const Snapshot& snapshot, const PlanGhosts& planned, bool ghosts);

class TokenText : public QAbstractScrollArea {
  Q_OBJECT
 public:
  TokenText(InspectorContext& context, QWidget* parent);
  /// layer: the layer whose values and evictions the chips show; none = the largest value of all layers.
  void setChips(SnapshotPtr snapshot, std::vector<Chip> chips, PlanGhosts planned, Quantity quantity,
                std::optional<CacheLayer> layer = {});
  const std::vector<Chip>& chips() const { return m_chips; }
  /// Running text with a coloured line below each token, in place of chips.
  void setTranscript(bool on);
  bool isTranscript() const { return m_transcript; }
  /// The text as it is laid out, line by line.
  QString transcript() const;
  /// The value of a chip with its quantity, or why it has none.
  QString valueOf(const Chip& chip) const;
  void reveal(Position position);
  /// The planned effect of the queue on a present row; empty = nothing.
  QString queuedText(const Chip& chip) const;
  /// The text of the selected rows; empty if only the focus is chosen.
  QString selectedText() const;
  void selectAll();
  int chipAt(QPoint point) const;  // viewport coordinates; -1 = none
  QRect chipRect(int chip) const;  // viewport coordinates

 signals:
  /// The person chose a chip.
  void clicked(int chip, kvlab::InspectorContext::Choice choice);
  /// A drag has ended that chose rows.
  void dragged();
  /// The menu is about to open over a row.
  void pointed(kvlab::Position position);
  /// A double click on a row.
  void opened();
  /// Text was dropped before a position; the length = at the end.
  void textDropped(kvlab::Position before, const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void layOut();
  void layOutChips();
  void layOutProse();
  const ProseToken& proseOf(const Chip& chip);
  int widthOf(TokenId token, const QFontMetrics& metrics);
  QString textOf(const Chip& chip) const;
  void paintStale(QPainter& painter, const Chip& chip, const QRect& box, const Theme& theme) const;
  void paintPlanned(QPainter& painter, const Chip& chip, const QRect& box, const Theme& theme) const;
  TokenId tokenOf(const Chip& chip) const;
  void paintChip(QPainter& painter, int chip, const ColourTable& colours, const Theme& theme) const;
  void paintProse(QPainter& painter, int chip, const ColourTable& colours, const Theme& theme) const;
  void paintMarks(QPainter& painter, int chip, const Theme& theme) const;
  /// The chip before which a drop at the point inserts; the number of chips = at the end.
  int dropChip(QPoint point) const;
  Position dropPosition(int chip) const;
  void showDrop(int chip);
  QRect dropMark() const;
  void step(int chips, bool select);
  void stepLine(int lines, bool select);
  int focusedChip() const;
  bool isSelected(const Chip& chip) const { return chip.position >= 0 && m_context.selected(chip.ledger); }

  InspectorContext& m_context;
  SnapshotPtr m_snapshot;
  PlanGhosts m_planned;
  std::optional<CacheLayer> m_layer;
  Quantity m_quantity = Quantity::Brightness;
  std::vector<Chip> m_chips;
  std::vector<TokenPlace> m_places;       // parallel to m_chips
  std::vector<std::int32_t> m_lineFirst;  // first chip of every line
  bool m_transcript = false;
  ProseTokens m_prose;
  std::vector<ProseToken> m_pieces;  // of a transcript, parallel to m_chips
  std::vector<int> m_widths;         // by token id; -1 = not measured
  int m_drop = -1;                   // the chip before which the text under the pointer would go; -1 = none
  bool m_dragged = false;            // the pressed button has chosen more than one row
};

}  // namespace kvlab
