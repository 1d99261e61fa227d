// SPDX-License-Identifier: Apache-2.0
#include "core/python/arrow_stream.h"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

using nlohmann::json;

namespace kvlab::python {
namespace {

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE
constexpr std::string_view kTexts = "U";

/// Format strings of the C data interface; JSON of any shape goes as text.
const char* formatOf(ColumnType type) {
  switch (type) {
    case ColumnType::Integer: return "l";
    case ColumnType::Number: return "g";
    case ColumnType::Flag: return "b";
    default: return kTexts.data();
  }
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
  TableColumn column{{}, ColumnType::Integer};
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

/// Values of any shape as texts of JSON.
void writeTexts(TableColumn& column) {
  for (std::size_t i = 0; i < column.rows; ++i) {
    if (column.has(i)) column.texts += column.values[i].dump(-1, ' ', false, json::error_handler_t::replace);
    column.ends.push_back(static_cast<std::int64_t>(column.texts.size()));
  }
  column.values.clear();
}

const void* valuesOf(const TableColumn& column) {
  switch (column.type) {
    case ColumnType::Integer: return column.integers.data();
    case ColumnType::Number: return column.numbers.data();
    case ColumnType::Flag: return column.flags.data();
    default: return column.texts.data();
  }
}

ArrowArray arrayOf(TableColumn column) {
  auto parts = std::make_unique<ArrayParts>();
  parts->column = std::move(column);
  TableColumn& own = parts->column;
  if (own.type == ColumnType::Value) writeTexts(own);
  parts->buffers.push_back(own.nulls ? own.known.data() : nullptr);
  if (std::string_view(formatOf(own.type)) == kTexts) {
    own.ends.insert(own.ends.begin(), 0);
    parts->buffers.push_back(own.ends.data());
  }
  parts->buffers.push_back(valuesOf(own));
  ArrowArray out{};
  out.length = static_cast<std::int64_t>(own.rows);
  out.null_count = static_cast<std::int64_t>(own.nulls);
  out.n_buffers = static_cast<std::int64_t>(parts->buffers.size());
  out.buffers = parts->buffers.data();
  out.release = releaseArray;
  out.private_data = parts.release();
  return out;
}

ArrowArray batchOf(TableAnswer answer) {
  auto parts = std::make_unique<ArrayParts>();
  for (TableColumn& one : answer.columns) parts->children.push_back(arrayOf(std::move(one)));
  for (ArrowArray& child : parts->children) parts->places.push_back(&child);
  parts->buffers.push_back(nullptr);
  ArrowArray out{};
  out.length = answer.rows;
  out.n_buffers = 1;
  out.n_children = static_cast<std::int64_t>(parts->children.size());
  out.buffers = parts->buffers.data();
  out.children = parts->places.data();
  out.release = releaseArray;
  out.private_data = parts.release();
  return out;
}

// --- stream -----------------------------------------------------------------------------------------

struct StreamParts {
  std::vector<std::pair<std::string, ColumnType>> columns;
  std::optional<TableAnswer> piece;   // the next batch
  std::optional<std::int64_t> begin;  // where the batch behind it begins; none = it is the last
  FetchesPiece fetch;
  std::string error;
};

StreamParts& partsOf(ArrowArrayStream* stream) { return *static_cast<StreamParts*>(stream->private_data); }

int getSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  std::vector<ArrowSchema> children;
  for (const auto& [name, type] : partsOf(stream).columns) children.push_back(schemaOf(formatOf(type), name));
  *out = schemaOf("+s", {}, std::move(children));
  return 0;
}

int getNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamParts& parts = partsOf(stream);
  *out = {};
  if (!parts.piece && !parts.begin) return 0;  // an array that is released ends the stream
  if (!parts.piece) {
    Result<TableAnswer> piece = parts.fetch(*parts.begin);
    if (!piece) {
      parts.error = piece.error().text();
      return EIO;
    }
    parts.piece = piece.take();
  }
  parts.begin = parts.piece->next;
  *out = batchOf(std::move(*parts.piece));
  parts.piece.reset();
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

void makeStream(ArrowArrayStream& out, TableAnswer first, FetchesPiece fetch) {
  auto parts = std::make_unique<StreamParts>();
  for (const TableColumn& one : first.columns) parts->columns.emplace_back(one.name, one.type);
  parts->piece = std::move(first);
  parts->fetch = std::move(fetch);
  out = {getSchema, getNext, getLastError, releaseStream, parts.release()};
}

}  // namespace kvlab::python
