// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "core/api/part_file.h"
#include "core/model/files/safetensors.h"

namespace kvlab {

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
      return Error("bad_file", "cannot write tensor \"" + t.name + "\"",
                   shapeText(t.shape) + " is not " + std::to_string(t.bytes.size()) + " bytes",
                   "give it the bytes of its shape");
    if (!names.insert(t.name).second)
      return Error("bad_file", "cannot write tensor \"" + t.name + "\"", "the name is taken",
                   "give every tensor a name of its own");
    header[t.name] = {{"dtype", name(t.element)}, {"shape", t.shape}, {"data_offsets", {at, at + t.bytes.size()}}};
    at += t.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data starts at a multiple of 8
  return text;
}

Result<std::string> SafetensorsWriter::content() const {
  const std::string text = KV_TRY(header());
  const std::uint64_t length = text.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof length);
  out.reserve(static_cast<std::size_t>(bytes()));
  out += text;
  for (const FileTensor& t : m_tensors) out.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
  return out;
}

std::int64_t SafetensorsWriter::bytes() const {
  const Result<std::string> text = header();
  std::int64_t out = text ? std::int64_t{sizeof(std::uint64_t)} + std::ssize(*text) : 0;
  for (const FileTensor& t : m_tensors) out += std::ssize(t.bytes);
  return out;
}

Status SafetensorsWriter::write(const std::string& path) const {
  const auto text = KV_TRY(header());
  const std::uint64_t length = text.size();
  PartFile file(path);
  file.append(&length, sizeof length);
  file.append(text.data(), text.size());
  for (const FileTensor& t : m_tensors) file.append(t.bytes.data(), t.bytes.size());
  return file.publish();
}

}  // namespace kvlab
