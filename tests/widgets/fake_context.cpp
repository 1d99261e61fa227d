// SPDX-License-Identifier: GPL-3.0-or-later
#include "fake_context.h"

#include <cmath>

#include "difference_fixture.h"
#include "timeline_fixture.h"

namespace kvlab {

float FakeContext::value(const Snapshot& s, Quantity quantity, std::size_t layer, std::size_t p) {
  const LedgerId id = s.context[p];
  const LedgerRow& row = s.ledger[id];
  const auto seed = static_cast<std::uint64_t>(id.value());
  const double noise = fixture::noise(seed, layer, static_cast<std::uint64_t>(quantity));
  const double age = static_cast<double>(s.tick.value() - row.born.value());
  const Exactness exact = s.exactness ? (*s.exactness)[p] : Exactness::Exact;
  const double depth = static_cast<double>(layer);
  const double recent = std::exp(-static_cast<double>(s.context.size() - p) / 18);
  switch (quantity) {
    case Quantity::Brightness:
      return static_cast<float>(
          std::clamp(255 - 9 * age - 40 + 300 * std::pow(fixture::noise(seed, 5), 3.0), 3.0, 255.0));
    case Quantity::Age: return static_cast<float>(age);
    case Quantity::Surprise: return p == 0 ? NAN : static_cast<float>(9 * std::pow(fixture::noise(seed, 11), 2.0));
    case Quantity::Residency: return 1;
    case Quantity::Attention:
    case Quantity::Received:
      return static_cast<float>(p == 0 ? 0.34 + 0.05 * depth : 0.06 * recent + 0.05 * std::pow(noise, 9.0));
    case Quantity::PhaseLag: return static_cast<float>(exact == Exactness::PhaseShifted ? 1 + p % 2 : 0);
    case Quantity::Staleness: return layer == 0 ? 0.0f : static_cast<float>(exact);
    case Quantity::QuantK:
    case Quantity::QuantV:
    case Quantity::QuantLogit:
    case Quantity::DriftK:
    case Quantity::DifferenceK:
    case Quantity::DifferenceV:
    case Quantity::DriftV:
      return layer == 0 || exact == Exactness::Exact
          ? 0.0f
          : static_cast<float>(0.002 * depth * depth + 0.04 * std::pow(noise, 4.0) * depth);
    case Quantity::KnockOut: return static_cast<float>(std::pow(noise, 6.0));
    case Quantity::Score: return fixture::score(id, layer);
    case Quantity::KNorm: return static_cast<float>(9 + 2 * depth + 3 * noise + (p == 0 ? 14 : 0));
    case Quantity::VNorm: return static_cast<float>(p == 0 ? 0.6 : 3 + depth + 2 * noise);
  }
  return 0;
}

std::shared_ptr<const Tile> FakeContext::makeTile(const Snapshot& s, const TileRequest& request) {
  auto tile = std::make_shared<Tile>();
  tile->request = request;
  tile->tick = s.tick;
  const std::size_t first = request.layer ? static_cast<std::size_t>(request.layer->value()) : 0;
  const std::size_t last = request.layer ? first + 1 : s.layers.size();
  const auto begin = static_cast<std::size_t>(std::max(0, request.begin.value()));
  const auto end = static_cast<std::size_t>(std::clamp(request.end.value(), 0, s.length()));
  tile->layers = static_cast<int>(last - first);
  tile->positions = static_cast<int>(end - std::min(begin, end));
  for (std::size_t layer = first; layer < last; ++layer) {
    std::vector<bool> resident(s.ledger.size(), false);
    for (LedgerId id : s.layers[layer]->ledger.span().subspan(static_cast<std::size_t>(s.layers[layer]->first)))
      resident[static_cast<std::size_t>(id.value())] = true;
    for (std::size_t p = begin; p < end; ++p) {
      const bool here = resident[static_cast<std::size_t>(s.context[p].value())];
      const float missing = request.quantity == Quantity::Residency ? 0.0f : NAN;
      tile->values.push_back(here ? value(s, request.quantity, layer, p) : missing);
    }
  }
  return tile;
}

nlohmann::json FakeContext::rowHistory(LedgerId id) const {
  const Snapshot& s = *m_history.back();
  nlohmann::json out = nlohmann::json::array();
  if (!s.ledger.contains(id)) return out;
  const LedgerRow& row = s.ledger[id];
  const auto add = [&](std::int64_t tick, std::string event, nlohmann::json layer, std::string detail) {
    out.push_back({{"tick", tick}, {"event", event}, {"layer", layer}, {"detail", detail}});
  };
  add(row.born.value(), "born", nullptr, "from " + std::string(name(row.source)));
  for (LedgerId parent : row.parents)
    add(row.born.value(), "parent", nullptr, "replaces ledger row " + std::to_string(parent.value()));
  for (std::int64_t tick = row.born.value() + 3; tick < s.tick.value(); tick += 5)
    if (row.state == RowState::Live || tick < row.changed.value())
      add(tick, tick % 2 ? "dimmed" : "lit", nullptr,
          "brightness " + std::to_string(250 - 9 * tick) + " to " + std::to_string(241 - 9 * tick));
  for (const SnapshotPtr& snapshot : m_history) {
    if (!snapshot->report) continue;
    for (const Action& action : snapshot->report->actions)
      if (const auto* evict = std::get_if<Evict>(&action))
        if (std::find(evict->ledger.begin(), evict->ledger.end(), id) != evict->ledger.end())
          add(snapshot->tick.value(), "evicted", evict->layer.value(), "by the user");
  }
  if (row.state != RowState::Live && row.state != RowState::Evicted)
    add(row.changed.value(), std::string(name(row.state)), nullptr, "by the user");
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a["tick"] < b["tick"]; });
  return out;
}

nlohmann::json FakeContext::rows(const nlohmann::json& args) const {
  const Snapshot& s = *m_history.back();
  const auto layer = static_cast<std::size_t>(args.value("layer", 0));
  nlohmann::json out = nlohmann::json::array();
  if (layer >= s.layers.size()) return out;
  const ResidencyView& map = *s.layers[layer];
  const bool broken = !s.invariants.empty() && !s.invariants[1].ok && layer == 2;
  const auto end = std::min<std::size_t>(map.size(), args.value("end", map.size()));
  for (std::size_t i = std::max(args.value("begin", std::size_t{0}), static_cast<std::size_t>(map.first)); i < end;
       ++i) {
    const LedgerId id = map.ledger[i];
    const std::size_t swapped = broken && i == 40 ? 41 : broken && i == 41 ? 40 : i;
    out.push_back({{"index", i},
                   {"slot", map.slotOf[i].value()},
                   {"phase", map.phase(i).value()},
                   {"sigma", 1.0},
                   {"ledger", id.value()},
                   {"tag", map.ledger[swapped].value()},
                   {"tokenId", s.ledger[id].token.value()},
                   {"brightness", 200},
                   {"score", nullptr},
                   {"exactness", "exact"},
                   {"bornTick", s.ledger[id].born.value()},
                   {"checksum", "00000000"}});
  }
  return out;
}

/// The lowest slots without a row are held by history, all others are free.
nlohmann::json FakeContext::storage(const nlohmann::json& args) const {
  const auto layer = static_cast<std::size_t>(args.value("layer", 0));
  const Snapshot& s = *m_history.back();
  const StorageView& view = *s.storage[layer];
  std::vector<bool> free(static_cast<std::size_t>(view.poolSlots), true);
  for (Slot slot : s.layers[layer]->residentSlots()) free[static_cast<std::size_t>(slot.value())] = false;
  std::int32_t held = view.held - view.rows;
  for (std::size_t slot = 0; slot < free.size() && held > 0; ++slot)
    if (free[slot]) free[slot] = false, --held;
  nlohmann::json runs = nlohmann::json::array();
  for (std::size_t slot = 0; slot < free.size(); ++slot)
    if (free[slot]) runs.push_back({slot, 1});
  return {{"layout", view.layout}, {"free", runs}};
}

void FakeContext::cannedReplies() {
  answers["history"] = [this](const nlohmann::json& args) {
    return Result<nlohmann::json>(rowHistory(LedgerId(args.value("ledger", -1))));
  };
  answers["timeline"] = [this](const nlohmann::json& args) {
    return Result<nlohmann::json>(
        fixture::branched(m_history).reply(args.value("since", 0), args.value("packed", false)));
  };
  answers["lifespans"] = [this](const nlohmann::json&) {
    return Result<nlohmann::json>(measured ? toJson(fixture::lifespans(m_history.back())) : nlohmann::json());
  };
  answers["storage"] = [this](const nlohmann::json& args) { return Result<nlohmann::json>(storage(args)); };
  answers["difference"] = [this](const nlohmann::json&) {
    return Result<nlohmann::json>(fixture::difference(*m_history.back()));
  };
  answers["quantisation"] = [this](const nlohmann::json&) {
    return Result<nlohmann::json>(fixture::quantisation(*m_history.back()));
  };
  answers["row"] = [this](const nlohmann::json& args) {
    return Result<nlohmann::json>(fixture::row(*m_history.back(), args));
  };
  answers["row_rebuild"] = [this](nlohmann::json args) {
    args["compare"] = "rebuild";
    return Result<nlohmann::json>(fixture::row(*m_history.back(), args));
  };
  answers["attentionMatrix"] = [this](const nlohmann::json& args) {
    return Result<nlohmann::json>(fixture::attentionMatrix(*m_history.back(), args));
  };
  answers["rows"] = [this](const nlohmann::json& args) { return Result<nlohmann::json>(rows(args)); };
  answers["plan"] = [this](const nlohmann::json& args) -> Result<nlohmann::json> {
    nlohmann::json actions = nlohmann::json::array();
    int place = 0;
    for (const auto& action : args.value("actions", nlohmann::json::array())) {
      if (!action.contains("action"))
        return Error("bad_action", "action " + std::to_string(place) + " was refused", "it has no field `action`",
                     "name one of replace_pair, replace, add, delete, insert, evict", place, "action");
      actions.push_back({{"place", place},
                         {"action", action},
                         {"removed", {36}},
                         {"finalPosition", 36},
                         {"newLedger", {m_history.back()->ledger.size() + static_cast<std::size_t>(place)}}});
      ++place;
    }
    return nlohmann::json{{"ok", true},           {"actions", actions}, {"lengthAfter", m_history.back()->length()},
                          {"stale", 54},          {"phaseShifted", 0},  {"newRows", place},
                          {"bytes", 2048 * place}};
  };
}

}  // namespace kvlab
