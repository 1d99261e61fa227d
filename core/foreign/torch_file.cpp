// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/torch_file.h"

#include <algorithm>

#include "core/foreign/foreign_file.h"
#include "core/foreign/pickle_reader.h"

namespace kvlab {
namespace {

constexpr std::string_view kPickle = "data.pkl";
constexpr int kMostDepth = 64;
constexpr std::size_t kMostNameBytes = std::size_t{16} << 20;  // of all names together

struct TorchType {
  std::string_view storage, type;  // names of Python
  Element element;
};
constexpr TorchType kTorchTypes[] = {{"torch FloatStorage", "torch float32", Element::F32},
                                     {"torch HalfStorage", "torch float16", Element::F16},
                                     {"torch BFloat16Storage", "torch bfloat16", Element::BF16},
                                     {"torch DoubleStorage", "torch float64", Element::F64},
                                     {"torch LongStorage", "torch int64", Element::I64},
                                     {"torch IntStorage", "torch int32", Element::I32},
                                     {"torch ShortStorage", "torch int16", Element::I16},
                                     {"torch CharStorage", "torch int8", Element::I8},
                                     {"torch ByteStorage", "torch uint8", Element::U8},
                                     {"torch BoolStorage", "torch bool", Element::Bool},
                                     {"", "torch float8_e4m3fn", Element::F8E4M3},
                                     {"", "torch float8_e5m2", Element::F8E5M2}};

constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2",
                           kTypedTensor = "torch._utils _rebuild_tensor_v3",
                           kParameter = "torch._utils _rebuild_parameter",
                           kSubclass = "torch._tensor _rebuild_from_type_v2", kSize = "torch Size";
/// Names that stand in files of plain tensors and change nothing of the data.
constexpr std::string_view kOtherNames[] = {kTensor,
                                            kTypedTensor,
                                            kParameter,
                                            kSubclass,
                                            kSize,
                                            "collections OrderedDict",
                                            "torch device",
                                            "torch Tensor",
                                            "torch.nn.parameter Parameter",
                                            "torch.storage UntypedStorage"};
/// Classes of this module are objects with lists of tensors.
constexpr std::string_view kCaches = "transformers.cache_utils ";

bool allowedName(std::string_view name) {
  return name.starts_with(kCaches) || std::ranges::count(kOtherNames, name) > 0 ||
      std::ranges::any_of(kTorchTypes, [&](const TorchType& t) { return name == t.storage || name == t.type; });
}

class TorchReader {
 public:
  TorchReader(const ZipFile& zip, const std::string& path, std::string folder, const Pickle& pickle)
      : m_zip(zip), m_path(path), m_folder(std::move(folder)), m_pickle(pickle) {}

  Result<ArrayFile> read() {
    KV_TRY(walk(m_pickle.root, "", 0));
    return std::move(m_out);
  }

 private:
  using Kind = PickleNode::Kind;

  Error wrong(const std::string& name, const std::string& why) const {
    return badForeign(m_path, "\"" + name + "\" of the pickle", why);
  }

  static std::string below(const std::string& name, const std::string& own) {
    return name.empty() ? own : name + "." + own;
  }

  Status walk(std::uint32_t index, const std::string& name, int depth) {
    const PickleNode& node = m_pickle[index];
    m_nameBytes += name.size() + 1;
    if (depth > kMostDepth || m_nameBytes > kMostNameBytes) return wrong(name, "is nested too deeply, or in itself");
    switch (node.kind) {
      case Kind::Scalar: m_out.facts.emplace(name, node.scalar); return ok();
      case Kind::List: return walkList(node, name, depth);
      case Kind::Dict: return walkDict(node, name, depth);
      case Kind::Call: return walkCall(index, name, depth);
      case Kind::Name:
      case Kind::Outside: return ok();
    }
    return ok();
  }

  Status walkList(const PickleNode& node, const std::string& name, int depth) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      KV_TRY(walk(node.items[i], below(name, std::to_string(i)), depth + 1));
    return ok();
  }

  Status walkDict(const PickleNode& node, const std::string& name, int depth) {
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const nlohmann::json& key = m_pickle[node.items[i]].scalar;
      if (!key.is_string() && !key.is_number_integer()) continue;
      const std::string own = key.is_string() ? key.get<std::string>() : std::to_string(key.get<std::int64_t>());
      KV_TRY(walk(node.items[i + 1], below(name, own), depth + 1));
    }
    return ok();
  }

  Status walkCall(std::uint32_t index, const std::string& name, int depth) {
    const PickleNode& node = m_pickle[index];
    const std::string callee = m_pickle[node.items[0]].scalar.get<std::string>();
    const PickleNode& arguments = m_pickle[node.items[1]];
    if (callee == kTensor || callee == kTypedTensor) return addTensor(arguments, callee == kTypedTensor, name);
    if (callee == kParameter || callee == kSize)
      return arguments.items.empty() ? ok() : walk(arguments.items[0], name, depth + 1);
    if (callee == kSubclass) return addSubclass(arguments, name);
    return node.items.size() == 3 ? walk(node.items[2], name, depth + 1) : ok();
  }

  /// Arguments: how to make a tensor, a class, arguments of the tensor, attributes.
  Status addSubclass(const PickleNode& arguments, const std::string& name) {
    if (arguments.items.size() < 3 || m_pickle[arguments.items[0]].kind != Kind::Name ||
        m_pickle[arguments.items[2]].kind != Kind::List)
      return wrong(name, "is a tensor that cannot be read");
    const nlohmann::json& maker = m_pickle[arguments.items[0]].scalar;
    if (maker != kTensor && maker != kTypedTensor) return wrong(name, "is made by " + maker.get<std::string>());
    return addTensor(m_pickle[arguments.items[2]], maker == kTypedTensor, name);
  }

  Result<std::vector<std::int64_t>> lengths(std::uint32_t index, const std::string& name) const {
    const PickleNode* node = &m_pickle[index];
    if (node->kind == Kind::Call && !m_pickle[node->items[1]].items.empty())  // torch.Size((..))
      node = &m_pickle[m_pickle[node->items[1]].items[0]];
    std::vector<std::int64_t> out;
    if (node->kind != Kind::List || node->items.size() > 16) return wrong(name, "has no shape");
    for (const std::uint32_t item : node->items) {
      if (!m_pickle[item].scalar.is_number_integer()) return wrong(name, "has a shape that is no list of numbers");
      out.push_back(m_pickle[item].scalar.get<std::int64_t>());
    }
    return out;
  }

  /// Arguments: storage, offset, shape, strides, two that change nothing, and with a typed one the type.
  Status addTensor(const PickleNode& arguments, bool typed, const std::string& name) {
    const auto& items = arguments.items;
    if (items.size() < (typed ? 7u : 4u) || m_pickle[items[0]].kind != Kind::Outside ||
        !m_pickle[items[1]].scalar.is_number_integer())
      return wrong(name, "is a tensor that cannot be read");
    ForeignArray out{.bytes = {}, .shape = {}, .strides = {}, .keep = m_zip.file()};
    const PickleNode& storage = m_pickle[m_pickle[items[0]].items[0]];
    if (storage.kind != Kind::List || storage.items.size() < 3 || !m_pickle[storage.items[2]].scalar.is_string())
      return wrong(name, "has no storage");
    out.element = KV_TRY(elementOf(typed ? items[6] : storage.items[1], name));
    out.bytes = KV_TRY(m_zip.bytes(m_folder + "data/" + m_pickle[storage.items[2]].scalar.get<std::string>()));
    out.offset = m_pickle[items[1]].scalar.get<std::int64_t>();
    out.shape = KV_TRY(lengths(items[2], name));
    out.strides = KV_TRY(lengths(items[3], name));
    KV_TRY(checkArray(out, m_path, name));
    if (!m_out.arrays.emplace(name, std::move(out)).second) return wrong(name, "is there twice");
    return ok();
  }

  Result<Element> elementOf(std::uint32_t index, const std::string& name) const {
    const nlohmann::json& type = m_pickle[index].scalar;
    for (const TorchType& one : kTorchTypes)
      if (type.is_string() && !type.empty() && (type == one.storage || type == one.type)) return one.element;
    return wrong(name, "has a type that is not read");
  }

  const ZipFile& m_zip;
  const std::string& m_path;
  const std::string m_folder;
  const Pickle& m_pickle;
  ArrayFile m_out;
  std::size_t m_nameBytes = 0;
};

/// The folder that all entries of such an archive lie in; nothing if there is no pickle in one.
std::optional<std::string> torchFolder(const ZipFile& zip) {
  for (const auto& [name, entry] : zip.entries())
    if (name.ends_with(kPickle) && (name.size() == kPickle.size() || name[name.size() - kPickle.size() - 1] == '/'))
      return name.substr(0, name.size() - kPickle.size());
  return {};
}

}  // namespace

bool isTorchFile(const ZipFile& zip) { return torchFolder(zip).has_value(); }

Result<ArrayFile> torchArrays(const ZipFile& zip, const std::string& path) {
  const std::string folder = torchFolder(zip).value_or("");
  if (zip.entries().contains(folder + "byteorder")) {
    const auto order = KV_TRY(zip.bytes(folder + "byteorder"));
    if (std::string_view(reinterpret_cast<const char*>(order.data()), order.size()) != "little")
      return badForeign(path, "byteorder", "the numbers are not little endian", "save the file on a usual machine");
  }
  const auto bytes = KV_TRY(zip.bytes(folder + std::string(kPickle)));
  const Pickle pickle = KV_TRY(readPickle(bytes, path, allowedName));
  return TorchReader(zip, path, folder, pickle).read();
}

}  // namespace kvlab
