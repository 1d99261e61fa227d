// SPDX-License-Identifier: Apache-2.0
#include "core/python/arrow_stream.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/api/read_json.h"

using nlohmann::json;

namespace kvlab::python {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

struct Column {
  std::string name;
  ColumnType type = ColumnType::Integer;
};

/// Format strings of the C data interface; JSON of any shape goes as text.
const char* formatOf(ColumnType type) {
  switch (type) {
    case ColumnType::Integer: return "l";
    case ColumnType::Number: return "g";
    case ColumnType::Flag: return "b";
    default: return "U";
  }
}

/// The type of an expression, from its values: the narrowest that holds all of them.
ColumnType typeOf(const json& cells) {
  bool flags = true, integers = true, numbers = true, any = false;
  for (const json& cell : cells) {
    if (cell.is_null()) continue;
    any = true;
    flags = flags && cell.is_boolean();
    integers = integers && cell.is_number_integer();
    numbers = numbers && cell.is_number();
  }
  return !any    ? ColumnType::Number
      : flags    ? ColumnType::Flag
      : integers ? ColumnType::Number  // a later piece may have fractions
      : numbers  ? ColumnType::Number
                 : ColumnType::Text;
}

// --- schema -----------------------------------------------------------------------------------------

/// Owns a schema's texts and children.
struct SchemaParts {
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> places;
};

void releaseSchema(ArrowSchema* schema) {
  for (std::int64_t i = 0; i < schema->n_children; ++i)
    if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

ArrowSchema schemaOf(const char* format, const std::string& name, std::vector<ArrowSchema> children = {}) {
  auto parts = std::make_unique<SchemaParts>();
  parts->name = name;
  parts->children = std::move(children);
  for (ArrowSchema& child : parts->children) parts->places.push_back(&child);
  ArrowSchema out{};
  out.format = format;
  out.name = parts->name.c_str();
  out.flags = parts->children.empty() ? kNullable : 0;
  out.n_children = static_cast<std::int64_t>(parts->children.size());
  out.children = parts->places.data();
  out.release = releaseSchema;
  out.private_data = parts.release();
  return out;
}

// --- arrays -----------------------------------------------------------------------------------------

/// Owns an array's buffers and children.
struct ArrayParts {
  std::vector<std::uint8_t> valid, values;
  std::vector<std::int64_t> offsets;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> places;
};

void releaseArray(ArrowArray* array) {
  for (std::int64_t i = 0; i < array->n_children; ++i)
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
  delete static_cast<ArrayParts*>(array->private_data);
  array->release = nullptr;
}

void setBit(std::vector<std::uint8_t>& bits, std::size_t i) { bits[i / 8] |= static_cast<std::uint8_t>(1u << (i % 8)); }

template <class T>
void put(ArrayParts& parts, std::size_t i, T value) {
  reinterpret_cast<T*>(parts.values.data())[i] = value;
}

void putText(ArrayParts& parts, const json& cell) {
  if (!cell.is_null()) {
    const std::string text = cell.is_string() ? cell.get<std::string>() : cell.dump();
    parts.values.insert(parts.values.end(), text.begin(), text.end());
  }
  parts.offsets.push_back(static_cast<std::int64_t>(parts.values.size()));
}

ArrowArray arrayOf(ColumnType type, const json& cells) {
  auto parts = std::make_unique<ArrayParts>();
  const std::size_t rows = cells.size();
  const bool texts = type == ColumnType::Text || type == ColumnType::Value;
  std::int64_t nulls = 0;
  parts->valid.resize((rows + 7) / 8);
  if (texts) parts->offsets.push_back(0);
  else parts->values.resize(type == ColumnType::Flag ? (rows + 7) / 8 : 8 * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const json& cell = cells[i];
    if (cell.is_null()) ++nulls;
    else setBit(parts->valid, i);
    if (texts) putText(*parts, cell);
    else if (type == ColumnType::Integer) put(*parts, i, jsonOr(cell, std::int64_t{0}));
    else if (type == ColumnType::Number)
      put(*parts, i,
          cell.is_boolean() ? (cell.get<bool>() ? 1.0 : 0.0) : jsonOr(cell, std::numeric_limits<double>::quiet_NaN()));
    else if (jsonOr(cell, false)) setBit(parts->values, i);
  }
  parts->buffers.push_back(nulls ? parts->valid.data() : nullptr);
  if (texts) parts->buffers.push_back(parts->offsets.data());
  parts->buffers.push_back(parts->values.data());
  ArrowArray out{};
  out.length = static_cast<std::int64_t>(rows);
  out.null_count = nulls;
  out.n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  out.buffers = parts->buffers.data();
  out.release = releaseArray;
  out.private_data = parts.release();
  return out;
}

ArrowArray batchOf(const std::vector<Column>& columns, const json& answer) {
  auto parts = std::make_unique<ArrayParts>();
  for (const Column& one : columns) parts->children.push_back(arrayOf(one.type, cellsIn(answer, one.name)));
  for (ArrowArray& child : parts->children) parts->places.push_back(&child);
  parts->buffers.push_back(nullptr);
  ArrowArray out{};
  out.length = memberOr(answer, "rows", std::int64_t{0});
  out.n_buffers = 1;
  out.n_children = static_cast<std::int64_t>(columns.size());
  out.buffers = parts->buffers.data();
  out.children = parts->places.data();
  out.release = releaseArray;
  out.private_data = parts.release();
  return out;
}

// --- stream -----------------------------------------------------------------------------------------

struct StreamParts {
  std::vector<Column> columns;
  json piece;  // the next batch; null = it has to be fetched
  std::int64_t begin = 0;
  bool ended = false;
  FetchesPiece fetch;
  std::string error;
};

StreamParts& partsOf(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

int getSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  std::vector<ArrowSchema> children;
  for (const Column& one : partsOf(stream).columns) children.push_back(schemaOf(formatOf(one.type), one.name));
  *out = schemaOf("+s", {}, std::move(children));
  return 0;
}

int getNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamParts& parts = partsOf(stream);
  *out = {};
  if (parts.ended) return 0;  // an array that is released ends the stream
  if (parts.piece.is_null()) {
    Result<json> piece = parts.fetch(parts.begin);
    if (!piece) {
      parts.error = piece.error().text();
      return EIO;
    }
    parts.piece = piece.take();
  }
  *out = batchOf(parts.columns, parts.piece);
  const json& next = member(parts.piece, "next");
  parts.ended = !next.is_number();
  parts.begin = jsonOr(next, std::int64_t{0});
  parts.piece = nullptr;
  return 0;
}

const char* getLastError(ArrowArrayStream* stream) {
  const std::string& error = partsOf(stream).error;
  return error.empty() ? nullptr : error.c_str();
}

void releaseStream(ArrowArrayStream* stream) {
  delete static_cast<StreamParts*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void makeStream(ArrowArrayStream& out, const TableInfo& table, const std::vector<std::string>& columns, json first,
                FetchesPiece fetch) {
  auto parts = std::make_unique<StreamParts>();
  for (const std::string& name : columns) {
    const auto known = std::ranges::find(table.columns, name, &ColumnInfo::name);
    parts->columns.push_back({name, known == table.columns.end() ? typeOf(cellsIn(first, name)) : known->type});
  }
  parts->piece = std::move(first);
  parts->fetch = std::move(fetch);
  out = {getSchema, getNext, getLastError, releaseStream, parts.release()};
}

}  // namespace kvlab::python
