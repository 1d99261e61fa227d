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
    auto step = read(in.inside(json));
    if (!step) return step.error();
    steps.push_back(step.take());
  }
  return steps;
}

/// A step that applies all of a list to a Value in turn and stops at the first error.
template <class Step, class Value, class Read>
Result<Step> sequence(const JsonFields& in, const char* key, Read read) {
  auto steps = readSteps<Step>(in, key, read);
  if (!steps) return steps.error();
  return Step([steps = steps.take()](Value& value) -> Status {
    for (const Step& step : steps)
      if (auto s = step(value); !s) return s;
    return ok();
  });
}

}  // namespace kvlab::bpe
