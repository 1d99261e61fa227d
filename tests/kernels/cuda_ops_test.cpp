// SPDX-License-Identifier: Apache-2.0
// Op x type x shape: the bits of the device against the bits of the CPU, with threads in several orders.
#include <map>
#include <set>

#include "cuda_op_cases.h"
#include "kernels/numerics.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class CudaOpsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    if (QByteArray(numericsId()) != "portable-fma") QSKIP("no fused multiply-add here");
    m_devices = testDevices({0, 1, 2});
    if (m_devices.empty()) QSKIP("no device");
  }

  void bits_data() {
    QTest::addColumn<qsizetype>("number");
    m_cases = opCases();
    kvlab::test::SanitizerSample sample(5);
    for (size_t i = 0; i < m_cases.size(); ++i) {
      const OpCase& c = m_cases[i];
      if (sample.takes())
        QTest::addRow("%s %s %s", c.op.c_str(), c.type.c_str(), c.shape.c_str()) << static_cast<qsizetype>(i);
    }
  }

  void bits() {
    QFETCH(qsizetype, number);
    const OpCase& c = m_cases[static_cast<size_t>(number)];
    Rig cpu(nullptr);
    c.call(cpu);
    const std::vector<Output> want = cpu.outputs();
    QElapsedTimer timer;
    timer.start();
    for (const TestDevice& on : m_devices) {
      Rig device(&on);
      c.call(device);
      const std::string apart = difference(device.outputs(), want);
      Line& line = m_table[c.op + " " + c.type];
      ++line.runs;
      line.equal += apart.empty();
      line.shapes.insert(c.shape);
      QVERIFY2(apart.empty(), (on.name + ": " + apart).c_str());
    }
    m_table[c.op + " " + c.type].ms += timer.elapsed();
  }

  void cleanupTestCase() {
    for (const auto& [op, line] : m_table)
      qInfo("%-28s %2zu shapes, %3d of %3d runs equal the CPU's bits, %lld ms", op.c_str(), line.shapes.size(),
            line.equal, line.runs, static_cast<long long>(line.ms));
  }

 private:
  struct Line {
    std::set<std::string> shapes;
    int runs = 0, equal = 0;
    int64_t ms = 0;
  };
  std::vector<TestDevice> m_devices;
  std::vector<OpCase> m_cases;
  std::map<std::string, Line> m_table;
};

KV_TEST(CudaOpsTest)
#include "cuda_ops_test.moc"
