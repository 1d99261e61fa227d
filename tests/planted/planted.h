// SPDX-License-Identifier: Apache-2.0
// The planted fault. The environment variable KVLAB_PLANTED is read once; a driver may choose another number. plant.py
// copies this file into the tree that it changes; no other tree has it.
#pragma once
#include <bitset>
#include <cstdlib>

namespace kvlab {

struct Planted {
  int chosen = std::getenv("KVLAB_PLANTED") ? std::atoi(std::getenv("KVLAB_PLANTED")) : 0;
  std::bitset<512> reached;
};
inline Planted plantedFault;

/// True if the fault of this number is planted. Notes that its place was reached.
inline bool planted(int number) {
  plantedFault.reached.set(static_cast<std::size_t>(number));
  return plantedFault.chosen == number;
}

}  // namespace kvlab
