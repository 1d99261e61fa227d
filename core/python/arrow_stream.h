// SPDX-License-Identifier: Apache-2.0
// A table of a session as an Arrow C stream: arrow.apache.org/docs/format/CStreamInterface.html and CDataInterface.html
// give the structs. A batch is one answer of a table, fetched when the reader asks for it, so a long table is
// never whole in memory. Any thread; the reader may or may not hold the GIL.
#pragma once
#include <cstdint>
#include <functional>

#include "core/api/error.h"
#include "core/api/table_answer.h"

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

namespace kvlab::python {

/// The rows from one on.
using FetchesPiece = std::function<Result<TableAnswer>(std::int64_t begin)>;

/// Fills `out` with a stream whose first piece is `first`. The buffers of its columns become those of the arrays.
void makeStream(ArrowArrayStream& out, TableAnswer first, FetchesPiece fetch);

}  // namespace kvlab::python
