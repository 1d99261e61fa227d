// SPDX-License-Identifier: GPL-3.0-or-later
#include "wlod_view_fixture.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kvlab::fixture {

std::vector<WlodRow> rowsOf(const std::vector<TreeNode>& entries) {
  std::vector<WlodRow> out;
  for (const TreeNode entry : entries) {
    out.push_back({entry, true});
    for (int level = entry.level + 1; level <= kTopLevel; ++level)
      if (entry.end() % spanOf(level) == 0) out.push_back({{level, entry.end() - spanOf(level)}, false});
  }
  return out;
}

std::vector<TreeNode> tilingOf(std::int32_t moments, const std::vector<std::int32_t>& opened) {
  std::vector<TreeNode> out{{2, 0}};
  for (std::int32_t t = 1024; t < moments;) {
    const bool gist =
        t < kGistsEnd && std::find(opened.begin(), opened.end(), t / kGistBlock * kGistBlock) == opened.end();
    out.push_back({gist ? 1 : 0, t});
    t = out.back().end();
  }
  return out;
}

FocusDecision decision(TreeNode node, bool expand, double score, const char* code, std::string reason) {
  const std::string what = code;
  return {node, expand, score, what == "accepted" || what == "makes_room", what, std::move(reason)};
}

std::vector<std::shared_ptr<const FocusRound>> roundsUpTo(std::int64_t tick) {
  std::vector<std::shared_ptr<const FocusRound>> out;
  const auto add = [&](FocusRound round) {
    if (round.tick.value() <= tick) out.push_back(std::make_shared<const FocusRound>(std::move(round)));
  };
  add({0,
       Tick(20),
       2936,
       kBudget,
       177,
       208,
       {decision({1, 1184}, true, 0.412, "accepted", "score +0.412, at least +0.200")},
       0});
  add({1,
       Tick(32),
       2960,
       kBudget,
       232,
       232,
       {decision({1, 2912}, false, -0.377, "protected_tail",
                 "LOD1 [2912, 2944) reaches into the last 64 moments before 2960"),
        decision({1, 1184}, false, -0.221, "cooldown", "token 1184 was changed 1 rounds ago, the cooldown is 2")},
       0});
  add({2,
       Tick(41),
       3000,
       kBudget,
       241,
       272,
       {decision({1, kExpanded}, true, 0.634, "accepted", "score +0.634, at least +0.200"),
        decision({1, 2304}, true, 0.518, "over_budget", "272 entries and 31 more are above the budget of 300"),
        decision({2, 0}, true, 0.287, "over_budget", "272 entries and 31 more are above the budget of 300"),
        decision({1, 1184}, false, -0.254, "cooldown", "token 1184 was changed 1 rounds ago, the cooldown is 2"),
        decision({1, 1120}, true, 0.203, "edit_limit", "the limit of 4 edits per round is reached")},
       3});
  return out;
}

std::shared_ptr<const WlodChange> expansionChange(const std::vector<WlodRow>& before, const std::vector<WlodRow>& after,
                                                  std::int64_t tick) {
  auto change = std::make_shared<WlodChange>();
  const Moments edit{kExpanded, kExpanded + kGistBlock};
  change->tick = Tick(tick), change->edits = {{edit, false}}, change->earliest = edit.begin;
  for (const WlodRow& row : after) {
    const bool dirty = row.node.end() > edit.begin, holds = dirty && edit.overlaps(row.node.moments()),
               later = row.node.start > edit.begin;
    const bool stood =
        std::any_of(before.begin(), before.end(), [&](const WlodRow& one) { return one.node == row.node; });
    change->nodes.push_back(row.node);
    change->why.push_back(!dirty               ? DirtyWhy::Clean
                              : holds && later ? DirtyWhy::Both
                              : holds          ? DirtyWhy::Hierarchical
                                               : DirtyWhy::Temporal);
    change->layer0.push_back(dirty && stood);
    change->computed += dirty;
  }
  change->share = static_cast<double>(change->computed) / static_cast<double>(after.size());
  change->incrementalUs = 4310, change->fullUs = 7480, change->us = 4142, change->bytes = change->computed * 4 * 256;
  change->reason = "incremental takes about 4310 us, full 7480 us";
  return change;
}

std::shared_ptr<const WlodView> wlodView(std::int32_t moments, bool expanded) {
  auto view = std::make_shared<WlodView>();
  view->attention = "pyramid", view->gist = "mean", view->lens = "attention", view->near = 256, view->middle = 1024;
  view->moments = moments, view->budget = kBudget, view->protectedFrom = moments - kProtected;
  const std::vector<TreeNode> entries = tilingOf(
      moments,
      expanded ? std::vector<std::int32_t>{1056, 1120, 1184, kExpanded} : std::vector<std::int32_t>{1056, 1120, 1184});
  const std::vector<WlodRow> rows = rowsOf(entries);
  view->entries = Column<TreeNode>(entries);
  view->rows = Column<WlodRow>(rows);
  double sum = 0;
  for (const TreeNode node : entries) {
    const auto t = static_cast<std::uint64_t>(node.start);
    const double recent = std::exp((node.start - moments) / 90.0),
                 peak = node.start == 2304 || (node.start >= kExpanded && node.start < kExpanded + 32) ? 0.5 : 0;
    view->mass.push_back(static_cast<float>(0.06 * noise(t, 3) + recent * noise(t, 7) + peak * (0.4 + noise(t, 5)) +
                                            (node.level == 2 ? 0.4 : 0)));
    sum += static_cast<double>(view->mass.back());
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    view->mass[i] = static_cast<float>(static_cast<double>(view->mass[i]) / sum);
    const float r = view->mass[i] * static_cast<float>(entries.size());
    view->scores.push_back((r - 1) / (r + 1));
    const std::int32_t block = entries[i].start / kGistBlock * kGistBlock;
    view->cooling.push_back(entries[i].level > 0 ? 0 : block == kExpanded ? 2 : block == 1184 ? 1 : 0);
    view->ratios.residency[static_cast<std::size_t>(entries[i].level)] +=
        entries[i].span() / static_cast<double>(moments);
  }
  if (!expanded) return view;
  view->draft = Moments{moments - 4, moments};
  const std::vector<WlodRow> before = rowsOf(tilingOf(moments, {1056, 1120, 1184}));
  view->change = expansionChange(before, rows, 41);
  const auto share = [&](auto of) { return static_cast<double>(of) / static_cast<double>(rows.size()); };
  const auto count = [&](DirtyWhy why) { return std::count(view->change->why.begin(), view->change->why.end(), why); };
  view->ratios.spatial = share(count(DirtyWhy::Hierarchical) + count(DirtyWhy::Both));
  view->ratios.temporal = share(count(DirtyWhy::Temporal));
  view->ratios.hits =
      share(static_cast<double>(count(DirtyWhy::Clean)) +
            static_cast<double>(std::count(view->change->layer0.begin(), view->change->layer0.end(), true)) / 4);
  view->ratios.swaps = 32.0 / static_cast<double>(entries.size());
  return view;
}

SnapshotPtr wlodSnapshot(std::shared_ptr<const WlodView> wlod, std::int64_t tick, std::uint64_t serial) {
  static const SnapshotPtr small = Session(Options{false, 0}).history().front();
  auto s = std::make_shared<Snapshot>(*small);
  auto view = std::make_shared<WlodView>(*wlod);
  Ledger ledger;
  std::vector<LedgerId> tokens, context;
  for (std::int32_t t = 0; t < view->moments; ++t) {
    LedgerRow row;
    row.token = small->ledger[small->context[1 + static_cast<std::size_t>(t) % (small->context.size() - 1)]].token;
    row.source = Source::Prompt;
    tokens.push_back(ledger.append(std::move(row)));
  }
  auto map = std::make_shared<ResidencyView>();
  for (const TreeNode node : view->entries) {
    LedgerRow row;
    row.kind = RowKind::Gist, row.token = TokenId(-1);
    context.push_back(node.level == 0 ? tokens[static_cast<std::size_t>(node.start)] : ledger.append(std::move(row)));
    map->slotOf.push_back(Slot(static_cast<std::int32_t>(map->slotOf.size())));
    map->phases.push_back(node.phase());
  }
  map->ledger = Column<LedgerId>(context);
  view->tokens = Column<LedgerId>(tokens);
  s->tick = Tick(tick), s->serial = serial, s->report = nullptr, s->pending = {};
  s->plan = nullptr;
  s->ledger = ledger, s->context = Column<LedgerId>(context), s->wlod = view;
  s->layers.assign(Session::kLayers, map);
  s->exactness = nullptr;
  s->storage.assign(Session::kLayers, std::make_shared<StorageView>(plainStorage(4096, s->length())));
  return s;
}

SnapshotPtr withFinding(const SnapshotPtr& sound, std::size_t entry) {
  auto out = std::make_shared<Snapshot>(*sound);
  const DamageSince since{.verified = Tick(12), .found = out->tick};
  out->alignment.findings = {
      {{"row_checksums", "a slot does not match its checksum", CacheLayer(1), {}, out->context[entry], since},
       "no command wrote the row in between"}};
  return out;
}

std::vector<SnapshotPtr> wlodHistory(bool broken) {
  const auto with = [broken](std::shared_ptr<const WlodView> view, std::int64_t tick) {
    auto out = std::make_shared<WlodView>(*view);
    out->rounds = roundsUpTo(tick);
    const SnapshotPtr sound = wlodSnapshot(out, tick, static_cast<std::uint64_t>(tick));
    return broken ? withFinding(sound, 12) : sound;
  };
  return {with(wlodView(2996, false), 40), with(wlodView(3000, true), 41)};
}

}  // namespace kvlab::fixture
