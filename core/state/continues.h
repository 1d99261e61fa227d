// SPDX-License-Identifier: Apache-2.0
// Tests whether one column continues another one. Engine thread.
#pragma once
#include "core/api/column.h"

namespace kvlab {

/// True if `now` begins with all of `old`.
template <class T>
bool continues(const Column<T>& now, const Column<T>& old) {
  return now.alike(old) == old.size();
}

}  // namespace kvlab
