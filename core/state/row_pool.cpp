// SPDX-License-Identifier: Apache-2.0
#include "core/state/row_pool.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/model/decoder/backend_status.h"
#include "kernels/backend/staging.h"

namespace kvlab {
namespace {

using kernels::Staging;

std::int64_t count(std::span<const std::int32_t> slots) { return static_cast<std::int64_t>(slots.size()); }

}  // namespace

Conversions conversionsOf(const kernels::TensorStats& stats, std::int64_t values) {
  return {values,
          stats.nonFinite,
          stats.clipped,
          stats.atMax,
          stats.scales,
          stats.floored,
          stats.scales > 0 ? stats.scaleMin : 0,
          stats.meanScale(),
          stats.scaleMax};
}

Result<RowPool> RowPool::create(kernels::Backend& backend, const kernels::RowFormat& format, std::int32_t slots,
                                std::int32_t most) {
  RowPool pool(backend, format, slots);
  KV_TRY(pool.reserve(most));
  return pool;
}

Result<RowPool> RowPool::like(kernels::Backend& backend, const RowPool& other, std::span<const Slot> rows) {
  RowPool pool(backend, other.format(), other.slots());
  const bool shared = pool.m_records.share(backend, other.m_records);
  KV_TRY(pool.reserve());
  if (shared) return pool;
  std::vector<std::uint8_t> records(rows.size() * at(other.stride()));
  other.readRecords(rows, records.data());
  pool.writeRecords(rows, records.data());
  return pool;
}

/// Takes the memory that the pool lacks.
Status RowPool::reserve(std::int32_t most) {
  const bool scaled = kernels::dtypeHasScale(m_format.k) || kernels::dtypeHasScale(m_format.v);
  const kernels::WriteRowsStats none;
  const bool roomy = !data() && most > m_slots && m_backend->onHost();
  bool there = data() || m_records.allocate(*m_backend, m_stride * (roomy ? most : m_slots));
  if (there && roomy && !m_records.resize(m_stride * m_slots, 0))  // memory without pages
    there = m_records.allocate(*m_backend, m_stride * m_slots);
  if (there && (!scaled || m_stats.assign(*m_backend, std::span(&none, 1)))) return ok();
  return backendStatus(*m_backend, "reserving a pool of " + std::to_string(m_slots) + " rows");
}

kernels::PageUse RowPool::memory() const {
  return m_records.pages().value_or(kernels::PageUse{.own = m_records.size()});
}

void RowPool::settleCounts(std::int64_t rows, const kernels::WriteRowsStats& counted) {
  if (!stats()) return;
  m_settled.add(counted);
  m_fresh.stats.add(counted);
  m_fresh.rows += rows;
}

kernels::WriteRowsStats RowPool::counts() const {
  kernels::WriteRowsStats counts;
  if (!stats()) return counts;
  Staging staging(*m_backend);
  staging.bring(&counts, stats(), 1);
  staging.finish();
  counts.add(m_settled);
  return counts;
}

void RowPool::gather(std::span<const std::int32_t> slots, float* k, float* v) const {
  Staging staging(*m_backend);
  const std::size_t values = slots.size() * at(width());
  ops().gatherRows(m_backend->context(),
                   {data(), m_format, staging.in(slots), count(slots), staging.out(k, values), staging.out(v, values)});
  staging.finish();
}

void RowPool::write(std::span<const std::int32_t> slots, const float* k, const float* v, const std::uint64_t* tags) {
  Staging staging(*m_backend);
  const std::size_t values = slots.size() * at(width());
  kernels::WriteRowsStats counted;
  ops().writeRows(m_backend->context(),
                  {.pool = data(),
                   .fmt = m_format,
                   .k = staging.in(std::span(k, values)),
                   .v = staging.in(std::span(v, values)),
                   .tags = staging.in(std::span(tags, slots.size())),
                   .slots = staging.in(slots),
                   .n = count(slots),
                   .stats = stats() ? staging.inOut(&counted, 1) : nullptr});
  staging.finish();
  settleCounts(count(slots), counted);
}

void RowPool::readTags(std::span<const std::int32_t> slots, std::uint64_t* tags, std::uint64_t* checksums) const {
  Staging staging(*m_backend);
  ops().readTags(m_backend->context(),
                 {data(), m_format, staging.in(slots), count(slots), staging.out(tags, slots.size()),
                  staging.out(checksums, slots.size())});
  staging.finish();
}

void RowPool::move(const RowPool& from, std::span<const kernels::RowMove> moves) {
  if (moves.empty()) return;
  Staging staging(*m_backend);
  ops().moveRows(m_backend->context(),
                 {from.data(), data(), m_format, staging.in(moves), std::ssize(moves), kernels::rowsOf(moves)});
  staging.finish();
}

void RowPool::zero(std::span<const std::int32_t> slots) {
  Staging staging(*m_backend);
  ops().zeroRows(m_backend->context(), {data(), m_format, staging.in(slots), count(slots)});
  staging.finish();
}

Status RowPool::resize(std::int32_t slots, std::int32_t kept) {
  if (m_records.resize(m_stride * slots, m_stride * kept)) {
    m_slots = slots;
    return ok();
  }
  kernels::Array<std::uint8_t> records;
  const std::string what = "reserving a pool of " + std::to_string(slots) + " rows";
  if (!records.allocate(*m_backend, m_stride * slots)) return backendStatus(*m_backend, what);
  const kernels::RowMove all{0, 0, kept};
  if (kept > 0) {
    Staging staging(*m_backend);
    ops().moveRows(m_backend->context(), {data(), records.data(), m_format, staging.in(std::span(&all, 1)), 1, kept});
    staging.finish();
  }
  if (Status copied = backendStatus(*m_backend, what); !copied) return copied;
  m_records = std::move(records);
  m_slots = slots;
  return ok();
}

void RowPool::readRecords(std::span<const Slot> slots, std::uint8_t* out) const {
  const RecordRead read{this, slots, out};
  kvlab::readRecords(std::span(&read, 1));
}

void RowPool::writeRecords(std::span<const Slot> slots, const std::uint8_t* in) {
  if (m_backend->onHost()) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      std::memcpy(data() + m_stride * slots[i].value(), in + at(m_stride) * i, at(m_stride));
    return;
  }
  std::vector<kernels::RowMove> moves;
  for (std::size_t i = 0; i < slots.size(); ++i) moves.push_back({static_cast<std::int32_t>(i), slots[i].value(), 1});
  Staging staging(*m_backend);
  const std::uint8_t* records = staging.in(std::span(in, slots.size() * at(m_stride)));
  ops().moveRows(m_backend->context(),
                 {records, data(), m_format, staging.in(moves), std::ssize(moves), std::ssize(moves)});
  staging.finish();
}

void readRecords(std::span<const RecordRead> reads) {
  if (reads.empty()) return;
  kernels::Backend& backend = reads.front().pool->backend();
  Staging staging(backend);
  std::deque<std::vector<kernels::RowMove>> lists;
  for (const auto& [pool, slots, out] : reads) {
    const std::size_t stride = at(pool->stride());
    for (std::size_t i = 0; backend.onHost() && i < slots.size(); ++i)
      std::memcpy(out + stride * i, pool->data() + stride * at(slots[i]), stride);
    if (backend.onHost() || slots.empty()) continue;
    std::vector<kernels::RowMove>& moves = lists.emplace_back();
    for (std::size_t i = 0; i < slots.size(); ++i) moves.push_back({slots[i].value(), static_cast<std::int32_t>(i), 1});
    backend.ops().moveRows(backend.context(),
                           {pool->data(), staging.out(out, slots.size() * stride), pool->format(), staging.in(moves),
                            std::ssize(moves), std::ssize(moves)});
  }
  staging.finish();
}

std::vector<std::uint8_t> verifyRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                     std::span<const std::int32_t> slots) {
  std::vector<std::uint8_t> verdicts(pools.size() * slots.size());
  Staging staging(backend);
  const std::int32_t* placed = staging.in(slots);
  std::uint8_t* out = staging.out(verdicts.data(), verdicts.size());
  for (std::size_t i = 0; i < pools.size(); ++i)
    backend.ops().verifyRows(backend.context(),
                             {.pool = pools[i].pool,
                              .fmt = pools[i].fmt,
                              .slots = placed,
                              .n = count(slots),
                              .verdicts = out + i * slots.size()});
  staging.finish();
  return verdicts;
}

std::vector<float> gatherRows(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                              std::span<const std::int32_t> slots, bool keys) {
  if (pools.empty()) return {};
  const std::size_t values = slots.size() * at(std::int64_t{pools[0].fmt.kvHeads} * pools[0].fmt.headDim);
  std::vector<float> gathered(pools.size() * values);
  Staging staging(backend);
  const std::int32_t* placed = staging.in(slots);
  float* out = staging.out(gathered.data(), gathered.size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    float* one = out + i * values;
    backend.ops().gatherRows(
        backend.context(),
        {pools[i].pool, pools[i].fmt, placed, count(slots), keys ? one : nullptr, keys ? nullptr : one});
  }
  staging.finish();
  return gathered;
}

std::vector<std::int64_t> wrongTags(kernels::Backend& backend, const std::vector<kernels::PoolView>& pools,
                                    std::span<const std::int32_t> slots, std::span<const std::uint64_t> tags) {
  std::vector<std::int64_t> wrong(pools.size());
  Staging staging(backend);
  backend.ops().matchTags(
      backend.context(),
      {staging.in(pools), static_cast<std::int64_t>(pools.size()), staging.in(slots), staging.in(tags),
       static_cast<std::int64_t>(slots.size()), staging.out(wrong.data(), wrong.size())});
  staging.finish();
  return wrong;
}

}  // namespace kvlab
