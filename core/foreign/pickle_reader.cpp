// SPDX-License-Identifier: Apache-2.0
// Source of the opcodes: pickletools.py of Python 3.11; read are those of protocols 2 to 5 that plain data needs.
#include "core/foreign/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "core/foreign/foreign_file.h"

namespace kvlab {
namespace {

using Kind = PickleNode::Kind;
using Nodes = std::vector<std::uint32_t>;
constexpr std::size_t kMostPickle = std::size_t{4} << 20;  // a node takes some 60 bytes for each byte of a pickle
constexpr std::size_t kMostName = 256;

class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, const std::string& file,
               const std::function<bool(std::string_view)>& allowed)
      : m_in(bytes, file), m_allowed(allowed) {}

  Result<Pickle> read() {
    while (!m_done) {
      m_op = KV_TRY(m_in.number<std::uint8_t>("an opcode"));
      KV_TRY(step());
    }
    return std::move(m_out);
  }

 private:
  std::uint32_t add(PickleNode node) {
    m_out.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(m_out.nodes.size() - 1);
  }
  Status push(PickleNode node) {
    m_stack.push_back(add(std::move(node)));
    return ok();
  }
  Status pushScalar(nlohmann::json value) { return push({Kind::Scalar, std::move(value), {}}); }

  Error wrong(const char* why) const { return m_in.bad(std::string("a pickle that ") + why); }
  /// The lowest place of the stack that may be taken from: above the newest mark.
  std::size_t floor() const { return m_marks.empty() ? 0 : m_marks.back(); }

  Result<std::uint32_t> pop() {
    if (m_stack.size() <= floor()) return wrong("takes from an empty stack");
    const std::uint32_t top = m_stack.back();
    m_stack.pop_back();
    return top;
  }
  Result<Nodes> popMark() {
    if (m_marks.empty()) return wrong("closes what it did not open");
    const auto begin = m_stack.begin() + static_cast<std::ptrdiff_t>(m_marks.back());
    Nodes out(begin, m_stack.end());
    m_stack.erase(begin, m_stack.end());
    m_marks.pop_back();
    return out;
  }
  Result<PickleNode*> top(Kind kind) {
    if (m_stack.size() <= floor() || m_out.nodes[m_stack.back()].kind != kind)
      return wrong("adds to what is neither list nor dict");
    return &m_out.nodes[m_stack.back()];
  }

  Status addTo(Kind kind, const Nodes& items) {
    PickleNode* node = KV_TRY(top(kind));
    if (kind == Kind::Dict && items.size() % 2 != 0) return wrong("has a key without value");
    node->items.insert(node->items.end(), items.begin(), items.end());
    return ok();
  }

  Status pushTuple(std::size_t size) {
    Nodes items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = KV_TRY(pop());
    return push({Kind::List, {}, std::move(items)});
  }

  Status pushName(const std::string& module, const std::string& name) {
    const std::string whole = module + " " + name;
    if (whole.size() > kMostName || !m_allowed(whole))
      return badForeign(m_in.file(), "byte " + std::to_string(m_in.at()),
                        "the pickle names " + whole.substr(0, kMostName) + ", which is no tensor, list or dict",
                        "save plain tensors: torch.save of a dict or a tuple, or safetensors");
    return push({Kind::Name, whole, {}});
  }

  Result<std::string> line() {
    std::string out;
    for (char c = 0; (c = static_cast<char>(KV_TRY(m_in.number<std::uint8_t>("a name")))) != '\n';)
      if (out.push_back(c); out.size() > kMostName) return wrong("names something with a very long name");
    return out;
  }

  Status callOf(std::uint32_t callee, std::uint32_t arguments) {
    if (m_out[callee].kind != Kind::Name || m_out[arguments].kind != Kind::List)
      return wrong("calls what is no name of Python");
    if (m_out[callee].scalar == "collections OrderedDict" && m_out[arguments].items.empty())
      return push({Kind::Dict, {}, {}});
    return push({Kind::Call, {}, {callee, arguments}});
  }

  Status text(std::uint64_t length) {
    const auto raw = KV_TRY(m_in.text(length, "a text"));
    return pushScalar(std::string(raw));
  }

  Status remember(std::uint32_t place) {
    if (m_stack.size() <= floor()) return wrong("remembers nothing");
    m_memo[place] = m_stack.back();
    return ok();
  }
  Status recall(std::uint32_t place) {
    const auto found = m_memo.find(place);
    if (found == m_memo.end()) return wrong("recalls what it did not remember");
    m_stack.push_back(found->second);
    return ok();
  }

  /// A whole number of up to 8 bytes, the last of which carries the sign.
  Status wholeNumber() {
    const auto length = KV_TRY(m_in.number<std::uint8_t>("the length of a number"));
    if (length > 8) return wrong("has a number beyond 64 bits");
    const auto raw = KV_TRY(m_in.take(length, "a number"));
    std::uint64_t value = length > 0 && std::to_integer<int>(raw[length - 1]) >= 128 ? ~std::uint64_t{0} : 0;
    if (length > 0) std::memcpy(&value, raw.data(), length);
    return pushScalar(static_cast<std::int64_t>(value));
  }

  Status realNumber() {
    const auto raw = KV_TRY(m_in.number<std::uint64_t>("a number"));
    return pushScalar(std::bit_cast<double>(__builtin_bswap64(raw)));
  }

  Status step() {
    switch (m_op) {
      case 0x80: return skip(1);                                                    // PROTO
      case 0x95: return skip(8);                                                    // FRAME
      case '.': return stop();                                                      // STOP
      case '(': m_marks.push_back(m_stack.size()); return ok();                     // MARK
      case '0': KV_TRY(pop()); return ok();                                         // POP
      case '1': KV_TRY(popMark()); return ok();                                     // POP_MARK
      case 'N': return pushScalar(nullptr);                                         // NONE
      case 0x88: return pushScalar(true);                                           // NEWTRUE
      case 0x89: return pushScalar(false);                                          // NEWFALSE
      case 'J': return pushScalar(KV_TRY(m_in.number<std::int32_t>("a number")));   // BININT
      case 'K': return pushScalar(KV_TRY(m_in.number<std::uint8_t>("a number")));   // BININT1
      case 'M': return pushScalar(KV_TRY(m_in.number<std::uint16_t>("a number")));  // BININT2
      case 0x8a: return wholeNumber();                                              // LONG1
      case 'G': return realNumber();                                                // BINFLOAT
      case 'X': return text(KV_TRY(m_in.number<std::uint32_t>("a length")));        // BINUNICODE
      case 0x8c: return text(KV_TRY(m_in.number<std::uint8_t>("a length")));        // SHORT_BINUNICODE
      default: return stepOfContainers();
    }
  }

  Status stepOfContainers() {
    switch (m_op) {
      case ')': return pushTuple(0);                          // EMPTY_TUPLE
      case 0x85: return pushTuple(1);                         // TUPLE1
      case 0x86: return pushTuple(2);                         // TUPLE2
      case 0x87: return pushTuple(3);                         // TUPLE3
      case ']': return push({Kind::List, {}, {}});            // EMPTY_LIST
      case '}': return push({Kind::Dict, {}, {}});            // EMPTY_DICT
      case 't': return pushMarked(Kind::List);                // TUPLE
      case 'l': return pushMarked(Kind::List);                // LIST
      case 'd': return pushMarked(Kind::Dict);                // DICT
      case 'a': return addPopped(Kind::List, 1);              // APPEND
      case 's': return addPopped(Kind::Dict, 2);              // SETITEM
      case 'e': return addTo(Kind::List, KV_TRY(popMark()));  // APPENDS
      case 'u': return addTo(Kind::Dict, KV_TRY(popMark()));  // SETITEMS
      default: return stepOfObjects();
    }
  }

  Status stepOfObjects() {
    switch (m_op) {
      case 'c': return pushLines();                                              // GLOBAL
      case 0x93: return pushStackName();                                         // STACK_GLOBAL
      case 'R': return call();                                                   // REDUCE
      case 0x81: return call();                                                  // NEWOBJ
      case 'b': return build();                                                  // BUILD
      case 'Q': return outside();                                                // BINPERSID
      case 'q': return remember(KV_TRY(m_in.number<std::uint8_t>("a place")));   // BINPUT
      case 'r': return remember(KV_TRY(m_in.number<std::uint32_t>("a place")));  // LONG_BINPUT
      case 0x94: return remember(static_cast<std::uint32_t>(m_memo.size()));     // MEMOIZE
      case 'h': return recall(KV_TRY(m_in.number<std::uint8_t>("a place")));     // BINGET
      case 'j': return recall(KV_TRY(m_in.number<std::uint32_t>("a place")));    // LONG_BINGET
      default:
        return badForeign(m_in.file(), "byte " + std::to_string(m_in.at() - 1),
                          "opcode " + std::to_string(m_op) + " of the pickle is not read",
                          "save plain tensors: torch.save of a dict or a tuple, or safetensors");
    }
  }

  Status skip(std::uint64_t bytes) {
    KV_TRY(m_in.take(bytes, "the front of a pickle"));
    return ok();
  }

  Status stop() {
    m_out.root = KV_TRY(pop());
    m_done = true;
    return ok();
  }

  Status pushMarked(Kind kind) {
    Nodes items = KV_TRY(popMark());
    if (kind == Kind::Dict && items.size() % 2 != 0) return wrong("has a key without value");
    return push({kind, {}, std::move(items)});
  }

  Status addPopped(Kind kind, std::size_t count) {
    Nodes items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = KV_TRY(pop());
    return addTo(kind, items);
  }

  Status pushLines() {
    const std::string module = KV_TRY(line());
    return pushName(module, KV_TRY(line()));
  }

  Status pushStackName() {
    const std::uint32_t name = KV_TRY(pop()), module = KV_TRY(pop());
    if (!m_out[name].scalar.is_string() || !m_out[module].scalar.is_string())
      return wrong("has a name that is no text");
    return pushName(m_out[module].scalar.get<std::string>(), m_out[name].scalar.get<std::string>());
  }

  Status call() {
    const std::uint32_t arguments = KV_TRY(pop()), callee = KV_TRY(pop());
    return callOf(callee, arguments);
  }

  /// The state of an object becomes the third item of its call.
  Status build() {
    const std::uint32_t state = KV_TRY(pop());
    PickleNode* object = KV_TRY(top(Kind::Call));
    object->items.resize(2);
    object->items.push_back(state);
    return ok();
  }

  Status outside() {
    const std::uint32_t what = KV_TRY(pop());
    return push({Kind::Outside, {}, {what}});
  }

  ForeignCursor m_in;
  const std::function<bool(std::string_view)>& m_allowed;
  Pickle m_out;
  Nodes m_stack;
  std::vector<std::size_t> m_marks;
  std::unordered_map<std::uint32_t, std::uint32_t> m_memo;
  std::uint8_t m_op = 0;
  bool m_done = false;
};

}  // namespace

Result<Pickle> readPickle(std::span<const std::byte> bytes, const std::string& file,
                          const std::function<bool(std::string_view name)>& allowed) {
  if (bytes.size() > kMostPickle)
    return badForeign(file, "pickle",
                      std::to_string(bytes.size()) + " bytes, the limit is " + std::to_string(kMostPickle));
  return PickleReader(bytes, file, allowed).read();
}

}  // namespace kvlab
