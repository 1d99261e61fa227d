// SPDX-License-Identifier: Apache-2.0
// A pass that is recorded and replayed, with every call on its way refused once: each run adds five or says a failure,
// and runs behind a failure add five. Runs on support/far_module.cpp; skipped where no module is named.
#include <memory>
#include <optional>

#include "kernels/backend/array.h"
#include "support/runner.h"

using namespace kvlab::kernels;

class RecordedPassTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    if (!qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE")) QSKIP("no module is named in KVLAB_CUDA_MODULE");
    if (!openBackend("cuda", 1).backend->device().starts_with("far memory"))
      QSKIP("only far memory refuses on request");
  }
  void cleanup() { calm(); }

  void everyRunCountsOrFails_data() {
    QTest::addColumn<int>("run");
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("value");
    for (const int run : {1, 2, 3, 4})
      for (const int op : {1, 3, 5})
        if (run <= 2)
          QTest::addRow("op %d of run %d", op, run)
              << run << QByteArray("KVLAB_FAR_FAIL_AFTER") << QByteArray::number(op - 1);
    for (const char* function : {"beginCapture", "endCapture", "launchGraph"})
      QTest::addRow("%s", function) << 2 << QByteArray("KVLAB_FAR_REFUSES") << QByteArray(function);
    QTest::addRow("launchGraph, later") << 4 << QByteArray("KVLAB_FAR_REFUSES") << QByteArray("launchGraph");
    QTest::addRow("scratch of run 1") << 1 << QByteArray("KVLAB_FAR_MIB") << QByteArray("0");
    QTest::addRow("scratch of run 2") << 2 << QByteArray("KVLAB_FAR_MIB") << QByteArray("0");
  }
  void everyRunCountsOrFails() {
    QFETCH(int, run);
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, value);
    const std::unique_ptr<Backend> backend = openBackend("cuda", 1).backend;
    Array<float> sum, one;
    QVERIFY(sum.assign(*backend, std::vector<float>{0}) && one.assign(*backend, std::vector<float>{1}));
    for (int i = 1; i <= 7; ++i) {
      if (i == run) qputenv(name.constData(), value);
      const float before = valueOf(*backend, sum);
      backend->replay("key", [&] { addFive(*backend, sum, one, i == run && name == "KVLAB_FAR_MIB"); });
      const std::optional<BackendFailure> failure = backend->takeFailure();
      calm();
      QCOMPARE(failure.has_value(), i == run);
      if (!failure) QCOMPARE(valueOf(*backend, sum) - before, 5.0f);
    }
    QCOMPARE(backend->counters().captures, int64_t{1});
    QCOMPARE(backend->counters().nodes, int64_t{5});
  }

  /// Resources opened before the refusal are given back, and no others.
  void aBackEndThatDoesNotOpenLeavesNothing() {
    for (const char* function : {"openStream", "allocatePinned"}) {
      qputenv("KVLAB_FAR_REFUSES", function);
      const BackendAnswer refused = openBackend("cuda", 1);
      QVERIFY(!refused.backend);
      QVERIFY2(!refused.why.empty(), function);
      const BackendAnswer chosen = openBackend("auto", 1);
      QCOMPARE(chosen.backend->id(), "cpu");
      QCOMPARE(chosen.why, refused.why);
      calm();
    }
    QVERIFY(openBackend("cuda", 1).backend);
  }

 private:
  static void calm() {
    for (const char* name : {"KVLAB_FAR_FAIL_AFTER", "KVLAB_FAR_REFUSES", "KVLAB_FAR_MIB"}) qunsetenv(name);
  }

  /// scratched: with attention over nothing in the midst, which asks for scratch.
  static void addFive(Backend& b, const Array<float>& sum, const Array<float>& one, bool scratched) {
    for (int i = 0; i < 5; ++i) {
      if (scratched && i == 2) b.ops().attention(b.context(), {.fmt = {1, 16, DType::f32, DType::f32}});
      b.ops().add(b.context(), {.a = sum.data(), .b = one.data(), .out = sum.data(), .count = 1});
    }
  }

  static float valueOf(Backend& b, const Array<float>& sum) {
    float value = 0;
    const Copy copy{&value, sum.data(), 4};
    b.download({&copy, 1});
    return value;
  }
};

KV_TEST(RecordedPassTest)
#include "recorded_pass_test.moc"
