// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/audit/audit_lines.h"

#include <QCoreApplication>
#include <algorithm>

#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
constexpr std::size_t kLookBack = 256;  // snapshots

QString tr(const char* text) { return QCoreApplication::translate("kvlab::AuditLine", text); }

/// Largest number of rows that a layer had at the end of a tick with the same request.
std::int32_t mostRows(const AuditLine& line, Tick shown, const std::vector<SnapshotPtr>& history) {
  std::int32_t most = line.rows;
  std::size_t looked = 0;
  for (auto s = history.rbegin(); s != history.rend() && looked < kLookBack; ++s, ++looked) {
    if ((*s)->tick > shown) continue;
    const PolicyAudit* then = (*s)->policies.get();
    const std::size_t layer = at(line.layer);
    if (!then || layer >= then->layers.size()) break;
    const LayerAudit& audit = then->layers[layer];
    if (!audit.bounded || audit.policy != line.audit.policy || audit.bands != line.audit.bands) break;
    if (audit.rows > audit.requested() + audit.protectedRows) most = std::max(most, audit.rows);
  }
  return most;
}

AuditState stateOf(const AuditLine& line) {
  if (line.audit.policy == "full") return AuditState::KeepsAll;
  if (!line.audit.bounded) return AuditState::Waits;
  const bool over = line.audit.broken() || line.over() > 0;
  if (!line.audit.fired) return over || line.most > line.allowed() ? AuditState::NoOp : AuditState::Room;
  return over ? AuditState::Over : AuditState::Holds;
}
}  // namespace

QString AuditLine::said() const {
  switch (state) {
    case AuditState::KeepsAll: return tr("keeps all");
    case AuditState::Waits: return prefilling ? tr("until the prompt ends") : tr("from the next tick");
    case AuditState::Room: return tr("room for %1").arg(std::max(0, audit.requested() - rows));
    case AuditState::Holds: return tr("as requested");
    case AuditState::Over: return tr("%1 over").arg(over());
    case AuditState::NoOp: return tr("no-op, %1 over").arg(std::max(rows, most) - allowed());
  }
  return {};
}

std::vector<AuditLine> auditLines(const Snapshot& shown, const std::vector<SnapshotPtr>& history) {
  std::vector<AuditLine> out;
  if (!shown.policies) return out;
  for (std::size_t l = 0; l < shown.policies->layers.size(); ++l) {
    AuditLine line;
    line.layer = CacheLayer(static_cast<std::int32_t>(l));
    line.name = layerText(shown, line.layer);
    line.audit = shown.policies->layers[l];
    line.prefilling = shown.policies->prefilling;
    line.length = shown.length();
    line.rows = l < shown.layers.size() && shown.layers[l] ? static_cast<std::int32_t>(shown.layers[l]->resident())
                                                           : line.audit.rows;
    line.rowBytes = line.audit.rowBytes;
    if (!line.rowBytes && l < shown.storage.size() && shown.storage[l]) line.rowBytes = shown.storage[l]->stride;
    if (line.audit.bounded && !line.audit.fired) line.most = mostRows(line, shown.tick, history);
    line.state = stateOf(line);
    out.push_back(std::move(line));
  }
  return out;
}

AuditTotal totalOf(const std::vector<AuditLine>& lines) {
  AuditTotal t;
  for (const AuditLine& line : lines) {
    t.rows += line.rows;
    t.fullRows += line.length;
    t.bytes += line.bytes();
    t.fullBytes += line.rowBytes * line.length;
    t.requestedRows += line.audit.bounded ? std::min(line.audit.requested(), line.length) : line.length;
    t.bad += line.bad();
    t.fallbacks += !line.audit.fallback.empty();
  }
  return t;
}

}  // namespace kvlab
