// SPDX-License-Identifier: Apache-2.0
// A call that runs out of memory is refused and has changed nothing, whichever of its allocations fails. The same call
// then works as always. In a call of several ticks, the ticks before the refused one stay whole. KVLAB_ALLOCATIONS: how
// many allocations of each call fail, one after another; all = each of them.
#include "support/short_memory.h"
//
#include <QTemporaryDir>
#include <set>

#include "support/furnished_session.h"
#include "support/runner.h"
#include "support/session_digest.h"

using namespace kvlab;
using test::ShortMemory;

namespace {

/// The reader of manifests destroys values of a library that takes memory for that: a failure there ends the program.
bool readsManifests(const std::string& verb) { return verb == "differenceFrom" || verb == "settings"; }
bool withOpenTick(const std::string& verb) {
  static const std::set<std::string> kVerbs = {"stepStage", "finishTick", "cancelTick", "break", "note", "watch"};
  return kVerbs.contains(verb);
}
bool withActions(const std::string& verb) {
  static const std::set<std::string> kVerbs = {"step",   "stepAction",   "stepStage", "run",         "inject", "apply",
                                               "prompt", "clearPending", "evict",     "saveCapture", "undo",   "reset"};
  return kVerbs.contains(verb);
}

}  // namespace

class OutOfMemoryTest : public QObject {
  Q_OBJECT
 private:
  std::string folder() const { return m_folder.path().toStdString(); }

  SessionFixture furnished() const { return furnishedSession(m_manifest, m_waiting, folder()); }

  /// The allocations, of `all`, that fail.
  std::vector<std::int64_t> places(std::int64_t all) const {
    const QByteArray asked = qgetenv("KVLAB_ALLOCATIONS");
    const std::int64_t tried = asked == "all" ? all : asked.isEmpty() ? 12 : asked.toLongLong();
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < std::min(all, tried); ++i)
      out.push_back(1 + (all <= tried ? i : (i * all + m_call * 7 % all) / tried));
    return out;
  }

  static QByteArray said(const Result<json>& done) {
    return QByteArray::fromStdString(done ? done->dump() : done.error().text()).left(300);
  }

  /// The states behind the commits of a call.
  std::set<std::string> commitsOf(const Good& good) const {
    const SessionFixture s = furnished();
    std::set<std::string> out{stateHash(*s)};
    const std::int32_t depth = s->timeline().depth();
    s->setBetweenTicks([&] { out.insert(stateHash(*s)); });
    (void)execute(*s, good.verb, good.args);
    out.insert(stateHash(*s));
    while (!s->stage() && s->timeline().depth() > depth + 1 && s.verb("undo")) out.insert(stateHash(*s));
    return out;
  }

  /// Makes a call with its n-th allocation failing, of all that it makes.
  void refuse(const Good& good) {
    const std::set<std::string> whole = commitsOf(good);
    const SessionFixture clean = furnished();
    ShortMemory::begin(0);
    const Result<json> expected = execute(*clean, good.verb, good.args);
    ShortMemory::end();
    if (!expected) return;
    const std::int64_t all = ShortMemory::made;
    SessionFixture s = furnished();
    for (const std::int64_t n : places(all)) {
      const Digest before = digestOf(*s);
      const std::int32_t free = freeSlots(*s);
      ShortMemory::begin(n);
      const Result<json> done = execute(*s, good.verb, good.args);
      ShortMemory::end();
      const QByteArray where = QByteArray(good.verb) + ", allocation " + QByteArray::number(n) + " of " +
          QByteArray::number(all) + ": " + said(done);
      const Digest after = digestOf(*s);
      QByteArray differs = done ? "" : differing(before, after);
      if (done && !whole.contains(after.at("hash")))
        differs = "no whole ticks:" + differing(contentOf(*clean), contentOf(*s));
      QVERIFY2(differs.isEmpty(), where + differs);
      QVERIFY2(done || freeSlots(*s) >= free, where + ": slots are gone");
      const QByteArray damage = s->stage() || done ? "" : s.damage();
      QVERIFY2(damage.isEmpty(), where + damage);
      if (done) s = furnished();
    }
    const Result<json> done = execute(*s, good.verb, good.args);
    const QByteArray differs = differing(contentOf(*clean), contentOf(*s));
    QVERIFY2(done && differs.isEmpty(), said(done) + differs);
  }

  QTemporaryDir m_folder{scratchFolder()};
  QByteArray m_manifest;
  Waiting m_waiting = Waiting::Nothing;
  int m_call = 0;

 private Q_SLOTS:
  void everyVerb_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<int>("waiting");
    QTest::addColumn<int>("call");
    const std::vector<Good> calls = goodCalls(folder());
    test::SanitizerSample sample(4);
    for (const auto& [name, manifest] : kKinds) {
      if (!isServed(manifest)) continue;
      for (const auto& [waits, waiting] : kWaiting)
        for (std::size_t i = 0; i < calls.size(); ++i) {
          const std::string verb = calls[i].verb;
          if (readsManifests(verb)) continue;
          if (waiting == Waiting::OpenTick && !withOpenTick(verb)) continue;
          if (waiting == Waiting::Actions && !withActions(verb)) continue;
          const bool looks = verbNamed(verb)->effect == Effect::Reads;
          if (looks && std::string(name) != "indirection") continue;
          if ((verb == "fault" || verb == "bug") != (std::string(name) == "faults")) continue;
          if (sample.takes())
            QTest::addRow("%s%s, %s %d", name, waits, verb.c_str(), static_cast<int>(i))
                << QByteArray(manifest) << int(waiting) << int(i);
        }
    }
  }
  void everyVerb() {
    QFETCH(QByteArray, manifest);
    QFETCH(int, waiting);
    QFETCH(int, call);
    m_manifest = manifest;
    m_waiting = Waiting(waiting);
    m_call = call;
    refuse(goodCalls(folder())[static_cast<std::size_t>(call)]);
  }
};

KV_TEST(OutOfMemoryTest)
#include "out_of_memory_test.moc"
