// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's replies on one row and on attention by head in a fixture snapshot.
#include <cmath>

#include "fixture_session.h"

namespace kvlab::fixture {
namespace {

constexpr int kRowHeads = 2, kRowDim = 16;

nlohmann::json rowTensor(const nlohmann::json& args, const std::string& type, std::uint64_t salt) {
  const auto seed = args.value("layer", std::uint64_t{0}) * 131 + args.value("index", std::uint64_t{0});
  std::vector<float> data, other, norms, relative;
  for (std::uint64_t head = 0; head < kRowHeads; ++head) {
    double norm = 0, apart = 0;
    for (std::uint64_t i = 0; i < kRowDim; ++i) {
      const double value = 3 * (noise(seed, head * 64 + i, salt) - 0.5);
      const double there = value + (head == 1 && i % 5 == 0 ? 0.2 : 0.002) * (noise(seed, i, salt + 9) - 0.5);
      data.push_back(static_cast<float>(value));
      other.push_back(static_cast<float>(there));
      norm += value * value, apart += (value - there) * (value - there);
    }
    norms.push_back(static_cast<float>(std::sqrt(norm)));
    relative.push_back(static_cast<float>(std::sqrt(apart / norm)));
  }
  nlohmann::json out{{"data", data}, {"norms", norms}, {"type", type}, {"scales", nullptr}};
  if (type == "int8") out["scales"] = {0.0118, 0.0097};
  if (args.contains("compare")) out["other"] = other, out["relative"] = relative;
  return out;
}

}  // namespace

nlohmann::json row(const Snapshot& s, const nlohmann::json& args) {
  const StorageView& stored = *s.storage[args.value("layer", std::size_t{0})];
  nlohmann::json out{
      {"shape", {kRowHeads, kRowDim}}, {"k", rowTensor(args, stored.k, 3)}, {"v", rowTensor(args, stored.v, 4)}};
  const std::string with = args.value("compare", "");
  if (!with.empty())
    out["compared"] = {{"with", with}, {"tick", s.tick.value() - (with == "before" ? 1 : 0)}, {"there", true}};
  return out;
}

/// Each head looks at the first row, at a place of its own, and at the rows just before the query.
nlohmann::json attentionMatrix(const Snapshot& s, const nlohmann::json& args) {
  const int length = s.length(), heads = s.info->heads, end = args.value("end", length);
  const int begin = args.value("begin", std::max(0, end - 1));
  const std::size_t layer = args.value("layer", std::size_t{0});
  std::vector<bool> there(s.ledger.size());
  for (const LedgerId id : s.layers[layer]->ledger.span().subspan(static_cast<std::size_t>(s.layers[layer]->first)))
    there[static_cast<std::size_t>(id.value())] = true;
  std::vector<int> asked;
  for (int head = 0; head < heads; ++head)
    if (args.value("head", head) == head) asked.push_back(head);
  std::vector<float> values, own;
  for (const int head : asked)
    for (int query = begin; query < end; ++query) {
      std::vector<double> line;
      double sum = 0;
      for (int p = 0; p < length; ++p) {
        const bool here = there[static_cast<std::size_t>(s.context[static_cast<std::size_t>(p)].value())];
        const double near = std::exp(-(query - p) / (2.0 + head)), far = p == (head * 13 + query / 3) % 60 ? 1.5 : 0;
        const double weight = p > query ? 0
                                        : near + far + (p == 0 ? 1 : 0) +
                0.02 * noise(71, static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(head));
        line.push_back(here ? weight : NAN);
        if (here) sum += weight;
      }
      for (const double one : line) values.push_back(static_cast<float>(one / sum));
      own.push_back(0);
    }
  return {{"tick", s.tick.value()}, {"layer", layer},   {"kvHead", nullptr},
          {"heads", asked},         {"begin", begin},   {"end", end},
          {"length", length},       {"values", values}, {"own", own}};
}

}  // namespace kvlab::fixture
