// SPDX-License-Identifier: Apache-2.0
#include "core/files/cache_rounding.h"

#include <algorithm>
#include <cmath>

#include "core/model/decoder/row_codec.h"
#include "kernels/backend/cuda_ops.h"
#include "kernels/numerics.h"

namespace kvlab {
namespace {

using nlohmann::json;
using Rounded = CacheImport::Rounded;

constexpr float kProducts = 4;  // steps of a type that a norm, a product and a rotation lose in it

/// The larger bound of each kind.
Rounding worse(Rounding a, Rounding b) { return {std::max(a.relative, b.relative), std::max(a.ofMost, b.ofMost)}; }

/// Rounding error of an arithmetic's products, in parts of a head's largest value.
float roundedBy(const std::string& numerics) {
  if (numerics == kernels::kCudaFastId) return 8e-2f;
  if (numerics == kernels::kBf16NumericsId) return kProducts * roundingOf(kernels::DType::bf16).most();
  return numerics == kernels::kQ8NumericsId ? kProducts * roundingOf(kernels::DType::i8).most() : 0;
}

/// Deviation of a file's rows because another arithmetic or other weights computed them.
Rounding arithmeticOf(const json& manifest, const CacheTarget& target, kernels::DType type) {
  const json weights = manifest.value("fingerprint", json()), numerics = manifest.value("numerics", json());
  const bool codes = kernels::dtypeHasScale(target.weights) || kernels::dtypeInBlocks(target.weights);
  if (weights.is_null() ? codes : weights != target.fingerprint) return {0, Rounding::kAny};
  if (!numerics.is_string())
    return {0, kProducts * std::max(roundingOf(type).most(), roundingOf(target.weights).most())};
  if (numerics == target.numerics) return {};
  return {0, std::max(roundedBy(numerics.get<std::string>()), roundedBy(target.numerics))};
}

/// One layer's four numbers.
std::optional<Rounded> layerOf(const json& numbers) {
  const auto good = [](const json& one) { return one.is_number() && one >= 0 && one <= Rounding::kAny; };
  if (!numbers.is_array() || numbers.size() != 4 || !std::ranges::all_of(numbers, good)) return std::nullopt;
  Rounded out;
  out.k = {numbers[0].get<float>(), numbers[1].get<float>()};
  out.v = {numbers[2].get<float>(), numbers[3].get<float>()};
  return out;
}

Result<std::vector<Rounded>> listed(const json& all, const std::string& path, std::size_t layers) {
  if (!all.is_array() || all.size() != layers) return badCache(path, "rounded does not name each layer", "rounded");
  std::vector<Rounded> out;
  for (const json& one : all) {
    const std::optional<Rounded> layer = layerOf(one);
    if (!layer) return badCache(path, "rounded has other than four numbers from 0 to 1e6 for a layer", "rounded");
    out.push_back(*layer);
  }
  return out;
}

}  // namespace

json roundedJson(const CacheState& state, const CacheStore& store, CacheForm form, bool turned) {
  json out = json::array();
  for (const CacheLayer layer : state.layers()) {
    const kernels::RowFormat& format = store.pool(layer).format();
    const bool stay = form == CacheForm::Native;
    Rounding k = stay ? Rounding() : roundingOf(format.k, turned), v = stay ? Rounding() : roundingOf(format.v);
    if (!stay && !codecOf(format.codecs, true).empty()) k = {0, Rounding::kAny};
    if (!stay && !codecOf(format.codecs, false).empty()) v = {0, Rounding::kAny};
    const Column<RowPast> none;
    for (const RowPast& past : at(layer) < state.pasts.size() ? state.pasts[at(layer)] : none)
      k = worse(k, past.k), v = worse(v, past.v);
    out.push_back({k.relative, k.ofMost, v.relative, v.ofMost});
  }
  return out;
}

Result<std::vector<Rounded>> roundedRows(const json& manifest, const std::string& path, const CacheTarget& target) {
  const json all = manifest.value("rounded", json()), converted = manifest.value("converted", json(true));
  if (!all.is_null()) return listed(all, path, target.formats.size());
  if (!converted.is_boolean()) return badCache(path, "converted is neither true nor false", "converted");
  std::vector<Rounded> out(target.formats.size());
  const Rounding coarsest = roundingOf(kernels::DType::fp8e4m3);
  for (std::size_t layer = 0; converted.get<bool>() && layer < out.size(); ++layer) {
    out[layer].k = roundingOf(target.formats[layer].k).then(coarsest);
    out[layer].v = roundingOf(target.formats[layer].v).then(coarsest);
  }
  return out;
}

Result<std::vector<Rounded>> roundedRows(const json& manifest, const std::string& path, const CacheTarget& target,
                                         kernels::DType type) {
  std::vector<Rounded> out(target.formats.size());
  if (manifest.contains("rounded")) out = KV_TRY(listed(manifest["rounded"], path, out.size()));
  const Rounding arithmetic = arithmeticOf(manifest, target, type);
  for (Rounded& one : out) {
    one.fileK = roundingOf(type, true);  // keys are turned there
    one.fileV = roundingOf(type);
    one.arithmetic = arithmetic;
  }
  return out;
}

}  // namespace kvlab
