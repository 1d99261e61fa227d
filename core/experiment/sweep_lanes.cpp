// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_lanes.h"

#include <algorithm>

#include "core/api/guarded.h"
#include "core/api/stopwatch.h"
#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

constexpr std::int64_t kMostLanes = 8;                         // more gain little: the weights are read once for all
constexpr int kRowsOfALane = 8;                                // of a common pass
constexpr std::int64_t kMostRowBytes = std::int64_t{2} << 30;  // of the rows of all lanes

/// The most bytes that the rows of a cell take, with K and V in f32.
std::int64_t bytesOfACell(const SweepSetup& setup) {
  const ModelConfig& model = setup.host().model().config();
  std::size_t rows = 0;
  for (const SweepCell& cell : setup.cells()) {
    if (!setup.isOurs(cell)) continue;
    for (const SweepStory& story : setup.storiesOf(cell).stories)
      for (const SweepQuestion& question : story.questions)
        rows = std::max(rows,
                        story.tokens.size() + question.tokens.size() + question.reply.size() +
                            static_cast<std::size_t>(question.newTokens));
  }
  return 2 * 4 * static_cast<std::int64_t>(rows) * model.layers * model.kvHeads * model.headDim;
}

}  // namespace

SweepLanes::SweepLanes(const SweepSetup& setup, std::int64_t cells) {
  const std::int64_t each = cells / std::max<std::int64_t>(1, setup.workers(cells));
  const std::int64_t room = kMostRowBytes / std::max<std::int64_t>(1, bytesOfACell(setup));
  const auto lanes = static_cast<int>(std::clamp<std::int64_t>(std::min(each, room), 1, kMostLanes));
  if (lanes == 1 || !setup.host().transformer().backend().onHost()) return;
  const Status made = guarded("the passes were not made together", [&]() -> Status {
    m_own = KV_TRY(setup.host().beside(setup.host().manifest()));
    m_wide = KV_TRY(m_own->transformer().widened(lanes * kRowsOfALane));
    m_lockstep = std::make_unique<Lockstep>(*m_wide);
    return ok();
  });
  if (made) m_count = lanes;
}

void SweepLanes::run(const Lane& lane) {
  if (m_count == 1) {
    return lane(nullptr, [watch = Stopwatch()] { return watch.seconds(); });
  }
  std::vector<std::function<void()>> jobs;
  for (int i = 0; i < m_count; ++i)
    jobs.emplace_back([this, &lane] { lane(m_lockstep.get(), [this] { return m_lockstep->usSoFar() * 1e-6; }); });
  m_lockstep->run(jobs);
}

}  // namespace kvlab
