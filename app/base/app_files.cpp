// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/app_files.h"

#include <QtGlobal>

static void initAppFiles() { Q_INIT_RESOURCE(app); }  // must be outside any namespace

namespace kvlab {

void loadAppFiles() { initAppFiles(); }

}  // namespace kvlab
