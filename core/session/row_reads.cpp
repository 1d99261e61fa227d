// SPDX-License-Identifier: Apache-2.0
#include "core/session/row_reads.h"

#include <algorithm>

#include "core/session/look_back.h"

namespace kvlab {

Result<std::vector<RowRead>> rowReads(Session& session, Layer layer, LedgerId row) {
  const Expression read = KV_TRY(Expression::parse("read(ledger==" + std::to_string(row.value()) +
                                                   ", layer==" + std::to_string(layer.value()) + ")"));
  const Timeline& line = session.timeline();
  const std::vector<int> path = line.path(line.currentId());
  const Tick born = session.state().ledger[row].born;
  const auto first = std::ranges::lower_bound(path, born, {}, [&](int id) { return line.entry(id).tick; });
  std::vector<RowRead> out;
  LookBack back(session, [&](Need need) { return read.needs(need); });
  KV_TRY(back.forward(first == path.begin() ? path.front() : *std::prev(first), line.currentId(),
                      [&](const Sight& seen, int entry) {
                        const double mass = std::get<double>(read.value(seen));
                        if (mass > 0) out.push_back({entry, mass});
                      }));
  return out;
}

}  // namespace kvlab
