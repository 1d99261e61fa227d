// SPDX-License-Identifier: Apache-2.0
// The recordings of `kvlab train`: windows of a text, the same rows that a session records, a folder that a stopped
// recording goes on in, and trained files that sessions find by themselves.
#include "support/session_fixture.h"

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>

#include "core/analysis/lifespans.h"
#include "core/experiment/training_record.h"
#include "core/model/files/safetensors.h"
#include "core/model/named_models.h"
#include "core/policy/policy.h"
#include "support/gate_file.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

const std::string kTrainedModels = KVLAB_TESTS_DIR "/oracle/models/";

/// In words of the demo model.
std::string story(int words) {
  const std::vector<std::string> some{"the", "red", "box", "is", "in", "kitchen", "."};
  std::string out;
  for (int i = 0; i < words; ++i) out += some[static_cast<std::size_t>(i * i % 97 % 7)] + " ";
  return out;
}

std::vector<std::byte> bytesOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

}  // namespace

class TrainingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void windowsCoverTheText() {
    const SessionFixture s;
    const Tokenizer& tokenizer = s->model().tokenizer();
    const std::string path = write("a.txt", story(400));
    const std::vector<TokenId> all = *tokenizer.encode(story(400), false);
    const auto first = static_cast<int>(tokenizer.encode(story(400), true)->size() - all.size());
    const Result<TrainingText> text = trainingText(tokenizer, path, 100, 1 << 20);
    QVERIFY(text);
    QCOMPARE(text->tokens, static_cast<std::int64_t>(all.size()));
    std::vector<TokenId> joined;
    for (const auto& window : text->windows) {
      QVERIFY(window.size() >= kLeastWindow && window.size() <= 100);
      joined.insert(joined.end(), window.begin() + first, window.end());
    }
    QVERIFY(all.size() - joined.size() < kLeastWindow);
    QVERIFY(std::equal(joined.begin(), joined.end(), all.begin()));
    const Result<TrainingText> few = trainingText(tokenizer, path, 100, 500);
    QVERIFY(few);
    QCOMPARE(few->windows.size(), std::size_t{5});
    QVERIFY(few->windows.front() == text->windows.front() && few->windows.back() != text->windows[4]);
  }

  void aListHasTexts() {
    const SessionFixture s;
    const Tokenizer& tokenizer = s->model().tokenizer();
    const std::string path = write("list.json", json{{{"text", story(60)}, {"seed", 1}}, story(70)}.dump());
    const Result<TrainingText> text = trainingText(tokenizer, path, 1 << 12, 1 << 20);
    QVERIFY(text);
    QCOMPARE(text->windows.size(), std::size_t{2});
    const Result<TrainingText> bad = trainingText(tokenizer, write("bad.json", "[{\"txt\": 1}]"), 100, 1000);
    QCOMPARE(bad.error().code, std::string("bad_text"));
    const Result<TrainingText> brief = trainingText(tokenizer, write("brief.txt", "a few words"), 100, 1000);
    QCOMPARE(brief.error().code, std::string("short_text"));
    QVERIFY(brief.error().why.find("at least 164") != std::string::npos);
    QCOMPARE(trainingText(tokenizer, "/nowhere/a.txt", 100, 1000).error().code, std::string("unreadable_file"));
  }

  /// Gates: the record of a session that has read the window. Gists: the state from which the next token follows.
  void recordsWhatASessionDoes() {
    for (const std::string& model : {std::string("synthetic:tiny"), std::string("demo")})
      for (const std::string what : {"gates", "gists"}) {
        TrainingOrder order = orderOf(what, model);
        const Result<TrainingRecord> record = recordTraining(order);
        QVERIFY2(record, record ? "" : record.error().text().c_str());
        QVERIFY(record->windows > 2 && record->found == 0);
        const SessionFixture s({{"model", model}, {"threads", 1}});
        QCOMPARE(record->model, modelOf(s));
        const Result<Lifespans> got = Lifespans::load(order.folder + "/0001.safetensors", true);
        QVERIFY2(got, got ? "" : got.error().text().c_str());
        s.must("promptIds", {{"ids", got->tokens}});
        LifespanRules rules;
        rules.after = got->rows / 2 - 1;
        const Result<Lifespans> want = recordLifespans(*s, rules);
        QVERIFY(want);
        QCOMPARE(got->rules.after, rules.after);
        for (std::size_t l = 0; l < want->layers.size(); ++l) {
          const LayerLifespans &a = got->layers[l], &b = want->layers[l];
          QVERIFY(a.label == b.label && a.mass == b.mass && a.censored == b.censored);
          QVERIFY(what == "gists" ? a.keys.empty() : a.keys == b.keys);
        }
        if (what == "gists") sameLogits(s, order.folder + "/0001.safetensors");
      }
  }

  void aStoppedRecordingGoesOn() {
    TrainingOrder order = orderOf("gates", "synthetic:tiny");
    int windows = 0;
    const auto stops = [&](const std::string& what, std::int64_t, std::int64_t) {
      return !what.starts_with("windows") || ++windows < 3;
    };
    QCOMPARE(recordTraining(order, stops).error().code, std::string("cancelled"));
    QVERIFY(std::filesystem::exists(order.folder + "/0001.safetensors"));
    QVERIFY(!std::filesystem::exists(order.folder + "/0002.safetensors"));
    QCOMPARE(recordTraining(order).error().code, std::string("train_exists"));
    order.resume = true;
    const Result<TrainingRecord> rest = recordTraining(order);
    QVERIFY(rest);
    QCOMPARE(rest->found, std::int64_t{2});
    TrainingOrder whole = orderOf("gates", "synthetic:tiny");
    QVERIFY(recordTraining(whole));
    for (std::int64_t i = 0; i < rest->windows; ++i) {
      const std::string name = "/000" + std::to_string(i) + ".safetensors";
      QVERIFY(bytesOfFile(order.folder + name) == bytesOfFile(whole.folder + name));
    }
    order.window = 90;
    const Result<TrainingRecord> other = recordTraining(order);
    QCOMPARE(other.error().code, std::string("train_changed"));
    QCOMPARE(other.error().field, std::string("window"));
  }

  void refuses() {
    TrainingOrder order = orderOf("gates", "/nowhere");
    QCOMPARE(recordTraining(order).error().code, std::string("bad_model"));
    order = orderOf("gates", "synthetic:tiny");
    order.window = 1 << 20;
    QCOMPARE(recordTraining(order).error().code, std::string("out_of_range"));
    order = orderOf("gates", "synthetic:tiny");
    order.folder = write("file", "") + "/folder";
    QCOMPARE(recordTraining(order).error().code, std::string("bad_file"));
    order = orderOf("gates", "synthetic:tiny");
    order.manifest["wlod"] = json::object();
    QVERIFY(!recordTraining(order));
  }

  /// A file beside the weights needs no name in the manifest.
  void sessionsFindGatesBesideTheModel() {
    const std::string folder = m_directory.filePath("model").toStdString();
    std::filesystem::copy(kTrainedModels + "llama_tied_f32", folder);
    const json manifest{{"model", folder},
                        {"capacity", 64},
                        {"policy", {{"name", "smartkv"}, {"sinks", 1}, {"window", 4}, {"budget", 8}}}};
    const Result<Manifest> wanted = Manifest::fromJson(manifest);
    QVERIFY(wanted);
    const auto without = openSession(*wanted, KVLAB_RESOURCES_DIR);
    QCOMPARE(without.error().code, std::string("bad_manifest"));
    QVERIFY(without.error().remedy.find("kvlab train gates") != std::string::npos);
    const std::string file = trainedFile("gates", folder, KVLAB_RESOURCES_DIR);
    QCOMPARE(file, folder + "/kvlab_gates.safetensors");
    const SessionFixture plain(json{{"model", folder}});
    QVERIFY(GateFile(plain->model().config(), 16).write(file));
    QVERIFY(openSession(*wanted, KVLAB_RESOURCES_DIR));
    QCOMPARE(trainedFile("gists", "demo", "there"), std::string("there/gists/demo.safetensors"));
  }

 private:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = m_directory.filePath(QString::fromStdString(name)).toStdString();
    std::ofstream(path) << text;
    return path;
  }

  TrainingOrder orderOf(const std::string& what, const std::string& model) {
    TrainingOrder order;
    order.what = what;
    order.manifest = {{"model", model}, {"threads", 1}};
    order.resources = KVLAB_RESOURCES_DIR;
    order.text = write("text.txt", story(300));
    order.folder = m_directory.filePath(QString("work%1").arg(++m_folders)).toStdString();
    order.window = 80;
    return order;
  }

  static std::string modelOf(const SessionFixture& s) {
    s.prompt(3);
    const Result<Lifespans> any = recordLifespans(*s, {.keys = false});
    s.must("reset");
    return any->model;
  }

  /// The last recorded state through the head gives the logits of the session.
  static void sameLogits(const SessionFixture& s, const std::string& path) {
    const Result<Safetensors> file = Safetensors::open(path);
    QVERIFY(file && file->find("hidden"));
    const FileTensor& hidden = *file->find("hidden");
    const auto width = static_cast<std::size_t>(s->model().config().hidden);
    std::vector<float> last(width), logits(static_cast<std::size_t>(s->model().config().vocab));
    std::memcpy(last.data(), hidden.bytes.data() + hidden.bytes.size() - 4 * width, 4 * width);
    s->transformer().logits(last.data(), 1, logits.data());
    QCOMPARE(logits, *s->state().logits);
  }

  QTemporaryDir m_directory;
  int m_folders = 0;
};

KV_TEST(TrainingTest)
#include "training_test.moc"
