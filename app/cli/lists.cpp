// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/lists.h"

#include <algorithm>

#include "app/cli/window_part.h"
#include "app/plain/bench_scripts.h"

namespace kvlab {

const std::vector<NamedList>& lists() {
  static const std::vector<NamedList> kLists = [] {
    std::vector<NamedList> all = engineLists();
    const std::vector<NamedList>& own = windowPart().lists;
    all.insert(all.end(), own.begin(), own.end());
    all.push_back({"benches", listBenches, {{"id", "Benchmark"}, {"title", "What it measures"}}});
    return all;
  }();
  return kLists;
}

const NamedList* listNamed(const std::string& name) {
  const auto found =
      std::find_if(lists().begin(), lists().end(), [&](const NamedList& list) { return list.name == name; });
  return found == lists().end() ? nullptr : &*found;
}

std::string listNames() {
  std::string out;
  for (const NamedList& list : lists())
    out += (out.empty() ? "" : &list == &lists().back() ? " or " : ", ") + list.name;
  return out;
}

}  // namespace kvlab
