// SPDX-License-Identifier: Apache-2.0
// Rows stay where they were written. A commit is the swap of the maps and moves no K/V at all.
#include "core/layout/layout.h"

namespace kvlab {
namespace {

class Indirection : public StorageLayout {
 public:
  std::string_view name() const override { return "indirection"; }
  std::string_view help() const override { return "rows stay where they were written"; }
  bool inPlace() const override { return false; }
  Result<std::int64_t> settle(CacheState&, LayerSlots&, LayoutContext&) override {
    return std::int64_t{0};
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeIndirection() { return std::make_unique<Indirection>(); }

}  // namespace kvlab
