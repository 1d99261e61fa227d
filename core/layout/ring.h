// SPDX-License-Identifier: Apache-2.0
// The common part of the ring layouts. The pool is a circle of slots larger than the window: a pass computes rows
// ahead of the pointer, and a commit moves the pointer, not rows. Rows behind the window stay counted in
// the map and lose their slots. A prompt that is longer than the free slots goes through in pieces, and each piece
// overwrites rows that no later piece sees. semantics.md, section 7. Engine thread.
#pragma once
#include "core/layout/layout.h"

namespace kvlab {

class Ring : public StorageLayout {
 public:
  explicit Ring(std::string_view name, ReadPath path, bool rolled = false)
      : m_name(name), m_path(path), m_rolled(rolled) {}
  std::string_view name() const override { return m_name; }
  bool inPlace() const override { return true; }
  bool dropsMasked() const override { return true; }
  std::int32_t poolSlots(const LayerDemand& demand) const override;
  std::unique_ptr<SlotAllocator> makeSlots(const LayerDemand& demand) const override {
    return std::make_unique<RunSlots>(poolSlots(demand), poolSlots(demand), true);
  }
  void start(LayerGroup& group, const LayerDemand& demand) const override;
  Result<std::int64_t> settle(Settling& settling, LayoutContext& context) const override;
  void dropped(SlotAllocator& slots, std::int32_t rows) const override;
  void restart(const LayerGroup& group, SlotAllocator& slots) const override;

 private:
  std::string_view m_name;
  ReadPath m_path;
  bool m_rolled;
};

}  // namespace kvlab
