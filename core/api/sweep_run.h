// SPDX-License-Identifier: Apache-2.0
// The request for a sweep, its reports on the way, and its results. Values.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/api/sweep_table.h"

namespace kvlab {

struct SweepProgress {
  std::int64_t done = 0, total = 0, failed = 0;  // cells
  double seconds = 0;                            // since this run began
  double left = -1;               // estimated seconds to the end, from the cells of this run; -1 = not known yet
  const SweepRow* row = nullptr;  // the cell that was finished; null at the start
};

struct SweepOptions {
  std::string out;        // folder; made where it is missing
  std::string folder;     // folder of the specification; its file names are relative to it
  std::string resources;  // the program's resources
  bool resume = false;    // go on in a folder that has a journal; start where there is none
  int jobs = 0;           // worker threads, 0 = all cores
  std::function<bool(const SweepProgress&)> progress =
      {};  // one call at a time, on a worker; false stops, cells in work are dropped
};

struct SweepOutcome {
  std::vector<SweepRow> rows;  // in cell order
  std::int64_t found = 0;      // cells that the journal had already
  std::int64_t failed = 0;     // rows with an error
};

/// A sweep as the window shows it: an opened file, or a running sweep.
struct SweepShown {
  std::string name, place;     // title; the file or folder
  std::vector<SweepRow> rows;  // that are done, in cell order
  std::int64_t total = 0;      // cells, done or not
  bool running = false;
  double left = -1;  // estimated seconds, -1 = not known
};
using SweepShownPtr = std::shared_ptr<const SweepShown>;

}  // namespace kvlab
