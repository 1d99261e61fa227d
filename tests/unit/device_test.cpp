// SPDX-License-Identifier: Apache-2.0
// The core's duties to a back end with its own memory: only changes of a map are copied, steady
// decode replays one recording and allocates nothing, refused memory and failed calls leave the old state.
// Runs on support/far_module.cpp; skipped where no module is named.
#include "support/session_fixture.h"

#include <set>

#include "core/session/truth.h"
#include "core/state/map_mirror.h"
#include "kernels/backend/staging.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

std::unique_ptr<kernels::Backend> device() { return kernels::openBackend("cuda", 1).backend; }

bool far() { return device()->device().starts_with("far memory"); }

std::vector<std::int32_t> fetch(kernels::Backend& backend, const std::int32_t* from, std::size_t count) {
  std::vector<std::int32_t> out(count);
  const kernels::Copy copy{out.data(), from, static_cast<std::int64_t>(count * 4)};
  backend.download({&copy, 1});
  return out;
}

json onBackend(const char* backend) { return {{"backend", backend}}; }

/// At level cheap, and of other rows than the newest, a device does not keep what went into layers and came out of
/// attention.
json toldBy(const PassDeed& deed, std::uint64_t newest) {
  json out{{"layer", deed.layer.value()}, {"tags", deed.tags},       {"phase", deed.phase},
           {"begin", deed.begin},         {"end", deed.end},         {"written", deed.written},
           {"self", deed.self},           {"from", deed.list->from}, {"slots", deed.list->slots},
           {"phases", deed.list->phases}};
  if (deed.tags.back() == newest) out["input"] = deed.input, out["attended"] = deed.attended;
  return out;
}

}  // namespace

class DeviceTest : public QObject {
  Q_OBJECT
  static constexpr std::int64_t kMostOfALayer = 12;

 private Q_SLOTS:
  void init() {
    if (!qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE")) QSKIP("no module is named in KVLAB_CUDA_MODULE");
  }
  void cleanup() {
    qunsetenv("KVLAB_FAR_MIB");
    for (const char* name : {"KVLAB_FAR_FAIL_AFTER", "KVLAB_FAR_DEVICES", "KVLAB_FAR_DIES"}) qunsetenv(name);
  }

  void aMapSendsWhatChanged() {
    const auto backend = device();
    MirroredColumn column;
    std::vector<std::int32_t> values(1000);
    std::iota(values.begin(), values.end(), 5);
    const std::int32_t* at = column.update(*backend, values, 4000);
    QCOMPARE(column.sent(), std::int64_t{4000});
    QVERIFY(fetch(*backend, at, values.size()) == values);
    const auto sends = [&](std::int64_t bytes) {
      const std::int64_t before = column.sent();
      const bool stays = column.update(*backend, values, 4000) == at;
      return stays && fetch(*backend, at, values.size()) == values && column.sent() - before == bytes;
    };
    QVERIFY(sends(0));
    values.push_back(7);  // an append sends its tail
    QVERIFY(sends(4));
    values[400] = values[402] = -1;  // rows refreshed in place: from the first to the last of them
    QVERIFY(sends(12));
    values.erase(values.begin() + 900);  // everything behind a cut moves up
    QVERIFY(sends(400));
    values.resize(3);
    QVERIFY(sends(0));
  }

  /// Calls beside come after those before them, and before those that follow settle().
  void linesAreInOrder() {
    const auto backend = device();
    std::vector<std::int32_t> values(3000), other(3000, 9), got(3000), later(3000);
    std::iota(values.begin(), values.end(), 1);
    kernels::Array<std::int32_t> array;
    QVERIFY(array.assign(*backend, values));
    kernels::Staging staging(backend->beside());
    staging.bring(got.data(), array.data(), got.size());
    staging.start();
    backend->settle();
    backend->upload(array.data(), other.data(), 4 * 3000);
    later = fetch(*backend, array.data(), later.size());
    staging.finish();
    QVERIFY(got == values);
    QVERIFY(later == other);
  }

  void uploadsLargerThanTheRingArrive() {
    const auto backend = device();
    std::vector<std::int32_t> values(20'000'000);  // 80 MB
    std::iota(values.begin(), values.end(), 0);
    kernels::Array<std::int32_t> array;
    QVERIFY(array.assign(*backend, values));
    QVERIFY(fetch(*backend, array.data(), values.size()) == values);
  }

  void bothBackendsAgreeBitForBit() {
    std::vector<std::string> hashes;
    for (const char* backend : {"cpu", "cuda"}) {
      SessionFixture s(onBackend(backend));
      QCOMPARE(s->snapshot()->info->backend, std::string(backend == std::string("cuda") ? "cuda:0" : backend));
      s.prompt(40);
      s.must("step", {{"n", 6}});
      s.must("inject",
             {{"actions",
               {{{"action", "replace_pair"}, {"original_pos1", 9}, {"original_pos2", 12}, {"new_token_ids", {7}}}}}});
      s.must("step", {{"n", 3}});
      QCOMPARE(s.damage(), QByteArray());
      hashes.push_back(s.hash());
      QVERIFY(measureDrift(*s));
      s.must("rebuild");
      hashes.push_back(s.hash());
      s.must("undo");
      hashes.push_back(s.hash());
    }
    for (std::size_t i = 0; i < 3; ++i) QCOMPARE(hashes[i], hashes[i + 3]);
  }

  void steadyDecodeReplaysAndAllocatesNothing() {
    SessionFixture s(onBackend("cuda"));
    s.prompt(40);
    s.must("step", {{"n", 4}});
    const kernels::Backend& backend = s->transformer().backend();
    const kernels::BackendCounters before = backend.counters();
    QVERIFY(before.captures > 0);
    s.must("step", {{"n", 50}});
    const kernels::BackendCounters after = backend.counters();
    QCOMPARE(after.captures, before.captures);
    QCOMPARE(after.allocations, before.allocations);
    QCOMPARE(after.replays - before.replays, std::int64_t{50});
  }

  /// A tick's copies to the host, and its waits for them, do not grow with the layers.
  void layersShareTheirWaits() {
    const auto perTick = [](const char* model, const char* v) {
      SessionFixture s(
          {{"backend", "cuda"}, {"model", model}, {"kv", {{"k", "f16"}, {"v", v}}}, {"check", {{"scrub_period", 4}}}});
      s.prompt(40);
      s.must("step", {{"n", 4}});
      const kernels::Backend& backend = s->transformer().backend();
      const kernels::BackendCounters before = backend.counters();
      s.must("step", {{"n", 10}});
      const kernels::BackendCounters after = backend.counters();
      return std::pair(after.waits - before.waits, after.downloads - before.downloads);
    };
    for (const char* v : {"f16", "int8"}) {  // conversions are counted layer by layer
      const auto few = perTick("synthetic:tiny:layers=2", v), more = perTick("synthetic:tiny:layers=9", v);
      qInfo("in 10 ticks with V as %s: %lld waits, %lld copies to the host", v, static_cast<long long>(few.first),
            static_cast<long long>(few.second));
      QCOMPARE(few, more);
      QVERIFY(few.first <= (v == std::string("f16") ? 40 : 50));  // records of 8-bit rows come once more, for scale_law
    }
  }

  /// Copies of the arena that lie near one another come together, the others alone; all arrive.
  void neighboursComeTogether() {
    const auto backend = device();
    kernels::Array<std::int32_t> apart;
    std::vector<std::int32_t> values(300'000), got[5];
    std::iota(values.begin(), values.end(), 1);
    QVERIFY(apart.assign(*backend, values));
    kernels::Staging staging(*backend);
    const std::span<const std::int32_t> all = values;
    const std::int32_t *first = staging.in(all.first(50)), *second = staging.in(all.subspan(50, 7)),
                       *third = staging.in(all.subspan(1000, 299'000));
    const std::pair<const std::int32_t*, std::size_t> from[] = {
        {first, 50}, {second, 7}, {third, 299'000}, {apart.data() + 9, 3}, {first + 2, 40}};
    for (std::size_t i = 0; i < 5; ++i) {
      got[i].resize(from[i].second);
      staging.bring(got[i].data(), from[i].first, from[i].second);
    }
    const std::int64_t before = backend->counters().downloads;
    staging.finish();
    QVERIFY(backend->counters().downloads - before <= 4);
    const std::int32_t begins[] = {1, 51, 1001, 10, 3};
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < got[i].size(); ++j) QCOMPARE(got[i][j], begins[i] + static_cast<std::int32_t>(j));
  }

  /// A layer is four linear steps, a row write, a rotation, and attention in parts.
  void aLayerIsFewKernels() {
    if (far()) QSKIP("far memory runs ops, not kernels");
    const auto nodesOf = [](const char* model) {
      SessionFixture s({{"backend", "cuda"}, {"model", model}});
      s.prompt(40);
      s.must("step", {{"n", 4}});
      return s->transformer().backend().counters().nodes;
    };
    const std::int64_t two = nodesOf("synthetic:tiny:layers=2"), nine = nodesOf("synthetic:tiny:layers=9"),
                       layer = (nine - two) / 7;
    qInfo("a decode pass: %lld kernels and copies a layer, %lld beside them", static_cast<long long>(layer),
          static_cast<long long>(two - 2 * layer));
    QCOMPARE(nine - two, 7 * layer);
    QVERIFY(layer >= 7 && layer <= kMostOfALayer);
    QCOMPARE(two - 2 * layer,
             std::int64_t{4});  // embedding; norm and head; masses of the last layer, cleared and written
  }

  void numericsAreChosen() {
    const auto refused = [](const json& changes) {
      json all{{"model", "synthetic:tiny"}, {"threads", 1}};
      all.update(changes);
      return openSession(*Manifest::fromJson(all), KVLAB_RESOURCES_DIR).error();
    };
    const auto numericsOf = [](const json& changes) { return SessionFixture(changes)->snapshot()->info->numerics; };
    QCOMPARE(numericsOf(onBackend("cuda")), std::string("cuda-det"));
    QCOMPARE(numericsOf({{"backend", "auto"}, {"numerics", "cuda-det"}}), std::string("cuda-det"));
    QCOMPARE(numericsOf({{"backend", "auto"}, {"numerics", "portable-fma"}}), std::string("portable-fma"));
    for (const json& wrong :
         {json{{"backend", "cuda"}, {"numerics", "portable-fma"}}, json{{"backend", "cpu"}, {"numerics", "cuda-fast"}},
          json{{"backend", "auto"}, {"numerics", "amx"}}}) {
      const Error error = refused(wrong);
      QCOMPARE(error.code, std::string("bad_manifest"));
      QCOMPARE(error.field, std::string("numerics"));
      QVERIFY2(error.why.find(wrong["backend"] == "cpu" ? "computes with portable-fma" : "computes with ") !=
                   std::string::npos,
               error.why.c_str());
    }
    QVERIFY(refused({{"backend", "auto"}, {"numerics", "amx"}})
                .why.find("portable-fma or portable-bf16 or portable-q8 or cuda-det or cuda-fast") !=
            std::string::npos);
    qputenv("KVLAB_CUBLASLT", "/nowhere/libcublasLt.so");
    const Error error = refused({{"backend", "cuda"}, {"numerics", "cuda-fast"}});
    qunsetenv("KVLAB_CUBLASLT");
    QCOMPARE(error.code, std::string("bad_manifest"));
    QVERIFY2(error.why.starts_with("cuda-fast is not available, cuda-det is: "), error.why.c_str());
  }

  /// Through a double of cuBLASLt and tensor cores: long calls are near the exact mode, single rows are it.
  void theFastModeIsNearTheExactOne() {
    if (!qEnvironmentVariableIsSet("KVLAB_CUBLAS_DOUBLE_FILE")) QSKIP("no double of cuBLASLt");
    qputenv("KVLAB_CUBLASLT", qgetenv("KVLAB_CUBLAS_DOUBLE_FILE"));
    std::vector<float> logits[2];
    for (const int fast : {0, 1}) {
      SessionFixture s(
          {{"backend", "cuda"}, {"numerics", fast ? "cuda-fast" : "cuda-det"}, {"kv", {{"k", "bf16"}, {"v", "bf16"}}}});
      QCOMPARE(s->snapshot()->info->numerics, std::string(fast ? "cuda-fast" : "cuda-det"));
      s.prompt(40);
      logits[fast] = *s->state().logits;
      s.must("step", {{"n", 3}});
      QCOMPARE(s.damage(), QByteArray());
      QVERIFY(s->fork());
    }
    qunsetenv("KVLAB_CUBLASLT");
    float apart = 0, largest = 0;
    for (std::size_t i = 0; i < logits[0].size(); ++i) {
      apart = std::max(apart, std::abs(logits[0][i] - logits[1][i]));
      largest = std::max(largest, std::abs(logits[0][i]));
    }
    qInfo("logits up to %g, %g apart", double{largest}, double{apart});
    QVERIFY(apart > 0 && apart < 0x1p-6f * largest);
  }

  void whatDoesNotFitIsRefusedBeforeAnythingIsTaken() {
    if (!far()) QSKIP("only far memory can be made small");
    qputenv("KVLAB_FAR_MIB", "40");
    Result<Manifest> parsed =
        Manifest::fromJson({{"model", "synthetic:tiny"}, {"backend", "cuda"}, {"capacity", 1 << 20}});
    QVERIFY(parsed);
    const Result<std::unique_ptr<Session>> refused = openSession(*parsed, KVLAB_RESOURCES_DIR);
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("out_of_memory"));
    QVERIFY2(refused.error().why.find("free on far memory") != std::string::npos, refused.error().why.c_str());
  }

  void aFailedCallIsNamedAndTheSessionGoesOn() {
    if (!far()) QSKIP("only far memory fails on request");
    SessionFixture s(onBackend("cuda"));
    s.prompt(20);
    const std::string hash = s.hash();
    for (int after : {0, 7, 15}) {
      failAfter(after);
      const Result<json> reports = s.verb("promptIds", {{"ids", {4, 5, 6}}});
      qunsetenv("KVLAB_FAR_FAIL_AFTER");
      QVERIFY(!reports);
      QCOMPARE(reports.error().code, std::string("device"));
      QVERIFY2(reports.error().why.find("launch failure") != std::string::npos, reports.error().why.c_str());
      QCOMPARE(s.hash(), hash);
      QCOMPARE(s.damage(), QByteArray());
    }
    s.must("step", {{"n", 2}});
  }

  void deedsAreThoseOfTheCpu_data() {
    QTest::addColumn<QByteArray>("manifest");
    for (const char* manifest :
         {R"({})", R"({"layout":"paged:block=4","prefill_chunk":7})", R"({"layout":"contiguous_splice"})",
          R"({"layout":"ring_fused","ring":{"window":12},"prefill_chunk":5})",
          R"({"layout":"ring_roll","ring":{"window":12}})", R"({"residency":"kv_head","policy":"h2o:ratio=0.5"})",
          R"({"after_edit":"recompute","key_phase":"at_write"})", R"({"wlod":{"budget":256},"capacity":0})"})
      QTest::newRow(manifest) << QByteArray(manifest);
  }
  /// On a device the lists that kernels were given are read back from there, behind recorded passes too.
  void deedsAreThoseOfTheCpu() {
    QFETCH(QByteArray, manifest);
    std::vector<json> told;
    for (const char* backend : {"cpu", "cuda"}) {
      json changes = json::parse(manifest.toStdString());
      changes.update({{"backend", backend}, {"check", {{"level", "full"}}}});
      SessionFixture s(changes);
      const auto note = [&] {
        const std::span<const PassDeed> all = s->parts().store.deeds().all();
        for (const PassDeed& deed : all) told.push_back(toldBy(deed, all.back().tags.back()));
      };
      s.prompt(40);
      note();
      for (int i = 0; i < 5; ++i) s.must("step"), note();
      if (!changes.contains("ring") && !changes.contains("wlod")) {
        s.must("inject",
               {{"actions",
                 {{{"action", "replace_pair"}, {"original_pos1", 9}, {"original_pos2", 12}, {"new_token_ids", {7}}}}}});
        s.must("step"), note();
      }
      QCOMPARE(s.damage(), QByteArray());
      told.push_back(json("end"));
    }
    const auto half = static_cast<std::ptrdiff_t>(told.size() / 2);
    QVERIFY(half > 8);
    const std::vector<json> cpu(told.begin(), told.begin() + half), cuda(told.begin() + half, told.end());
    for (std::size_t i = 0; i < cpu.size(); ++i) QVERIFY2(cpu[i] == cuda[i], (cpu[i].dump() + cuda[i].dump()).c_str());
  }

  /// The check of deeds finds a bug in the passes of a device.
  void aBugOnADeviceIsFound() {
    SessionFixture s({{"backend", "cuda"}, {"faults", true}, {"ring", {{"window", 12}}}, {"layout", "ring_fused"}});
    s.prompt(30);
    s.must("step", {{"n", 4}});
    QCOMPARE(s.damage(), QByteArray());
    s.must("bug", {{"name", "window_plus_one"}});
    s.must("step");
    QVERIFY2(s.damage().contains("visible_rows"), s.damage());
  }

  /// Sessions, a fork and a lane on two devices in turn have the rows of the CPU.
  void aSessionStaysOnItsDevice() {
    if (!far()) QSKIP("the emulated device is alone");
    qputenv("KVLAB_FAR_DEVICES", "2");
    SessionFixture cpu(onBackend("cpu")), first(onBackend("cuda:0")), second(onBackend("cuda:1"));
    QCOMPARE(second->snapshot()->info->backend, std::string("cuda:1"));
    QCOMPARE(second.must("bytes")["device"]["id"], json("cuda:1"));
    QVERIFY(second.must("bytes")["device"]["used"] > 0);
    QVERIFY(cpu.must("bytes")["device"].is_null());
    const auto live = [](const SessionFixture& s, int tokens) {
      s.prompt(tokens);
      s.must("step", {{"n", 4}});
      return s.hash();
    };
    const std::string hash = live(cpu, 40);
    QCOMPARE(live(second, 40), hash);
    QCOMPARE(live(first, 40), hash);
    const json free = first.must("bytes")["device"]["free"];
    Result<std::unique_ptr<Session>> copy = second->fork(), beside = second->beside(second->manifest());
    QVERIFY(copy && beside);
    for (const Session* other : {copy->get(), beside->get()})
      QCOMPARE(other->snapshot()->info->backend, std::string("cuda:1"));
    QVERIFY(!second->beside(first->manifest()));
    QCOMPARE(stateHash(**copy), stateHash(*second));
    QCOMPARE(first.must("bytes")["device"]["free"], free);  // nothing of the others is there
    first.must("step", {{"n", 2}});
    QCOMPARE(second.hash(), hash);
    QCOMPARE(first.damage() + second.damage(), QByteArray());
  }

  /// A device that died is refused where the next session opens, with the reason and what helps.
  void aDeadDeviceOpensNoSession() {
    if (!far()) QSKIP("only far memory dies on request");
    SessionFixture s(onBackend("cuda"));
    s.prompt(20);
    qputenv("KVLAB_FAR_DIES", "1");
    failAfter(3);
    const Result<json> died = s.verb("promptIds", {{"ids", {4, 5, 6}}});
    QVERIFY(!died);
    QCOMPARE(died.error().code, std::string("device"));
    QVERIFY2(died.error().remedy.find("restart the program") != std::string::npos, died.error().remedy.c_str());
    const Error forked = s->fork().error();
    Result<Manifest> wanted = Manifest::fromJson({{"model", "synthetic:tiny"}, {"backend", "cuda"}});
    const Error opened = openSession(*wanted, KVLAB_RESOURCES_DIR).error();
    for (const Error& error : {forked, opened}) {
      QCOMPARE(error.code, std::string("no_backend"));
      QVERIFY2(error.why.ends_with("restart the program to use CUDA again"), error.why.c_str());
    }
    QCOMPARE(SessionFixture(onBackend("auto"))->snapshot()->info->backend, std::string("cpu"));
  }

  void rowsThatCannotBeReadAreNoRowsThatHold() {
    if (!far()) QSKIP("only far memory fails on request");
    SessionFixture s(onBackend("cuda"));
    s.prompt(20);
    failAfter(0);
    const QByteArray said = s.damage();
    qunsetenv("KVLAB_FAR_FAIL_AFTER");
    QVERIFY2(said.contains("launch failure"), said);
    QCOMPARE(s.damage(), QByteArray());
  }

  void opsAreEventsInsideTheirSteps() {
    for (const char* backend : {"cpu", "cuda"}) {
      SessionFixture s(onBackend(backend));
      s.prompt(40);
      QVERIFY(opsIn(s.must("step")[0]["events"]).empty());
      s.must("settings", {{"op_events", true}});
      const json events = s.must("step")[0]["events"];
      const std::map<std::string, int> ops = opsIn(events);
      const int layers = s->model().config().layers;
      QCOMPARE(ops.at("attention"), layers);
      QCOMPARE(ops.at("linear"), 4 * layers + 1);
      QVERIFY(ops.contains("matchTags"));
      double end = 0;
      for (const json& e : events) {
        if (e["depth"] == 0) end = e["start_us"].get<double>() + e["us"].get<double>();
        QVERIFY2(e["start_us"].get<double>() + e["us"].get<double>() <= end + 2, e.dump().c_str());
        if (e["name"] == "linear") QVERIFY(e["depth"] >= 3 && e["bytes"] > 0 && e["us"] > 0);
      }
      s.must("settings", {{"op_events", false}});
      QVERIFY(opsIn(s.must("step")[0]["events"]).empty());
    }
  }

 private:
  static std::map<std::string, int> opsIn(const json& events) {
    std::map<std::string, int> count;
    const std::set<std::string> names = {
#define KVLAB_OP(name, Args) #name,
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
    };
    for (const json& e : events)
      if (names.contains(e["name"])) ++count[e["name"]];
    return count;
  }
  static void failAfter(int calls) { qputenv("KVLAB_FAR_FAIL_AFTER", QByteArray::number(calls)); }
};

KV_TEST(DeviceTest)
#include "device_test.moc"
