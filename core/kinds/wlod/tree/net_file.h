// SPDX-License-Identifier: Apache-2.0
// Reads the tensors of a network from an untrusted safetensors file: kind and model of the metadata, and each tensor by
// name, shape and finite values. A refusal names the tensor or the key. Short-lived; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/files/safetensors.h"

namespace kvlab {

class NetFile {
 public:
  struct Kind {
    const char *code, *kind, *what;  // "bad_gist_net", "gist_net", "gist network"
    const char* header;              // that lists the tensors
  };
  NetFile(std::string path, Kind kind, Safetensors file)
      : m_path(std::move(path)), m_kind(kind), m_file(std::move(file)) {}

  /// Checks the kind; the fingerprint of the model that the network was trained for.
  Result<std::string> model() const;
  /// A text of the metadata, if it is there.
  std::optional<std::string> metadata(const std::string& key) const;
  bool has(const std::string& tensor) const { return m_file.find(tensor) != nullptr; }
  /// Rows of a matrix: 1 to `most`.
  Result<std::int64_t> rows(const std::string& tensor, std::int64_t most = 1 << 16) const;
  Result<std::vector<float>> take(const std::string& tensor, const std::vector<std::int64_t>& shape);
  /// Error that names a tensor which nobody took.
  Status nothingElse() const;
  Error bad(const std::string& field, const std::string& why, const std::string& remedy) const;

 private:
  std::string m_path;
  Kind m_kind;
  Safetensors m_file;
  std::vector<std::string> m_taken;
};

}  // namespace kvlab
