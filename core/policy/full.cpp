// SPDX-License-Identifier: Apache-2.0
#include "core/policy/policy.h"

namespace kvlab {

Policy makeFull() { return {}; }

}  // namespace kvlab
