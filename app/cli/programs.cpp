// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/programs.h"

#include <csignal>

#include "app/plain/resources.h"

namespace kvlab {

namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void watchInterrupts() {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(number, [](int which) { came = which; });
}

bool interrupted() { return came != 0; }

bool queueStops() { return came != 0 && came != SIGINT; }

Status checkResources() {
  if (!resourceRoot().empty()) return ok();
  std::string places;
  for (const std::string& one : resourcePlaces()) places += (places.empty() ? "" : ", ") + one;
  return Error("no_resources", "the program's files were not found", "looked in " + places,
               "set KVLAB_RESOURCES to the folder that holds demo/ and scripts/");
}

}  // namespace kvlab
