// SPDX-License-Identifier: Apache-2.0
// Steps of a tokenizer.json that are lists of steps.
#pragma once
#include <vector>

#include "core/model/files/json_fields.h"

namespace kvlab::bpe {

/// Reads each object of the list `key` with `read`.
template <class Step, class Read>
Result<std::vector<Step>> readSteps(const JsonFields& in, const char* key, Read read) {
  if (!in.has(key) || !in.json().at(key).is_array()) return in.bad(key, "is not a list");
  std::vector<Step> steps;
  for (const auto& json : in.json().at(key)) {
    if (!json.is_object()) return in.bad(key, "has something that is not an object");
    steps.push_back(KV_TRY(read(in.inside(json))));
  }
  return steps;
}

/// A step that applies all of a list to a Value in turn and stops at the first error.
template <class Step, class Value, class Read>
Result<Step> sequence(const JsonFields& in, const char* key, Read read) {
  auto steps = KV_TRY(readSteps<Step>(in, key, read));
  return Step([steps = std::move(steps)](Value& value) -> Status {
    for (const Step& step : steps) KV_TRY(step(value));
    return ok();
  });
}

}  // namespace kvlab::bpe
