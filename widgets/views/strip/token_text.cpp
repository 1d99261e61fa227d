// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/strip/token_text.h"

#include <QDropEvent>
#include <QHelpEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/base/finding_marks.h"
#include "widgets/base/inspector_view.h"
#include "widgets/base/storage_groups.h"
#include "widgets/base/tokens.h"
#include "widgets/canvas/measured_by.h"

namespace kvlab {
namespace {
constexpr int kMargin = 12, kLine = 27, kChip = 21, kPad = 4, kGap = 2, kSpace = 4;

/// The newest ledger rows that have left the context, with the context position that each is placed before, ascending
/// ids.
struct Ghost {
  LedgerId ledger;
  std::int32_t before = 0;
};

std::vector<Ghost> ghostsOf(const Snapshot& s) {
  std::vector<std::int32_t> place(s.ledger.size(), -1);  // in the context
  for (std::size_t p = 0; p < s.context.size(); ++p)
    if (s.ledger.contains(s.context[p])) place[at(s.context[p].value())] = static_cast<std::int32_t>(p);
  std::size_t first = place.size();  // begin of the newest ghosts
  for (std::size_t found = 0; first > 0 && found < kMostGhosts; --first) found += place[first - 1] < 0;
  std::vector<std::int32_t> heir(place.begin() + static_cast<std::ptrdiff_t>(first), place.end());
  // Children have higher ids than their parents, so descending ids resolve heirs first.
  for (std::size_t i = place.size(); i-- > first;)
    if (heir[i - first] < 0)
      for (LedgerId child : s.ledger[LedgerId(static_cast<std::int32_t>(i))].children)
        if (s.ledger.contains(child) && heir[at(child.value()) - first] >= 0) {
          heir[i - first] = heir[at(child.value()) - first];
          break;
        }
  std::size_t older = first;
  while (older > 0 && place[older - 1] < 0) --older;
  std::int32_t last = older > 0 ? place[older - 1] + 1 : 0;
  std::vector<Ghost> ghosts;
  for (std::size_t i = first; i < place.size(); ++i) {
    last = place[i] >= 0 ? place[i] + 1 : heir[i - first] >= 0 ? heir[i - first] : last;
    if (place[i] < 0) ghosts.push_back({LedgerId(static_cast<std::int32_t>(i)), last});
  }
  return ghosts;
}

bool isText(const QDropEvent& event) { return event.mimeData()->hasText() && !event.mimeData()->hasUrls(); }

void acceptCopy(QDropEvent& event) {
  event.setDropAction(Qt::CopyAction);
  event.accept();
}
}  // namespace

std::vector<Chip> chipsOf(const Snapshot& s, const PlanGhosts& planned, bool ghosts) {
  std::vector<Chip> chips;
  std::vector<Ghost> left = ghosts ? ghostsOf(s) : std::vector<Ghost>();
  std::stable_sort(left.begin(), left.end(), [](const Ghost& a, const Ghost& b) { return a.before < b.before; });
  chips.reserve(s.context.size() + left.size());
  auto next = left.begin();
  auto coming = planned.added.begin();
  for (std::size_t p = 0; p <= s.context.size(); ++p) {
    for (; next != left.end() && at(next->before) <= p; ++next) chips.push_back({next->ledger, -1, 0, NAN});
    for (; coming != planned.added.end() && at(coming->before) <= p; ++coming)
      for (TokenId token : coming->tokens) chips.push_back({LedgerId(-1), -1, 0, NAN, token});
    if (p < s.context.size()) chips.push_back({s.context[p], static_cast<std::int32_t>(p), 0, NAN});
  }
  if (const FindingMarks findings(s); !findings.empty())
    for (Chip& chip : chips) chip.wrong = findings.of(chip.ledger);
  return chips;
}

TokenText::TokenText(InspectorContext& context, QWidget* parent) : QAbstractScrollArea(parent), m_context(context) {
  setFrameShape(NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  setAcceptDrops(true);
  connect(&context, &InspectorContext::selectionChanged, viewport(), qOverload<>(&QWidget::update));
  setAccessibleName(tr("Tokens of the context"));
  setToolTip(
      tr("Click chooses a token, dragging, Shift or Ctrl more of them; Return replaces, Del deletes, Ctrl+C copies"));
}

void TokenText::setChips(SnapshotPtr snapshot, std::vector<Chip> chips, PlanGhosts planned, Quantity quantity,
                         std::optional<CacheLayer> layer) {
  const bool atEnd = verticalScrollBar()->value() == verticalScrollBar()->maximum();
  const bool grown = chips.size() > m_chips.size();
  if (!snapshot || !m_snapshot || snapshot->info != m_snapshot->info) m_widths.clear(), m_prose.forget();
  m_snapshot = std::move(snapshot);
  m_chips = std::move(chips);
  m_planned = std::move(planned);
  m_layer = layer;
  m_quantity = quantity;
  layOut();
  if (atEnd && grown) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
  viewport()->update();
}

void TokenText::setTranscript(bool on) {
  if (on == m_transcript) return;
  m_transcript = on;
  layOut();
  reveal(m_context.focus().position);
  viewport()->update();
}

QString TokenText::valueOf(const Chip& chip) const {
  if (std::isnan(chip.value))
    return noValueText(*m_snapshot, chip.ledger, m_layer, m_quantity, titleInText(m_quantity));
  return QStringLiteral("%1 %2").arg(titleInText(m_quantity), valueText(m_quantity, chip.value));
}

QString TokenText::textOf(const Chip& chip) const {
  const QString text =
      chip.isPlanned() ? tokenText(*m_snapshot->info, chip.planned) : tokenText(*m_snapshot, chip.ledger);
  return text.startsWith(QChar(0x00B7)) && text.size() > 1 ? text.mid(1) : text;
}

TokenId TokenText::tokenOf(const Chip& chip) const {
  if (chip.isPlanned()) return chip.planned;
  return m_snapshot->ledger.contains(chip.ledger) ? m_snapshot->ledger[chip.ledger].token : TokenId(0);
}

int TokenText::widthOf(TokenId token, const QFontMetrics& metrics) {
  const auto id = at(std::max(0, token.value()));
  if (id >= m_widths.size()) m_widths.resize(std::max<std::size_t>(id + 1, m_snapshot->info->tokenTexts.size()), -1);
  if (m_widths[id] < 0) {
    const QString text = tokenText(*m_snapshot->info, token);
    const bool spaced = text.startsWith(QChar(0x00B7)) && text.size() > 1;
    m_widths[id] = metrics.horizontalAdvance(spaced ? text.mid(1) : text) + 2 * kPad + (spaced ? 4096 : 0);
  }
  return m_widths[id];
}

const ProseToken& TokenText::proseOf(const Chip& chip) {
  const auto theme = Theme::current();
  return m_prose.of(*m_snapshot->info, tokenOf(chip), QFontMetrics(theme->ui), QFontMetrics(theme->small));
}

void TokenText::layOutProse() {
  m_pieces.clear();
  for (const Chip& chip : m_chips) {
    const bool known = m_snapshot->ledger.contains(chip.ledger);
    const bool gist = known && m_snapshot->ledger[chip.ledger].kind == RowKind::Gist;
    m_pieces.push_back(gist ? proseToken(QChar(' ') + textOf(chip), false, QFontMetrics(Theme::current()->ui))
                            : proseOf(chip));
  }
  const auto piece = [this](int i) -> const ProseToken& { return m_pieces[at(i)]; };
  TokenLines lines = proseLines(static_cast<int>(m_pieces.size()), piece, kMargin, viewport()->width() - kMargin);
  m_places = std::move(lines.places);
  m_lineFirst = std::move(lines.first);
}

QString TokenText::transcript() const {
  QString out;
  for (std::size_t i = 0, line = 0; m_transcript && i < m_pieces.size(); ++i) {
    for (; line < at(m_places[i].line); ++line) out += QChar('\n');
    out += m_pieces[i].text;
  }
  return out;
}

void TokenText::layOut() {
  m_places.assign(m_chips.size(), {});
  m_lineFirst.assign(1, 0);
  if (m_snapshot) m_transcript ? layOutProse() : layOutChips();
  const int tall = static_cast<int>(m_lineFirst.size()) * kLine + 2 * Theme::kMedium;
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(kLine);
  const int range = std::max(0, tall - viewport()->height());
  verticalScrollBar()->setRange(0, range);
  // At once: "as needed" would wait for the event loop, and lines break by the width that the bar leaves.
  setVerticalScrollBarPolicy(range > 0 ? Qt::ScrollBarAlwaysOn : Qt::ScrollBarAlwaysOff);
}

void TokenText::layOutChips() {
  const QFontMetrics metrics(Theme::current()->ui);
  const int right = viewport()->width() - kMargin;
  int x = kMargin;
  for (std::size_t i = 0; i < m_chips.size(); ++i) {
    const bool known = m_snapshot->ledger.contains(m_chips[i].ledger);
    const bool gist = known && m_snapshot->ledger[m_chips[i].ledger].kind == RowKind::Gist;
    const int measured = widthOf(tokenOf(m_chips[i]), metrics);
    const int width = gist ? metrics.horizontalAdvance(textOf(m_chips[i])) + 2 * kPad : measured % 4096,
              gap = gist || measured >= 4096 ? kSpace : kGap;
    const int start = x == kMargin ? x : x + gap;
    if (start + width > right && x > kMargin) {
      m_lineFirst.push_back(static_cast<std::int32_t>(i));
      x = kMargin;
    } else {
      x = start;
    }
    m_places[i] = {x, static_cast<int>(m_lineFirst.size()) - 1, width};
    x += width;
    if (textOf(m_chips[i]).contains(QChar(0x21B5)) && i + 1 < m_chips.size()) {
      m_lineFirst.push_back(static_cast<std::int32_t>(i + 1));
      x = kMargin;
    }
  }
}

QRect TokenText::chipRect(int chip) const {
  if (chip < 0 || chip >= static_cast<int>(m_places.size())) return {};
  const TokenPlace& place = m_places[at(chip)];
  return {place.x, Theme::kMedium + place.line * kLine + (kLine - kChip) / 2 - verticalScrollBar()->value(),
          place.width, kChip};
}

int TokenText::chipAt(QPoint point) const {
  const int line = (point.y() + verticalScrollBar()->value() - Theme::kMedium) / kLine;
  if (line < 0 || line >= static_cast<int>(m_lineFirst.size()) || m_chips.empty()) return -1;
  const auto row = at(line);
  const int end = row + 1 < m_lineFirst.size() ? m_lineFirst[row + 1] : static_cast<int>(m_chips.size());
  for (int i = m_lineFirst[row]; i < end; ++i)
    if (chipRect(i).adjusted(-kSpace / 2, -kLine, kSpace / 2, kLine).contains(point)) return i;
  return -1;
}

/// Paints a line below tokens whose rows differ from a rebuild.
void TokenText::paintStale(QPainter& painter, const Chip& chip, const QRect& box, const Theme& theme) const {
  const auto place = at(std::max(0, chip.position));
  if (chip.position < 0 || !m_snapshot->exactness || place >= m_snapshot->exactness->size()) return;
  const Exactness why = (*m_snapshot->exactness)[place];
  if (why == Exactness::Exact) return;
  const ColourScale scale = scaleFor(Quantity::Staleness, {});
  const QColor colour(colourTable(Quantity::Staleness, theme)[scale.index(static_cast<float>(why))]);
  painter.fillRect(QRect(box.left() + 2, box.bottom() + 2, box.width() - 4, 2), colour);
}

/// Paints the effect of the queue on a present row.
void TokenText::paintPlanned(QPainter& painter, const Chip& chip, const QRect& box, const Theme& theme) const {
  if (chip.position < 0) return;
  if (m_planned.goesStale(chip.position))
    paintHatch(painter, QRectF(box.left() + 2, box.bottom() + 1, box.width() - 4, 4), theme);
  if (!m_planned.leaves(chip.position) && !(m_layer && m_planned.leavesLayer(*m_layer, chip.position))) return;
  const double middle = box.center().y() + 0.5;
  paintStrike(painter, {box.left() - 2.0, middle, box.right() + 3.0, middle}, theme);
}

/// The line below the text has the value's colour.
void TokenText::paintProse(QPainter& painter, int chip, const ColourTable& colours, const Theme& theme) const {
  const Chip& c = m_chips[at(chip)];
  const ProseToken& piece = m_pieces[at(chip)];
  const QRect box = chipRect(chip);
  if (isSelected(c)) painter.fillRect(box, theme.selection);
  if (c.isPlanned()) paintNew(painter, QRectF(box).adjusted(0, 1, 0, -1), theme);
  QFont font = piece.control ? theme.small : theme.ui;
  font.setStrikeOut(c.isGhost());
  painter.setFont(font);
  painter.setPen(c.isGhost() ? theme.ghost : piece.control ? theme.faint : theme.text);
  painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, piece.text);
  if (c.position < 0) return;
  const QRect line(box.left() + piece.lead, box.bottom() - 2, std::max(2, box.width() - piece.lead), 3);
  painter.fillRect(line,
                   c.index >= kFirstColour ? QBrush(QColor(colours[c.index]))
                       : c.index == kGone  ? missingBrush(theme)
                                           : unmeasuredBrush(theme));
}

void TokenText::paintChip(QPainter& painter, int chip, const ColourTable& colours, const Theme& theme) const {
  const Chip& c = m_chips[at(chip)];
  const QRect box = chipRect(chip);
  const bool ghost = c.isGhost();
  painter.setPen(Qt::NoPen);
  if (c.isPlanned()) paintNew(painter, QRectF(box).adjusted(1, 1, -1, -1), theme), painter.setPen(Qt::NoPen);
  else if (ghost) painter.setBrush(Qt::NoBrush), painter.setPen(QPen(theme.border, 1, Qt::DashLine));
  else if (c.index < kFirstColour)
    painter.setBrush(c.index == kGone ? missingBrush(theme) : unmeasuredBrush(theme)), painter.setPen(theme.border);
  else painter.setBrush(QColor(colours[c.index]));
  if (!c.isPlanned()) painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  QFont font = theme.ui;
  font.setStrikeOut(ghost);
  painter.setFont(font);
  painter.setPen(ghost ? theme.ghost : c.index < kFirstColour ? theme.text : readableOn(colours[c.index]));
  painter.drawText(box, Qt::AlignCenter, textOf(c));
}

void TokenText::paintMarks(QPainter& painter, int chip, const Theme& theme) const {
  const Chip& c = m_chips[at(chip)];
  const QRect box = chipRect(chip);
  paintStale(painter, c, box, theme);
  paintPlanned(painter, c, box, theme);
  if (c.wrong) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.error, 2));
    painter.drawRoundedRect(QRectF(box).adjusted(-2, -2, 2, 2), 4, 4);
    const QRectF cross(box.right() - 4, box.top() - 3, 6, 6);
    painter.fillRect(cross.adjusted(-1, -1, 1, 1), theme.surface);
    painter.drawLine(cross.topLeft(), cross.bottomRight());
    painter.drawLine(cross.topRight(), cross.bottomLeft());
  }
  const bool focused = !c.isPlanned() && c.ledger == m_context.focus().ledger;
  const bool hovered = c.position >= 0 && m_context.hovered().value() == c.position;
  const bool inSelection = isSelected(c);
  if (!focused && !hovered && !inSelection) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(focused ? theme.focus : hovered ? theme.hover : theme.accent, focused ? 2 : 1.5));
  painter.drawRoundedRect(QRectF(box).adjusted(-1, -1, 1, 1), 4, 4);
  if (inSelection) painter.fillRect(QRect(box.left(), box.bottom() + 2, box.width(), 2), theme.accent);
}

void TokenText::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  const auto theme = Theme::current();
  painter.fillRect(event->rect(), theme->surface);
  if (!m_snapshot || m_chips.empty()) return;
  painter.setRenderHint(QPainter::Antialiasing);
  const ColourTable colours = colourTable(m_quantity, *theme);
  const int first = std::max(0, (event->rect().top() + verticalScrollBar()->value() - Theme::kMedium) / kLine - 1);
  const int last = (event->rect().bottom() + verticalScrollBar()->value()) / kLine + 1;
  for (int line = first; line <= last && line < static_cast<int>(m_lineFirst.size()); ++line) {
    const auto row = at(line);
    const int end = row + 1 < m_lineFirst.size() ? m_lineFirst[row + 1] : static_cast<int>(m_chips.size());
    for (int i = m_lineFirst[row]; i < end; ++i) {
      m_transcript ? paintProse(painter, i, colours, *theme) : paintChip(painter, i, colours, *theme);
      paintMarks(painter, i, *theme);
    }
  }
  painter.fillRect(dropMark(), theme->focus);
}

/// The end stays in sight where it was.
void TokenText::resizeEvent(QResizeEvent*) {
  QScrollBar* bar = verticalScrollBar();
  const bool atEnd = bar->value() == bar->maximum();
  layOut();
  if (atEnd) bar->setValue(bar->maximum());
}

void TokenText::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() != QEvent::PaletteChange && event->type() != QEvent::StyleChange) return;
  m_widths.clear();
  m_prose.forget();
  if (m_snapshot) layOut();
  viewport()->update();
}

QString TokenText::selectedText() const {
  QString text;
  for (const Chip& chip : m_chips)
    if (isSelected(chip)) text += rawText(*m_snapshot, chip.ledger);
  return text.trimmed();
}

void TokenText::selectAll() {
  if (!m_snapshot) return;
  m_context.select({m_snapshot->context.begin(), m_snapshot->context.end()});
}

QString TokenText::queuedText(const Chip& chip) const {
  return m_planned.text(*m_snapshot, m_layer.value_or(CacheLayer(-1)), chip.position);
}

void TokenText::reveal(Position position) {
  for (std::size_t i = 0; i < m_chips.size(); ++i)
    if (m_chips[i].position == position.value() && position.value() >= 0) {
      const QRect box = chipRect(static_cast<int>(i));
      QScrollBar* bar = verticalScrollBar();
      const int line = m_places[i].line * kLine;  // lines are never cut at the top
      const int fits = std::max(1, (viewport()->height() - Theme::kMedium) / kLine);
      if (box.top() < 0) bar->setValue(line - (fits > 1 ? kLine : 0));
      if (box.bottom() > viewport()->height()) bar->setValue(line - std::max(0, fits - 2) * kLine);
      return;
    }
}

void TokenText::mousePressEvent(QMouseEvent* event) {
  const int chip = chipAt(event->position().toPoint());
  m_dragged = false;
  if (chip < 0 || m_chips[at(chip)].isPlanned()) return;
  if (event->button() == Qt::LeftButton) emit clicked(chip, choiceOf(event->modifiers()));
  if (event->button() == Qt::RightButton && m_chips[at(chip)].position >= 0)
    emit pointed(Position(m_chips[at(chip)].position));
}

void TokenText::mouseMoveEvent(QMouseEvent* event) {
  const int chip = chipAt(event->position().toPoint());
  const Position under(chip < 0 ? -1 : m_chips[at(chip)].position);
  m_context.setHovered(under);
  if (event->buttons() & Qt::LeftButton && under.value() >= 0 && under != m_context.focus().position) {
    m_dragged = true;
    m_context.choose(under, InspectorContext::Choice::Extend);
  }
  viewport()->update();
}

void TokenText::mouseReleaseEvent(QMouseEvent*) {
  if (std::exchange(m_dragged, false)) emit dragged();
}

void TokenText::mouseDoubleClickEvent(QMouseEvent* event) {
  const int chip = chipAt(event->position().toPoint());
  if (event->button() == Qt::LeftButton && chip >= 0 && m_chips[at(chip)].position >= 0) emit opened();
}

int TokenText::focusedChip() const {
  for (std::size_t i = 0; i < m_chips.size(); ++i)
    if (!m_chips[i].isPlanned() && m_chips[i].ledger == m_context.focus().ledger) return static_cast<int>(i);
  return -1;
}

void TokenText::step(int chips, bool select) {
  const auto count = static_cast<int>(m_chips.size());
  const auto passed = [&](int i) {
    return m_chips[at(i)].isPlanned() || (select && m_chips[at(i)].position < 0);  // ghosts are not selected
  };
  if (count == 0) return;
  int to = std::clamp(focusedChip() + chips, 0, count - 1);
  const int on = chips < 0 ? -1 : 1;
  while (passed(to) && to + on >= 0 && to + on < count) to += on;
  while (passed(to) && to - on >= 0 && to - on < count) to -= on;
  if (passed(to)) return;
  emit clicked(to, select ? InspectorContext::Choice::Extend : InspectorContext::Choice::Only);
  reveal(Position(m_chips[at(to)].position));
}

void TokenText::stepLine(int lines, bool select) {
  const int from = focusedChip();
  if (from < 0) return step(1, select);
  const auto count = static_cast<int>(m_lineFirst.size());
  const auto end = [&](int line) { return line + 1 < count ? m_lineFirst[at(line + 1)] : std::ssize(m_chips); };
  int line = m_places[at(from)].line + lines;
  while (line >= 0 && line < count && m_lineFirst[at(line)] >= end(line)) line += lines;  // an empty line
  if (line < 0 || line >= count) return;
  const int middle = chipRect(from).center().x();
  const int under = chipAt({middle, Theme::kMedium + line * kLine + kLine / 2 - verticalScrollBar()->value()});
  step((under >= 0 ? under : static_cast<int>(end(line)) - 1) - from, select);  // a short line: its end
}

void TokenText::keyPressEvent(QKeyEvent* event) {
  const bool select = event->modifiers() & Qt::ShiftModifier;
  const int all = static_cast<int>(m_chips.size());
  if (event->matches(QKeySequence::SelectAll)) return selectAll();
  switch (event->key()) {
    case Qt::Key_Left: return step(-1, select);
    case Qt::Key_Right: return step(1, select);
    case Qt::Key_Up: return stepLine(-1, select);
    case Qt::Key_Down: return stepLine(1, select);
    case Qt::Key_Home: return step(-all, select);
    case Qt::Key_End: return step(all, select);
    default: QAbstractScrollArea::keyPressEvent(event);
  }
}

bool TokenText::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) m_context.setHovered(Position(-1));
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const int chip = chipAt(help->pos());
    if (chip < 0) return QToolTip::hideText(), true;
    const Chip& c = m_chips[at(chip)];
    if (c.isPlanned()) {
      QToolTip::showText(help->globalPos(), tr("%1: a new row that the queue would make").arg(textOf(c)), viewport(),
                         chipRect(chip));
      return true;
    }
    const LedgerRow& row = m_snapshot->ledger[c.ledger];
    QStringList lines{tr("%1, ledger %2").arg(textOf(c)).arg(c.ledger.value())};
    lines << (c.position >= 0 ? tr("position %1").arg(c.position)
                              : tr("%1 in tick %2").arg(name(row.state).data()).arg(row.changed.value()));
    if (c.position >= 0) lines << valueOf(c);
    const auto place = at(std::max(0, c.position));
    if (c.position >= 0 && m_snapshot->exactness && place < m_snapshot->exactness->size() &&
        (*m_snapshot->exactness)[place] != Exactness::Exact)
      lines << tr("%1: a rebuild may give something else")
                   .arg(valueText(Quantity::Staleness, static_cast<float>((*m_snapshot->exactness)[place])));
    if (const QString queued = queuedText(c); c.position >= 0 && !queued.isEmpty()) lines << queued;
    if (c.wrong) lines << FindingMarks(*m_snapshot).text(c.ledger);
    QToolTip::showText(help->globalPos(), lines.join('\n'), viewport(), chipRect(chip));
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

int TokenText::dropChip(QPoint point) const {
  const auto count = static_cast<int>(m_chips.size());
  int chip = chipAt(point);
  for (int x = point.x(); chip < 0 && x > 0; x -= 8) chip = chipAt({x, point.y()});  // right of a line: behind its end
  if (chip < 0) return count;
  return point.x() > chipRect(chip).center().x() ? chip + 1 : chip;
}

Position TokenText::dropPosition(int chip) const {
  const auto first = m_chips.begin() + std::clamp(chip, 0, static_cast<int>(m_chips.size()));
  const auto row = std::find_if(first, m_chips.end(), [](const Chip& one) { return one.position >= 0; });
  return row == m_chips.end() ? Position(m_snapshot ? m_snapshot->length() : 0) : Position(row->position);
}

void TokenText::showDrop(int chip) {
  if (chip == m_drop) return;
  m_drop = chip;
  viewport()->update();
}

QRect TokenText::dropMark() const {
  if (m_drop < 0 || m_chips.empty()) return {};
  const bool end = m_drop >= static_cast<int>(m_chips.size());
  const QRect box = chipRect(end ? static_cast<int>(m_chips.size()) - 1 : m_drop);
  return {end ? box.right() + 2 : box.left() - 3, box.top() - 2, 2, box.height() + 4};
}

/// Files belong to the window, which is asked next.
void TokenText::dragEnterEvent(QDragEnterEvent* event) { isText(*event) ? acceptCopy(*event) : event->ignore(); }

void TokenText::dragMoveEvent(QDragMoveEvent* event) {
  showDrop(dropChip(event->position().toPoint()));
  acceptCopy(*event);
}

void TokenText::dragLeaveEvent(QDragLeaveEvent*) { showDrop(-1); }

void TokenText::dropEvent(QDropEvent* event) {
  const Position before = dropPosition(dropChip(event->position().toPoint()));
  showDrop(-1);
  acceptCopy(*event);
  emit textDropped(before, event->mimeData()->text());
}

}  // namespace kvlab
