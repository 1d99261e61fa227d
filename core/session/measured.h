// SPDX-License-Identifier: Apache-2.0
// What was measured of a session's present state. Another state forgets it by one assignment. Engine thread.
#pragma once
#include <memory>
#include <optional>

#include "core/analysis/exactness.h"
#include "core/analysis/quantisation.h"
#include "core/analysis/rebuild.h"

namespace kvlab {

struct Measured {
  std::optional<Drift> drift;
  std::optional<Quantisation> quantisation;
  std::shared_ptr<const NewestAttention> attention;  // in every layer; null = nobody asked
  mutable std::optional<ExactnessMap> exactness;     // computed for the first reader
};

}  // namespace kvlab
