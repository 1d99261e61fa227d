// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/programs.h"

#include <csignal>

#include "app/base/resources.h"

namespace kvlab {

namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void watchInterrupts() {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { came = 1; });
}

bool interrupted() { return came != 0; }

Status checkResources() {
  if (!resourceRoot().isEmpty()) return ok();
  return Error("no_resources", "the program's files were not found",
               "looked in " + resourcePlaces().join(", ").toStdString(),
               "set KVLAB_RESOURCES to the folder that holds demo/ and scripts/");
}

}  // namespace kvlab
