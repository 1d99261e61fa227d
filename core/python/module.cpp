// SPDX-License-Identifier: Apache-2.0
// The extension module kvlab._core: sessions and what they can be asked, without names of its own for verbs or tables.
// The package beside it (kvlab/) makes methods of the schema. Every call releases the GIL before it waits for a
// session. Answers are pairs (value, error): the package raises the error.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/api/manifest.h"
#include "core/experiment/sweep_groups.h"
#include "core/experiment/sweep_shards.h"
#include "core/explain/html_report.h"
#include "core/lists/info.h"
#include "core/lists/named_lists.h"
#include "core/python/arrow_stream.h"
#include "core/python/compare.h"
#include "core/python/handle.h"
#include "core/python/json_python.h"
#include "core/python/outside_bridge.h"
#include "core/python/rows_array.h"
#include "core/python/sweeps.h"
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

/// Keeps what an array shares memory with.
template <class T>
nb::capsule owner(std::shared_ptr<T> kept) {
  return nb::capsule(new std::shared_ptr<T>(std::move(kept)),
                     [](void* memory) noexcept { delete static_cast<std::shared_ptr<T>*>(memory); });
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

nb::tuple openCell(const std::string& folder, std::int64_t cell, int question, const std::string& resources,
                   const nb::object& progress) {
  const SweepPlace place{folder, cell, question};
  return answerOf(without(progress, [&](Interrupts& asks) { return Handle::openCell(place, resources, asks); }),
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

nb::object streamOf(TableAnswer first, FetchesPiece fetch) {
  auto* const stream = new ArrowArrayStream{};
  makeStream(*stream, std::move(first), std::move(fetch));
  return nb::steal(PyCapsule_New(stream, "arrow_array_stream", [](PyObject* capsule) {
    auto* const owned = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
    if (owned->release) owned->release(owned);
    delete owned;
  }));
}

/// An Arrow C stream of a table, as the PyCapsule interface wants it. where: as Handle::look() takes it; args: those of
/// the verb `table`.
nb::tuple arrow(const Shared& self, nb::handle where, nb::handle given, const nb::object& progress) {
  const json place = toJson(where), args = toJson(given);
  const auto ask = [self, place](const json& asked, Interrupts& asks) {
    return self->look<TableAnswer>(place, asks, [&](Session& session) { return tableColumns(session, asked); });
  };
  auto first = without(progress, [&](Interrupts& asks) { return ask(args, asks); });
  return answerOf(std::move(first), [&](TableAnswer piece) {
    if (args.contains("limit")) piece.next.reset();
    const auto fetch = [ask, args](std::int64_t begin) {
      json next = args;
      next["begin"] = begin;
      Interrupts silent([](const std::string&, std::int64_t, std::int64_t) { return false; });
      PyThreadState* const held = PyGILState_Check() ? PyEval_SaveThread() : nullptr;
      Result<TableAnswer> answer = ask(next, silent);
      if (held) PyEval_RestoreThread(held);
      return answer;
    };
    return streamOf(std::move(piece), fetch);
  });
}

// --- sweeps -----------------------------------------------------------------------------------------

/// A dict of lists.
nb::object columnsOf(const TableAnswer& answer) {
  nb::dict out;
  for (const TableColumn& one : answer.columns) {
    nb::list cells;
    for (std::size_t i = 0; i < one.rows; ++i) cells.append(toPython(one.at(i)));
    out[one.name.c_str()] = cells;
  }
  return out;
}

TableAnswer tableOf(std::string table, std::vector<TableColumn> columns) {
  const auto rows = static_cast<std::int64_t>(columns.front().rows);
  return {std::move(table), 0, rows, {}, std::move(columns)};
}

/// {"out", "found", "failed", "cells", "summary"}; the last two are Columns.
nb::dict foundBySweep(const std::string& out, const SweepOutcome& made) {
  const std::vector<SweepPoint> points = sweepPoints(made.rows);
  nb::dict said;
  said["out"] = out;
  said["found"] = made.found;
  said["failed"] = made.failed;
  said["cells"] = tableOf("cells", sweepColumns(made.rows));
  said["summary"] = tableOf("summary", summaryColumns(points));
  return said;
}

/// shard: index and count.
nb::tuple sweep(nb::handle spec, const std::string& out, const std::string& resources, bool resume, int jobs,
                std::pair<int, int> shard, const nb::object& progress) {
  const json given = toJson(spec);
  SweepOptions options;
  options.out = out, options.resources = resources, options.resume = resume, options.jobs = jobs;
  options.shard = {shard.first, shard.second};
  auto run = without(progress, [&](Interrupts& asks) { return runSweep(given, options, asks); });
  return answerOf(std::move(run), [&](const SweepOutcome& made) { return foundBySweep(options.out, made); });
}

/// {"out", "groups"} of a specification: its folder, and how many shards there can be.
nb::tuple planOfSweep(nb::handle spec, const std::string& out, const std::string& resources) {
  const json given = toJson(spec);
  SweepOptions options;
  options.out = out, options.resources = resources;
  return answerOf(namedSweep(given, options), [&](const SweepSpec& read) {
    nb::dict said;
    said["out"] = options.out;
    said["groups"] = sweepGroups(read);
    return said;
  });
}

nb::tuple merge(const std::vector<std::string>& folders, const std::string& out) {
  Result<SweepOutcome> merged = [&] {
    const nb::gil_scoped_release free;
    return mergeSweeps(folders, out);
  }();
  return answerOf(std::move(merged), [&](const SweepOutcome& made) { return foundBySweep(out, made); });
}

// --- caches of other programs -----------------------------------------------------------------------

using Found = std::shared_ptr<Explanation>;

/// given: {"manifest", "ids", "before", "engine"}
ExplainAsk explainAsk(const json& given) {
  ExplainAsk ask;
  for (const json& id : given.at("ids")) ask.ids.emplace_back(id.get<std::int32_t>());
  for (const json& id : given.at("before")) ask.before.emplace_back(id.get<std::int32_t>());
  ask.engine = given.at("engine").get<bool>();
  return ask;
}

nb::tuple foundAnswer(Result<Found> found) {
  return answerOf(std::move(found), [](Found made) { return nb::cast(made); });
}

/// how: {"importer", "sequence", "mapping"}
nb::tuple compareFile(const std::string& path, nb::handle how, nb::handle given, const std::string& resources,
                      const nb::object& progress) {
  const json asked = toJson(how);
  const ForeignAsk opens{asked.at("importer"), asked.at("sequence"), asked.at("mapping")};
  const json said = toJson(given);
  const ExplainAsk ask = explainAsk(said);
  return foundAnswer(without(progress, [&](Interrupts& asks) -> Result<Found> {
    const ForeignCache cache = KV_TRY(openForeign(path, opens));
    return compare(cache, said.at("manifest"), resources, ask, asks);
  }));
}

/// layers: tuples (layer, keys, values, type, positions).
nb::tuple compareArrays(nb::list layers, bool headsKnown, std::vector<std::string> notes, nb::handle given,
                        const std::string& resources, const nb::object& progress) {
  std::vector<GivenLayer> taken;
  for (const nb::handle one : layers)
    taken.push_back({nb::cast<std::int32_t>(one[0]), nb::cast<GivenRows>(one[1]), nb::cast<GivenRows>(one[2]),
                     nb::cast<std::string>(one[3]), nb::cast<std::vector<std::int32_t>>(one[4])});
  const json said = toJson(given);
  const ExplainAsk ask = explainAsk(said);
  return foundAnswer(without(progress, [&](Interrupts& asks) -> Result<Found> {
    const ForeignCache cache = KV_TRY(cacheOfArrays(std::move(taken), headsKnown, std::move(notes)));
    return compare(cache, said.at("manifest"), resources, ask, asks);
  }));
}

nb::bytes reportOf(const Explanation& found, const std::string& cache, const std::string& model) {
  const std::string html = htmlReport(found, {cache, model, KVLAB_VERSION});
  return nb::bytes(html.data(), html.size());
}

/// Rows of a layer of the file, by its place, as NumPy arrays [rows, heads, head_dim] that share memory with `found`.
nb::dict comparedRows(const Found& found, std::size_t place) {
  const ExplainedLayer& layer = found->layers.at(place);
  const auto width = static_cast<std::size_t>(found->heads), dim = static_cast<std::size_t>(found->headDim);
  nb::dict out;
  const auto add = [&](const char* name, const std::vector<float>& rows) {
    const std::size_t shape[] = {rows.size() / std::max<std::size_t>(1, width * dim), width, dim};
    out[name] = nb::ndarray<nb::numpy, const float>(rows.data(), 3, shape, owner(found));
  };
  add("their_keys", layer.theirKeys), add("their_values", layer.theirValues);
  add("exact_keys", layer.exactKeys), add("exact_values", layer.exactValues);
  add("typed_keys", layer.typedKeys), add("typed_values", layer.typedValues);
  return out;
}

// --- rows -------------------------------------------------------------------------------------------

/// Result of `reads` with the session that `where` means.
template <class T, class Reads>
Result<T> looked(const Shared& self, nb::handle where, const Reads& reads) {
  const json place = toJson(where);
  return without(nb::none(), [&](Interrupts& asks) { return self->look<T>(place, asks, reads); });
}

/// (K, V), each a NumPy array [rows, kv_heads, head_dim] of f32 that belongs to the caller.
nb::tuple rowsOf(const Shared& self, nb::handle where, std::int64_t layer, bool rotated) {
  auto rows = looked<std::shared_ptr<RowsArray>>(self, where,
                                                 [&](Session& session) { return rowsArray(session, layer, rotated); });
  return answerOf(std::move(rows), [](std::shared_ptr<RowsArray> made) {
    const std::size_t shape[] = {made->rows, made->heads, made->dim};
    const nb::capsule kept = owner(made);
    return nb::make_tuple(nb::ndarray<nb::numpy, float>(made->k.data(), 3, shape, kept),
                          nb::ndarray<nb::numpy, float>(made->v.data(), 3, shape, kept));
  });
}

/// (records, format): a read-only NumPy array [slots, bytes] that shares pages with the session, and the offsets of a
/// record's parts (kernels/row_format.h).
nb::tuple poolOf(const Shared& self, nb::handle where, std::int64_t layer) {
  auto records =
      looked<std::shared_ptr<PoolRecords>>(self, where, [&](Session& session) { return poolRecords(session, layer); });
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

/// None, or the error as a dict.
nb::object addRule(nb::handle told, nb::object answer) {
  const Status added = addPythonRule(toJson(told), std::move(answer));
  return added ? nb::none() : toPython(added.error().toJson());
}

// --- what there is ----------------------------------------------------------------------------------

/// The lists of `kvlab list` that are about the engine, each a list of dicts.
nb::object lists() {
  json all = json::object();
  for (const NamedList& list : engineLists()) all[list.name] = list.rows();
  return toPython(all);
}

/// A list as `kvlab list` prints it, or None where the engine has no such list.
nb::object listText(const std::string& name, bool markdown) {
  for (const NamedList& list : engineLists())
    if (list.name == name) return nb::cast(markdown ? markdownTable(list, list.rows()) : textTable(list, list.rows()));
  return nb::none();
}

/// What `kvlab info` prints, as (the answer, its lines). An error of code usage is about the manifest itself.
nb::tuple info(nb::handle manifest, const std::string& resources) {
  const json keys = toJson(manifest);
  auto answer = [&]() -> Result<json> {
    const nb::gil_scoped_release free;
    const auto checked = Manifest::fromJson(keys);
    if (checked) return modelAndBackends(keys, resources);
    Error error = checked.error();
    error.code = "usage";
    return error;
  }();
  return answerOf(std::move(answer), [](json value) { return nb::make_tuple(toPython(value), infoText(value)); });
}

}  // namespace
}  // namespace kvlab::python

NB_MODULE(_core, m) {
  using namespace kvlab::python;
  nb::set_leak_warnings(false);  // rules live as long as the program, with what they refer to
  m.attr("__version__") = KVLAB_VERSION;
  nb::class_<Handle>(m, "Handle")
      .def("call", &call, nb::arg("verb"), nb::arg("args"), nb::arg("progress").none())
      .def("arrow", &arrow, nb::arg("where"), nb::arg("args"), nb::arg("progress").none())
      .def("rows", &rowsOf, nb::arg("where"), nb::arg("layer"), nb::arg("rotated"))
      .def("pool", &poolOf, nb::arg("where"), nb::arg("layer"))
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
  nb::class_<kvlab::TableAnswer>(m, "Columns")
      .def_ro("name", &kvlab::TableAnswer::table)
      .def("lists", &columnsOf)
      .def("arrow", [](const kvlab::TableAnswer& self) { return streamOf(self, {}); });
  nb::class_<kvlab::Explanation>(m, "Explanation")
      .def("answer", [](const kvlab::Explanation& self) { return toPython(kvlab::toJson(self)); })
      .def("text", &kvlab::explanationText)
      .def("html", &reportOf, nb::arg("cache"), nb::arg("model"))
      .def("left", &leftTable)
      .def_prop_ro("layers", [](const kvlab::Explanation& self) {
        nb::list out;
        for (const kvlab::ExplainedLayer& one : self.layers) out.append(one.layer);
        return out;
      });
  m.def("compared_rows", &comparedRows, nb::arg("found"), nb::arg("place"));
  m.def("compare_file", &compareFile, nb::arg("path"), nb::arg("how"), nb::arg("ask"), nb::arg("resources"),
        nb::arg("progress").none());
  m.def("compare_arrays", &compareArrays, nb::arg("layers"), nb::arg("heads_known"), nb::arg("notes"), nb::arg("ask"),
        nb::arg("resources"), nb::arg("progress").none());
  m.def("sweep", &sweep, nb::arg("spec"), nb::arg("out"), nb::arg("resources"), nb::arg("resume"), nb::arg("jobs"),
        nb::arg("shard"), nb::arg("progress").none());
  m.def("plan_of_sweep", &planOfSweep, nb::arg("spec"), nb::arg("out"), nb::arg("resources"));
  m.def("merge", &merge, nb::arg("folders"), nb::arg("out"));
  m.def("open", &open, nb::arg("manifest"), nb::arg("resources"), nb::arg("progress").none());
  m.def("open_cell", &openCell, nb::arg("folder"), nb::arg("cell"), nb::arg("question"), nb::arg("resources"),
        nb::arg("progress").none());
  m.def("open_capture", &openCapture, nb::arg("path"), nb::arg("resources"), nb::arg("progress").none());
  m.def("lists", &lists);
  m.def("list_text", &listText, nb::arg("name"), nb::arg("markdown"));
  m.def("info", &info, nb::arg("manifest"), nb::arg("resources"));
  m.def("add_rule", &addRule, nb::arg("told"), nb::arg("answer"));
}
