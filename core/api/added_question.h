// SPDX-License-Identifier: Apache-2.0
// Questions to rules from outside, whoever answers them: a function of Python in this process, or a child
// (core/policy/outside_program.h). Values; any thread.
#pragma once
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/api/error.h"

namespace kvlab {

struct AddedQuestion {
  struct List {
    const char* name;
    const char* dtype;  // of NumPy: f4, f8, i4, u1
    std::span<const std::byte> bytes;
    std::vector<std::size_t> shape;  // the slowest dimension first
  };

  /// "kind", "name" and "what" is asked, "options", and numbers.
  nlohmann::json told = nlohmann::json::object();
  std::vector<List> lists = {};  // their values outlive the question

  template <class T>
  void list(const char* name, std::span<const T> values, std::vector<std::size_t> shape) {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8));
    const char* dtype = sizeof(T) == 1 ? "u1" : sizeof(T) == 8 ? "f8" : std::is_same_v<T, float> ? "f4" : "i4";
    lists.push_back({name, dtype, std::as_bytes(values), std::move(shape)});
  }
};

/// The bytes of the answer: a list of numbers, or a memory. The error's `why` says what went wrong, and where.
using AskAdded = std::function<Result<std::string>(const AddedQuestion&)>;

/// The numbers of an answer.
template <class T>
std::vector<T> numbersIn(const std::string& answer) {
  std::vector<T> out(answer.size() / sizeof(T));
  std::memcpy(out.data(), answer.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace kvlab
