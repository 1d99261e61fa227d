// SPDX-License-Identifier: Apache-2.0
// What a back end with memory of its own asks of the core: only what changed of a map goes over, steady
// decode replays one recording and allocates nothing, refused memory and failed calls leave what was.
// Runs on support/far_module.cpp; skipped where no module is named.
#include "support/session_fixture.h"

#include <set>

#include "core/state/map_mirror.h"
#include "kernels/backend/staging.h"

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

json manifest(const char* backend) { return {{"backend", backend}}; }

}  // namespace

class DeviceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() {
    if (!qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE")) QSKIP("no module is named in KVLAB_CUDA_MODULE");
  }
  void cleanup() {
    qunsetenv("KVLAB_FAR_MIB");
    qunsetenv("KVLAB_FAR_FAIL_AFTER");
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
      SessionFixture s(manifest(backend));
      QCOMPARE(s->snapshot()->info->backend, std::string(backend));
      s.prompt(40);
      s.must("step", {{"n", 6}});
      s.must("inject", {{"actions", {{{"action", "replace_pair"}, {"original_pos1", 9}, {"original_pos2", 12}, {"new_token_ids", {7}}}}}});
      s.must("step", {{"n", 3}});
      QCOMPARE(s.damage(), QByteArray());
      hashes.push_back(s.hash());
      QVERIFY(s->measureDrift());
      s.must("rebuild");
      hashes.push_back(s.hash());
      s.must("undo");
      hashes.push_back(s.hash());
    }
    for (std::size_t i = 0; i < 3; ++i) QCOMPARE(hashes[i], hashes[i + 3]);
  }

  void steadyDecodeReplaysAndAllocatesNothing() {
    SessionFixture s(manifest("cuda"));
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

  void whatDoesNotFitIsRefusedBeforeAnythingIsTaken() {
    if (!far()) QSKIP("only far memory can be made small");
    qputenv("KVLAB_FAR_MIB", "40");
    Result<Manifest> parsed = Manifest::fromJson({{"model", "synthetic:tiny"}, {"backend", "cuda"}, {"capacity", 1 << 20}});
    QVERIFY(parsed);
    const Result<std::unique_ptr<Session>> refused = openSession(*parsed, KVLAB_RESOURCES_DIR);
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, std::string("out_of_memory"));
    QVERIFY2(refused.error().why.find("free on far memory") != std::string::npos, refused.error().why.c_str());
  }

  void aFailedCallIsNamedAndTheSessionGoesOn() {
    if (!far()) QSKIP("only far memory fails on request");
    SessionFixture s(manifest("cuda"));
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

  void rowsThatCannotBeReadAreNoRowsThatHold() {
    if (!far()) QSKIP("only far memory fails on request");
    SessionFixture s(manifest("cuda"));
    s.prompt(20);
    failAfter(0);
    const QByteArray said = s.damage();
    qunsetenv("KVLAB_FAR_FAIL_AFTER");
    QVERIFY2(said.contains("launch failure"), said);
    QCOMPARE(s.damage(), QByteArray());
  }

  void opsAreEventsInsideTheirSteps() {
    for (const char* backend : {"cpu", "cuda"}) {
      SessionFixture s(manifest(backend));
      s.prompt(40);
      QVERIFY(opsIn(s.must("step")[0]["events"]).empty());
      s.must("opEvents", {{"on", true}});
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
      s.must("opEvents", {{"on", false}});
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

QTEST_GUILESS_MAIN(DeviceTest)
#include "device_test.moc"
