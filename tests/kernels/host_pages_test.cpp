// SPDX-License-Identifier: Apache-2.0
// Pages of host memory on copy: equal bytes, no memory until a write, and written pages that only the writer sees.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <cstring>
#include <vector>

#include "kernels/backend/array.h"
#include "support/runner.h"

using namespace kvlab::kernels;

namespace {

constexpr int64_t kPage = 4096, kPages = 701;

/// Bytes that the files of all pages hold.
int64_t filed() {
  int64_t bytes = 0;
  for (const QFileInfo& file : QDir("/proc/self/fd").entryInfoList(QDir::Files | QDir::System)) {
    struct stat status {};
    if (!file.symLinkTarget().contains("memfd:kvlab rows")) continue;
    if (stat(file.filePath().toUtf8().constData(), &status) == 0) bytes += status.st_blocks * 512;
  }
  return bytes;
}

std::vector<uint8_t> bytesOf(const Array<uint8_t>& array) { return {array.data(), array.data() + array.size()}; }

}  // namespace

class HostPagesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void init() {
    m_backend = makeCpuBackend(1);
    m_other = makeCpuBackend(1);
    QVERIFY(m_first.allocate(*m_backend, kPages * kPage));
    for (int64_t page = 0; page < kPages; page += 2) memset(m_first.data() + page * kPage, int(1 + page % 200), kPage);
    m_before = bytesOf(m_first);
    if (!m_first.pages()) QSKIP("the system does not tell which pages are written");
  }
  void cleanup() {
    m_second = {};
    m_first = {};
    QCOMPARE(filed(), int64_t{0});
  }

  void copiesCostNothing() {
    QVERIFY(m_second.share(*m_other, m_first));
    QCOMPARE(bytesOf(m_second), m_before);
    QCOMPARE(bytesOf(m_first), m_before);
    for (const Array<uint8_t>* one : {&m_first, &m_second}) {
      QCOMPARE(one->pages()->own, int64_t{0});
      QVERIFY(one->pages()->shared >= kPages / 2 * kPage);
    }
    QCOMPARE(m_second.pages()->group, m_first.pages()->group);
    QCOMPARE(filed(), m_first.pages()->groupBytes);
  }

  /// Large pages are seldom written whole: the bytes behind the last written one do not make a copy.
  void allCopiesAreInOneGroup() {
    Array<uint8_t> large, second, third;
    QVERIFY(large.allocate(*m_backend, int64_t{9} << 20));
    for (const int64_t at : {int64_t{0}, int64_t{5} << 20}) large.data()[at] = 7;
    QVERIFY(second.share(*m_other, large) && third.share(*m_other, large));
    for (const Array<uint8_t>* one : {&large, &second, &third}) {
      QCOMPARE(one->pages()->own, int64_t{0});
      QCOMPARE(one->pages()->group, third.pages()->group);
      QCOMPARE(one->pages()->groupBytes, 2 * kPage);
    }
  }

  void writersGetPagesOfTheirOwn() {
    QVERIFY(m_second.share(*m_other, m_first));
    m_first.data()[4 * kPage + 7] = 99;
    m_second.data()[8 * kPage] = 98;
    m_second.data()[9 * kPage] = 97;
    QCOMPARE(m_first.pages()->own, kPage);
    QCOMPARE(m_second.pages()->own, 2 * kPage);
    std::vector<uint8_t> first = m_before, second = m_before;
    first[4 * kPage + 7] = 99;
    second[8 * kPage] = 98;
    second[9 * kPage] = 97;
    QCOMPARE(bytesOf(m_first), first);
    QCOMPARE(bytesOf(m_second), second);
  }

  /// Copies of copies, of memory that has others behind it and was written since, and after the others have gone.
  void everyCopyHasWhatItsOriginHad() {
    Array<uint8_t> third, fourth;
    QVERIFY(m_second.share(*m_other, m_first));
    memset(m_second.data() + 3 * kPage, 77, 2 * kPage);
    const std::vector<uint8_t> second = bytesOf(m_second);
    QVERIFY(third.share(*m_backend, m_second));
    memset(m_second.data(), 66, 5 * kPage);
    QCOMPARE(bytesOf(third), second);
    QCOMPARE(bytesOf(m_first), m_before);
    m_first = {};
    memset(third.data() + 600 * kPage, 0, 3 * kPage);  // pages that hold zeros in place of something
    const std::vector<uint8_t> written = bytesOf(third);
    m_second = {};
    QVERIFY(third.pages() && !third.pages()->group);  // the last one has all for itself
    QVERIFY(fourth.share(*m_other, third));
    QCOMPARE(bytesOf(fourth), written);
    QCOMPARE(bytesOf(third), written);
  }

  /// Memory of another size shares the pages that it kept, and those behind them are zeros, whoever had what there.
  void sizesChangeInPlace() {
    constexpr int64_t kKept = 200;
    QVERIFY(m_second.share(*m_other, m_first));
    uint8_t* const place = m_second.data();
    QVERIFY(m_second.resize(300 * kPage, kKept * kPage - 5));
    QCOMPARE(m_second.size(), 300 * kPage);
    QCOMPARE(m_second.pages()->shared, kKept / 2 * kPage);
    QVERIFY(!m_second.resize((kPages + 1) * kPage, kKept * kPage));  // the memory was reserved smaller
    QCOMPARE(m_second.size(), 300 * kPage);
    QVERIFY(m_second.resize(kPages * kPage, kKept * kPage));
    QCOMPARE(m_second.data(), place);
    QCOMPARE(m_second.pages()->own, int64_t{0});
    QCOMPARE(m_second.pages()->shared, kKept / 2 * kPage);
    QCOMPARE(m_second.pages()->groupBytes, m_first.pages()->groupBytes);
    QCOMPARE(bytesOf(m_first), m_before);
    std::vector<uint8_t> second(m_before.begin(), m_before.begin() + kKept * kPage);
    second.resize(kPages * kPage);
    QCOMPARE(bytesOf(m_second), second);
    m_first = {};
    m_second.data()[(kPages - 9) * kPage] = second[(kPages - 9) * kPage] = 5;
    Array<uint8_t> third;
    QVERIFY(third.share(*m_backend, m_second));
    QVERIFY(filed() <= (kKept + 1) * kPage);  // what only the first one had is gone
    QCOMPARE(bytesOf(third), second);
    QCOMPARE(bytesOf(m_second), second);
  }

  /// Memory that a forked process frees or copies still belongs to its parent.
  void aForkedProcessLeavesTheFileAlone() {
    QVERIFY(m_second.share(*m_other, m_first));
    m_second = {};
    const pid_t child = fork();
    if (child == 0) {
      Array<uint8_t> third;
      const bool apart = !third.share(*m_backend, m_first);
      m_first = {};
      _exit(apart ? 0 : 1);
    }
    int status = -1;
    QCOMPARE(waitpid(child, &status, 0), child);
    QCOMPARE(status, 0);
    QCOMPARE(bytesOf(m_first), m_before);
  }

  void smallMemoryIsNotShared() {
    Array<uint8_t> small;
    QVERIFY(small.allocate(*m_backend, 100));
    QVERIFY(!m_second.share(*m_other, small));
    QVERIFY(!m_other->takeFailure());
  }

 private:
  std::unique_ptr<Backend> m_backend, m_other;
  Array<uint8_t> m_first, m_second;
  std::vector<uint8_t> m_before;
};

KV_TEST(HostPagesTest)
#include "host_pages_test.moc"
