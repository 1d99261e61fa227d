// SPDX-License-Identifier: Apache-2.0
// State files of llama.cpp: rows of the cells of one sequence, in the order of slots.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "core/foreign/foreign_file.h"
#include "core/foreign/importer_table.h"
#include "core/foreign/llama_parts.h"
#include "core/model/files/mapped_file.h"
#include "kernels/scalar_convert.h"

namespace kvlab {
namespace {

using Cells = std::vector<std::size_t>;

/// A row type that no weight has here: 32 codes of four bits, each a value of a table, times a scale.
constexpr std::string_view kTableType = "IQ4_NL";
constexpr std::array<std::int8_t, 16> kTableValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};

void widenTable(const std::byte* from, std::int64_t blocks, float* to) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
  for (std::int64_t block = 0; block < blocks; ++block, bytes += 18, to += 32) {
    const float scale = kernels::halfToFloat(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
    for (int i = 0; i < 16; ++i) {
      to[i] = scale * static_cast<float>(kTableValues[bytes[2 + i] & 15]);
      to[i + 16] = scale * static_cast<float>(kTableValues[bytes[2 + i] >> 4]);
    }
  }
}

bool widens(const GgufType& type) { return type.dtype || type.name == kTableType; }

/// Values that lie one behind another, a multiple of a block.
std::vector<float> widenedRun(const GgufType& type, const std::byte* from, std::int64_t values) {
  if (type.dtype) return widened(TensorView{from, *type.dtype, {values}});
  std::vector<float> out(at(values));
  widenTable(from, values / type.values, out.data());
  return out;
}

std::vector<float> rowsOfCells(const LlamaTensor& tensor, const Cells& cells) {
  const std::int64_t bytes = tensor.width / tensor.type->values * tensor.type->bytes;
  std::vector<float> out;
  out.reserve(cells.size() * at(tensor.width));
  for (std::size_t begin = 0, end = 0; begin < cells.size(); begin = end) {
    for (end = begin + 1; end < cells.size() && cells[end] == cells[end - 1] + 1;) ++end;
    const auto run = widenedRun(*tensor.type, tensor.bytes.data() + cells[begin] * at(bytes),
                                static_cast<std::int64_t>(end - begin) * tensor.width);
    out.insert(out.end(), run.begin(), run.end());
  }
  return out;
}

/// Of transposed values: column by column, so that a file is read from front to back.
std::vector<float> columnsOfCells(const LlamaTensor& tensor, const Cells& cells) {
  const std::size_t width = at(tensor.width), all = tensor.bytes.size() / width / at(tensor.type->bytes);
  std::vector<float> out(cells.size() * width);
  for (std::size_t x = 0; x < width; ++x) {
    const auto column = widenedRun(*tensor.type, tensor.bytes.data() + x * all * at(tensor.type->bytes),
                                   static_cast<std::int64_t>(all));
    for (std::size_t row = 0; row < cells.size(); ++row) out[row * width + x] = column[cells[row]];
  }
  return out;
}

std::string lowered(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

class LlamaRows {
 public:
  LlamaRows(const std::string& path, const ForeignAsk& ask) : m_path(path), m_ask(ask) {}

  Result<ForeignCache> open() {
    m_file = KV_TRY(MappedFile::open(m_path));
    m_state = KV_TRY(parseLlamaState(m_file->bytes(), m_path));
    const std::int32_t sequence = KV_TRY(chosenSequence());
    for (const std::int32_t id : m_state.ids) m_out.ids.emplace_back(id);
    for (std::size_t part = 0; part < m_state.parts.size(); ++part) KV_TRY(addPart(part, sequence));
    if (m_out.layers.empty())
      return unreadForeign(m_path,
                           m_state.recurrent ? "the file holds recurrent state and no rows" : "there are no rows",
                           "save a sequence whose model has attention, after it has decoded tokens");
    numberSinglePart();
    describe();
    return std::move(m_out);
  }

 private:
  Result<std::int32_t> chosenSequence() const {
    std::set<std::int32_t> all;
    for (const LlamaPart& part : m_state.parts)
      for (const LlamaStream& stream : part.streams) all.insert(stream.sequences.begin(), stream.sequences.end());
    if (m_ask.sequence < 0 && all.size() <= 1) return all.empty() ? -1 : *all.begin();
    if (all.contains(m_ask.sequence)) return m_ask.sequence;
    std::string names;
    for (const std::int32_t one : all) names += (names.empty() ? "" : ", ") + std::to_string(one);
    return Error("bad_argument", "cannot read " + m_path,
                 m_ask.sequence < 0 ? "it holds the sequences " + names
                                    : "it has no sequence " + std::to_string(m_ask.sequence) + ", but " + names,
                 "name one of its sequences", "sequence", m_ask.sequence);
  }

  Status addPart(std::size_t part, std::int32_t sequence) {
    const LlamaStream* found = nullptr;
    Cells cells;
    for (const LlamaStream& stream : m_state.parts[part].streams)
      for (std::size_t cell = 0; cell < stream.cells(); ++cell) {
        if (std::ranges::count(stream.sequencesOf(cell), sequence) == 0) continue;
        if (found && found != &stream)
          return badForeign(m_path, "part " + std::to_string(part),
                            "sequence " + std::to_string(sequence) + " has cells in two streams");
        found = &stream;
        cells.push_back(cell);
      }
    if (!found) {
      m_out.notes.push_back("part " + std::to_string(part) + " has no rows of the sequence");
      return ok();
    }
    std::vector<std::int32_t> positions;
    for (const std::size_t cell : cells) positions.push_back(found->positions[cell]);
    for (std::size_t i = 0; i < found->layers.size(); ++i) {
      ForeignLayer layer;
      layer.layer = -1;
      layer.part = static_cast<std::int32_t>(part);
      layer.inPart = static_cast<std::int32_t>(i);
      layer.rows = static_cast<std::int64_t>(cells.size());
      layer.keys = KV_TRY(rowsOf(found->layers[i].keys, cells));
      layer.values = KV_TRY(rowsOf(found->layers[i].values, cells));
      layer.positions = positions;
      m_out.layers.push_back(std::move(layer));
    }
    return ok();
  }

  Result<ForeignRows> rowsOf(const LlamaTensor& tensor, const Cells& cells) {
    if (!tensor.type) return ForeignRows{"", 0, [] { return Result<std::vector<float>>(std::vector<float>()); }};
    if (!widens(*tensor.type))
      return unreadForeign(m_path, "rows of type " + std::string(tensor.type->name) + " are not read",
                           "write the cache as f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl");
    const auto read = [file = m_file, tensor, cells]() -> Result<std::vector<float>> {
      return tensor.transposed ? columnsOfCells(tensor, cells) : rowsOfCells(tensor, cells);
    };
    return ForeignRows{lowered(tensor.type->name), tensor.width, read};
  }

  /// A part beside no other has all layers of the model.
  void numberSinglePart() {
    if (m_state.parts.size() > 1 || m_state.recurrent) return;
    for (ForeignLayer& layer : m_out.layers) layer.layer = layer.inPart;
  }

  void describe() {
    if (!m_state.architecture.empty()) m_out.notes.push_back("architecture " + plainForeign(m_state.architecture));
    if (m_state.recurrent)
      m_out.notes.push_back("recurrent state of " + std::to_string(m_state.recurrentCells) +
                            " cells is no rows and was passed over");
    for (const LlamaPart& part : m_state.parts) {
      if (part.turnedKeys + part.turnedValues == 0) continue;
      const std::string note = "the file says that keys are turned in blocks of " + std::to_string(part.turnedKeys) +
          " values and values in blocks of " + std::to_string(part.turnedValues);
      if (std::ranges::count(m_out.notes, note) == 0) m_out.notes.push_back(note);
    }
    if (m_state.extension > 0)
      m_out.notes.push_back("cells carry places in an image, of which the position in time is read");
    if (m_out.layers.front().values.width == 0) m_out.notes.push_back("the file holds no values: rows are latent");
  }

  const std::string& m_path;
  const ForeignAsk& m_ask;
  std::shared_ptr<const MappedFile> m_file;
  LlamaState m_state;
  ForeignCache m_out;
};

bool recognisesLlama(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file && isLlamaState((*file)->bytes());
}

Result<ForeignCache> openLlama(const std::string& path, const ForeignAsk& ask) { return LlamaRows(path, ask).open(); }

}  // namespace

ForeignImporter llamaImporter() {
  return ForeignImporter{
      "llama.cpp",
      "files of llama_state_seq_save_file (versions 3 and 4), of the server's slots, and of llama_state_save_file",
      recognisesLlama, openLlama};
}

}  // namespace kvlab
