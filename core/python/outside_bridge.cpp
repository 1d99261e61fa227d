// SPDX-License-Identifier: Apache-2.0
#include "core/python/outside_bridge.h"

#include <nanobind/ndarray.h>

#include <string_view>

#include "core/policy/outside.h"
#include "core/python/handle.h"
#include "core/python/json_python.h"

namespace nb = nanobind;

namespace kvlab::python {
namespace {

/// A NumPy array of its own.
template <class T>
nb::object arrayOf(const AddedQuestion::List& list) {
  const auto* const from = reinterpret_cast<const T*>(list.bytes.data());
  auto* const kept = new std::vector<T>(from, from + list.bytes.size() / sizeof(T));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), list.shape.size(), list.shape.data(), owner));
}

nb::object listOf(const AddedQuestion::List& list) {
  const std::string_view dtype = list.dtype;
  if (dtype == "f4") return arrayOf<float>(list);
  if (dtype == "f8") return arrayOf<double>(list);
  if (dtype == "i4") return arrayOf<std::int32_t>(list);
  return nb::bytes(list.bytes.data(), list.bytes.size());
}

Error unanswered(const std::string& why) { return Error("bad_policy", "a rule failed", why, "mend it"); }

Result<std::string> called(const nb::object& function, const AddedQuestion& question) {
  const nb::gil_scoped_acquire gil;
  const InRule inside;
  try {
    nb::object given = toPython(question.told);
    for (const AddedQuestion::List& list : question.lists) given[list.name] = listOf(list);
    const auto answer = nb::cast<nb::tuple>(function(given));
    if (!answer[1].is_none()) return unanswered(nb::str(answer[1]).c_str());
    const nb::object made = answer[0];
    const nb::bytes value(made);  // arrays, too: they are buffers
    return std::string(value.c_str(), value.size());
  } catch (const std::exception& error) {  // nb::python_error among them
    return unanswered(error.what());
  }
}

}  // namespace

Status addPythonRule(const nlohmann::json& told, nb::object answer) {
  // A session may ask for good; the function must not be freed by a thread without the GIL.
  auto* const kept = new nb::object(std::move(answer));
  return addOutside(told, [kept](const AddedQuestion& question) { return called(*kept, question); });
}

}  // namespace kvlab::python
