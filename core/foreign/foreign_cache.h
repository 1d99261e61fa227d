// SPDX-License-Identifier: Apache-2.0
// Caches that other programs wrote. An importer reads one format and says what its files say: rows in the order and the
// type of the file, brought to the shape [rows, heads * head size] as the documentation of the format lays them out. It
// corrects nothing. Everything that a file leaves open (how dimensions are paired, which rotation is applied, whether
// the documentation is right) is for core/explain to find. Rows stay in the mapped file until they are read. Values;
// any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/ids.h"
#include "core/model/files/config.h"

namespace kvlab {

/// Keys or values of a layer.
struct ForeignRows {
  std::string type;        // of the file, as its program names it: "f16", "q8_0"
  std::int64_t width = 0;  // values of a row: all heads; 0 = the program keeps no such rows (values of latent rows)
  /// [rows, width], widened to f32 and nothing else. Errors: bad_file, too_large.
  std::function<Result<std::vector<float>>()> read;
};

struct ForeignLayer {
  std::int32_t layer = 0;   // number of the model's layer; -1 = the file does not say, see numberLayers()
  std::int32_t part = 0;    // llama.cpp: 0 = layers that see all rows, 1 = layers with a window; else 0
  std::int32_t inPart = 0;  // place among the layers of the part
  std::int64_t rows = 0;
  ForeignRows keys, values;
  std::vector<std::int32_t> positions;  // [rows]; empty = the file does not say
};

struct ForeignCache {
  std::string importer;              // name in importers()
  std::vector<TokenId> ids;          // text of the file, one sequence; empty = the file has none
  std::vector<ForeignLayer> layers;  // ascending by layer, or by part; a layer whose state is no row is missing
  std::int32_t heads = 0;            // key-value heads; 0 = the file does not say
  std::int32_t block = 0;            // rows of a page; 0 = rows do not lie in pages, or the file does not say
  std::vector<std::string> notes;    // for people: what was passed over (recurrent state), what the file leaves open
};

/// What a caller knows beside the file.
struct ForeignAsk {
  std::string importer = {};    // name in importers(); empty = recognised by the file's content
  std::int32_t sequence = -1;   // sequence of a file that holds several; -1 = the only one, else refused by name
  std::string mapping = {};     // file that tells what the arrays of a file are; the importer `arrays` needs it
  std::int64_t mostBytes = {};  // rows that a caller will hold, as f32; 0 = no limit
};

struct ForeignImporter {
  std::string_view name;   // "llama.cpp"
  std::string_view files;  // what it reads: "sequence file of llama_state_seq_save_file, version 3"
  /// True for a file, or a folder, that looks like one of the format. Cheap; never fails.
  bool (*recognises)(const std::string& path);
  Result<ForeignCache> (*open)(const std::string& path, const ForeignAsk& ask);
};

/// All of them, in the order in which they are asked whether they recognise a file.
std::span<const ForeignImporter> importers();

/// True for a file or folder that an importer recognises. Cache files that kvlab itself has marked are none.
bool isForeignCache(const std::string& path);

/// Errors: bad_file (damaged, made up, of another version: names place and byte), bad_argument (no such importer, no
/// such sequence), unknown_format (no importer recognises the file; lists what could be read).
Result<ForeignCache> openForeign(const std::string& path, const ForeignAsk& ask = {});

/// Gives layers the numbers that their file does not say: layers of part 1 are those of the model with a window. Error:
/// other_model (the model has other layers); the cache is then unchanged.
Status numberLayers(ForeignCache& cache, const ModelConfig& config);

}  // namespace kvlab
