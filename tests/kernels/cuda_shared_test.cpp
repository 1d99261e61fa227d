// SPDX-License-Identifier: Apache-2.0
// No device refuses a launch: every step of published models, in every type of weights and rows, up to long prompts and
// contexts, on each device that the emulated one can be. It checks these launches and runs none of them; a sample is
// computed, and a real device runs the shorter ones. A module that has no code for a device is refused in one sentence.
#include "cuda_attention_rig.h"
#include "cuda_op_cases.h"
#include "kernels/backend/backend.h"
#include "kernels/numerics.h"
#include "model_launches.h"
#include "simt/device_profiles.h"

#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;
using kvlab::simt::DeviceProfile;

namespace {

void launchAll(Launches& all) {
  for (const ModelSizes& one : kModelSizes) all.model(one);
}

void perDevice() {
  QTest::addColumn<QByteArray>("device");
  for (const DeviceProfile& one : kvlab::simt::kDeviceProfiles) QTest::newRow(one.name) << QByteArray(one.name);
}

}  // namespace

class CudaSharedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanup() {
    for (const char* name : {"KVLAB_SIMT_DEVICE", "KVLAB_SIMT_IMAGES", "KVLAB_SIMT_DRY"}) qunsetenv(name);
  }

  void noLaunchIsRefused_data() { perDevice(); }
  void noLaunchIsRefused() {
    if (m_file.empty()) QSKIP("no emulated device");
    QFETCH(QByteArray, device);
    const CudaModule module = openCudaModule({m_file});
    QVERIFY2(module.api, module.why.c_str());
    qputenv("KVLAB_SIMT_DEVICE", device);
    qputenv("KVLAB_SIMT_DRY", "1");
    Launches all(*module.api, reinterpret_cast<void*>(uintptr_t{1} << 20), true);
    launchAll(all);
    for (const ModelSizes& one : kWideSizes) all.model(one);
    qInfo("%lld steps", static_cast<long long>(all.made));
    QVERIFY2(all.refused.isEmpty(),
             qPrintable(QString("%1 refused, first %2").arg(all.refused.size()).arg(all.refused.value(0))));
  }

  /// With the CPU's bits: a linear step of each type, long enough to need shared memory that has to be asked for, and
  /// attention of few and of many queries.
  void aSampleIsComputed_data() { perDevice(); }
  void aSampleIsComputed() {
    if (m_file.empty()) QSKIP("no emulated device");
    if (QByteArray(numericsId()) != "portable-fma") QSKIP("no fused multiply-add here");
    QFETCH(QByteArray, device);
    qputenv("KVLAB_SIMT_DEVICE", device);
    const CudaModule module = openCudaModule({m_file});
    QVERIFY2(module.api, module.why.c_str());
    const TestDevice on{module.api, device.toStdString(), 1};
    for (const DType type : kWeights)
      for (const LinearCase& one : {LinearCase{type, 2, 6016, {9}, true, true},
                                    LinearCase{type, 8, 1024, {40, 40}, true, false, LinearCase::gate}}) {
        Rig cpu(nullptr), there(&on);
        callLinear(cpu, one);
        callLinear(there, one);
        const std::string apart = difference(there.outputs(), cpu.outputs());
        QVERIFY2(apart.empty(), (std::string(dtypeName(type)) + ": " + apart).c_str());
      }
    const Scene scene = sceneOf(8, 4, 64, DType::bf16, DType::i8);
    Placed placed(scene, on);
    for (const int64_t queries : {1, 20}) {
      const QString different = placed.differs(slice(scene.args(), 150 - queries, 150));
      QVERIFY2(different.isEmpty(), qPrintable(different));
    }
  }

  void aModuleRunsWhereItHasCode_data() {
    QTest::addColumn<QByteArray>("images");
    QTest::addColumn<QByteArray>("device");
    for (const char* images :
         {"90-real;75-virtual", "90-real", "75-real;80-real;86-real;89-real;90-real", "80-virtual"})
      for (const DeviceProfile& one : kvlab::simt::kDeviceProfiles)
        if (&one != &kvlab::simt::kDeviceProfiles[0])
          QTest::addRow("%s on %s", images, one.name) << QByteArray(images) << QByteArray(one.name);
  }
  void aModuleRunsWhereItHasCode() {
    if (m_file.empty()) QSKIP("no emulated device");
    QFETCH(QByteArray, images);
    QFETCH(QByteArray, device);
    const DeviceProfile& profile = *kvlab::simt::deviceProfileOf(device);
    const QByteArray before = qgetenv("KVLAB_CUDA_MODULE");
    qputenv("KVLAB_CUDA_MODULE", m_file.c_str());
    qputenv("KVLAB_SIMT_IMAGES", images);
    qputenv("KVLAB_SIMT_DEVICE", device);
    const BackendAnswer chosen = openBackend("auto", 1);
    before.isNull() ? qunsetenv("KVLAB_CUDA_MODULE") : qputenv("KVLAB_CUDA_MODULE", before);
    const bool runs = images == "90-real;75-virtual" || (images == "90-real" && profile.capability == 90) ||
        (images == "80-virtual" && profile.capability >= 80) ||
        (images.startsWith("75-real") && profile.capability <= 90);
    QCOMPARE(QByteArray(chosen.backend->id()).startsWith("cuda"), runs);
    const std::string why = "the module has no kernels for " + std::string(profile.card) + ", compute";
    QVERIFY2(runs || chosen.why.find(why) != std::string::npos, chosen.why.c_str());
  }

  void aRealDeviceRunsThemAll() {
    const CudaAnswer real = askForCuda(builtModule());
    if (!real.why.empty()) QSKIP(real.why.c_str());
    void* memory = nullptr;
    const int64_t bytes = 4 * kMostOutputs * 40'000;
    if (real.api->allocate(bytes, &memory) != 0) QSKIP("the device has too little memory");
    QCOMPARE(real.api->clear(nullptr, memory, bytes), 0);
    Launches all(*real.api, memory, false);
    launchAll(all);
    const int32_t ran = real.api->synchronise(nullptr);
    real.api->release(memory);
    QVERIFY2(all.refused.isEmpty(), qPrintable(all.refused.join('\n')));
    QCOMPARE(ran, 0);
  }

 private:
  const std::string m_file = emulatedModule();
};

KV_TEST(CudaSharedTest)
#include "cuda_shared_test.moc"
