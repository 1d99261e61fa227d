// SPDX-License-Identifier: Apache-2.0
// The extension module kvlab._core: sessions and what they can be asked, without names of its own for verbs or tables.
// The package beside it (kvlab/) makes methods of the schema. Every call releases the GIL before it waits for a
// session. Answers are pairs (value, error): the package raises the error.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "core/api/read_json.h"
#include "core/lists/lists.h"
#include "core/python/arrow_stream.h"
#include "core/python/handle.h"
#include "core/python/json_python.h"
#include "core/python/rows_array.h"
#include "core/tables/tables.h"

namespace nb = nanobind;
using nlohmann::json;

namespace kvlab::python {
namespace {

/// Asks Python for signals and calls `progress`, a function of (what, done, total) or None, which ends the work where
/// it returns False. A Python exception stays set, and raiseIfSet() throws it.
Interrupts::Asks asksPython(const nb::object& progress) {
  PyObject* const told = progress.ptr();
  return [told](const std::string& what, std::int64_t done, std::int64_t total) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_Occurred() || PyErr_CheckSignals() != 0) return true;
    if (told == Py_None) return false;
    PyObject* const reply =
        PyObject_CallFunction(told, "sLL", what.c_str(), static_cast<long long>(done), static_cast<long long>(total));
    if (!reply) return true;
    const bool ends = reply == Py_False;
    Py_DECREF(reply);
    return ends;
  };
}

void raiseIfSet() {
  if (PyErr_Occurred()) throw nb::python_error();
}

/// (value, None), or (None, error) as a dict.
template <class T, class Value>
nb::tuple answerOf(Result<T>&& result, Value&& value) {
  raiseIfSet();
  if (!result) return nb::make_tuple(nb::none(), toPython(result.error().toJson()));
  return nb::make_tuple(value(result.take()), nb::none());
}

/// Runs `work` with an Interrupts, without the GIL.
template <class Work>
auto without(const nb::object& progress, Work&& work) {
  Interrupts interrupts(asksPython(progress));
  const nb::gil_scoped_release free;
  return work(interrupts);
}

using Shared = std::shared_ptr<Handle>;

nb::tuple open(nb::handle manifest, const std::string& resources, const nb::object& progress) {
  const json keys = toJson(manifest);
  return answerOf(without(progress, [&](Interrupts& asks) { return Handle::open(keys, resources, asks); }),
                  [](Shared made) { return nb::cast(made); });
}

nb::tuple openCapture(const std::string& path, const std::string& resources, const nb::object& progress) {
  return answerOf(without(progress, [&](Interrupts& asks) { return Handle::openCapture(path, resources, asks); }),
                  [](Shared made) { return nb::cast(made); });
}

nb::tuple call(const Shared& self, const std::string& verb, nb::handle args, const nb::object& progress) {
  const json given = toJson(args);
  return answerOf(without(progress, [&](Interrupts& asks) { return self->call(verb, given, asks); }),
                  [](json value) { return toPython(value); });
}

nb::tuple forked(const Shared& self, const nb::object& progress) {
  return answerOf(without(progress, [&](Interrupts& asks) { return self->fork(asks); }),
                  [](Shared made) { return nb::cast(made); });
}

/// The names of the columns that a call of the verb `table` asks for, in their order.
std::vector<std::string> columnsOf(const TableInfo& table, const json& args) {
  std::vector<std::string> out;
  for (const json& one : member(args, "columns"))
    if (one.is_string()) out.push_back(one.get<std::string>());
  if (out.empty())
    for (const ColumnInfo& one : table.columns) out.push_back(one.name);
  return out;
}

/// An Arrow C stream of a table, as the PyCapsule interface wants it. args: those of the verb `table`.
nb::tuple arrow(const Shared& self, nb::handle given, const nb::object& progress) {
  const json args = toJson(given);
  const TableInfo* table = tableNamed(memberOr(args, "name", std::string()));
  auto first = without(progress, [&](Interrupts& asks) { return self->call("table", args, asks); });
  return answerOf(std::move(first), [&](json piece) {
    const auto fetch = [self, args](std::int64_t begin) {
      json next = args;
      next["begin"] = begin;
      Interrupts silent([](const std::string&, std::int64_t, std::int64_t) { return false; });
      PyThreadState* const held = PyGILState_Check() ? PyEval_SaveThread() : nullptr;
      Result<json> answer = self->call("table", next, silent);
      if (held) PyEval_RestoreThread(held);
      return answer;
    };
    auto* const stream = new ArrowArrayStream{};
    makeStream(*stream, *table, columnsOf(*table, args), std::move(piece), fetch);
    return nb::steal(PyCapsule_New(stream, "arrow_array_stream", [](PyObject* capsule) {
      auto* const owned = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
      if (owned->release) owned->release(owned);
      delete owned;
    }));
  });
}

// --- rows -------------------------------------------------------------------------------------------

template <class T>
nb::capsule owner(std::shared_ptr<T> kept) {
  return nb::capsule(new std::shared_ptr<T>(std::move(kept)),
                     [](void* memory) noexcept { delete static_cast<std::shared_ptr<T>*>(memory); });
}

/// (K, V), each a NumPy array [rows, kv_heads, head_dim] of f32 that belongs to the caller.
nb::tuple rowsOf(const Shared& self, std::int64_t layer, bool rotated) {
  auto rows = [&] {
    const nb::gil_scoped_release free;
    return rowsArray(*self, layer, rotated);
  }();
  return answerOf(std::move(rows), [](std::shared_ptr<RowsArray> made) {
    const std::size_t shape[] = {made->rows, made->heads, made->dim};
    const nb::capsule kept = owner(made);
    return nb::make_tuple(nb::ndarray<nb::numpy, float>(made->k.data(), 3, shape, kept),
                          nb::ndarray<nb::numpy, float>(made->v.data(), 3, shape, kept));
  });
}

/// (records, format): a read-only NumPy array [slots, bytes] that shares pages with the session, and the offsets of a
/// record's parts (kernels/row_format.h).
nb::tuple poolOf(const Shared& self, std::int64_t layer) {
  auto records = [&] {
    const nb::gil_scoped_release free;
    return poolRecords(*self, layer);
  }();
  return answerOf(std::move(records), [](std::shared_ptr<PoolRecords> made) {
    const RowPool& pool = made->pool;
    const std::size_t shape[] = {at(pool.slots()), at(pool.stride())};
    const kernels::RowFormat& format = pool.format();
    const kernels::RowLayout layout = kernels::rowLayout(format);
    json said{{"kv_heads", format.kvHeads},        {"head_dim", format.headDim}, {"k", kernels::dtypeName(format.k)},
              {"v", kernels::dtypeName(format.v)}, {"v_offset", layout.v},       {"k_scales_offset", layout.kScales},
              {"v_scales_offset", layout.vScales}, {"tag_offset", layout.tag},   {"checksum_offset", layout.checksum}};
    return nb::make_tuple(nb::ndarray<nb::numpy, const std::uint8_t>(pool.data(), 2, shape, owner(made)),
                          toPython(said));
  });
}

// --- what there is ----------------------------------------------------------------------------------

/// The lists of `kvlab list` that are about the engine, each a list of dicts.
nb::object lists() {
  return toPython({{"policies", listPolicies()},
                   {"layouts", listLayouts()},
                   {"bugs", listBugs()},
                   {"selftests", listSelfTests()},
                   {"invariants", listInvariants()},
                   {"metrics", listMetrics()},
                   {"verbs", listVerbs()},
                   {"tables", listTables()},
                   {"facts", listFacts()},
                   {"manifest", listManifest()},
                   {"errors", listErrors()}});
}

}  // namespace
}  // namespace kvlab::python

NB_MODULE(_core, m) {
  using namespace kvlab::python;
  nb::class_<Handle>(m, "Handle")
      .def("call", &call, nb::arg("verb"), nb::arg("args"), nb::arg("progress").none())
      .def("arrow", &arrow, nb::arg("args"), nb::arg("progress").none())
      .def("rows", &rowsOf, nb::arg("layer"), nb::arg("rotated"))
      .def("pool", &poolOf, nb::arg("layer"))
      .def("fork", &forked, nb::arg("progress").none())
      .def("close",
           [](Handle& self) {
             const nb::gil_scoped_release free;
             self.close();
           })
      .def_prop_ro("closed", [](const Handle& self) {
        const nb::gil_scoped_release free;
        return self.closed();
      });
  m.def("open", &open, nb::arg("manifest"), nb::arg("resources"), nb::arg("progress").none());
  m.def("open_capture", &openCapture, nb::arg("path"), nb::arg("resources"), nb::arg("progress").none());
  m.def("lists", &lists);
}
