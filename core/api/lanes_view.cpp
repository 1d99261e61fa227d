// SPDX-License-Identifier: Apache-2.0
#include "core/api/lanes_view.h"

#include "core/api/json_values.h"

namespace kvlab {
namespace {

using nlohmann::json;

json number(const Summary& summary, double Summary::*value) {
  return summary.count ? finite(summary.*value) : json(nullptr);
}

json row(const LaneView& lane, std::size_t place, std::int64_t ticks) {
  json out{{"lane", place},
           {"label", lane.label},
           {"changes", lane.changes},
           {"inStep", !lane.exit},
           {"ticks", ticks},
           {"kl", number(lane.kl, &Summary::mean)},
           {"klMedian", number(lane.kl, &Summary::median)},
           {"klP99", number(lane.kl, &Summary::p99)},
           {"klLast", finite(lane.now.kl)},
           {"dnll", number(lane.dnll, &Summary::mean)},
           {"top1", number(lane.top1, &Summary::mean)},
           {"massKept", number(lane.massKept, &Summary::mean)},
           {"overlap", number(lane.overlap, &Summary::mean)},
           {"attentionError", finite(attentionError(lane))},
           {"us", number(lane.us, &Summary::mean)},
           {"layers",
            {{"massKept", finiteList(lane.now.massKept)},
             {"overlap", finiteList(lane.now.overlap)},
             {"needles", finiteList(lane.now.needles)}}},
           {"weightBytes", lane.now.weightBytes}};
  if (lane.snapshot) {
    out["bytes"] = lane.snapshot->bytes.live;
    out["bytesAllocated"] = lane.snapshot->bytes.allocated;
  }
  if (lane.exit) {
    out["exitTick"] = lane.exit->tick;
    out["error"] = lane.exit->error.toJson();
  }
  return out;
}

}  // namespace

double attentionError(const LaneView& lane) {
  const auto errors = lane.snapshot ? lane.snapshot->attentionErrors : nullptr;
  return errors ? meanError(*errors) : std::numeric_limits<double>::quiet_NaN();
}

json toJson(const LaneFigures& figures) {
  return {{"kl", finite(figures.kl)},
          {"dnll", finite(figures.dnll)},
          {"top1", finite(figures.top1)},
          {"massKept", finite(figures.meanMassKept())},
          {"overlap", finite(figures.meanOverlap())},
          {"needles", finiteList(figures.needles)},
          {"us", finite(figures.us)},
          {"weightBytes", figures.weightBytes}};
}

json toJson(const LanesView& view) {
  json out = json::array();
  for (std::size_t lane = 0; lane < view.lanes.size(); ++lane) out.push_back(row(view.lanes[lane], lane, view.ticks));
  return out;
}

}  // namespace kvlab
