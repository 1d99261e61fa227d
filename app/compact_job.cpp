// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/compact_job.h"

#include <set>

#include "widgets/base/format.h"

namespace kvlab {

PageTotals pageTotals(const Snapshot& s) {
  PageTotals out;
  std::set<const StorageView*> seen;
  for (const auto& storage : s.storage) {
    if (!storage || !storage->pages || !seen.insert(storage.get()).second) continue;
    const PageState& p = *storage->pages;
    out.used += p.used;
    out.needed += (p.rows + p.block - 1) / p.block;
  }
  return out;
}

CompactJob::CompactJob(LiveContext& context, std::int64_t rowsPerStep)
    : QObject(&context), m_context(context), m_rows(rowsPerStep) {
  connect(&context, &LiveContext::cancelled, this, [this] { m_cancelled = true; });
  connect(&context, &LiveContext::sessionChanged, this, &QObject::deleteLater);
}

void CompactJob::start() {
  m_before = pageTotals(*m_context.snapshot()).holes();
  step();
}

void CompactJob::step() {
  m_context.submit("compact", {{"rows", m_rows}}, this, [this](const Result<nlohmann::json>& reply) { took(reply); });
}

void CompactJob::took(const Result<nlohmann::json>& reply) {
  if (!reply) {
    if (reply.error().code != "cancelled") emit m_context.failed(reply.error());
    return end(tr("stopped"));
  }
  m_moved += reply->value("rows", std::int64_t{0});
  m_bytes += reply->value("bytes", std::int64_t{0});
  if (reply->value("done", true)) return end(tr("done"));
  if (m_cancelled) return end(tr("cancelled; Compact goes on from here"));
  const std::int64_t left = m_context.snapshot() ? pageTotals(*m_context.snapshot()).holes() : 0;
  emit m_context.progressed(tr("Compacting pages"), m_before - left, m_before);
  step();
}

void CompactJob::end(const QString& how) {
  emit m_context.progressed({}, 0, -1);
  emit m_context.logged(2,
                        tr("compacting pages: %1 moved (%2), %3")
                            .arg(counted(m_moved, tr("row"), tr("rows")), formatBytes(m_bytes), how));
  deleteLater();
}

}  // namespace kvlab
