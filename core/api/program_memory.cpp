// SPDX-License-Identifier: Apache-2.0
#include "core/api/program_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace kvlab {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Taken {
  std::int64_t addresses = 0, there = 0;  // bytes
};

Taken taken() {
  Taken pages;
  std::ifstream("/proc/self/statm") >> pages.addresses >> pages.there;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {pages.addresses * page, pages.there * page};
}

std::int64_t leftOnMachine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit))
    if (key == "MemAvailable:") return kilobytes * 1024;
  return kNoLimit;
}

std::int64_t leftInGroup() {
  std::int64_t most = 0, used = 0;
  const bool limited(std::ifstream("/sys/fs/cgroup/memory.max") >> most);  // else it says "max"
  std::ifstream("/sys/fs/cgroup/memory.current") >> used;
  return limited ? most - used : kNoLimit;
}

std::int64_t leftOfAddresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return static_cast<std::int64_t>(limit.rlim_cur) - taken().addresses;
}

}  // namespace

std::int64_t programBytes() { return taken().there; }

std::int64_t memoryLeft() {
  return std::max<std::int64_t>(0, std::min({leftOnMachine(), leftInGroup(), leftOfAddresses()}));
}

}  // namespace kvlab
