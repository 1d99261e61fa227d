// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/storage/storage_model.h"

#include <QCoreApplication>
#include <QStringList>

#include "widgets/base/format.h"
#include "widgets/table/data_table.h"

namespace kvlab {

QString title(ReadPath path) {
  static constexpr const char* kTitles[] = {"in place", "two slices", "table", "roll"};
  return QCoreApplication::translate("kvlab::StorageModel", kTitles[static_cast<std::size_t>(path)]);
}

void StorageModel::show(std::vector<StorageGroup> groups) {
  const bool same = groups.size() == m_groups.size();
  if (!same) beginResetModel();
  m_groups = std::move(groups);
  m_most = 1;
  for (const StorageGroup& group : m_groups) m_most = std::max(m_most, bytesOf(group).sum());
  if (!same) endResetModel();
  else if (!m_groups.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int StorageModel::rowOf(Layer layer) const {
  const StorageGroup* group = groupOf(m_groups, layer);
  return group ? static_cast<int>(group - m_groups.data()) : -1;
}

int StorageModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_groups.size());
}
int StorageModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString StorageModel::text(const StorageGroup& group, int column) const {
  const StorageView& s = *group.storage;
  switch (column) {
    case Layers: return group.name();
    case Layout: return QString::fromStdString(s.layout);
    case KeyType: return QString::fromStdString(s.k);
    case ValueType: return QString::fromStdString(s.v);
    case Bytes: return formatBytes(bytesOf(group).sum());
    case Rows: return QString::number(s.rows);
    case Pool: return QString::number(s.poolSlots);
    case Held: return QString::number(s.held - s.rows);
    case Holes:
      return s.pages ? QString::number(s.pages->fragmentation() * 100, 'f', 1) + QStringLiteral(" %")
                     : QStringLiteral("–");
    case Stride: return QString::number(s.stride);
    case Read: return title(s.read) + (s.tailOnly ? tr(", tail") : QString());
    default: return s.readBytes ? formatBytes(s.readBytes) : QStringLiteral("0");
  }
}

QString StorageModel::tip(const StorageGroup& group, int column) const {
  const StorageView& s = *group.storage;
  if (column == Bytes) {
    QStringList lines;
    const ByteKinds kinds = bytesOf(group);
    for (int kind = 0; kind < kByteKinds; ++kind)
      lines << QStringLiteral("%1: %2").arg(title(static_cast<ByteKind>(kind)),
                                            formatBytes(kinds.bytes[static_cast<std::size_t>(kind)]));
    return lines.join('\n');
  }
  if (column == Stride)
    return tr("K %1, V %2, scales %3, tag and checksum %4, padding %5 bytes")
        .arg(s.record.k)
        .arg(s.record.v)
        .arg(s.record.scales)
        .arg(s.record.tags)
        .arg(s.record.padding);
  if (column == Holes && s.pages)
    return tr("%1 rows in %2 of %3 pages of %4 slots")
        .arg(s.pages->rows)
        .arg(s.pages->used)
        .arg(s.pages->pages)
        .arg(s.pages->block);
  if (column == Rows && s.first) return tr("%1 more left through the window").arg(s.first);
  return {};
}

QVariant StorageModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const StorageGroup& group = m_groups[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool left = column <= ValueType || column == Read || column == Bytes;
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(group, column);
    case Qt::ToolTipRole: {
      const QString said = tip(group, column);
      return said.isEmpty() ? QVariant() : QVariant(said);
    }
    case Qt::TextAlignmentRole: return int((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kMonoRole: return column != Layers;
    case kToneRole:
      return static_cast<int>(
          column <= Layout                                                                              ? Tone::Normal
              : column == Holes && group.storage->pages && group.storage->pages->fragmentation() > 0.25 ? Tone::Warning
                                                                                                        : Tone::Muted);
    case KindsRole: return QVariant::fromValue(bytesOf(group));
    case MostRole: return static_cast<qlonglong>(m_most);
    default: return {};
  }
}

QVariant StorageModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole)
    return QStringList{tr("Layers"),  tr("Layout"), tr("K"),      tr("V"),    tr("Rows"),     tr("Slots"),
                       tr("History"), tr("Holes"),  tr("Stride"), tr("Read"), tr("Per read"), tr("Bytes of the pools")}
        .value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("Layers that are stored alike"),
                       tr("Where rows lie"),
                       tr("Type of the stored keys"),
                       tr("Type of the stored values"),
                       tr("Resident rows per layer"),
                       tr("Slots of the pool per layer"),
                       tr("Slots that only older ticks hold"),
                       tr("Free share of the slots in used pages"),
                       tr("Bytes of a row record"),
                       tr("How attention reads the rows; tail = only rows that the mask lets through"),
                       tr("Bytes read and written to assemble one read; 0 = in place"),
                       tr("Measured from the buffers of all these layers, by kind")}
        .value(section);
  if (role == Qt::TextAlignmentRole)
    return int((section <= ValueType || section == Read || section == Bytes ? Qt::AlignLeft : Qt::AlignRight) |
               Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
