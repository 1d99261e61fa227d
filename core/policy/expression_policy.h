// SPDX-License-Identifier: Apache-2.0
// What a user's expression needs before it can score rows. Any thread. semantics.md, section 6.
#pragma once
#include <string>

#include "core/policy/policy.h"

namespace kvlab {

/// Error (code bad_manifest) if the text is no expression over the figures of a row.
Status expressionFault(const std::string& text);
/// The statistics that its figures need; none for a text with a fault.
unsigned expressionNeeds(const std::string& text);

}  // namespace kvlab
