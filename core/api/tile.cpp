// SPDX-License-Identifier: Apache-2.0
#include "core/api/tile.h"

#include <array>

namespace kvlab {
namespace {
struct Names {
  std::string_view name, title;
};
constexpr std::array<Names, kQuantities> kQuantityNames = {{{"brightness", "Brightness"},
                                                            {"age", "Age"},
                                                            {"residency", "Residency"},
                                                            {"attention", "Attention (newest query)"},
                                                            {"received", "Attention received (prefill)"},
                                                            {"phase_lag", "Phase lag"},
                                                            {"staleness", "Staleness"},
                                                            {"drift_k", "Drift of K"},
                                                            {"drift_v", "Drift of V"},
                                                            {"k_norm", "Norm of K"},
                                                            {"v_norm", "Norm of V"},
                                                            {"quant_k", "Quantisation of K"},
                                                            {"quant_v", "Quantisation of V"},
                                                            {"quant_logit", "Quantisation in logits"},
                                                            {"score", "Policy score"},
                                                            {"surprise", "Surprise of the model"},
                                                            {"difference_k", "Difference of K"},
                                                            {"difference_v", "Difference of V"},
                                                            {"knock_out", "Knock-out"}}};
}  // namespace

std::string_view name(Quantity quantity) { return kQuantityNames[static_cast<std::size_t>(quantity)].name; }
std::string_view title(Quantity quantity) { return kQuantityNames[static_cast<std::size_t>(quantity)].title; }

std::optional<Quantity> quantityFromName(std::string_view text) {
  for (std::size_t i = 0; i < kQuantityNames.size(); ++i)
    if (kQuantityNames[i].name == text) return static_cast<Quantity>(i);
  return std::nullopt;
}

}  // namespace kvlab
