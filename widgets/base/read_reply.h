// SPDX-License-Identifier: GPL-3.0-or-later
// Reads replies of the engine as a whole, and their long columns. core/api/read_json.h reads single members. Pure.
#pragma once
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

/// For replies that are of no use unless all of it is there: figures of a measurement, the columns of a tree.
/// The result of `read` on a reply with at() and get(), which throw where a member is missing or of another type:
/// `bad_reply` then. `what` was not shown.
template <class Read>
auto wholeReply(const char* what, const char* remedy, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception& error) {
    return Error("bad_reply", what, error.what(), remedy);
  }
}

/// A long column of numbers, which is a list of numbers or packed as bytes. Throws as JSON does.
/// T: the type of a packed value. A value that is null becomes not-a-number.
template <class T = float>
std::vector<float> columnFrom(const nlohmann::json& list) {
  std::vector<float> out;
  if (list.is_binary()) {
    const auto& bytes = list.get_binary();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return {values.begin(), values.end()};
  }
  out.reserve(list.size());
  for (const nlohmann::json& one : list) out.push_back(one.is_number() ? one.get<float>() : NAN);
  return out;
}

}  // namespace kvlab
