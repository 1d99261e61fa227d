// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/llama_parts.h"

#include <algorithm>
#include <optional>

#include "core/foreign/foreign_file.h"

namespace kvlab {
namespace {

constexpr std::uint32_t kSequenceMagic = 0x67677371, kSessionMagic = 0x6767736e;  // "ggsq", "ggsn"
/// A version that is read.
struct StateVersion {
  bool session = false;
  std::uint32_t number = 0;
  bool turns = false;  // behind the number of layers stand the blocks by which keys and values are turned
};
constexpr StateVersion kVersions[] = {{false, 3}, {false, 4, true}, {true, 9}, {true, 10}, {true, 11, true}};
constexpr std::size_t kMostParts = 4, kMostStreams = 4096, kMostArchitecture = 256;
constexpr std::size_t kExtensions[] = {0, 12, 8};  // bytes; 8 in files before the token stood in a cell

/// One way to read the parts.
struct PartsForm {
  std::size_t extension = 0;
  bool outputs = false;  // logits and embeddings stand before the parts
  bool turns = false;    // StateVersion
};

class PartsReader {
 public:
  PartsReader(std::span<const std::byte> bytes, const std::string& file, PartsForm form)
      : m_bytes(bytes), m_file(file), m_form(form) {}

  /// Reads from a byte to the end of the file. Of all ways that fail, `farthest` keeps the first complaint behind the
  /// most parts that had keys and values.
  bool read(std::size_t from, LlamaState& out, std::size_t whole = 0) {
    if (from == m_bytes.size()) return true;
    if (out.parts.size() == kMostParts || out.recurrent) return false;
    for (const bool values : {true, false}) {
      ForeignCursor in(m_bytes, m_file, from);
      LlamaPart part;
      if (const Status one = readPart(in, part, values); !one) {
        complain(whole, one.error());
        continue;
      }
      out.parts.push_back(std::move(part));
      if (read(in.at(), out, whole + values)) return true;
      out.parts.pop_back();
    }
    ForeignCursor in(m_bytes, m_file, from);
    if (const Status rest = readRecurrent(in, out); !rest) {
      complain(whole, rest.error());
      return false;
    }
    return true;
  }

  Status skipOutputs(ForeignCursor& in) const {
    const auto outputs = KV_TRY(in.count<std::uint32_t>(4, "the number of outputs"));
    KV_TRY(in.take(outputs, 4, "the places of outputs"));
    for (const char* what : {"logits", "embeddings"}) {
      const auto values = KV_TRY(in.count<std::uint64_t>(4, what));
      KV_TRY(in.take(values, 4, what));
    }
    return ok();
  }

  std::optional<Error> farthest() const { return m_error; }
  std::size_t reached() const { return m_reached; }

 private:
  void complain(std::size_t parts, const Error& error) {
    if (m_error && parts <= m_reached) return;
    m_reached = parts;
    m_error = error;
  }

  Status readPart(ForeignCursor& in, LlamaPart& part, bool values) const {
    const auto streams = KV_TRY(in.count<std::uint32_t>(4, "the number of streams"));
    if (streams == 0 || streams > kMostStreams) return in.bad(std::to_string(streams) + " streams");
    part.streams.resize(streams);
    for (LlamaStream& stream : part.streams) {
      const auto cells = KV_TRY(in.count<std::uint32_t>(8, "the number of cells"));
      if (cells == 0) continue;
      KV_TRY(readCells(in, cells, stream));
      KV_TRY(readLayers(in, values, part, stream));
    }
    return ok();
  }

  Status readCells(ForeignCursor& in, std::size_t cells, LlamaStream& stream) const {
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const auto position = KV_TRY(in.number<std::int32_t>("the position of a cell"));
      if (position < 0) return in.bad("cell " + std::to_string(cell) + " has the position " + std::to_string(position));
      const auto sequences = KV_TRY(in.count<std::uint32_t>(4, "the number of a cell's sequences"));
      if (sequences == 0) return in.bad("cell " + std::to_string(cell) + " belongs to no sequence");
      KV_TRY(in.take(m_form.extension, "the extension of a cell"));
      for (std::uint32_t i = 0; i < sequences; ++i) {
        const auto sequence = KV_TRY(in.number<std::int32_t>("a sequence"));
        if (sequence < 0) return in.bad("a cell of sequence " + std::to_string(sequence));
        stream.sequences.push_back(sequence);
      }
      stream.positions.push_back(position);
      stream.ends.push_back(stream.sequences.size());
    }
    return ok();
  }

  Status readLayers(ForeignCursor& in, bool values, LlamaPart& part, LlamaStream& stream) const {
    const auto transposed = KV_TRY(in.number<std::uint32_t>("the order of values"));
    if (transposed > 1) return in.bad("the order of values is " + std::to_string(transposed));
    const auto layers = KV_TRY(in.count<std::uint32_t>(12, "the number of layers"));
    if (m_form.turns) {
      part.turnedKeys = KV_TRY(in.number<std::uint32_t>("the block that keys are turned by"));
      part.turnedValues = KV_TRY(in.number<std::uint32_t>("the block that values are turned by"));
    }
    stream.layers.resize(layers);
    for (LlamaLayer& layer : stream.layers) layer.keys = KV_TRY(readRows(in, stream.cells()));
    if (!values) return ok();
    for (LlamaLayer& layer : stream.layers)
      layer.values = KV_TRY(transposed ? readColumns(in, stream.cells()) : readRows(in, stream.cells()));
    return ok();
  }

  Result<const GgufType*> readType(ForeignCursor& in) const {
    const auto id = KV_TRY(in.number<std::int32_t>("the type of rows"));
    const GgufType* type = id < 0 ? nullptr : ggufType(static_cast<std::uint32_t>(id));
    if (!type) return in.bad("rows of type " + std::to_string(id) + ", which is none");
    return type;
  }

  Result<LlamaTensor> readRows(ForeignCursor& in, std::size_t cells) const {
    LlamaTensor out;
    out.type = KV_TRY(readType(in));
    const auto bytes = KV_TRY(in.number<std::uint64_t>("the bytes of a row"));
    const auto block = static_cast<std::uint64_t>(out.type->bytes);
    if (bytes == 0 || bytes % block != 0 || bytes > in.left())
      return in.bad("a row of " + std::to_string(bytes) + " bytes of type " + std::string(out.type->name));
    out.width = static_cast<std::int64_t>(bytes / block) * out.type->values;
    out.bytes = KV_TRY(in.take(cells, bytes, "rows"));
    return out;
  }

  Result<LlamaTensor> readColumns(ForeignCursor& in, std::size_t cells) const {
    LlamaTensor out{.transposed = true, .bytes = {}};
    out.type = KV_TRY(readType(in));
    const auto bytes = KV_TRY(in.number<std::uint32_t>("the bytes of a value"));
    if (out.type->values != 1 || bytes != out.type->bytes)
      return in.bad("transposed values of " + std::to_string(bytes) + " bytes of type " + std::string(out.type->name));
    out.width = KV_TRY(in.count<std::uint32_t>(bytes, "the width of a row"));
    if (out.width == 0) return in.bad("rows without values");
    out.bytes = KV_TRY(in.take(static_cast<std::uint64_t>(out.width) * bytes, cells, "transposed values"));
    return out;
  }

  /// A recurrent part ends the file; its tensors stand there one behind another, of layers that have such state.
  Status readRecurrent(ForeignCursor& in, LlamaState& out) const {
    const auto cells = KV_TRY(in.count<std::uint32_t>(8, "the number of recurrent cells"));
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
      KV_TRY(in.number<std::int32_t>("the position of a recurrent cell"));
      const auto sequences = KV_TRY(in.count<std::uint32_t>(4, "the number of a recurrent cell's sequences"));
      KV_TRY(in.take(sequences, 4, "the sequences of a recurrent cell"));
    }
    if (const auto transposed = KV_TRY(in.number<std::uint32_t>("the order of recurrent state")); transposed != 0)
      return in.bad("transposed recurrent state");
    const auto layers = KV_TRY(in.number<std::uint32_t>("the number of layers"));
    for (std::uint64_t tensors = 0; !in.atEnd(); ++tensors) {
      if (tensors == 2 * std::uint64_t{layers}) return in.bad("more recurrent state than layers");
      KV_TRY(readRows(in, cells));
    }
    out.recurrent = true;
    out.recurrentCells = cells;
    return ok();
  }

  std::span<const std::byte> m_bytes;
  const std::string& m_file;
  PartsForm m_form;
  std::optional<Error> m_error;
  std::size_t m_reached = 0;
};

std::string versionWords(bool session) {
  std::string out;
  for (const StateVersion& one : kVersions)
    if (one.session == session) out += (out.empty() ? "" : ", ") + std::to_string(one.number);
  return out;
}

/// The version of a state, and its tokens.
Result<StateVersion> readLlamaFront(ForeignCursor& in, LlamaState& out) {
  const auto magic = KV_TRY(in.number<std::uint32_t>("the first word"));
  const bool session = magic == kSessionMagic;
  if (!session && magic != kSequenceMagic) return badForeign(in.file(), "byte 0", "neither ggsq nor ggsn");
  const auto version = KV_TRY(in.number<std::uint32_t>("the version"));
  const auto known = std::ranges::find_if(
      kVersions, [&](const StateVersion& one) { return one.session == session && one.number == version; });
  if (known == std::end(kVersions))
    return badForeign(in.file(), "byte 4",
                      std::string(session ? "a session file" : "a sequence file") + " of version " +
                          std::to_string(version) + "; read are sequence files of the versions " + versionWords(false) +
                          " and session files of the versions " + versionWords(true),
                      "write the file with a llama.cpp of 2025 or 2026");
  out.version = version;
  const auto ids = KV_TRY(in.count<std::uint32_t>(4, "the number of tokens"));
  for (std::uint32_t i = 0; i < ids; ++i) out.ids.push_back(KV_TRY(in.number<std::int32_t>("a token")));
  if (!session) return *known;
  const auto length = KV_TRY(in.count<std::uint32_t>(1, "the length of the architecture's name"));
  if (length > kMostArchitecture) return in.bad("an architecture's name of " + std::to_string(length) + " bytes");
  out.architecture = KV_TRY(in.text(length, "the architecture's name"));
  return *known;
}

}  // namespace

bool isLlamaState(std::span<const std::byte> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kSequenceMagic || magic == kSessionMagic;
}

Result<LlamaState> parseLlamaState(std::span<const std::byte> bytes, const std::string& file) {
  ForeignCursor in(bytes, file);
  LlamaState state;
  const StateVersion version = KV_TRY(readLlamaFront(in, state));
  std::optional<Error> error;
  std::size_t reached = 0;
  for (const std::size_t extension : kExtensions)
    for (const bool outputs : {false, true}) {
      if (outputs && !version.session) continue;
      PartsReader reader(bytes, file, {extension, outputs, version.turns});
      ForeignCursor parts = in;
      LlamaState tried = state;
      const Status skipped = outputs ? reader.skipOutputs(parts) : ok();
      if (skipped && reader.read(parts.at(), tried)) {
        tried.extension = extension;
        return tried;
      }
      const auto why = skipped ? reader.farthest() : std::optional(skipped.error());
      if (why && (!error || reader.reached() > reached)) {
        error = why;
        reached = reader.reached();
      }
    }
  return error ? *error : in.bad("a state without parts");
}

}  // namespace kvlab
