// SPDX-License-Identifier: Apache-2.0
// What a state file of llama.cpp holds: memory parts with their cells, and for each layer where its rows lie. A part
// says neither its kind nor how long a cell's extension is, so the reader tries what there can be until the parts end
// with the file. Values that point into the file; any thread.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/gguf_types.h"

namespace kvlab {

/// Keys or values of a layer, for all cells of a stream.
struct LlamaTensor {
  const GgufType* type = nullptr;  // null = the layer has none
  std::int64_t width = 0;          // values of a row
  bool transposed = false;         // [width, cells], else [cells, width]
  std::span<const std::byte> bytes;
};

struct LlamaLayer {
  LlamaTensor keys, values;
};

/// The cells of a stream, in the order of their slots.
struct LlamaStream {
  std::vector<std::int32_t> positions;  // [cells]
  std::vector<std::int32_t> sequences;  // those of all cells, one behind another
  std::vector<std::size_t> ends;        // [cells] where the cell's own end in `sequences`
  std::vector<LlamaLayer> layers;

  std::size_t cells() const { return positions.size(); }
  std::span<const std::int32_t> sequencesOf(std::size_t cell) const {
    const std::size_t begin = cell == 0 ? 0 : ends[cell - 1];
    return std::span(sequences).subspan(begin, ends[cell] - begin);
  }
};

struct LlamaPart {
  std::vector<LlamaStream> streams;
  std::uint32_t turnedKeys = 0, turnedValues = 0;  // values of a block that a Hadamard matrix turns; 0 = none, unsaid
};

struct LlamaState {
  std::vector<std::int32_t> ids;
  std::string architecture;  // of session files
  std::uint32_t version = 0;
  std::vector<LlamaPart> parts;
  std::size_t recurrentCells = 0;  // of a recurrent part, which is passed over
  bool recurrent = false;
  std::size_t extension = 0;  // bytes behind a cell: positions in an image
};

/// `file` names the bytes in errors (code bad_file).
Result<LlamaState> parseLlamaState(std::span<const std::byte> bytes, const std::string& file);
bool isLlamaState(std::span<const std::byte> bytes);

}  // namespace kvlab
