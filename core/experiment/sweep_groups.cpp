// SPDX-License-Identifier: Apache-2.0
#include "core/experiment/sweep_groups.h"

#include <algorithm>
#include <charconv>

#include "core/experiment/sweep_spec.h"

namespace kvlab {

Result<SweepShard> parseShard(const std::string& text) {
  SweepShard out;
  const char *begin = text.data(), *end = begin + text.size();
  const auto first = std::from_chars(begin, end, out.index);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, out.count) : first;
  if (slash && second.ec == std::errc() && second.ptr == end && out.index >= 1 && out.index <= out.count) return out;
  return Error("bad_shard", "the sweep was not started", text + " is no shard",
               "write I/N with I from 1 to N, such as 2/4", "shard", text);
}

int sweepGroups(const SweepSpec& spec) { return static_cast<int>(spec.prompts.size() * spec.seeds.size()); }

int shardOf(const SweepSpec& spec, const SweepCell& cell, int count) {
  const auto seed = std::find(spec.seeds.begin(), spec.seeds.end(), cell.seed) - spec.seeds.begin();
  const std::size_t group = cell.prompts * spec.seeds.size() + static_cast<std::size_t>(seed);
  return static_cast<int>(group % static_cast<std::size_t>(count)) + 1;
}

Status checkShard(const SweepSpec& spec, const SweepShard& shard) {
  const int groups = sweepGroups(spec);
  if (shard.index < 1 || shard.index > shard.count)
    return Error("bad_shard", "the sweep was not started", shard.text() + " is no shard",
                 "name one from 1 to " + std::to_string(shard.count), "shard", shard.text());
  if (shard.count <= std::max(groups, 1)) return ok();
  return Error("bad_shard", "the sweep was not started",
               "cells of one prompt set and seed share a reference run, and the sweep has " + std::to_string(groups) +
                   " such groups for " + std::to_string(shard.count) + " shards",
               "make " + std::to_string(groups) + " shards at most, or add seeds or prompt sets", "shard",
               shard.text());
}

}  // namespace kvlab
