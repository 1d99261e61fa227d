// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/audit/audit_model.h"

#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
/// What a column is ordered by: its number, or its text.
std::pair<double, std::string> keyOf(const AuditLine& line, int column) {
  const LayerAudit& a = line.audit;
  switch (column) {
    case AuditModel::PolicyName: return {0, a.policy};
    case AuditModel::State: return {-static_cast<double>(line.state), ""};  // the worst first
    case AuditModel::Requested: return {a.bounded ? a.requested() : line.length, ""};
    case AuditModel::Rows: return {line.rows, ""};
    case AuditModel::Bar: return {a.bounded ? double(line.rows) / std::max(1, a.requested()) : 0, ""};
    case AuditModel::RequestedBytes: return {static_cast<double>(line.requestedBytes()), ""};
    case AuditModel::Bytes: return {static_cast<double>(line.bytes()), ""};
    case AuditModel::Evicted: return {a.evicted, ""};
    case AuditModel::Ever: return {static_cast<double>(a.evictedEver), ""};
    case AuditModel::Fired: return {a.fired ? static_cast<double>(a.fired->value()) : -1, ""};
    case AuditModel::Fallback: return {0, a.fallback};
    default: return {line.layer, ""};
  }
}
}  // namespace

void AuditModel::show(std::vector<AuditLine> lines) {
  const bool same = lines.size() == m_lines.size();
  if (!same) beginResetModel();
  m_lines = std::move(lines);
  order();
  if (!same) endResetModel();
  else if (!m_lines.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

void AuditModel::order() {
  std::stable_sort(m_lines.begin(), m_lines.end(), [this](const AuditLine& a, const AuditLine& b) {
    const auto left = keyOf(a, m_by), right = keyOf(b, m_by);
    if (left == right) return a.layer < b.layer;
    return m_order == Qt::AscendingOrder ? left < right : right < left;
  });
}

void AuditModel::sort(int column, Qt::SortOrder by) {
  emit layoutAboutToBeChanged();
  m_by = column;
  m_order = by;
  order();
  emit layoutChanged();
  emit headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
}

int AuditModel::rowOf(Layer layer) const {
  const auto found =
      std::find_if(m_lines.begin(), m_lines.end(), [&](const AuditLine& line) { return line.layer == layer.value(); });
  return found == m_lines.end() ? -1 : static_cast<int>(found - m_lines.begin());
}

QStringList AuditModel::names() {
  return {"layer",           "policy", "state",   "requested", "rows",  "share",
          "requested_bytes", "bytes",  "evicted", "ever",      "fired", "fallback"};
}

int AuditModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}
int AuditModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString AuditModel::text(const AuditLine& line, int column) const {
  static const QString kNone = QStringLiteral("–");
  const LayerAudit& a = line.audit;
  switch (column) {
    case LayerNumber: return line.name;
    case PolicyName: return QString::fromStdString(a.policy);
    case State: return line.said();
    case Requested:
      return a.bounded ? QStringLiteral("%1 = %2+%3+%4")
                             .arg(a.requested())
                             .arg(a.bands.sinks)
                             .arg(a.bands.budget)
                             .arg(a.bands.window)
                       : kNone;
    case Rows: return QString::number(line.rows);
    case Bar:
      return line.length ? QString::number(100.0 * line.rows / line.length, 'f', 0) + QStringLiteral(" %") : kNone;
    case RequestedBytes: return a.bounded ? formatBytes(line.requestedBytes()) : kNone;
    case Bytes: return formatBytes(line.bytes());
    case Evicted: return QString::number(a.evicted);
    case Ever: return QString::number(a.evictedEver);
    case Fired: return a.fired ? QString::number(a.fired->value()) : a.policy == "full" ? kNone : tr("never");
    default: return QString::fromStdString(a.fallback);
  }
}

QString AuditModel::tip(const AuditLine& line, int column) const {
  const LayerAudit& a = line.audit;
  if (column == Requested && a.bounded) {
    const QString bands =
        tr("%1 sinks, %2 by score, %3 in the window").arg(a.bands.sinks).arg(a.bands.budget).arg(a.bands.window);
    return a.protectedRows ? bands + tr("; and %1 pinned").arg(counted(a.protectedRows, tr("row"), tr("rows"))) : bands;
  }
  if (column == Bar || column == Rows)
    return tr("%1 of %2 tokens have a row in this layer").arg(line.rows).arg(line.length);
  if (column == Bytes || column == RequestedBytes)
    return tr("%1 per row, all KV heads").arg(formatBytes(line.rowBytes));
  if (column == Fallback) return text(line, column);
  if (column != State) return {};
  switch (line.state) {
    case AuditState::KeepsAll: return tr("This layer evicts nothing");
    case AuditState::Waits:
      return line.prefilling ? tr("Nothing leaves before the prompt has ended")
                             : tr("The policy has not decided yet: it does at the end of the next tick");
    case AuditState::Room: return tr("Fewer rows than requested: nothing had to leave so far");
    case AuditState::Holds:
      return tr("Rows left in tick %1, and what is there is what was requested").arg(a.fired->value());
    case AuditState::Over:
      return tr("%1 rows where %2 were requested: the policy does not do what it says")
          .arg(line.rows)
          .arg(line.allowed());
    case AuditState::NoOp:
      return tr("There were %1 rows where %2 were requested, and the policy has never evicted one")
          .arg(std::max(line.rows, line.most))
          .arg(line.allowed());
  }
  return {};
}

int AuditModel::tone(const AuditLine& line, int column) const {
  if (column == Fallback) return static_cast<int>(Tone::Warning);
  if (column == State)
    return static_cast<int>(line.bad() ? Tone::Error : line.state == AuditState::Holds ? Tone::Normal : Tone::Muted);
  if (line.audit.policy == "full" && column != LayerNumber) return static_cast<int>(Tone::Faint);
  if (column == Rows && line.over() > 0) return static_cast<int>(Tone::Error);
  return static_cast<int>(column <= Rows ? Tone::Normal : Tone::Muted);
}

QVariant AuditModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const AuditLine& line = m_lines[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool left =
      column == PolicyName || column == State || column == Bar || column == Fallback || column == Requested;
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(line, column);
    case Qt::ToolTipRole: {
      const QString said = tip(line, column);
      return said.isEmpty() ? QVariant() : QVariant(said);
    }
    case Qt::TextAlignmentRole: return int((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case kMonoRole: return column != State && column != Fallback;
    case kToneRole: return tone(line, column);
    case kBadRole: return line.bad();
    case LineRole: return QVariant::fromValue(&line);
    default: return {};
  }
}

QStringList AuditModel::titles() {
  return {tr("Layer"),     tr("Policy"), tr("State"),   tr("Requested rows"), tr("Rows"),  tr("Of the context"),
          tr("Requested"), tr("Bytes"),  tr("Evicted"), tr("Ever"),           tr("Fired"), tr("Fallback")};
}

QVariant AuditModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole && section == m_by)
    return titles().value(section) + QChar(m_order == Qt::AscendingOrder ? kUp : kDown);
  if (role == Qt::DisplayRole) return titles().value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{
        tr("The layer"),
        tr("The policy that was asked for"),
        tr("Whether the layer has what was requested"),
        tr("Sinks + budget by score + window"),
        tr("Resident rows now"),
        tr("Rows as a part of the context; the frame is what was requested, what is beyond it is red and hatched"),
        tr("Bytes of the requested rows"),
        tr("Bytes of the resident rows"),
        tr("Rows evicted by the last decision"),
        tr("Rows evicted since the policy was set"),
        tr("Last tick in which it evicted a row"),
        tr("What was done instead of what was asked for, and why")}
        .value(section);
  if (role == Qt::TextAlignmentRole) {
    const bool left =
        section == PolicyName || section == State || section == Bar || section == Fallback || section == Requested;
    return int((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace kvlab
