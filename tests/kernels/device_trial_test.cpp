// SPDX-License-Identifier: Apache-2.0
// A device that answers and cannot compute is not used: "cuda" is refused with the reason, "auto" takes the CPU and
// says the reason. Of several devices each back end has its own, from whatever thread it is called. Runs on
// support/far_module.cpp; skipped where no module is named.
#include <thread>

#include "kernels/backend/array.h"
#include "kernels/backend/backend.h"
#include "kernels/cuda/runtime/find_module.h"
#include "support/runner.h"

using namespace kvlab::kernels;

class DeviceTrialTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    if (!qEnvironmentVariableIsSet("KVLAB_CUDA_MODULE")) QSKIP("no module is named in KVLAB_CUDA_MODULE");
    if (!askForCuda().device.name[0] || strncmp(askForCuda().device.name, "far memory", 10) != 0)
      QSKIP("only far memory fails on request");
  }
  void cleanup() { calm(); }

  void aDeviceThatComputesIsTaken() {
    const BackendAnswer chosen = openBackend("auto", 1);
    QCOMPARE(chosen.backend->id(), "cuda:0");
    QCOMPARE(chosen.why, std::string());
    QCOMPARE(askForCuda().why, std::string());
  }

  void aDeviceThatDoesNotIsNamed_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QString>("why");
    const auto error = [](const char* name, int code, const char* why) {
      QTest::addRow("%s", name) << QByteArray("KVLAB_FAR_ERROR") << QByteArray::number(code) << QString(why);
    };
    error("no kernels", 209,
          "the module has no kernels for far memory of this processor, compute capability 8.6 (no kernel image); "
          "build kvlab on this machine (app/run)");
    error("old driver", 222,
          "the NVIDIA driver is too old: it knows CUDA 13.0, and compiles no kernels of CUDA 13.0; update the driver "
          "or build kvlab on this machine (app/run)");
    error("taken", 46, "another program has the device for itself");
    error(
        "dead", 700,
        "an earlier failure has ended the program's work on the device: illegal address (CUDA error 700); restart the "
        "program to use CUDA again");
    error("other", 1, "the device does not answer: invalid value (CUDA error 1)");
    QTest::addRow("memory") << QByteArray("KVLAB_FAR_MIB") << QByteArray("0")
                            << "the device has no memory left to start on";
    QTest::addRow("wrong") << QByteArray("KVLAB_FAR_IDLES") << QByteArray("1")
                           << "the device computes wrongly: a sum of whole numbers is nan there instead of";
  }
  void aDeviceThatDoesNotIsNamed() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, value);
    QFETCH(QString, why);
    qputenv(name.constData(), value);
    const BackendAnswer refused = openBackend("cuda", 1), chosen = openBackend("auto", 1);
    const CudaAnswer told = askForCuda();
    calm();
    QVERIFY(!refused.backend);
    QVERIFY2(refused.why.starts_with(why.toStdString()), refused.why.c_str());
    QCOMPARE(chosen.backend->id(), "cpu");
    QCOMPARE(chosen.why, refused.why);
    QCOMPARE(told.why, refused.why);
    QVERIFY(openBackend("cuda", 1).backend);
  }

  void theFirstDeviceThatComputesIsTaken() {
    qputenv("KVLAB_FAR_DEVICES", "3");
    qputenv("KVLAB_FAR_ORDINAL", "0");
    QCOMPARE(openBackend("auto", 1).backend->id(), "cuda:0");
    for (const char* name : {"KVLAB_FAR_ERROR", "KVLAB_FAR_IDLES"}) {
      qputenv(name, "209");
      for (const char* wanted : {"auto", "cuda", "cuda:1"}) QCOMPARE(openBackend(wanted, 1).backend->id(), "cuda:1");
      QCOMPARE(openBackend("cuda:2", 1, "cuda-det").backend->id(), "cuda:2");
      QVERIFY(!openBackend("cuda:0", 1).backend);
      qunsetenv(name);
    }
    QCOMPARE(openBackend("cuda:3", 1).why, std::string("the driver sees 3 CUDA devices, cuda:0 to cuda:2"));
    QVERIFY(openBackend("cuda:1", 1, "portable-fma").otherNumerics);
  }

  void allDevicesSayTheirReasons() {
    qputenv("KVLAB_FAR_DEVICES", "2");
    qputenv("KVLAB_FAR_ERROR", "46");
    const BackendAnswer chosen = openBackend("auto", 1);
    QCOMPARE(chosen.backend->id(), "cpu");
    QCOMPARE(chosen.why,
             std::string("cuda:0: another program has the device for itself; "
                         "cuda:1: another program has the device for itself"));
    qputenv("KVLAB_FAR_ORDINAL", "1");
    const auto used = [](CudaTrial trial) {
      std::string said;
      for (const CudaAnswer& one : askForDevices(trial)) said += one.computes ? "+" : one.why.empty() ? "?" : "-";
      return said;
    };
    QCOMPARE(used(CudaTrial::each), std::string("+-"));
    QCOMPARE(used(CudaTrial::untilOneComputes), std::string("+?"));
    QCOMPARE(used(CudaTrial::none), std::string("??"));
  }

  /// Two back ends in turn, then one of them from another thread, which has taken no device.
  void backendsKeepTheirDevices() {
    qputenv("KVLAB_FAR_DEVICES", "2");
    const std::unique_ptr<Backend> backends[] = {openBackend("cuda:0", 1).backend, openBackend("cuda:1", 1).backend};
    Sum first(*backends[0], 0), second(*backends[1], 1);
    for (int turn = 0; turn < 4; ++turn)
      for (Sum* sum : {&first, &second}) sum->addOne();
    std::thread([&] { second.addOne(); }).join();
    QCOMPARE(first.value(), 4.0f);
    QCOMPARE(second.value(), 6.0f);
    QCOMPARE(second.backend.counters().captures, int64_t{1});
    const std::optional<DeviceMemory> memory = backends[1]->deviceMemory();
    QVERIFY(memory && memory->unused > 0 && memory->unused < memory->all);
    Array<float> large;
    QVERIFY(large.allocate(*backends[0], 1 << 20));
    QCOMPARE(backends[1]->deviceMemory()->unused, memory->unused);
  }

  /// Until the program ends a dead device is refused with one text; others go on.
  void aDeadDeviceStaysDead() {
    qputenv("KVLAB_FAR_DEVICES", "2");
    const std::unique_ptr<Backend> backend = openBackend("cuda:0", 1).backend;
    Sum sum(*backend, 0);
    qputenv("KVLAB_FAR_DIES", "1");
    qputenv("KVLAB_FAR_FAIL_AFTER", "0");
    sum.addOne();
    const std::optional<BackendFailure> failure = backend->takeFailure();
    QVERIFY(failure && failure->forGood);
    QVERIFY2(failure->why.ends_with("; restart the program to use CUDA again"), failure->why.c_str());
    sum.addOne();
    QVERIFY(backend->takeFailure());  // and so is every later call
    const std::string why =
        "an earlier failure has ended the program's work on the device: illegal address (CUDA error 700); restart the "
        "program to use CUDA again";
    QCOMPARE(openBackend("cuda:0", 1).why, why);
    QCOMPARE(openBackend("auto", 1).backend->id(), "cuda:1");
    qputenv("KVLAB_FAR_DEVICES", "1");
    const BackendAnswer refused = openBackend("cuda", 1), chosen = openBackend("auto", 1);
    QVERIFY(!refused.backend);
    QCOMPARE(refused.why, why);
    QCOMPARE(chosen.backend->id(), "cpu");
    QCOMPARE(chosen.why, why);
    calm();
    QVERIFY(openBackend("cuda", 1).backend);  // far memory lives again
  }

  /// Without a card, "auto" has nothing to report.
  void noCardIsNoNews() {
    CudaDevice device;
    QVERIFY(!cudaCardIsThere(device));
    device.driver = 13000;
    QVERIFY(cudaCardIsThere(device));
    for (const int32_t none : {100, 34}) {
      device.error = none;
      QVERIFY(!cudaCardIsThere(device));
    }
    device.error = 35;  // too old
    QVERIFY(cudaCardIsThere(device));
  }

 private:
  static void calm() {
    for (const char* name : {"KVLAB_FAR_ERROR", "KVLAB_FAR_IDLES", "KVLAB_FAR_MIB", "KVLAB_FAR_DEVICES",
                             "KVLAB_FAR_ORDINAL", "KVLAB_FAR_DIES", "KVLAB_FAR_FAIL_AFTER"})
      qunsetenv(name);
  }

  /// A number on a device, and the pass that adds one, which is recorded when it comes a second time.
  struct Sum {
    Sum(Backend& on, float start) : backend(on) {
      sum.assign(on, std::vector<float>{start});
      one.assign(on, std::vector<float>{1});
    }
    void addOne() {
      backend.replay("key", [this] {
        backend.ops().add(backend.context(), {.a = sum.data(), .b = one.data(), .out = sum.data(), .count = 1});
      });
    }
    float value() {
      float out = 0;
      const Copy copy{&out, sum.data(), 4};
      backend.download({&copy, 1});
      return out;
    }

    Backend& backend;
    Array<float> sum, one;
  };
};

KV_TEST(DeviceTrialTest)
#include "device_trial_test.moc"
