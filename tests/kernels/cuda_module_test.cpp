// SPDX-License-Identifier: Apache-2.0
// The CUDA module: found, opened, or refused with a sentence that says why; its row operations against
// the CPU's where there is a device; and on every machine the parts they are made of, run one by one.
#include "cuda_fixture.h"
#include "kernels/cuda/rows/row_parts.h"
#include "row_pool_fixture.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class CudaModuleTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void saysWhyThereIsNone() {
    QCOMPARE(openCudaModule({}).why, std::string("there is no CUDA module (kvlab_cuda.so) beside the program"));
    QCOMPARE(openCudaModule({"/no/such/file"}).why, openCudaModule({}).why);
    QTemporaryDir folder;
    const std::string path = folder.filePath("kvlab_cuda.so").toStdString();
    QFile file(QString::fromStdString(path));
    QVERIFY(file.open(QIODevice::WriteOnly) && file.write("no library") > 0);
    file.close();
    const CudaModule broken = openCudaModule({path});
    QVERIFY(!broken.api);
    QVERIFY2(broken.why.starts_with("the CUDA module could not be loaded: "), broken.why.c_str());
    for (const char* name : {"libm.so.6", "libc.so.6"}) {  // loads, but is something else
      for (const char* at : {"/lib/x86_64-linux-gnu/", "/lib/aarch64-linux-gnu/", "/lib64/"}) {
        if (!QFileInfo::exists(QString(at) + name)) continue;
        QVERIFY(openCudaModule({std::string(at) + name}).why.ends_with("is not a CUDA module of kvlab"));
      }
    }
  }

  void theBuildSaysWhyThereIsNone() {
    QTemporaryDir folder;
    const auto path = [&](const char* name) { return folder.filePath(name).toStdString(); };
    QFile note(folder.filePath("kvlab_cuda.txt"));
    QVERIFY(note.open(QIODevice::WriteOnly) && note.write("its build failed: no space\nmore\n") > 0);
    note.close();
    const std::string none = openCudaModule({}).why;
    QCOMPARE(openCudaModule({"/no/such/kvlab_cuda.so", path("kvlab_cuda.so")}).why,
             none + ": its build failed: no space");
    QVERIFY(note.open(QIODevice::WriteOnly));
    note.close();
    QCOMPARE(openCudaModule({path("kvlab_cuda.so")}).why, none);
  }

  void everyRefusalHasASentence() {
    const auto said = [](int32_t error, int32_t driver) {
      CudaDevice device;
      device.error = error;
      device.driver = driver;
      device.runtime = 13000;
      return cudaRefusal(device, "unknown error");
    };
    QCOMPARE(said(0, 13000), std::string());
    QCOMPARE(said(35, 0), std::string("no NVIDIA driver is installed"));
    QCOMPARE(said(34, 0), std::string("no NVIDIA driver is installed"));
    QCOMPARE(said(35, 12020), std::string("the NVIDIA driver is too old: it knows CUDA 12.2, the module needs 13.0"));
    QCOMPARE(said(100, 13000), std::string("the driver sees no CUDA device"));
    QCOMPARE(said(2, 13000), std::string("the device has no memory left to start on"));
    QCOMPARE(said(999, 13000), std::string("the device does not answer: unknown error (CUDA error 999)"));
  }

  /// Side by side or one after another, the parts write the bytes that the CPU writes.
  void partsWriteTheRecordsOfTheCpu() {
    for (const RowFormat& f : kFormats)
      for (const int64_t parts : {1, 3, 128}) {
        Pool p(f, 9);
        std::vector<uint8_t> bytes(p.bytes.size(), 0xee), verdicts(9);
        const WriteRowsArgs a{.pool = bytes.data(),
                              .fmt = f,
                              .k = p.k.data(),
                              .v = p.v.data(),
                              .tags = p.tags.data(),
                              .slots = p.slots.data(),
                              .n = p.n,
                              .kStride = p.width(),
                              .vStride = p.width()};
        for (int64_t i = 0; i < p.n; ++i) {
          uint64_t sum = 0;
          PartCounts k, v;
          for (const bool isV : {false, true}) {
            const TensorPart tensor = tensorOf(a, p.layout, i, isV);
            for (int64_t head = 0; dtypeHasScale(tensor.type) && head < f.kvHeads; ++head) {
              uint32_t most = 0;
              for (int64_t part = 0; part < parts; ++part) most = std::max(most, amaxPart(tensor, head, part, parts));
              const float scale = scaleOf(most, tensor.type);
              memcpy(tensor.scales + 4 * head, &scale, 4);
            }
          }
          for (int64_t part = parts - 1; part >= 0; --part) sum += writeRecordPart(a, p.layout, i, part, parts, k, v);
          finishRecord(a, p.layout, i, sum);
        }
        QVERIFY(bytes == p.bytes);
        p.record(p.slots[4])[7] ^= 1;
        for (int64_t i = 0; i < p.n; ++i) {
          uint64_t sum = 0;
          const uint8_t* record = p.record(p.slots[static_cast<size_t>(i)]);
          for (int64_t part = 0; part < parts; ++part) sum += checksumPart(record, p.layout, part, parts);
          const uint64_t wanted = p.tags[static_cast<size_t>(i)] + (i == 2);
          const int expected = i == 4 ? kRowBadChecksum : i == 2 ? kRowBadTag : kRowGood;
          QCOMPARE(int{verdictOf(record, p.layout, a.fmt, sum, &wanted)}, expected);
        }
      }
  }

  void partsGatherWhatTheCpuGathers() {
    for (const RowFormat& f : kFormats) {
      Pool p(f, 5);
      std::vector<float> wanted(static_cast<size_t>(p.n * p.width())), got(wanted.size());
      gatherRows(p.context, {.pool = p.bytes.data(), .fmt = f, .slots = p.slots.data(), .n = p.n, .v = wanted.data()});
      for (int64_t i = 0; i < p.n; ++i)
        for (int64_t part = 0; part < 7; ++part)
          gatherPart(p.record(p.slots[static_cast<size_t>(i)]) + p.layout.v,
                     p.record(p.slots[static_cast<size_t>(i)]) + p.layout.vScales, f.v, p.width(), f.headDim,
                     got.data() + i * p.width(), part, 7);
      QVERIFY(sameBits(got, wanted));
    }
  }

  void theModuleOpens() {
    const CudaModule module = openCudaModule(builtModule());
    if (!module.api) QSKIP(module.why.c_str());
    const CudaDevice device = module.api->probe(0);
    const std::string why = cudaRefusal(device, module.api->errorText(device.error));
    QVERIFY(device.runtime >= 12000);
    QCOMPARE(why.empty(), device.error == 0);
    qInfo("%s", why.empty() ? cudaDeviceText(device).c_str() : why.c_str());
    QCOMPARE(module.api->probe(-1).error != 0, true);
  }

  void rowsOnTheDevice() {
    const std::vector<TestDevice> all = testDevices();
    if (all.empty()) QSKIP("no device");
    for (const TestDevice& on : all)
      for (const RowFormat& f : kFormats) rowsOn(on, f);
  }

 private:
  static void rowsOn(const TestDevice& on, const RowFormat& f) {
    Pool p(f, 700);
    Device d(on);
    const CudaApi* api = on.api;
    const std::vector<uint8_t> blank(p.bytes.size(), 0xee);
    uint8_t* pool = d.copy(blank);
    const int32_t* slots = d.copy(p.slots);
    const uint64_t* tags = d.copy(p.tags);
    d.check(api->writeRows(
        nullptr, {.pool = pool, .fmt = f, .k = d.copy(p.k), .v = d.copy(p.v), .tags = tags, .slots = slots, .n = p.n}));
    std::vector<uint8_t> bytes(p.bytes.size());
    d.fetch(bytes, pool);
    QVERIFY(bytes == p.bytes);

    std::vector<float> k(p.k.size()), want(p.k.size());
    float* out = d.copy(k);
    d.check(api->gatherRows(nullptr, {.pool = pool, .fmt = f, .slots = slots, .n = p.n, .k = out}));
    d.fetch(k, out);
    gatherRows(p.context, {.pool = p.bytes.data(), .fmt = f, .slots = p.slots.data(), .n = p.n, .k = want.data()});
    QVERIFY(sameBits(k, want));

    p.record(p.slots[300])[p.layout.tag] ^= 4;
    p.record(p.slots[301])[0] ^= 4;
    const uint8_t* damaged = d.copy(p.bytes);
    std::vector<uint8_t> verdicts(700), expected;
    uint8_t* judged = d.copy(verdicts);
    d.check(api->verifyRows(nullptr,
                            {.pool = damaged, .fmt = f, .slots = slots, .tags = tags, .n = p.n, .verdicts = judged}));
    d.fetch(verdicts, judged);
    QCOMPARE(p.bad(&expected), 2);
    QVERIFY(verdicts == expected);

    std::vector<int64_t> wrong(2, 9);
    int64_t* counted = d.copy(wrong);
    const PoolView views[] = {{pool, f}, {damaged, f}};
    d.check(api->matchTags(
        nullptr, {.pools = d.copy(views, 2), .nPools = 2, .slots = slots, .tags = tags, .n = p.n, .wrong = counted}));
    d.fetch(wrong, counted);
    QCOMPARE(wrong, (std::vector<int64_t>{0, 1}));

    std::vector<uint64_t> read(700);
    uint64_t* at = d.copy(read);
    d.check(api->readTags(nullptr, {.pool = pool, .fmt = f, .slots = slots, .n = p.n, .tags = at}));
    d.fetch(read, at);
    QVERIFY(read == p.tags);
    d.check(api->zeroRows(nullptr, {.pool = pool, .fmt = f, .slots = slots + 1, .n = 3}));
    d.fetch(bytes, pool);
    for (int64_t i = 0; i < p.layout.stride; ++i)
      QCOMPARE(int{bytes[static_cast<size_t>(p.slots[2] * p.layout.stride + i)]}, 0);
  }
};

KV_TEST(CudaModuleTest)
#include "cuda_module_test.moc"
