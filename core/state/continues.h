// SPDX-License-Identifier: Apache-2.0
// Whether one column goes on where another one ended. Engine thread.
#pragma once
#include <algorithm>

#include "core/api/column.h"

namespace kvlab {

/// True if `now` begins with all of `old`, in the same buffer or value by value.
template <class T>
bool continues(const Column<T>& now, const Column<T>& old) {
  return now.size() >= old.size() &&
      (now.prefix(old.size()).sharesWith(old) || std::equal(old.begin(), old.end(), now.begin()));
}

}  // namespace kvlab
