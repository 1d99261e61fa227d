// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/base/interrupts.h"

#include <csignal>

namespace kvlab {

namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void watchInterrupts() {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { came = 1; });
}

bool interrupted() { return came != 0; }

}  // namespace kvlab
