// SPDX-License-Identifier: Apache-2.0
// The forms of files of other programs that a session can be saved in. Any thread.
#pragma once
#include "core/foreign/outgoing.h"

namespace kvlab {

std::span<const OutgoingForm> outgoingForms();
/// Null: there is none of the name.
const OutgoingForm* outgoingForm(std::string_view name);

}  // namespace kvlab
