// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/audit/audit_model.h"

#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"

namespace kvlab {
namespace {
using Line = const AuditLine&;

constexpr std::size_t kLookBack = 256;  // snapshots

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
    if (audit.rows > audit.allowed()) most = std::max(most, audit.rows);
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

const QString kNone = QStringLiteral("–");

QString requestedText(Line line) {
  const auto& b = line.audit.bands;
  if (!line.audit.bounded) return kNone;
  return QStringLiteral("%1 = %2+%3+%4").arg(line.audit.requested()).arg(b.sinks).arg(b.budget).arg(b.window);
}

QString requestedTip(Line line) {
  const LayerAudit& a = line.audit;
  if (!a.bounded) return {};
  const QString bands = AuditModel::tr("%1 sinks, %2 by score, %3 in the window")
                            .arg(a.bands.sinks)
                            .arg(a.bands.budget)
                            .arg(a.bands.window);
  const auto rows = [](std::int32_t n) { return counted(n, AuditModel::tr("row"), AuditModel::tr("rows")); };
  const QString pinned = a.protectedRows ? AuditModel::tr("; and %1 pinned").arg(rows(a.protectedRows)) : QString();
  return bands + pinned +
      (a.waiting ? AuditModel::tr("; up to %1 more until the next decision").arg(rows(a.waiting)) : QString());
}

QString rowsTip(Line line) {
  return AuditModel::tr("%1 of %2 tokens have a row in this layer").arg(line.rows).arg(line.length);
}

QString bytesTip(Line line) { return AuditModel::tr("%1 per row, all KV heads").arg(formatBytes(line.rowBytes)); }

QString stateTip(Line line) {
  const auto tr = [](const char* text) { return AuditModel::tr(text); };
  switch (line.state) {
    case AuditState::KeepsAll: return tr("This layer evicts nothing");
    case AuditState::Waits:
      return line.prefilling ? tr("Policies evict no row before the prompt ends")
                             : tr("The policy decides at the end of the next tick");
    case AuditState::Room: return tr("The layer has fewer rows than requested, so no row was evicted");
    case AuditState::Holds:
      return tr("The policy evicted rows in tick %1, and the layer has the requested rows")
          .arg(line.audit.fired->value());
    case AuditState::Over:
      return tr("The layer has %1 rows, but %2 were requested: the policy does not keep its budget")
          .arg(line.rows)
          .arg(line.allowed());
    case AuditState::NoOp:
      return tr("The layer had %1 rows, but %2 were requested, and the policy has never evicted a row")
          .arg(std::max(line.rows, line.most))
          .arg(line.allowed());
  }
  return {};
}

Tone stateTone(Line line) {
  return line.bad() ? Tone::Error : line.state == AuditState::Holds ? Tone::Normal : Tone::Muted;
}

/// Figures of a layer without eviction are faint.
auto tone(Tone bounded) {
  return [bounded](Line line) { return line.audit.policy == "full" ? Tone::Faint : bounded; };
}

QString firedText(Line line) {
  const LayerAudit& a = line.audit;
  return a.fired ? QString::number(a.fired->value()) : a.policy == "full" ? kNone : AuditModel::tr("never");
}
}  // namespace

QString AuditLine::said() const {
  switch (state) {
    case AuditState::KeepsAll: return AuditModel::tr("keeps all");
    case AuditState::Waits:
      return prefilling ? AuditModel::tr("until the prompt ends") : AuditModel::tr("from the next tick");
    case AuditState::Room: return AuditModel::tr("room for %1").arg(std::max(0, audit.requested() - rows));
    case AuditState::Holds: return AuditModel::tr("as requested");
    case AuditState::Over: return AuditModel::tr("%1 over").arg(over());
    case AuditState::NoOp: return AuditModel::tr("no-op, %1 over").arg(std::max(rows, most) - allowed());
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

AuditModel::AuditModel(QObject* parent) : LineModel(parent) {
  addNumber("layer", tr("Layer"), tr("The layer"), "99999", [](Line line) { return line.name; })
      .in(Tone::Normal)
      .key([](Line line) { return line.layer.value(); });
  const auto policy = [](Line line) { return QString::fromStdString(line.audit.policy); };
  add("policy", tr("Policy"), tr("Requested policy"), {"expected_attention", 8}, policy)
      .toned(tone(Tone::Normal))
      .key(policy);
  add("state", tr("State"), tr("Whether the layer has the requested rows"), QString(18, 'x'), &AuditLine::said)
      .words()
      .toned(stateTone)
      .tips(stateTip)
      .key([](Line line) { return -static_cast<int>(line.state); });  // worst state first
  add("requested", tr("Requested rows"), tr("Sinks + budget by score + window"), {"9999 = 999+9999+99", 7},
      requestedText)
      .toned(tone(Tone::Normal))
      .tips(requestedTip)
      .key([](Line line) { return line.audit.bounded ? line.audit.requested() : line.length; });
  addNumber("rows", tr("Rows"), tr("Present resident rows"), {"99999", 9},
            [](Line line) { return QString::number(line.rows); })
      .toned([](Line line) {
        const bool over = line.audit.policy != "full" && line.over() > 0;
        return over ? Tone::Error : tone(Tone::Normal)(line);
      })
      .tips(rowsTip)
      .key([](Line line) { return line.rows; });
  add("share", tr("Of the context"),
      tr("Resident share of the context; the frame shows the requested rows, rows beyond it are red and hatched"),
      QString(14, 'x'),
      [](Line line) {
        return line.length ? QString::number(100.0 * line.rows / line.length, 'f', 0) + QStringLiteral(" %") : kNone;
      })
      .tips(rowsTip)
      .key(
          [](Line line) { return line.audit.bounded ? double(line.rows) / std::max(1, line.audit.requested()) : 0.0; });
  addNumber("requested_bytes", tr("Requested"), tr("Bytes of the requested rows"), {"999.9 KiB", 1},
            [](Line line) { return line.audit.bounded ? formatBytes(line.requestedBytes()) : kNone; })
      .tips(bytesTip)
      .key([](Line line) { return static_cast<double>(line.requestedBytes()); });
  addNumber("bytes", tr("Bytes"), tr("Bytes of the resident rows"), {"999.9 KiB", 6},
            [](Line line) { return formatBytes(line.bytes()); })
      .tips(bytesTip)
      .key([](Line line) { return static_cast<double>(line.bytes()); });
  addNumber("evicted", tr("Evicted"), tr("Rows evicted by the last decision"), {"99999", 4}, [](Line line) {
    return QString::number(line.audit.evicted);
  }).key([](Line line) { return line.audit.evicted; });
  addNumber("ever", tr("Ever"), tr("Rows evicted since the policy was set"), {"99999", 2}, [](Line line) {
    return QString::number(line.audit.evictedEver);
  }).key([](Line line) { return static_cast<double>(line.audit.evictedEver); });
  addNumber("fired", tr("Fired"), tr("Last tick in which the policy evicted a row"), {"99999", 5}, firedText)
      .key([](Line line) { return line.audit.fired ? static_cast<double>(line.audit.fired->value()) : -1; });
  const auto fallback = [](Line line) { return QString::fromStdString(line.audit.fallback); };
  add("fallback", tr("Fallback"), tr("What was done instead of what was asked for, and why"), {QString(19, 'x'), 3},
      fallback)
      .words()
      .in(Tone::Warning)
      .tips(fallback)
      .key(fallback);
  withLines(kBadRole, &AuditLine::bad);
  withLines(LineRole, [](Line line) { return QVariant::fromValue(&line); });
  withTone(tone(Tone::Muted));
}

void AuditModel::show(std::vector<AuditLine> given) {
  const bool same = given.size() == lines().size();
  replace(std::move(given), same);
}

int AuditModel::rowOf(CacheLayer layer) const {
  return find([&](Line line) { return line.layer == layer; });
}

}  // namespace kvlab
