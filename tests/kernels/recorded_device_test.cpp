// SPDX-License-Identifier: Apache-2.0
// The back end keeps the rules of captures, which the emulated device watches: a pass is recorded and replayed while a
// second line reads, and a call that a capture forbids would cost the recording.
#include <memory>

#include "kernels/backend/array.h"
#include "support/runner.h"

using namespace kvlab::kernels;

class RecordedDeviceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    if (QByteArray(KVLAB_CUDA_EMULATED_FILE).isEmpty()) QSKIP("no emulated device");
    m_before = qgetenv("KVLAB_CUDA_MODULE");
    qputenv("KVLAB_CUDA_MODULE", KVLAB_CUDA_EMULATED_FILE);
  }
  void cleanup() { m_before.isNull() ? qunsetenv("KVLAB_CUDA_MODULE") : qputenv("KVLAB_CUDA_MODULE", m_before); }

  void aPassIsRecordedBesideReads() {
    const BackendAnswer answer = openBackend("cuda", 1);
    QVERIFY2(answer.backend, answer.why.c_str());
    Backend& backend = *answer.backend;
    Array<float> sum, one;
    QVERIFY(sum.assign(backend, std::vector<float>{0}) && one.assign(backend, std::vector<float>{1}));
    for (int run = 1; run <= 4; ++run) {
      float read = -1;
      const Copy copy{&read, one.data(), 4};
      Backend& beside = backend.beside();
      QVERIFY(&beside != &backend);
      beside.startDownload({&copy, 1});
      backend.replay("key", [&] {
        for (int i = 0; i < 5; ++i)
          backend.ops().add(backend.context(), {.a = sum.data(), .b = one.data(), .out = sum.data(), .count = 1});
        backend.ops().attention(backend.context(), {.fmt = {1, 16, DType::f32, DType::f32}});
      });
      beside.finishDownloads();
      float value = 0;
      const Copy result{&value, sum.data(), 4};
      backend.download({&result, 1});
      const std::optional<BackendFailure> failure = backend.takeFailure();
      QVERIFY2(!failure, failure ? failure->why.c_str() : "");
      QCOMPARE(value, 5.0f * static_cast<float>(run));
      QCOMPARE(read, 1.0f);
    }
    QCOMPARE(backend.counters().captures, int64_t{1});
    QCOMPARE(backend.counters().nodes, int64_t{5});
    QCOMPARE(backend.counters().replays, int64_t{3});
  }

 private:
  QByteArray m_before;
};

KV_TEST(RecordedDeviceTest)
#include "recorded_device_test.moc"
