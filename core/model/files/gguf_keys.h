// SPDX-License-Identifier: Apache-2.0
// Typed reading of the keys of a GGUF file. Errors (code bad_model) name file and key. A key that is absent gives the
// other value, or nothing. Borrows values and the file's name; any thread.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/gguf_types.h"

namespace kvlab {

class GgufKeys {
 public:
  GgufKeys(const GgufValues& values, const std::string& file) : m_values(values), m_file(file) {}

  const std::string& file() const { return m_file; }
  bool has(std::string_view key) const { return m_values.find(key) != m_values.end(); }

  /// A whole number of any width. An array whose items are all equal gives that item: some files repeat for each layer
  /// a value that holds for all layers.
  Result<std::optional<std::int64_t>> whole(const std::string& key) const;
  /// Any number. An f32 gives the shortest decimal that stands for it: 1e-5 as it was written, not 9.99999974e-6.
  Result<std::optional<double>> real(const std::string& key) const;
  Result<std::optional<bool>> flag(const std::string& key) const;
  Result<std::optional<std::string>> text(const std::string& key) const;
  Result<std::vector<std::string>> texts(const std::string& key) const;  // empty where absent
  Result<std::vector<float>> reals(const std::string& key) const;
  Result<std::vector<std::int32_t>> wholes(const std::string& key) const;
  Result<std::vector<bool>> flags(const std::string& key) const;

  Error bad(const std::string& key, const std::string& why, const std::string& remedy = {}) const;

 private:
  const GgufValue* find(std::string_view key) const;
  /// Null where absent; an error where it is no array, or one of another kind.
  Result<const GgufValue*> list(const std::string& key, bool (*takes)(GgufKind), const char* what) const;

  const GgufValues& m_values;
  const std::string& m_file;
};

/// The double that the shortest decimal of an f32 stands for.
double decimalOf(float value);

}  // namespace kvlab
