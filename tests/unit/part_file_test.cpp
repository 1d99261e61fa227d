// SPDX-License-Identifier: Apache-2.0
// The one writer: whole or not at all, into the target of a name.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <fstream>
#include <thread>

#include "core/api/part_file.h"
#include "support/runner.h"
#include "unit/model_bytes.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

void make(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

struct stat factsOf(const std::string& path) {
  struct stat out {};
  if (::lstat(path.c_str(), &out) != 0) out = {};
  return out;
}

std::string whyOf(const Status& status) { return status ? std::string() : status.error().why; }

/// A disk that takes no more than so many bytes of a file.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit small{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &m_before); }

 private:
  rlimit m_before{};
};

}  // namespace

class PartFileTest : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  std::string path(const char* name) const { return m_folder->filePath(name).toStdString(); }
  QStringList files() const {
    return QDir(m_folder->path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::System | QDir::NoDotAndDotDot);
  }

 private Q_SLOTS:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }

  void aFileIsThereWholeOrNotAtAll() {
    {
      PartFile file(path("a"));
      QVERIFY(file.append("new", 3));
      QVERIFY(!QFile::exists(m_folder->filePath("a")));
    }
    QVERIFY(files().isEmpty());
    QVERIFY(writeWhole(path("a"), "new"));
    QCOMPARE(readAll(path("a")), std::string("new"));
    QCOMPARE(files(), QStringList{"a"});
  }

  void twoWritersOfOneNameDoNotMix() {
    PartFile one(path("a")), two(path("a"));
    QVERIFY(one.append("one", 3) && two.append("two", 3) && one.append("!", 1));
    QVERIFY(one.publish() && two.publish());
    QCOMPARE(readAll(path("a")), std::string("two"));
    QCOMPARE(files(), QStringList{"a"});
  }

  void aLinkStaysALink() {
    make(path("real"), "old");
    QVERIFY(QDir(m_folder->path()).mkdir("sub"));
    QCOMPARE(::symlink("../real", path("sub/near").c_str()), 0);
    QCOMPARE(::symlink("sub/near", path("far").c_str()), 0);
    QVERIFY(writeWhole(path("far"), "new"));
    QCOMPARE(readAll(path("real")), std::string("new"));
    QVERIFY(S_ISLNK(factsOf(path("far")).st_mode) && S_ISLNK(factsOf(path("sub/near")).st_mode));
    QCOMPARE(::symlink("made", path("dangling").c_str()), 0);
    QVERIFY(writeWhole(path("dangling"), "made"));
    QVERIFY(S_ISLNK(factsOf(path("dangling")).st_mode) && readAll(path("made")) == "made");
    QCOMPARE(::symlink("circle", path("circle").c_str()), 0);
    QVERIFY(!writeWhole(path("circle"), "x"));
    QCOMPARE(::symlink("none/there", path("lost").c_str()), 0);
    QVERIFY(!writeWhole(path("lost"), "x") && S_ISLNK(factsOf(path("lost")).st_mode));
  }

  void permissionsStay() {
    for (const mode_t mode : {0600u, 0640u, 0666u, 0755u}) {
      make(path("a"), "old");
      QCOMPARE(::chmod(path("a").c_str(), mode), 0);
      QVERIFY(writeWhole(path("a"), "new"));
      QCOMPARE(factsOf(path("a")).st_mode & 07777u, mode);
    }
    const mode_t mask = ::umask(0027);
    QVERIFY(writeWhole(path("fresh"), "x"));
    ::umask(mask);
    QCOMPARE(factsOf(path("fresh")).st_mode & 07777u, mode_t(0640));
  }

  void theOwnerStays() {
    if (::geteuid() != 0) QSKIP("only root gives files away");
    make(path("a"), "old");
    QCOMPARE(::chown(path("a").c_str(), 12345, 23456), 0);
    QVERIFY(writeWhole(path("a"), "new"));
    QVERIFY(factsOf(path("a")).st_uid == 12345 && factsOf(path("a")).st_gid == 23456);
  }

  void aProtectedFileIsRefused() {
    if (::geteuid() == 0) QSKIP("root may write everything");
    make(path("a"), "old");
    QCOMPARE(::chmod(path("a").c_str(), 0444), 0);
    QVERIFY(!writeWhole(path("a"), "new") && readAll(path("a")) == "old");
  }

  void aDeviceStaysADevice() {
    const dev_t before = factsOf("/dev/null").st_rdev;
    QVERIFY(writeWhole("/dev/null", "gone"));
    QCOMPARE(::symlink("/dev/null", path("null").c_str()), 0);
    QVERIFY(writeWhole(path("null"), "gone"));
    QVERIFY(S_ISCHR(factsOf("/dev/null").st_mode) && factsOf("/dev/null").st_rdev == before);
    QVERIFY(S_ISLNK(factsOf(path("null")).st_mode));
    QVERIFY(QString::fromStdString(whyOf(writeWhole("/dev/full", "x"))).contains("space"));
    QVERIFY(S_ISCHR(factsOf("/dev/full").st_mode));
  }

  void aPipeTakesTheBytes() {
    QCOMPARE(::mkfifo(path("pipe").c_str(), 0600), 0);
    QCOMPARE(whyOf(writeWhole(path("pipe"), "x")), std::string("nobody reads the pipe"));
    const std::string much(1 << 20, 'x');  // more than a pipe holds
    std::string got;
    std::thread reader([&] { got = readAll(path("pipe")); });
    Status written = writeWhole(path("pipe"), much);
    for (int tries = 0; !written && tries < 500; ++tries) {  // until the reader has come
      QTest::qWait(10);
      written = writeWhole(path("pipe"), much);
    }
    reader.join();
    QVERIFY2(written, whyOf(written).c_str());
    QVERIFY(got == much);
    QVERIFY(S_ISFIFO(factsOf(path("pipe")).st_mode));
  }

  void aReaderThatGoesEndsNothing() {
    QCOMPARE(::mkfifo(path("pipe").c_str(), 0600), 0);
    const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    PartFile file(path("pipe"));
    QVERIFY(file.append("x", 1));
    ::close(reader);
    QVERIFY(!file.append("x", 1) && !file.publish());
  }

  /// As with > FILE and --json /dev/stdout: text that the program prints before and after it stays.
  void anOpenFileGoesOn() {
    make(path("a"), "");
    const int shell = ::open(path("a").c_str(), O_WRONLY);
    QCOMPARE(::write(shell, "printed ", 8), ssize_t(8));
    QVERIFY(writeWhole("/proc/self/fd/" + std::to_string(shell), "written "));
    QVERIFY(writeWhole("/dev/fd/" + std::to_string(shell), "again"));
    QCOMPARE(::write(shell, " and on", 7), ssize_t(7));
    ::close(shell);
    QCOMPARE(readAll(path("a")), std::string("printed written again and on"));
  }

  void aFullDiskChangesNothing() {
    make(path("a"), "old");
    Status written = ok();
    {
      const SmallDisk disk(4);
      written = writeWhole(path("a"), "much more");
    }
    QVERIFY(!written && written.error().code == "bad_file");
    QCOMPARE(readAll(path("a")), std::string("old"));
    QCOMPARE(files(), QStringList{"a"});
  }

  void whatIsNoFileIsRefused() {
    for (const std::string& name : {std::string(), std::string("a\0b", 3), path("."), path("none/a"), path("a/")})
      QVERIFY2(!writeWhole(name, "x"), name.c_str());
    QVERIFY(files().isEmpty());
  }
};

KV_TEST(PartFileTest)
#include "part_file_test.moc"
