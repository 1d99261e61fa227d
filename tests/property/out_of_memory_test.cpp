// SPDX-License-Identifier: Apache-2.0
// A call that memory does not suffice for is refused and has changed nothing, whichever of its allocations fails: the
// state, what is pending, an open tick, and every slot. Afterwards the same call does what it always does.
#include <QTemporaryDir>

#include "support/good_calls.h"
#include "support/short_memory.h"

using namespace kvlab;
using test::ShortMemory;

namespace {

constexpr std::pair<const char*, const char*> kManifests[] = {
    {"indirection", R"({})"},
    {"in place", R"({"layout":"contiguous_splice"})"},
    {"paged", R"({"layout":"paged:block=4","check":{"level":"full"}})"},
    {"ring", R"({"layout":"ring_fused","ring":{"window":16,"block_tokens":2},"kv":{"k":"int8"}})"},
    {"at write", R"({"key_phase":"at_write","after_edit":"recompute"})"},
    {"by head", R"({"policy":"snapkv:capacity=16,window=4","residency":"kv_head"})"},
    {"wLOD",
     R"({"capacity":0,"policy":"h2o:capacity=20,window=4",)"
     R"("wlod":{"budget":64,"protect":8,"every":8,"start_tokens":16,"w":8,"w2":64}})"}};

/// What a refused call leaves as it was.
QByteArray digest(const SessionFixture& s) {
  std::string out = stateHash(*s.session) + " at " + std::to_string(s->timeline().currentId()) + " status " +
      std::to_string(static_cast<int>(s->health().status));
  if (s->stage()) out += " stage " + toJson(*s->stage()).dump();
  for (const auto& point : s->breakpoints().points()) out += " break " + toJson(point.view).dump();
  if (const NoteList notes = s->notes().views(s->timeline()))
    for (const NoteView& note : *notes) out += " note " + toJson(note).dump();
  out += " rules " + s->manifest().toJson().dump();
  for (const CacheLayer layer : s->store().layers())
    out.append(" ")
        .append(kernels::dtypeName(s->store().pool(layer).format().k))
        .append(" ")
        .append(s->parts().layouts.layout(layer).name());
  return QByteArray::fromStdString(out);
}

}  // namespace

class OutOfMemoryTest : public QObject {
  Q_OBJECT
 private:
  std::string folder() const { return m_folder.path().toStdString(); }

  SessionFixture furnished(const QByteArray& manifest) const {
    SessionFixture s(json::parse(manifest.toStdString()));
    const bool wlod = s->manifest().wlod.has_value();
    s.must("promptIds", {{"ids", SessionFixture::ids(wlod ? 90 : 30)}});
    s.must("step", {{"n", 3}});
    s.must("note", {{"text", "here"}});
    s.must("break", {{"condition", "length == 9999"}});
    if (!wlod) s.must("pin", {{"ledger", 20}});
    s.must("saveCache", {{"path", folder() + "/given"}});
    s.must("saveCapture", {{"path", folder() + "/way"}});
    return s;
  }

  /// Which of `all` allocations fail; KVLAB_ALLOCATIONS says how many of them.
  static std::vector<std::int64_t> places(std::int64_t all) {
    const std::int64_t most = qEnvironmentVariableIntValue("KVLAB_ALLOCATIONS");
    const std::int64_t tried = most > 0 ? most : 12;
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < std::min(all, tried); ++i) out.push_back(1 + (all <= tried ? i : i * all / tried));
    return out;
  }

  /// Calls the verb with every n-th allocation failing.
  void refuse(const SessionFixture& s, const std::string& verb, const json& args) {
    {
      const SessionFixture other = furnished(m_manifest);
      ShortMemory::begin(0);
      (void)other.verb(verb, args);
      ShortMemory::end();
    }
    const std::int64_t all = ShortMemory::made;
    for (const std::int64_t n : places(all)) {
      const QByteArray before = digest(s);
      ShortMemory::begin(n);
      const Result<json> done = s.verb(verb, args);
      ShortMemory::end();
      const QByteArray where = QByteArray::fromStdString(verb) + ", allocation " + QByteArray::number(n) + " of " +
          QByteArray::number(all) + ": ";
      const bool failed =
          !done || (done->is_array() && !done->empty() && done->back().is_object() && !done->back().value("ok", true));
      if (!failed) return;  // it did without
      const QByteArray after = digest(s);
      if (after != before) {
        const std::string why = done ? done->dump().substr(0, 300) : done.error().text();
        QVERIFY2(false, where + QByteArray::fromStdString(why) + "\n" + before + "\n" + after);
      }
      if (s->stage()) continue;  // an open tick has slots of its own
      const QByteArray damage = s.damage();
      QVERIFY2(damage.isEmpty(), where + damage);
    }
  }

  QTemporaryDir m_folder;
  QByteArray m_manifest;

 private Q_SLOTS:
  void everyVerb_data() {
    QTest::addColumn<QByteArray>("manifest");
    QTest::addColumn<int>("call");
    const std::vector<Good> calls = goodCalls(folder());
    for (const auto& [name, manifest] : kManifests)
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const bool reads = verbNamed(calls[i].verb)->effect == Effect::Reads;
        if (reads && std::string(name) != "indirection") continue;
        QTest::addRow("%s, %s %d", name, calls[i].verb, static_cast<int>(i)) << QByteArray(manifest) << int(i);
      }
  }
  void everyVerb() {
    QFETCH(QByteArray, manifest);
    QFETCH(int, call);
    m_manifest = manifest;
    const Good good = goodCalls(folder())[static_cast<std::size_t>(call)];
    const SessionFixture s = furnished(manifest);
    refuse(s, good.verb, good.args);
    if (QTest::currentTestFailed()) return;
    const SessionFixture clean = furnished(manifest);
    for (const SessionFixture* one : {&s, &clean}) (void)one->verb(good.verb, good.args);
    QCOMPARE(s.hash(), clean.hash());
    if (!s->stage()) QVERIFY2(s.damage().isEmpty(), s.damage());
  }
};

QTEST_GUILESS_MAIN(OutOfMemoryTest)
#include "out_of_memory_test.moc"
