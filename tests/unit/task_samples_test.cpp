// SPDX-License-Identifier: Apache-2.0
// Generated tasks: lengths, places of needles, seeds; scores of answers; samples read from files.
#include <QTemporaryDir>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "core/experiment/prompt_set.h"
#include "core/tasks/string_match.h"
#include "core/tasks/task_samples.h"
#include "core/tasks/task_words.h"
#include "support/runner.h"

using namespace kvlab;
using Json = nlohmann::ordered_json;
using nlohmann::json;

namespace {

std::shared_ptr<const Model> modelNamed(const char* spec) {
  auto model = Model::open(spec, KVLAB_RESOURCES_DIR);
  if (!model) qFatal("%s", model.error().text().c_str());
  return model.take();
}

Json samplesOf(const Model& model, const TaskWish& wish, std::int64_t seed = 1) {
  auto samples = taskSamples(wish, seed, TaskFrame{}, model.tokenizer());
  if (!samples) qFatal("%s", samples.error().text().c_str());
  return samples.take();
}

std::size_t timesIn(const std::string& text, const std::string& word) {
  std::size_t out = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++out;
  return out;
}

std::map<std::string, int> countedWords(const std::string& text) {
  std::map<std::string, int> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) ++out[word];
  return out;
}

/// A sample as a tool of another origin writes it.
json foreignSample() {
  return {{"context", "one two three four"},
          {"question", "which ?"},
          {"answer_prefix", "it is"},
          {"answers", {"two"}},
          {"max_new_tokens", 4}};
}

Result<std::vector<SweepStory>> readLines(const Model& model, const std::string& text, const PromptUse& use = {}) {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("x.jsonl").toStdString();
  std::ofstream(path, std::ios::binary) << text;
  const json set = KV_TRY(readPromptFile(path));
  return readStories(set, path, 1, model, use);
}

}  // namespace

class TaskSamplesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void samplesFitAndHoldTheirAnswers_data() {
    QTest::addColumn<QString>("task");
    for (const TaskKind& kind : taskKinds()) QTest::newRow(kind.name.data()) << QString::fromUtf8(kind.name.data());
  }

  /// For a tokenizer of words and one of bytes: as long as fits, the answers and the needles where the sample says.
  void samplesFitAndHoldTheirAnswers() {
    QFETCH(QString, task);
    for (const auto& [spec, length] : {std::pair{"demo", 3000}, {"synthetic:tiny", 6000}}) {
      const auto model = modelNamed(spec);
      const TaskWish wish{task.toStdString(), length, {0, 0.5, 1}, 3};
      const Json samples = samplesOf(*model, wish);
      QCOMPARE(samples.size(), std::size_t{3});
      for (const Json& sample : samples) {
        const auto context = sample["context"].get<std::string>();
        const auto ids = *model->tokenizer().encode(context, true);
        const std::string asked =
            sample["question"].get<std::string>() + "\n" + sample["answer_prefix"].get<std::string>();
        const std::size_t tokens = ids.size() + model->tokenizer().encode(asked, false)->size();
        QCOMPARE(sample["length"], Json(tokens));
        QVERIFY2(tokens <= static_cast<std::size_t>(length), sample["length"].dump().c_str());
        QVERIFY2(tokens * 10 > static_cast<std::size_t>(length) * 8, sample["length"].dump().c_str());
        for (const Json& answer : sample["answers"]) QVERIFY(timesIn(context, answer.get<std::string>()) >= 1);
        for (std::size_t i = 0; i < sample.value("needles", Json::array()).size(); ++i) {
          const auto text = [&](const Json& span) {
            const auto begin = span[0].get<std::size_t>(), end = span[1].get<std::size_t>();
            return model->tokenizer().decode(std::span(ids).subspan(begin, end - begin));
          };
          const std::string sentence = text(sample["needles"][i]), answer = text(sample["answers_at"][i]);
          const auto wanted = sample["answers"][i].get<std::string>();
          QVERIFY2(sentence.find(wanted) != std::string::npos && answer.find(wanted) != std::string::npos,
                   sentence.c_str());
          QVERIFY(sample["needles"][i][0] <= sample["answers_at"][i][0]);
          QVERIFY(sample["answers_at"][i][1] <= sample["needles"][i][1]);
          QVERIFY(answer.size() <= wanted.size() + 24);
        }
      }
    }
  }

  void aNeedleLiesAtItsDepth() {
    const auto model = modelNamed("synthetic:tiny");
    for (const TaskKind& kind : taskKinds()) {
      if (!kind.placed) continue;
      const Json samples = samplesOf(*model, {std::string(kind.name), 6000, {0, 0.25, 0.5, 0.75, 1}, 5});
      for (const Json& sample : samples) {
        const double place = sample["needles"][0][0].get<double>() / 6000;
        QVERIFY2(std::abs(place - sample["depth"].get<double>()) < 0.12,
                 (std::string(kind.name) + " " + sample["depth"].dump() + " " + std::to_string(place)).c_str());
      }
    }
  }

  void seedsAndSamplesDiffer() {
    const auto model = modelNamed("synthetic:tiny");
    for (const TaskKind& kind : taskKinds()) {
      const TaskWish wish{std::string(kind.name), 3000, {}, 4};
      const Json one = samplesOf(*model, wish, 1), two = samplesOf(*model, wish, 2);
      QCOMPARE(one.dump(), samplesOf(*model, wish, 1).dump());
      std::set<std::string> contexts, answers;
      for (const Json* list : {&one, &two})
        for (const Json& sample : *list) {
          contexts.insert(sample["context"].get<std::string>());
          answers.insert(sample["answers"].dump());
        }
      QCOMPARE(contexts.size(), std::size_t{8});
      QCOMPARE(answers.size(), std::size_t{8});
    }
  }

  /// The right answer follows from the context: counted, or followed from line to line.
  void answersFollowFromTheContext() {
    const auto model = modelNamed("synthetic:tiny");
    for (const char* task : {"common_words", "frequent_words"})
      for (const Json& sample : samplesOf(*model, {task, 6000, {}, 3})) {
        const std::string context = sample["context"].get<std::string>();
        auto counts = countedWords(context.substr(context.find("\n\n")));
        int least = 1 << 30;
        for (const Json& answer : sample["answers"]) {
          least = std::min(least, counts[answer.get<std::string>()]);
          counts.erase(answer.get<std::string>());
        }
        for (const auto& [word, count] : counts) QVERIFY2(count < least, (task + word).c_str());
      }
    for (const Json& sample : samplesOf(*model, {"variable_tracking", 3000, {}, 5})) {
      const std::string question = sample["question"].get<std::string>();
      std::string value = question.substr(question.find_first_of("0123456789"), 5);
      for (const Json& answer : sample["answers"]) {
        const auto name = answer.get<std::string>();
        QCOMPARE(timesIn(sample["context"].get<std::string>(), "VAR " + name + " = " + value + "."), std::size_t{1});
        value = "VAR " + name;
      }
    }
    for (const char* task : {"needle_single_2", "needle_multikey_2", "needle_multikey_3", "needle_multiquery"})
      for (const Json& sample : samplesOf(*model, {task, 6000, {}, 3}))
        for (const Json& answer : sample["answers"])
          QCOMPARE(timesIn(sample["context"].get<std::string>(), answer.get<std::string>()), std::size_t{1});
  }

  void namesAndNumbersOfASampleDiffer() {
    std::set<std::string> names, numbers;
    for (std::size_t i = 0; i < 8000; ++i) {
      names.insert(taskName(5, i));
      numbers.insert(taskNumber(5, i));
    }
    QCOMPARE(names.size(), std::size_t{8000});
    QCOMPARE(numbers.size(), std::size_t{8000});
    QVERIFY(taskName(5, 0) != taskName(6, 0) && taskNumber(5, 0) != taskNumber(6, 0));
  }

  void tooShortIsRefused() {
    const auto model = modelNamed("demo");
    for (const TaskKind& kind : taskKinds()) {
      const auto samples = taskSamples({std::string(kind.name), 20, {}, 1}, 1, TaskFrame{}, model->tokenizer());
      QVERIFY(!samples);
      QCOMPARE(samples.error().code, std::string("bad_prompts"));
      QCOMPARE(samples.error().field, std::string("length"));
    }
    QCOMPARE(taskSamples({"needle", 100, {}, 1}, 1, TaskFrame{}, model->tokenizer()).error().code,
             std::string("bad_prompts"));
    QCOMPARE(taskFrame(*model, true).error().code, std::string("bad_prompts"));
  }

  /// A chat template stands around context and question, and counts as length.
  void samplesInAChatTemplate() {
    const QTemporaryDir folder;
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.model"})
      QVERIFY(QFile::copy(QString(KVLAB_RESOURCES_DIR "/demo/") + file, folder.filePath(file)));
    const auto withTemplate = [&](const char* text) {
      std::ofstream(folder.filePath("chat_template.jinja").toStdString()) << text;
      return modelNamed(folder.path().toStdString().c_str());
    };
    QCOMPARE(taskFrame(*withTemplate("{{ messages|length }}"), true).error().code, std::string("bad_prompts"));
    QCOMPARE(taskFrame(*withTemplate("{{ nothing.at.all }}"), true).error().code, std::string("bad_template"));
    const auto model = withTemplate("<s>anna says : {% for m in messages %}{{ m.content }}{% endfor %} . ben says : ");
    const auto frame = taskFrame(*model, true);
    if (!frame) qFatal("%s", frame.error().text().c_str());
    QCOMPARE(frame->head, std::string("<s>anna says : "));
    QCOMPARE(frame->tail, std::string(" . ben says : "));
    const auto samples = taskSamples({"needle_single_1", 1500, {0.5}, 1}, 1, *frame, model->tokenizer());
    if (!samples) qFatal("%s", samples.error().text().c_str());
    const auto read = readStories(json::parse(samples->dump()), "list", 1, *model, {0, 0, true});
    if (!read) qFatal("%s", read.error().text().c_str());
    const SweepQuestion& question = read->front().questions.front();
    QCOMPARE(Json(read->front().tokens.size() + question.tokens.size()), (*samples)[0]["length"]);
    const auto& span = question.needles.front();
    const auto text = model->tokenizer().decode(
        std::span(read->front().tokens)
            .subspan(static_cast<std::size_t>(span.begin), static_cast<std::size_t>(span.end - span.begin)));
    QVERIFY(text.find(question.answers.front()) != std::string::npos);
  }

  void scores_data() {
    QTest::addColumn<QString>("answer");
    QTest::addColumn<QString>("wanted");
    QTest::addColumn<double>("all");
    QTest::addColumn<double>("part");
    // all: string_match_all(postprocess_pred([answer]), [wanted]) of lm_eval/tasks/ruler/common_utils.py; part: RULER's
    // string_match_part for the same, by hand.
    QFile table(KVLAB_TESTS_DIR "/data/string_match.json");
    QVERIFY(table.open(QIODevice::ReadOnly));
    for (const json& row : json::parse(table.readAll().toStdString()))
      QTest::newRow(row["name"].get<std::string>().c_str())
          << QString::fromStdString(row["answer"].get<std::string>()) << QString::fromStdString(row["wanted"].dump())
          << row["all"].get<double>() << row["part"].get<double>();
  }

  void scores() {
    QFETCH(QString, answer);
    QFETCH(QString, wanted);
    QFETCH(double, all);
    QFETCH(double, part);
    const auto texts = json::parse(wanted.toStdString()).get<std::vector<std::string>>();
    const StringMatch match = stringMatch(answer.toStdString(), texts);
    QCOMPARE(match.all, all);
    QCOMPARE(match.part, part);
  }

  /// Names of kvpress's data sets and of lm-eval's tasks; questions of one context share a story.
  void samplesOfOtherTools() {
    const auto model = modelNamed("synthetic:tiny");
    json first = foreignSample(), second = foreignSample(), third{{"input", "a b c"}, {"outputs", {"b", "c"}}};
    second.erase("answers");
    second["answer"] = "three";
    second["task"] = "qa";
    third["gen_prefix"] = "they are";
    const std::string text = first.dump() + "\n\n" + third.dump() + "\r\n" + second.dump();
    const auto read = readLines(*model, text);
    if (!read) qFatal("%s", read.error().text().c_str());
    QCOMPARE(read->size(), std::size_t{2});
    QCOMPARE((*read)[0].questions.size(), std::size_t{2});
    QCOMPARE((*read)[0].questions[1].answers, std::vector<std::string>{"three"});
    QCOMPARE((*read)[0].questions[0].newTokens, 4);
    QCOMPARE((*read)[1].questions[0].newTokens, 50);
    QCOMPARE(model->tokenizer().decode((*read)[1].questions[0].tokens), std::string("\nthey are"));
    QCOMPARE(model->tokenizer().decode((*read)[1].questions[0].reply), std::string(" b, c"));
    QCOMPARE(readLines(*model, text, {1, 1})->front().questions.size(), std::size_t{1});
    QCOMPARE(readLines(*model, text, {1, 1, false, 9})->front().questions[0].newTokens, 9);
  }

  void badLinesNameTheirField() {
    const auto model = modelNamed("synthetic:tiny");
    const auto refused = [&](const char* patch) {
      json sample = foreignSample();
      sample.merge_patch(json::parse(patch));
      const auto read = readLines(*model, foreignSample().dump() + "\n" + sample.dump() + "\n");
      return read ? std::string() : read.error().code + " " + read.error().field;
    };
    QCOMPARE(refused("{}"), std::string());
    QCOMPARE(refused(R"({"context": null})"), std::string("bad_prompts line 2.context"));
    QCOMPARE(refused(R"({"context": ""})"), std::string("bad_prompts line 2.context"));
    QCOMPARE(refused(R"({"question": 3})"), std::string("bad_prompts line 2.question"));
    QCOMPARE(refused(R"({"answer_prefix": []})"), std::string("bad_prompts line 2.answer_prefix"));
    QCOMPARE(refused(R"({"answers": []})"), std::string("bad_prompts line 2.answers"));
    QCOMPARE(refused(R"({"answers": ["a", ""]})"), std::string("bad_prompts line 2.answers"));
    QCOMPARE(refused(R"({"answers": null})"), std::string("bad_prompts line 2.answers"));
    QCOMPARE(refused(R"({"max_new_tokens": 0})"), std::string("bad_prompts line 2.max_new_tokens"));
    QCOMPARE(refused(R"({"depth": 2})"), std::string("bad_prompts line 2.depth"));
    QCOMPARE(refused(R"({"needles": [[3, 99]]})"), std::string("bad_prompts line 2.needles"));
    const auto torn = readLines(*model, foreignSample().dump() + "\n{\"context\": \"a");
    QVERIFY(!torn && torn.error().code == "bad_prompts");
    QVERIFY(torn.error().text().find("line 2") != std::string::npos);
    QCOMPARE(readLines(*model, "\n \n").error().code, std::string("bad_prompts"));
  }

  /// Files with bytes changed at random are read or refused.
  void mutatedFilesAreReadOrRefused() {
    const auto model = modelNamed("synthetic:tiny");
    const std::string good =
        samplesOf(*model, {"needle_single_1", 600, {}, 1})[0].dump() + "\n" + foreignSample().dump() + "\n";
    std::mt19937 random(3);
    int read = 0, refused = 0;
    for (int round = 0; round < 400; ++round) {
      std::string text = good;
      for (unsigned i = 0; i <= random() % 4; ++i) {
        const std::size_t at = random() % text.size();
        if (random() % 3 == 0) text.erase(at, 1 + random() % 9);
        else text[at] = static_cast<char>(random() % 256);
      }
      const auto stories = readLines(*model, text);
      (stories ? read : refused) += 1;
      if (!stories) QCOMPARE(stories.error().code, std::string("bad_prompts"));
    }
    QVERIFY(read > 20 && refused > 20);
  }
};

KV_TEST(TaskSamplesTest)
#include "task_samples_test.moc"
