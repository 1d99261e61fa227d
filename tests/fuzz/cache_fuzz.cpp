// SPDX-License-Identifier: Apache-2.0
// Input: a byte that chooses the position mode or a wLOD session, then a cache file for a model of two small layers.
// An accepted file fits the session it is for.
#include "core/files/cache_file.h"

#include <algorithm>
#include <cmath>

#include "core/kinds/wlod/files/cache_wlod.h"
#include "fuzz.h"

using namespace kvlab;

namespace {

CacheTarget target(std::uint8_t mode) {
  CacheTarget out;
  out.config.type = std::string("llama");
  out.config.layers = 2;
  out.config.heads = out.config.kvHeads = 1;
  out.config.headDim = 16;
  out.config.vocab = 32;
  out.config.maxPositions = 64;
  out.fingerprint.assign(1, 'f');
  out.numerics.assign(1, 'n');
  out.kinds = {"wlod"};
  out.formats.assign(2, {1, 16, kernels::DType::f16, mode % 2 ? kernels::DType::i8 : kernels::DType::f32});
  out.keep = {0, mode % 5 ? 0 : 4};
  out.position = static_cast<PositionMode>(mode % 3);
  out.capacity = 24;
  out.maxPhases = 64;
  if (mode < 128) return out;
  out.keep = {0, 0};
  out.position = PositionMode::Context;
  out.config.hidden = 4;
  WlodRules rules;
  rules.attention = mode % 4 < 2 ? WlodAttention::Flat : WlodAttention::Pyramid;
  out.kind = std::make_shared<const WlodFile>(rules, nlohmann::json{{"budget", 24}});
  return out;
}

void checkRows(const CacheImport& rows, const CacheTarget& to) {
  const std::size_t length = rows.tokens.size();
  fuzz::require(rows.phases.size() == length, "phases and tokens differ in number");
  for (std::size_t i = 0; i < length; ++i) {
    fuzz::require(rows.tokens[i].value() >= 0 && rows.tokens[i].value() < to.config.vocab, "a token outside");
    fuzz::require(rows.phases[i] < to.maxPhases && rows.phases[i] > (i ? rows.phases[i - 1] : -1),
                  "phases do not increase");
    if (to.position != PositionMode::Absolute && !to.kind)
      fuzz::require(rows.phases[i] == static_cast<std::int32_t>(i), "a phase that is not the position");
  }
}

const WlodState& wlodOf(const CacheImport& rows) { return static_cast<const WlodState&>(*rows.kind); }

void checkHf(const CacheImport& rows, const CacheTarget& to) {
  const auto n = static_cast<std::int64_t>(rows.tokens.size());
  fuzz::require(n > 0 && n <= to.capacity, "more rows than there is room for");
  std::vector<float> k(static_cast<std::size_t>(n * 16)), v(k.size());
  for (const CacheLayer layer : idRange<CacheLayer>(0, 2)) {
    unrotatedRows(rows, to.config, layer, 0, n, k.data(), v.data());
    for (std::size_t i = 0; i < k.size(); ++i)
      fuzz::require(std::abs(k[i]) < 65520 && std::isfinite(v[i]), "a value that the rows cannot hold");
  }
}

void checkNative(const CacheImport& rows, const CacheTarget& to) {
  const auto inLedger = [&](LedgerId id) {
    return id.value() >= 0 && static_cast<std::size_t>(id.value()) < rows.ledger.size();
  };
  fuzz::require(rows.groupOf.size() == 2 && rows.records.size() == 2, "a layer is missing");
  fuzz::require(rows.birthPhases.size() == rows.ledger.size(), "birth phases differ in number");
  fuzz::require(rows.brightness.size() == rows.context.size(), "brightness differs in number");
  for (LedgerId id : rows.context) fuzz::require(inLedger(id), "a context row outside the ledger");
  for (const LedgerRow& row : rows.ledger)
    for (const auto* list : {&row.parents, &row.children})
      for (LedgerId id : *list) fuzz::require(inLedger(id), "a relative outside the ledger");
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto& group = rows.groups.at(static_cast<std::size_t>(rows.groupOf[layer]));
    fuzz::require(to.kind || static_cast<std::int64_t>(group.ledger.size()) <= to.capacity, "too many rows");
    fuzz::require(!to.kind || std::ranges::equal(group.ledger, wlodOf(rows).ledger),
                  "rows that the tree does not name");
    fuzz::require(group.provenance.size() == rows.ledger.size(), "provenance differs in number");
    const auto stride = static_cast<std::size_t>(kernels::rowLayout(to.formats[layer]).stride);
    const auto first = static_cast<std::size_t>(rows.first.at(layer));
    fuzz::require(first <= group.ledger.size() && rows.records[layer].size() == stride * (group.ledger.size() - first),
                  "records differ in number");
  }
}

void checkWlod(const WlodState& state, const CacheTarget& to) {
  const std::int32_t moments = state.tree.length();
  fuzz::require(moments < to.maxPhases && state.context.length() == moments, "the entries end elsewhere");
  fuzz::require(state.context.cost() <= to.capacity, "more entries than the budget");
  for (const WlodRow& row : state.rows) fuzz::require(state.tree.has(row.node), "a row outside the tree");
  for (const std::vector<double>* values : {&state.mass, &state.scores})
    fuzz::require(values->empty() || values->size() == state.context.entries().size(), "values differ in number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const CacheTarget to = target(data[0]);
  const auto rows = parseCache(std::as_bytes(std::span(data + 1, size - 1)), "f", to);
  if (!rows) {
    fuzz::checkError(rows.error());
    return 0;
  }
  checkRows(*rows, to);
  if (to.kind) checkWlod(wlodOf(*rows), to);
  if (rows->form == CacheForm::Native) checkNative(*rows, to);
  else checkHf(*rows, to);
  return 0;
}
