// SPDX-License-Identifier: Apache-2.0
// Lens networks: shares as core/kinds/wlod/tree/lens_net.h writes them, files that are refused, sessions whose
// allocator goes by one.
#include <QTemporaryDir>
#include <cmath>
#include <map>
#include <random>

#include "core/kinds/wlod/state/wlod_state.h"
#include "core/kinds/wlod/tree/lens_net.h"
#include "core/model/files/safetensors.h"
#include "support/runner.h"
#include "support/session_fixture.h"

using namespace kvlab;

namespace {

constexpr int kLensHidden = 24, kWidth = 32, kInner = 20, kTail = 6;

/// A network with random weights.
struct LensFile {
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata{{"kind", "lens_net"}, {"model", ""}};

  explicit LensFile(std::int64_t hidden = kLensHidden) {
    std::mt19937 random(5);
    const auto draw = [&](const std::string& name, std::vector<std::int64_t> shape) {
      std::int64_t n = 1;
      for (const std::int64_t d : shape) n *= d;
      Tensor& t = tensors[name] = {shape, {}};
      for (std::int64_t i = 0; i < n; ++i) t.values.push_back(static_cast<float>(random() % 2001) / 2000.0f - 0.5f);
    };
    draw("entry", {kWidth, hidden});
    draw("tail", {kWidth, hidden});
    draw("features", {kWidth, 4});
    draw("position", {kTail, kWidth});
    draw("out", {kWidth});
    for (const std::string layer : {"layers.0.", "layers.1."}) {
      for (const char* part : {"q", "k", "v", "o"}) draw(layer + part, {kWidth, kWidth});
      draw(layer + "w1", {kInner, kWidth});
      draw(layer + "b1", {kInner});
      draw(layer + "w2", {kWidth, kInner});
      draw(layer + "b2", {kWidth});
    }
  }

  /// The older an entry, the larger its share; nothing else counts.
  static LensFile oldest(std::int64_t hidden) {
    LensFile out(hidden);
    for (auto& [name, t] : out.tensors) std::fill(t.values.begin(), t.values.end(), 0.0f);
    Tensor& features = out.tensors["features"];
    features.values[0] = 1;      // first unit: 1
    features.values[4 + 3] = 8;  // second unit: ln(1 + distance)
    out.tensors["out"].values[1] = 4;
    return out;
  }

  std::string write(const QTemporaryDir& folder) const {
    const std::string path = folder.filePath("lens.safetensors").toStdString();
    SafetensorsWriter writer;
    for (const auto& [name, t] : tensors) writer.add(name, Element::F32, t.shape, std::as_bytes(std::span(t.values)));
    for (const auto& [key, value] : metadata) writer.metadata(key, value);
    return writer.write(path) ? path : "not written";
  }
};

using Row = std::vector<double>;

Row times(const LensFile::Tensor& w, const Row& x) {
  Row out;
  for (std::size_t i = 0; i * x.size() < w.values.size(); ++i) {
    double sum = 0;
    for (std::size_t d = 0; d < x.size(); ++d) sum += double(w.values[i * x.size() + d]) * x[d];
    out.push_back(sum);
  }
  return out;
}
Row plus(Row a, const Row& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
Row unit(Row x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  for (double& v : x) v /= std::sqrt(squares / static_cast<double>(x.size()));
  return x;
}
Row valuesOf(const LensFile::Tensor& t, std::size_t from, std::size_t count) {
  return {t.values.begin() + static_cast<std::ptrdiff_t>(from),
          t.values.begin() + static_cast<std::ptrdiff_t>(from + count)};
}
Row soft(Row x) {
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v);
  for (double& v : x) v /= sum;
  return x;
}

/// Attention of one entry to the tail, in heads of 16.
Row attended(const LensFile& file, const std::string& layer, const Row& h, const std::vector<Row>& tail) {
  const Row q = times(file.tensors.at(layer + "q"), unit(h));
  Row out(kWidth);
  for (std::size_t head = 0; head < kWidth; head += 16) {
    Row scores;
    for (const Row& t : tail) {
      const Row k = times(file.tensors.at(layer + "k"), t);
      double score = 0;
      for (std::size_t d = head; d < head + 16; ++d) score += q[d] * k[d] / 4;
      scores.push_back(score);
    }
    scores = soft(scores);
    for (std::size_t j = 0; j < tail.size(); ++j) {
      const Row v = times(file.tensors.at(layer + "v"), tail[j]);
      for (std::size_t d = head; d < head + 16; ++d) out[d] += scores[j] * v[d];
    }
  }
  return times(file.tensors.at(layer + "o"), out);
}

/// The shares in double, one entry after the other.
Row sharesOf(const LensFile& file, const std::vector<TreeNode>& nodes, std::int32_t length, const std::vector<Row>& x,
             const std::vector<Row>& tail) {
  std::vector<Row> t;
  for (std::size_t j = 0; j < tail.size(); ++j)
    t.push_back(plus(times(file.tensors.at("tail"), unit(tail[j])),
                     valuesOf(file.tensors.at("position"), (tail.size() - 1 - j) * kWidth, kWidth)));
  Row out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Row features{1, nodes[i].level == 1 ? 1.0 : 0, nodes[i].level == 2 ? 1.0 : 0,
                       std::log(1.0 + length - nodes[i].end()) / 8};
    Row h = plus(times(file.tensors.at("entry"), unit(x[i])), times(file.tensors.at("features"), features));
    for (const std::string layer : {"layers.0.", "layers.1."}) {
      h = plus(h, attended(file, layer, h, t));
      Row inner =
          plus(times(file.tensors.at(layer + "w1"), unit(h)), valuesOf(file.tensors.at(layer + "b1"), 0, kInner));
      for (double& v : inner) v /= 1 + std::exp(-v);
      h = plus(h,
               plus(times(file.tensors.at(layer + "w2"), inner), valuesOf(file.tensors.at(layer + "b2"), 0, kWidth)));
    }
    out.push_back(times(file.tensors.at("out"), unit(h)).front());
  }
  return soft(out);
}

}  // namespace

class LensNetTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void sharesAreThoseOfTheFormula() {
    const QTemporaryDir folder;
    const LensFile file;
    const auto net = loadLensNet(file.write(folder), kLensHidden, kernels::makeCpuBackend(1));
    QVERIFY2(bool(net), net ? "" : net.error().text().c_str());
    QCOMPARE((*net)->tail(), std::int64_t{kTail});
    const std::vector<TreeNode> nodes{{2, 0}, {1, 1024}, {0, 1056}, {0, 1057}, {0, 1058}};
    std::vector<Row> entries, tail;
    std::vector<float> flatEntries, flatTail;
    const auto fill = [](std::size_t count, int seed, std::vector<Row>& rows, std::vector<float>& flat) {
      for (std::size_t i = 0; i < count; ++i) {
        Row& row = rows.emplace_back();
        for (int d = 0; d < kLensHidden; ++d) {
          flat.push_back(std::sin(static_cast<float>(seed + 31 * static_cast<int>(i) + d)) * 0.02f);
          row.push_back(flat.back());
        }
      }
    };
    fill(nodes.size(), 1, entries, flatEntries);
    for (const std::size_t count : {std::size_t{3}, std::size_t{kTail}}) {  // a short time line has a short tail
      tail.clear();
      flatTail.clear();
      fill(count, 77, tail, flatTail);
      const std::vector<double> got = (*net)->mass(nodes, 1059, flatEntries, flatTail);
      const Row want = sharesOf(file, nodes, 1059, entries, tail);
      for (std::size_t i = 0; i < nodes.size(); ++i) QVERIFY(std::abs(got[i] - want[i]) < 1e-5);
      QVERIFY((*net)->mass(nodes, 1059, flatEntries, flatTail) == got);
    }
  }

  void badNetworksAreRefused_data() {
    QTest::addColumn<QString>("damage");
    QTest::addColumn<QString>("field");
    for (const auto& [damage, field] : {std::pair{"other kind", "kind"},
                                        {"no model", "model"},
                                        {"no entry", "entry"},
                                        {"narrow", "entry"},
                                        {"wide", "tail"},
                                        {"no layer", "layers.0.w1"},
                                        {"odd position", "position"},
                                        {"odd layer", "layers.1.o"},
                                        {"more", "extra"},
                                        {"a far layer", "layers.3.q"},
                                        {"not finite", "out"}})
      QTest::newRow(damage) << damage << field;
  }
  void badNetworksAreRefused() {
    QFETCH(QString, damage);
    QFETCH(QString, field);
    const QTemporaryDir folder;
    LensFile file;
    if (damage == "other kind") file.metadata["kind"] = "gist_net";
    if (damage == "no model") file.metadata.erase("model");
    if (damage == "no entry") file.tensors.erase("entry");
    if (damage == "narrow") file.tensors["entry"] = {{8, kLensHidden}, std::vector<float>(8 * kLensHidden)};
    if (damage == "wide") file.tensors["tail"] = {{kWidth, 2}, std::vector<float>(2 * kWidth)};
    if (damage == "no layer") file.tensors.erase("layers.0.w1");
    if (damage == "odd position") file.tensors["position"] = {{kWidth}, std::vector<float>(kWidth)};
    if (damage == "odd layer") file.tensors["layers.1.o"] = {{1, 1}, {1}};
    if (damage == "more") file.tensors["extra"] = {{1}, {1}};
    if (damage == "a far layer") file.tensors["layers.3.q"] = {{1}, {1}};
    if (damage == "not finite") file.tensors["out"].values[3] = std::nanf("");
    const auto net = loadLensNet(file.write(folder), kLensHidden, kernels::makeCpuBackend(1));
    QVERIFY(!net);
    QCOMPARE(net.error().code, std::string("bad_lens"));
    QCOMPARE(QString::fromStdString(net.error().field), field);
    QVERIFY(!net.error().remedy.empty());
  }

  /// The allocator opens the oldest gist, with and without probes; predictions follow the entries.
  void aSessionAllocatesByIt_data() {
    QTest::addColumn<bool>("probes");
    QTest::newRow("probes") << true;
    QTest::newRow("no probes") << false;
  }
  void aSessionAllocatesByIt() {
    QFETCH(bool, probes);
    const QTemporaryDir folder;
    const SessionFixture plain;
    const std::string path = LensFile::oldest(plain->model().config().hidden).write(folder);
    const SessionFixture s(json{
        {"capacity", 0},
        {"probes", probes},
        {"wlod",
         {{"budget", 128}, {"lens", path}, {"start_tokens", 48}, {"protect", 32}, {"cooldown", 0}, {"edits", 1}}}});
    s.prompt(400);
    const WlodState& state = wlodIn(s->state());
    QCOMPARE(state.context.entries()[0], (TreeNode{0, 0}));  // a round after the prompt has opened [0, 32)
    QVERIFY(!state.rounds.empty());
    const FocusDecision& first = state.rounds.back()->decisions.front();
    QCOMPARE(first.node, (TreeNode{1, 0}));
    QVERIFY(first.expand && first.done && first.score > 0.2);
    QCOMPARE(std::ssize(state.mass), std::int64_t{state.context.cost()});
    s.must("step", {{"n", 1}});
    QCOMPARE(std::ssize(wlodIn(s->state()).mass), std::int64_t{wlodIn(s->state()).context.cost()});
    QVERIFY(wlodIn(s->state()).mass[0] > wlodIn(s->state()).mass.back());
  }

  /// Undo, replay and a saved cache have the predictions of the network.
  void whatWasForeseenBelongsToTheState() {
    const QTemporaryDir folder;
    const SessionFixture plain;
    const std::string path = LensFile(plain->model().config().hidden).write(folder),
                      file = folder.filePath("saved").toStdString();
    const json manifest{
        {"capacity", 0},
        {"wlod", {{"budget", 128}, {"lens", path}, {"start_tokens", 48}, {"protect", 32}, {"every", 4}}}};
    const SessionFixture a(manifest), b(manifest);
    a.prompt(300);
    a.must("step", {{"n", 6}});
    a.must("saveCache", {{"path", file}});
    b.must("loadCache", {{"path", file}});
    const std::string before = a.hash();
    const std::int64_t tick = a->state().tick.value();
    for (const SessionFixture* s : {&a, &b}) s->must("step", {{"n", 9}});
    QCOMPARE(a.hash(), b.hash());
    const std::string after = a.hash();
    a.must("goto", {{"tick", tick}});
    QCOMPARE(a.hash(), before);
    a.must("step", {{"n", 9}});
    QCOMPARE(a.hash(), after);
  }

  void filesOfOtherModelsAreRefused() {
    const QTemporaryDir folder;
    const SessionFixture plain;
    LensFile file(plain->model().config().hidden);
    file.metadata["model"] = "another";
    const auto codeOf = [](const std::string& lens) {
      const auto manifest =
          Manifest::fromJson({{"model", "synthetic:tiny"}, {"wlod", {{"budget", 128}, {"lens", lens}}}});
      const auto opened = openSession(*manifest, KVLAB_RESOURCES_DIR);
      return opened ? std::string() : opened.error().code + " " + opened.error().field;
    };
    QCOMPARE(codeOf(file.write(folder)), std::string("bad_lens wlod.lens"));
    QCOMPARE(codeOf("trained"), std::string("bad_manifest wlod.lens"));
    QVERIFY(codeOf("nowhere.safetensors").starts_with("bad_file"));
  }
};

KV_TEST(LensNetTest)
#include "lens_net_test.moc"
