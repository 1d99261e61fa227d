// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/model/files/safetensors.h"
#include "core/wlod/pooling_gist_net.h"

namespace kvlab {
namespace {

class Loader {
 public:
  Loader(const std::string& path, int hidden, const Safetensors& file) : m_path(path), m_hidden(hidden), m_file(file) {}

  Status run() {
    if (Status known = metadata(); !known) return known;
    for (int level = 1; level <= kTopLevel && (level == 1 || m_file.find(nameOf(level, "query"))); ++level)
      if (Status read = readLevel(level); !read) return read;
    if (m_file.tensors().size() == 7 * levels.size()) return ok();
    for (const auto& [tensor, unused] : m_file.tensors())
      if (std::find(m_known.begin(), m_known.end(), tensor) == m_known.end())
        return bad(tensor, "is no part of a gist network",
                   "export the tensors that core/wlod/gist_net.h lists and nothing else");
    return ok();
  }

  std::vector<PoolingLevel> levels;
  std::string model;

 private:
  static std::string nameOf(int level, const char* part) { return "levels." + std::to_string(level) + "." + part; }

  Error bad(const std::string& field, const std::string& why, const std::string& remedy) const {
    return Error{
        "bad_gist_net", "the gist network was refused", m_path + ": " + field + " " + why, remedy, std::nullopt, field};
  }

  Status metadata() {
    const auto kind = m_file.metadata().find("kind"), whose = m_file.metadata().find("model");
    if (kind == m_file.metadata().end() || kind->second != "gist_net")
      return bad("kind", kind == m_file.metadata().end() ? "is missing in the metadata" : "is \"" + kind->second + "\"",
                 "use a file whose metadata says kind gist_net");
    if (whose == m_file.metadata().end())
      return bad("model", "is missing in the metadata", "write the fingerprint of the model it was trained for");
    model = whose->second;
    return ok();
  }

  /// Reads the sizes that only the file knows, then all seven tensors.
  Status readLevel(int level) {
    PoolingLevel net;
    if (Status read = firstSize(nameOf(level, "query"), net.pools); !read) return read;
    if (Status read = firstSize(nameOf(level, "w1"), net.width); !read) return read;
    const struct {
      const char* part;
      std::vector<std::int64_t> shape;
      std::vector<float>& values;
    } parts[] = {{"norm", {m_hidden}, net.norm},
                 {"query", {net.pools, m_hidden}, net.query},
                 {"position", {net.pools, kGistBlock}, net.position},
                 {"w1", {net.width, net.pools * m_hidden}, net.w1},
                 {"b1", {net.width}, net.b1},
                 {"w2", {m_hidden, net.width}, net.w2},
                 {"b2", {m_hidden}, net.b2}};
    for (const auto& part : parts)
      if (Status read = take(nameOf(level, part.part), part.shape, part.values); !read) return read;
    levels.push_back(std::move(net));
    return ok();
  }

  Status firstSize(const std::string& tensor, std::int64_t& size) const {
    const FileTensor* found = m_file.find(tensor);
    if (!found) return bad(tensor, "is missing", "export every tensor that core/wlod/gist_net.h lists");
    size = found->shape.size() == 2 ? found->shape[0] : 0;
    if (size >= 1 && size <= kMost) return ok();
    return bad(tensor, "is " + shapeText(found->shape) + ", no matrix of 1 to " + std::to_string(kMost) + " rows",
               "export it as a matrix");
  }

  Status take(const std::string& tensor, const std::vector<std::int64_t>& shape, std::vector<float>& values) {
    const FileTensor* found = m_file.find(tensor);
    m_known.push_back(tensor);
    if (!found) return bad(tensor, "is missing", "export every tensor that core/wlod/gist_net.h lists");
    if (found->shape != shape)
      return bad(tensor,
                 "is " + shapeText(found->shape) + ", a model of hidden width " + std::to_string(m_hidden) + " needs " +
                     shapeText(shape),
                 "use a network that was trained for this model");
    const auto type = kernelType(found->element);
    if (!type || kernels::dtypeHasScale(*type))
      return bad(tensor, "is " + std::string(name(found->element)), "export F32, F16 or BF16");
    values = widened(found->view());
    const auto odd = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (odd != values.end())
      return bad(tensor, "is not finite at element " + std::to_string(odd - values.begin()),
                 "train it again, with a smaller learning rate");
    return ok();
  }

  static constexpr std::int64_t kMost = 1 << 16;
  const std::string& m_path;
  std::int64_t m_hidden;
  const Safetensors& m_file;
  std::vector<std::string> m_known;
};

}  // namespace

Result<std::shared_ptr<const GistNet>> loadGistNet(const std::string& path, int hidden,
                                                   std::shared_ptr<kernels::Backend> host) {
  const Result<Safetensors> file = Safetensors::open(path);
  if (!file) return file.error();
  Loader loader(path, hidden, *file);
  if (Status loaded = loader.run(); !loaded) return loaded.error();
  return std::shared_ptr<const GistNet>(std::make_shared<PoolingGistNet>(path, std::move(loader.model), hidden,
                                                                         std::move(loader.levels), std::move(host)));
}

}  // namespace kvlab
