// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/jobs/compact_job.h"

#include <set>

#include "core/api/read_json.h"
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
  connect(&context, &LiveContext::sessionChanged, this, &QObject::deleteLater);
}

void CompactJob::start() {
  m_before = pageTotals(*m_context.snapshot()).holes();
  m_job = m_context.jobs().begin({.name = tr("Compact Pages"),
                                  .on = QString::fromStdString(m_context.snapshot()->info->model),
                                  .queue = m_context.session().get(),
                                  .place = {.view = QStringLiteral("storage")},
                                  .cancel = [this] {
                                    m_cancelled = true;
                                    m_context.session()->cancel(m_ticket);
                                  }});
  step();
}

void CompactJob::step() {
  m_ticket = m_context.send("compact", {{"rows", m_rows}}, this, [this](const auto& reply) { took(reply); });
}

void CompactJob::took(const Result<nlohmann::json>& reply) {
  if (!reply) {
    if (reply.error().code != "cancelled") emit m_context.failed(reply.error());
    return m_cancelled ? end(JobState::Stopped, tr("stopped by hand; Compact goes on from here"))
                       : end(JobState::Failed, QString::fromStdString(reply.error().why));
  }
  const auto moved = memberOr(*reply, "rows", std::int64_t{0});
  m_moved += moved;
  m_bytes += memberOr(*reply, "bytes", std::int64_t{0});
  if (moved <= 0 || memberOr(*reply, "done", true)) return end(JobState::Done, tr("no page has a hole"));
  if (m_cancelled) return end(JobState::Stopped, tr("stopped by hand; Compact goes on from here"));
  const std::int64_t left = m_context.snapshot() ? pageTotals(*m_context.snapshot()).holes() : 0;
  m_context.jobs().report(m_job, tr("compacting pages"), m_before - left, m_before);
  step();
}

void CompactJob::end(JobState state, const QString& how) {
  const QString moved = counted(m_moved, tr("row"), tr("rows"));
  m_context.jobs().end(m_job, state, tr("Moved %1 (%2); %3").arg(moved, formatBytes(m_bytes), how));
  deleteLater();
}

}  // namespace kvlab
