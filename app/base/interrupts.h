// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl+C and SIGTERM for subcommands that stop in good order. Any thread.
#pragma once

namespace kvlab {

/// From now on the two signals only set a flag.
void watchInterrupts();
/// True once one of them has come.
bool interrupted();

}  // namespace kvlab
