// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/storage_model.h"

#include <QCoreApplication>
#include <algorithm>
#include <numeric>

#include "widgets/base/format.h"
#include "widgets/base/theme.h"

namespace kvlab {

QString title(ReadPath path) {
  static constexpr const char* kTitles[] = {"in place", "two slices", "table", "roll"};
  return QCoreApplication::translate("kvlab::StorageModel", kTitles[static_cast<std::size_t>(path)]);
}

namespace {
using Group = const StorageGroup&;

QString kindsText(Group group) {
  QStringList lines;
  const ByteKinds kinds = bytesOf(group);
  for (int kind = 0; kind < kByteKinds; ++kind)
    lines << QStringLiteral("%1: %2").arg(title(static_cast<ByteKind>(kind)), formatBytes(kinds.bytes[at(kind)]));
  return lines.join('\n');
}

QString strideTip(Group group) {
  const BytesByKind& r = group.storage->record;
  return StorageModel::tr("K %1, V %2, scales %3, tag and checksum %4, padding %5 bytes")
      .arg(r.k)
      .arg(r.v)
      .arg(r.scales)
      .arg(r.tags)
      .arg(r.padding);
}

QString holesText(Group group) {
  const auto& pages = group.storage->pages;
  return pages ? QString::number(pages->fragmentation() * 100, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

QString holesTip(Group group) {
  const auto& pages = group.storage->pages;
  if (!pages) return {};
  return StorageModel::tr("%1 rows in %2 of %3 pages of %4 slots")
      .arg(pages->rows)
      .arg(pages->used)
      .arg(pages->pages)
      .arg(pages->block);
}

Tone holesTone(Group group) {
  return group.storage->pages && group.storage->pages->fragmentation() > 0.25 ? Tone::Warning : Tone::Muted;
}
}  // namespace

StorageModel::StorageModel(QObject* parent) : LineModel(parent) {
  const auto text = [](const std::string StorageView::*member) {
    return [member](Group group) { return QString::fromStdString(*group.storage.*member); };
  };
  add("layers", tr("Layers"), tr("Layers with the same storage"), "layers 0–11",
      [this](Group group) {
        return (m_findings.text(group.layers).isEmpty() ? QString() : QStringLiteral("✕ ")) + group.name();
      })
      .toned([this](Group group) { return m_findings.text(group.layers).isEmpty() ? Tone::Normal : Tone::Error; })
      .tips([this](Group group) { return m_findings.text(group.layers); })
      .words();
  add("layout", tr("Layout"), tr("Where rows lie"), {"paged:block=16", 10}, text(&StorageView::layout))
      .in(Tone::Normal);
  add("k", tr("K"), tr("Type of the stored keys"), {"fp8-e4m3", 9}, text(&StorageView::k));
  add("v", tr("V"), tr("Type of the stored values"), {"fp8-e4m3", 8}, text(&StorageView::v));
  addNumber("rows", tr("Rows"), tr("Resident rows per layer"), {"99999", 7}, [](Group group) {
    return QString::number(group.storage->rows);
  }).tips([](Group group) {
    return group.storage->first ? tr("%1 more left through the window").arg(group.storage->first) : QString();
  });
  addNumber("slots", tr("Slots"), tr("Slots in the pool of each layer"), {"9999999", 6},
            [](Group group) { return QString::number(group.storage->poolSlots); });
  addNumber("history", tr("History"), tr("Slots whose rows only older states hold"), {"History", 4},
            [](Group group) { return QString::number(group.storage->held - group.storage->rows); });
  addNumber("holes", tr("Holes"), tr("Free share of the slots in used pages"), {"99.9 %", 5}, holesText)
      .toned(holesTone)
      .tips(holesTip);
  addNumber("stride", tr("Stride"), tr("Bytes of a row record"), {"9999", 1}, [](Group group) {
    return QString::number(group.storage->stride);
  }).tips(strideTip);
  add("read", tr("Read"), tr("How attention reads the rows; tail = only rows inside the mask"), {"two slices", 3},
      [](Group group) { return title(group.storage->read) + (group.storage->tailOnly ? tr(", tail") : QString()); });
  addNumber("per_read", tr("Per read"),
            tr("Bytes read and written to gather the rows for one query; 0 = read in place"), {"999 KiB", 2},
            [](Group group) {
              return group.storage->readBytes ? formatBytes(group.storage->readBytes) : QStringLiteral("0");
            });
  add("bytes", tr("Bytes of the pools"),
      tr("Bytes of rows by kind, of older rows that history keeps, and of free room at capacity"), QString(20, 'x'),
      [](Group group) { return formatBytes(bytesOf(group).sum()); })
      .tips(kindsText)
      .with(KindsRole, [](Group group) { return QVariant::fromValue(bytesOf(group)); })
      .with(MostRole, [this](Group) { return static_cast<qlonglong>(m_most); });
  withTone([](Group) { return Tone::Muted; });
  withLines(kBadRole, [this](Group group) { return !m_findings.text(group.layers).isEmpty(); });
}

void StorageModel::show(std::vector<StorageGroup> groups, FindingMarks findings) {
  m_findings = std::move(findings);
  m_most = 1;
  for (Group group : groups) m_most = std::max(m_most, bytesOf(group).sum());
  const bool same = groups.size() == lines().size();
  replace(std::move(groups), same);
}

int StorageModel::rowOf(CacheLayer layer) const {
  return find([&](Group group) { return group.has(layer); });
}

void BytesDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const auto theme = Theme::current();
  painter->save();
  if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme->selection);
  painter->setFont(theme->mono);
  const int figure = painter->fontMetrics().horizontalAdvance(QStringLiteral("999.9 MiB")) + Theme::kSmall;
  QRectF room = QRectF(option.rect).adjusted(7, 6, -7 - figure, -6);
  const auto kinds = index.data(StorageModel::KindsRole).value<ByteKinds>();
  const double share = static_cast<double>(kinds.sum()) / std::max(1.0, index.data(StorageModel::MostRole).toDouble());
  room.setWidth(std::max(2.0, room.width() * share));
  paintKinds(*painter, room, kinds, *theme);
  painter->setPen(theme->text);
  painter->drawText(QRectF(option.rect).adjusted(0, 0, -7, 0), Qt::AlignRight | Qt::AlignVCenter,
                    index.data().toString());
  painter->restore();
}

QString title(ByteKind kind) {
  static constexpr std::array<const char*, kByteKinds> kTitles = {"K",       "V",       "scales", "tags",
                                                                  "padding", "history", "free"};
  return QCoreApplication::translate("kvlab::ByteKinds", kTitles[static_cast<std::size_t>(kind)]);
}

std::int64_t ByteKinds::sum() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

ByteKinds bytesOf(const StorageGroup& group) {
  const StorageView& s = *group.storage;
  const std::int64_t layers = static_cast<std::int64_t>(group.layers.size()), rows = layers * s.rows;
  ByteKinds out;
  out.bytes = {rows * s.record.k,
               rows * s.record.v,
               rows * s.record.scales,
               rows * s.record.tags,
               rows * s.record.padding,
               layers * (s.held - s.rows) * s.stride,
               layers * std::clamp(s.roomSlots - s.rows, 0, std::max(0, s.poolSlots - s.held)) * s.stride};
  return out;
}

void paintKind(QPainter& painter, const QRectF& box, ByteKind kind, const Theme& theme) {
  static constexpr int kColours[] = {0, 1, 2, 3, 7, 7, 7};
  const QColor colour = seriesColour(kColours[static_cast<std::size_t>(kind)], theme.dark);
  if (kind < ByteKind::History) return painter.fillRect(box, colour);
  painter.fillRect(box, kind == ByteKind::History ? Theme::mix(theme.surface, colour, 0.25) : theme.sunken);
  if (kind == ByteKind::Free) return;
  painter.save();
  painter.setClipRect(box, Qt::IntersectClip);
  painter.setPen(QPen(colour, 1));
  for (double x = box.left() - box.height(); x < box.right(); x += 4)
    painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
  painter.restore();
}

void paintKinds(QPainter& painter, const QRectF& box, const ByteKinds& kinds, const Theme& theme) {
  const double all = static_cast<double>(std::max<std::int64_t>(1, kinds.sum()));
  double before = 0;
  for (int kind = 0; kind < kByteKinds; ++kind) {
    const double part = static_cast<double>(kinds.bytes[at(kind)]);
    if (part <= 0) continue;
    const double left = box.left() + before / all * box.width(), wide = part / all * box.width();
    paintKind(painter, QRectF(left, box.top(), std::max(1.0, wide), box.height()), static_cast<ByteKind>(kind), theme);
    before += part;
  }
}

}  // namespace kvlab
