// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/model/safetensors.h"

namespace kvlab {
namespace {

Error cannotWrite(const std::string& path, const std::string& why) {
  return {"bad_file", "cannot write " + path, why,
          "check the folder, its permissions and the free space"};
}

/// A file under construction; gone again unless it is renamed.
class PartFile {
 public:
  explicit PartFile(const std::string& path)
      : m_path(path), m_part(path + ".part-" + std::to_string(::getpid())) {
    m_file = ::open(m_part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  }
  ~PartFile() {
    if (m_file >= 0) ::close(m_file);
    if (!m_done) ::unlink(m_part.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  bool append(const void* data, std::size_t size) {
    const auto* at = static_cast<const char*>(data);
    while (m_file >= 0 && size > 0) {
      const ssize_t n = ::write(m_file, at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return m_file >= 0;
  }
  bool publish() {
    if (::fsync(m_file) != 0 || ::rename(m_part.c_str(), m_path.c_str()) != 0) return false;
    m_done = true;
    syncFolder();
    return true;
  }

 private:
  /// The new name survives a power cut only once the folder is on the disk; best effort.
  void syncFolder() const {
    const auto folder = std::filesystem::path(m_path).parent_path();
    const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::close(file);
  }

  std::string m_path, m_part;
  int m_file = -1;
  bool m_done = false;
};

}  // namespace

void SafetensorsWriter::add(std::string name, Element element, std::vector<std::int64_t> shape,
                            std::span<const std::byte> bytes) {
  m_tensors.push_back({std::move(name), element, std::move(shape), bytes});
}

void SafetensorsWriter::add(const std::string& name, const TensorView& tensor) {
  add(name, elementOf(tensor.dtype), tensor.shape,
      {static_cast<const std::byte*>(tensor.data), static_cast<std::size_t>(tensor.bytes())});
}

Result<std::string> SafetensorsWriter::header() const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!m_metadata.empty()) header["__metadata__"] = m_metadata;
  std::set<std::string> names{"__metadata__"};
  std::size_t at = 0;
  for (const FileTensor& t : m_tensors) {
    std::int64_t need = elementBytes(t.element);
    for (const std::int64_t d : t.shape) need *= d;
    if (need < 0 || static_cast<std::size_t>(need) != t.bytes.size())
      return Error{"bad_file", "cannot write tensor \"" + t.name + "\"",
                   shapeText(t.shape) + " is not " + std::to_string(t.bytes.size()) + " bytes",
                   "give it the bytes of its shape"};
    if (!names.insert(t.name).second)
      return Error{"bad_file", "cannot write tensor \"" + t.name + "\"", "the name is taken",
                   "give every tensor a name of its own"};
    header[t.name] = {{"dtype", name(t.element)},
                      {"shape", t.shape},
                      {"data_offsets", {at, at + t.bytes.size()}}};
    at += t.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data starts at a multiple of 8
  return text;
}

Status SafetensorsWriter::write(const std::string& path) const {
  const auto text = header();
  if (!text) return text.error();
  const std::uint64_t length = text->size();
  PartFile file(path);
  bool good = file.append(&length, sizeof length) && file.append(text->data(), text->size());
  for (const FileTensor& t : m_tensors) good = good && file.append(t.bytes.data(), t.bytes.size());
  if (!good || !file.publish()) return cannotWrite(path, std::strerror(errno));
  return ok();
}

}  // namespace kvlab
