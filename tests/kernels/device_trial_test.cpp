// SPDX-License-Identifier: Apache-2.0
// A device that answers and cannot compute is not used: "cuda" is refused with the reason, "auto" takes the CPU and
// says the reason. Runs on support/far_module.cpp; skipped where no module is named.
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
    QCOMPARE(chosen.backend->id(), "cuda");
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
    error("dead", 700,
          "the device does not answer: illegal address (CUDA error 700); restart the program to use CUDA again");
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
    for (const char* name : {"KVLAB_FAR_ERROR", "KVLAB_FAR_IDLES", "KVLAB_FAR_MIB"}) qunsetenv(name);
  }
};

KV_TEST(DeviceTrialTest)
#include "device_trial_test.moc"
