// SPDX-License-Identifier: Apache-2.0
// No launch asks for more shared memory than a block has: every step of published models, in every type of weights and
// rows, on devices of all sizes. The emulated device checks the launches and runs none of them; a real one runs them.
#include "cuda_fixture.h"
#include "model_launches.h"

#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

namespace {

constexpr int64_t kKibibyte = 1024;

void launchAll(Launches& all) {
  for (const ModelSizes& one : kModelSizes) all.model(one);
}

}  // namespace

class CudaSharedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanup() {
    qunsetenv("KVLAB_SIMT_SHARED");
    qunsetenv("KVLAB_SIMT_DRY");
  }

  void noLaunchIsRefused_data() {
    QTest::addColumn<int>("kibibytes");
    for (const int kibibytes : {64, 99, 163, 227}) QTest::addRow("%d KiB", kibibytes) << kibibytes;
  }
  void noLaunchIsRefused() {
    const std::string file = emulatedModule();
    if (file.empty()) QSKIP("no emulated device");
    QFETCH(int, kibibytes);
    const CudaModule module = openCudaModule({file});
    QVERIFY2(module.api, module.why.c_str());
    qputenv("KVLAB_SIMT_SHARED", QByteArray::number(kibibytes * kKibibyte));
    qputenv("KVLAB_SIMT_DRY", "1");
    Launches all(*module.api, reinterpret_cast<void*>(uintptr_t{1} << 20));
    launchAll(all);
    qInfo("%lld launches", static_cast<long long>(all.made));
    QVERIFY2(all.refused.isEmpty(),
             qPrintable(QString("%1 refused, first %2").arg(all.refused.size()).arg(all.refused.value(0))));
  }

  void aRealDeviceRunsThemAll() {
    const CudaAnswer real = askForCuda(builtModule());
    if (!real.why.empty()) QSKIP(real.why.c_str());
    void* memory = nullptr;
    const int64_t bytes = 4 * kMostOutputs * 40'000;
    if (real.api->allocate(bytes, &memory) != 0) QSKIP("the device has too little memory");
    QCOMPARE(real.api->clear(nullptr, memory, bytes), 0);
    Launches all(*real.api, memory);
    launchAll(all);
    const int32_t ran = real.api->synchronise(nullptr);
    real.api->release(memory);
    QVERIFY2(all.refused.isEmpty(), qPrintable(all.refused.join('\n')));
    QCOMPARE(ran, 0);
  }
};

KV_TEST(CudaSharedTest)
#include "cuda_shared_test.moc"
