// SPDX-License-Identifier: GPL-3.0-or-later
// The files that are compiled into the library: prelude, icons. Any thread.
#pragma once

namespace kvlab {

/// Makes the files of the library available under :/kvlab; needed because the library is static.
void loadAppFiles();

}  // namespace kvlab
