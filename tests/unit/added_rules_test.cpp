// SPDX-License-Identifier: Apache-2.0
// Codecs, compressors, gists and lenses from outside: what they give is what is stored, checks allow it and nothing
// more, commands that are executed again ask the same rule, another rule is refused by name, and a rule that fails
// changes nothing. tests/unit/added_policies_test.cpp has policies.
#include <QTemporaryDir>
#include <cmath>

#include "core/model/decoder/row_codec.h"
#include "core/policy/outside.h"
#include "core/session/storage.h"
#include "core/verbs/capture_session.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

bool fails = false, lies = false;
int asked = 0;

Error broken() { return Error("bad_codec", "the rule was asked", "it is broken", "none"); }

/// Each value of a head becomes a multiple of the head's largest over `parts`.
RowCodec steps() {
  return {[](const CodedHeads& heads) -> Result<std::vector<float>> {
    ++asked;
    if (fails) return broken();
    std::vector<float> out(heads.values.begin(), heads.values.end());
    const auto dim = at(heads.headDim);
    for (std::size_t begin = 0; begin < out.size(); begin += dim) {
      const std::span<float> head(out.data() + begin, dim);
      float most = 0;
      for (const float x : head) most = std::max(most, std::abs(x));
      const float step = most / heads.options.value("parts", 1.0f);
      for (float& x : head) x = step > 0 ? std::nearbyint(x / step) * step : 0;
      if (lies) head[dim / 2] += most;
    }
    return out;
  }};
}

Status addSteps(const std::string& revision) {
  return addCodec("steps", "multiples", {{"parts", 8}}, revision, steps());
}

Status addRule(AddedKind kind, const std::string& name, std::shared_ptr<const void> rule) {
  return add({.kind = kind, .name = name, .revision = "r1", .options = {{"part", 0.5}}, .rule = std::move(rule)});
}

/// The brighter token of a pair; option part below 0: pairs stay.
CompressorRule brighter() {
  return {[](const CulledCandidates& pairs) -> Result<std::vector<std::int32_t>> {
    ++asked;
    if (fails) return broken();
    std::vector<std::int32_t> out;
    for (std::size_t i = 0; i < pairs.positions.size(); ++i) {
      const bool second = pairs.brightness[2 * i + 1] > pairs.brightness[2 * i];
      out.push_back(lies ? 1 << 20 : pairs.options["part"] < 0 ? -1 : pairs.tokens[2 * i + (second ? 1 : 0)]);
    }
    return out;
  }};
}

/// A part of the first child and the rest of the last.
GistRule ends() {
  return {[](const GistChildren& nodes) -> Result<std::vector<float>> {
    ++asked;
    if (fails) return broken();
    const auto hidden = at(nodes.hidden), block = at(kGistBlock) * hidden;
    const float part = nodes.options["part"].get<float>();
    std::vector<float> out;
    for (std::size_t node = 0; node < nodes.children.size() / block; ++node)
      for (std::size_t d = 0; d < hidden; ++d)
        out.push_back(part * nodes.children[node * block + d] +
                      (1 - part) * nodes.children[(node + 1) * block - hidden + d]);
    return out;
  }};
}

/// Detail at the end of the time line.
LensRule late() {
  return {[](const LensEntries& entries) -> Result<std::vector<double>> {
    ++asked;
    if (fails) return broken();
    std::vector<double> out;
    for (const std::int32_t start : entries.starts) out.push_back(lies ? 2 : start > entries.length / 2 ? 0.9 : -0.9);
    return out;
  }};
}

const json kCoded{{"kv", {{"k", "steps"}, {"v", "steps:parts=30"}}}, {"dtype", "f32"}};
const json kCulled{{"brightness", {{"compressor", "brighter"}, {"target", 20}}}};
const json kTree{{"wlod",
                  {{"budget", 64},
                   {"protect", 8},
                   {"every", 1},
                   {"cooldown", 0},
                   {"start_tokens", 32},
                   {"gist", "ends:part=0.25"},
                   {"lens", "late"}}},
                 {"capacity", 0}};

std::string whyNotOpened(const json& changes) {
  json manifest{{"model", "synthetic:tiny"}, {"threads", 1}};
  manifest.update(changes);
  const Result<Manifest> parsed = Manifest::fromJson(manifest);
  if (!parsed) return parsed.error().field + ": " + parsed.error().why;
  const auto opened = openSession(*parsed, KVLAB_RESOURCES_DIR);
  return opened ? "" : opened.error().field + ": " + opened.error().why;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

class AddedRulesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(addSteps("r1"));
    QVERIFY(addRule(AddedKind::Compressor, "brighter", std::make_shared<const CompressorRule>(brighter())));
    QVERIFY(addRule(AddedKind::Gist, "ends", std::make_shared<const GistRule>(ends())));
    QVERIFY(addRule(AddedKind::Lens, "late", std::make_shared<const LensRule>(late())));
  }
  void init() { fails = lies = false, asked = 0; }

  void namesAreRefused() {
    for (const char* name : {"f32", "int8", "", "Steps", "two words"}) {
      const Status added = addCodec(name, "", nullptr, "r1", steps());
      QVERIFY2(!added && added.error().code == "bad_codec", name);
    }
    QVERIFY(!addCodec("other", "", {{"revision", 1}}, "r1", steps()));
    QVERIFY(!addCodec("other", "", {{"list", json::array()}}, "r1", steps()));
    QVERIFY(!addCodec("other", "", nullptr, "1r", steps()));
    for (const char* text : {"stepz", "steps:parts=no", "steps:bits=3", "steps:revision=r0", "other"}) {
      const std::string why = whyNotOpened({{"kv", {{"k", text}}}});
      QVERIFY2(why.starts_with("kv.k: ") && has(why, "f32"), why.c_str());
    }
    QVERIFY(has(whyNotOpened({{"kv", {{"k", "steps:revision=r0"}}}}), "revision r0"));
    QVERIFY(has(whyNotOpened({{"brightness", {{"compressor", "brigther"}}}}), "brighter"));
    QVERIFY(has(whyNotOpened({{"wlod", {{"lens", "late:revision=r9"}}}}), "revision r9"));
    QVERIFY(has(whyNotOpened({{"kv", {{"v", "steps"}}}, {"key_phase", "at_write"}}), "encoded again"));
  }

  void manifestsNameTheRevision() {
    const Result<Manifest> read =
        Manifest::fromJson({{"kv", {{"k", "steps"}, {"v", {{"name", "steps"}, {"parts", 3}}}}}});
    QVERIFY(read);
    QCOMPARE(read->kvK, std::string("steps:parts=8,revision=r1"));
    QCOMPARE(read->kvV, std::string("steps:parts=3,revision=r1"));
    QVERIFY(*Manifest::fromJson(read->toJson()) == *read);
  }

  void rowsAreStoredAsTheCodecGivesThem() {
    const SessionFixture coded(kCoded), plain(json{{"dtype", "f32"}});
    coded.prompt(40), plain.prompt(40);
    const std::size_t rows = 40, dim = at(plain->store().pool(CacheLayer(0)).format().headDim);
    const std::vector<float> is = coded.values(), was = plain.values();
    for (std::size_t begin = 0; begin < rows * dim; begin += dim) {  // the keys of a head of the first layer
      float most = 0;
      for (std::size_t i = begin; i < begin + dim; ++i) most = std::max(most, std::abs(was[i]));
      for (std::size_t i = begin; i < begin + dim; ++i) QVERIFY(std::abs(is[i] - was[i]) <= most / 16 * 1.0001f);
    }
    QVERIFY(is != was);
    QVERIFY(coded.logits() != plain.logits());
    coded.must("step", {{"n", 6}});
    QVERIFY(coded.sound());
    QCOMPARE(coded->state().pasts.size(), std::size_t{0});
  }

  void bitsDoNotDependOnTheWay() {
    json single = kCoded, byHead = kCoded, paged = kCoded;
    single["prefill_chunk"] = 1, byHead["residency"] = "kv_head", paged["layout"] = "paged:block=4";
    const SessionFixture whole(kCoded), one(single), heads(byHead), pages(paged);
    for (const SessionFixture* s : {&whole, &one, &heads, &pages}) {
      s->prompt(40);
      s->must("step", {{"n", 5}});
      s->must("inject", {{"actions", {{{"action", "delete"}, {"position", 7}}}}, {"now", true}});
      QVERIFY(s->sound());
    }
    QCOMPARE(one.hash(), whole.hash());
    QCOMPARE(pages.hash(), whole.hash());
    QVERIFY(heads.values() == whole.values());
    whole.must("undo", {{"n", 1}});
    const std::string before = whole.hash();
    whole.must("rebuild");
    QCOMPARE(whole.hash(), before);
    QVERIFY(whole.sound());
  }

  /// Checks allow what the codec does to the exact row, and nothing more.
  void otherRowsAreFound() {
    const SessionFixture s(kCoded);
    s.prompt(40);
    QVERIFY(s.sound());
    lies = true;
    s.must("step", {{"n", 1}});
    lies = false;
    QVERIFY2(s.damage().contains("is not what its recomputation gives"), s.damage().constData());
    s.must("rebuild");
    QVERIFY(s.sound());
  }

  void failuresChangeNothing() {
    const SessionFixture s(kCoded);
    s.prompt(30);
    const std::string before = s.hash();
    fails = true;
    const json reports = s.must("step");
    QVERIFY(!reports.back()["ok"]);
    QCOMPARE(reports.back()["error"]["code"], json("bad_codec"));
    QVERIFY(!s.verb("rebuild"));
    QVERIFY(!s.verb("settings", {{"kv", {{"k", "steps:parts=3"}}}}));
    QCOMPARE(s.hash(), before);
    fails = false;
    s.must("step");
    QVERIFY(s.sound());
  }

  void livingSessionsChangeCodecs() {
    const SessionFixture s(json{{"dtype", "f32"}, {"history_bytes", 0}});
    s.prompt(30);
    const std::string plain = s.hash();
    s.must("settings", {{"layers", {{{"match", 1}, {"kv", {{"k", "steps"}}}}}}});
    QCOMPARE(storageOf(*s)[1]->k, std::string("steps:parts=8,revision=r1"));
    QCOMPARE(storageOf(*s)[0]->k, std::string("f32"));
    QVERIFY(s.hash() != plain);
    QVERIFY(s.sound());
    s.must("step", {{"n", 3}});
    QVERIFY(s.sound());
    s.must("settings", {{"kv", {{"k", "int8"}}}});
    QVERIFY(s.sound());
    s.must("step", {{"n", 2}});
    QVERIFY(s.sound());
    s.must("undo", {{"n", 7}});
    QCOMPARE(s.hash(), plain);
  }

  /// The history asks the rule that the session had, whatever was added since.
  void laterRulesAreOthers() {
    json manifest = kCoded;
    manifest["history_bytes"] = 0;
    const SessionFixture s(manifest);
    s.prompt(20);
    s.must("settings", {{"kv", {{"k", "steps:parts=5"}}}});
    s.must("step", {{"n", 3}});
    const std::string then = s.hash();
    QVERIFY(addSteps("r2"));
    s.must("undo", {{"n", 4}});
    s.must("redo", {{"n", 4}});
    QCOMPARE(s.hash(), then);
    QCOMPARE(storageOf(*s)[0]->k, std::string("steps:parts=5,revision=r1"));
    const SessionFixture later(kCoded);
    QCOMPARE(later->manifest().kvK, std::string("steps:parts=8,revision=r2"));
    QVERIFY(addSteps("r1"));
  }

  void capturesNameWhatMustBeThere() {
    const QTemporaryDir folder;
    const std::string path = folder.filePath("a.kvcap").toStdString();
    const SessionFixture s(kCoded);
    s.must("startCapture", {{"path", path}});
    s.prompt(20);
    s.must("settings", {{"kv", {{"v", "steps:parts=6"}}}});
    s.must("step", {{"n", 3}});
    s.must("stopCapture");
    QVERIFY(addSteps("r2"));
    const Result<Replay> again = replayCapture(path, KVLAB_RESOURCES_DIR, {.to = {}, .verify = true});
    QVERIFY2(again, again ? "" : again.error().text().c_str());
    QVERIFY(again->ok());
    QCOMPARE(stateHash(again->session->state(), again->session->store(), {}), s.hash());
    QVERIFY(addSteps("r1"));
    QFile file(QString::fromStdString(path));
    QVERIFY(file.open(QIODevice::ReadOnly) && file.readAll().contains("steps:parts=6,revision=r1"));
  }

  void cacheFilesNameTheCodec() {
    const QTemporaryDir folder;
    const std::string native = folder.filePath("a.kvcache").toStdString(),
                      rotated = folder.filePath("b.safetensors").toStdString();
    const SessionFixture s(kCoded), same(kCoded), coded(kCoded), plain(json{{"dtype", "f32"}}),
        also(json{{"dtype", "f32"}});
    s.prompt(30);
    s.must("saveCache", {{"path", native}});
    s.must("saveCache", {{"path", rotated}, {"form", "hf_dynamic"}});
    same.must("loadCache", {{"path", native}});
    QVERIFY(same.values() == s.values());
    QVERIFY(same.sound());
    QVERIFY(!plain.verb("loadCache", {{"path", native}}));
    also.must("loadCache", {{"path", rotated}});
    QVERIFY(also.sound());
    plain.prompt(30);
    plain.must("saveCache", {{"path", rotated}, {"form", "hf_dynamic"}});
    coded.must("loadCache", {{"path", rotated}});
    QVERIFY(coded.values() != plain.values());
    QVERIFY(coded.sound());
  }

  void compressorsReplacePairs() {
    const SessionFixture s(kCulled), stays(json{{"brightness", {{"compressor", "brighter:part=-1"}, {"target", 20}}}});
    for (const SessionFixture* one : {&s, &stays}) {
      one->prompt(24);
      one->must("step", {{"n", 3}});
      QVERIFY(one->sound());
    }
    QVERIFY(asked > 0);
    QCOMPARE(stays->state().length(), 27);
    QCOMPARE(s->state().length(), 21);  // two pairs in each tick
    const std::string then = s.hash();
    s.must("undo", {{"n", 3}});
    s.must("redo", {{"n", 3}});
    QCOMPARE(s.hash(), then);
    for (bool* flag : {&fails, &lies}) {
      *flag = true;
      const json reports = s.must("step");
      QCOMPARE(reports.back().value("ok", true), false);
      QCOMPARE(s.hash(), then);
      *flag = false;
    }
  }

  void gistsAndLensesMakeTrees() {
    const SessionFixture s(kTree);
    s.prompt(150);
    s.must("step", {{"n", 3}});
    QVERIFY(asked > 0);
    QVERIFY(s.sound());
    const json tree = s.must("tree");
    QCOMPARE(tree["gist"], json("ends:part=0.25,revision=r1"));
    QCOMPARE(tree["lens"], json("late:part=0.5,revision=r1"));
    const std::string then = s.hash();
    s.must("undo", {{"n", 3}});
    s.must("step", {{"n", 3}});
    QCOMPARE(s.hash(), then);
    json means = kTree;
    means["wlod"].erase("gist");
    const SessionFixture other(means);
    other.prompt(150);
    other.must("step", {{"n", 3}});
    QVERIFY(other.logits() != s.logits());
    for (bool* flag : {&fails, &lies}) {
      *flag = true;
      QCOMPARE(s.must("step").back().value("ok", true), false);
      QCOMPARE(s.hash(), then);
      *flag = false;
    }
    s.must("step");
    QVERIFY(s.sound());
  }
};

}  // namespace

KV_TEST(AddedRulesTest)
#include "added_rules_test.moc"
