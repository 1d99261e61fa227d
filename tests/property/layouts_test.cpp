// SPDX-License-Identifier: Apache-2.0
// One logical cache in every layout: random edit scripts run in lockstep on a session per layout.
// After every operation each has the state hash of contiguous_splice, which covers every resident row,
// byte for byte in logical order; its invariants hold; and a list that one refuses changes nothing. If rows leave
// through a window, the five rings are compared with ring_roll.
#include "support/session_fixture.h"

#include "core/api/layout_names.h"
#include "core/session/storage.h"
#include "support/runner.h"

using namespace kvlab;

namespace {

struct Lane {
  std::string layout;
  std::unique_ptr<SessionFixture> session;
};

class TwoLayouts {
 public:
  TwoLayouts(json manifest, unsigned seed) : m_random(seed) {
    manifest["staging"] = 8;
    manifest["prefill_chunk"] = 8;
    manifest["capacity"] = 200;
    manifest["guards"] = true;
    const bool rings = manifest["ring"]["window"] > 0;
    for (const LayoutName& info : layouts()) {
      const bool ring = info.name.starts_with("ring_");
      // A ring lets go rows that a layer's own window hides, so it holds other rows than the layouts beside it.
      if (rings ? !ring : ring && manifest["model"] == "synthetic:tiny-gemma") continue;
      manifest["layout"] = info.name == "paged" ? "paged:block=4" : std::string(info.name);
      Lane lane{manifest["layout"], std::make_unique<SessionFixture>(manifest)};
      m_lanes.insert(info.name == (rings ? "ring_roll" : "contiguous_splice") ? m_lanes.begin() : m_lanes.end(),
                     std::move(lane));
    }
  }

  bool step() {
    const int kind = pick(100);
    const int length = reference().state().length();
    if (length == 0 || (kind < 10 && length < 120))
      return all("promptIds", {{"ids", SessionFixture::ids(1 + pick(20), static_cast<unsigned>(pick(1000)))}});
    if (kind < 45) return all("step", {{"n", 1 + pick(3)}});
    if (kind < 75) return edit();
    if (kind < 80) return trim();
    if (kind < 86) return evict();
    if (kind < 92) return all("undo", json::object());
    if (kind < 95) return all("redo", json::object());
    if (kind < 97) return all("compact", {{"rows", 1 + pick(20)}}, true);
    return all("rebuild", json::object());
  }

  QByteArray said() const { return m_said; }
  int wraps() const {
    int most = 0;
    for (const Lane& lane : m_lanes)
      for (const auto& view : storageOf(*(*lane.session)))
        if (view->ring) most = std::max(most, static_cast<int>(view->ring->wraps));
    return most;
  }

 private:
  const Session& reference() const { return *m_lanes.front().session->session; }
  int pick(int below) { return static_cast<int>(m_random() % static_cast<unsigned>(below)); }

  /// Up to three disjoint edits with at most two new tokens each.
  bool edit() {
    const int length = reference().state().length();
    json list = json::array();
    for (int at = pick(6), n = 0; at + 2 < length && n < 3; at += 3 + pick(length / 2 + 1), ++n) {
      json ids = json::array();
      for (int i = 0; i <= pick(2); ++i) ids.push_back(3 + pick(250));
      const int kind = pick(4);
      if (kind == 0) list.push_back({{"type", "delete"}, {"position", at}});
      else if (kind == 1) list.push_back({{"type", "insert"}, {"position", at}, {"token_ids", ids}});
      else if (kind == 2)
        list.push_back(
            {{"type", "replace_pair"}, {"original_pos1", at}, {"original_pos2", at + 1}, {"new_token_ids", ids}});
      else list.push_back({{"type", "replace"}, {"positions", {at, at + 1}}, {"new_token_ids", ids}});
    }
    if (list.empty()) return true;
    return all("inject", {{"actions", list}}) && all("apply", json::object());
  }

  /// Drops the tail, as a rejected draft does.
  bool trim() {
    const int length = reference().state().length(), many = std::min(length - 1, 1 + pick(9));
    json list = json::array();
    for (int i = 0; i < many; ++i) list.push_back({{"type", "delete"}, {"position", length - 1 - i}});
    if (list.empty()) return true;
    return all("inject", {{"actions", list}}) && all("apply", json::object());
  }

  bool evict() {
    const int layer = pick(reference().cacheLayers().count());
    const ResidencyView& map = reference().state().map(CacheLayer(layer));
    if (map.resident() < 4) return true;
    const std::size_t index =
        static_cast<std::size_t>(map.first) + static_cast<std::size_t>(pick(static_cast<int>(map.resident()) - 2));
    return all("evict", {{"layer", layer}, {"ledger", {map.ledger[index].value()}}}) && all("apply", json::object());
  }

  /// Runs a verb in every lane and compares the results. alone: only some layouts have something to do.
  bool all(const std::string& verb, const json& args, bool alone = false) {
    m_log.push_back(verb + " " + args.dump());
    std::optional<std::string> first;
    for (const Lane& lane : m_lanes) {
      const std::string before = lane.session->hash();
      const Result<json> result = lane.session->verb(verb, args);
      const std::string outcome = result ? lane.session->hash() : result.error().code;
      const json& report = result ? *result : json();
      if (report.is_object() && report.contains("ok") && report["ok"] == false)
        return fail(lane, "failed: " + report["error"].dump());
      if (!result && lane.session->hash() != before)
        return fail(lane, "a refused call changed the state: " + result.error().text());
      if (!result && result.error().code == "guard") return fail(lane, result.error().text());
      for (const InvariantState& one : (*lane.session)->check(true))
        if (!one.ok) return fail(lane, std::string(one.id) + ": " + one.detail);
      if (!alone && first && *first != outcome)
        return fail(lane,
                    "differs: " + outcome + " is not " + *first + (result ? "" : ": " + result.error().text()) +
                        differences(lane));
      if (!first) first = outcome;
    }
    return true;
  }

  std::string differences(const Lane& lane) const {
    std::string out;
    const auto want = m_lanes.front().session->parts(), have = lane.session->parts();
    for (const auto& [part, value] : want)
      if (!have.contains(part) || have.at(part) != value) out += "\n  " + part;
    return out.empty() ? " (rows)" : out;
  }

  bool fail(const Lane& lane, const std::string& what) {
    m_said = QByteArray::fromStdString(lane.layout + " " + what);
    for (std::size_t i = m_log.size() > 6 ? m_log.size() - 6 : 0; i < m_log.size(); ++i)
      m_said += "\n  " + QByteArray::fromStdString(m_log[i]);
    return false;
  }

  std::mt19937 m_random;
  std::vector<Lane> m_lanes;
  std::vector<std::string> m_log;
  QByteArray m_said;
};

}  // namespace

class LayoutsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void allAgree_data() {
    QTest::addColumn<QString>("k");
    QTest::addColumn<QString>("v");
    QTest::addColumn<int>("window");
    QTest::addColumn<QString>("position");
    QTest::addColumn<int>("block");
    QTest::addColumn<QString>("model");
    test::SanitizerSample sample(4);
    const char* const types[][2] = {{"f32", "f32"}, {"f16", "bf16"}};
    for (const auto& [k, v] : types)
      for (const int window : {0, 5, 16, 33})
        for (const char* position : {"context", "absolute", "cache"})
          if (sample.takes())
            QTest::addRow("K %s, V %s, window %d, %s", k, v, window, position)
                << k << v << window << position << 1 << "";
    const char* const quantised[][2] = {
        {"f16", "int8"}, {"int8", "int8"}, {"fp8-e4m3", "int8"}, {"int8", "f32"}, {"bf16", "fp8-e4m3"}};
    for (const auto& [k, v] : quantised)
      for (const int window : {0, 5, 16})
        if (sample.takes())
          QTest::addRow("K %s, V %s, window %d", k, v, window) << k << v << window << "context" << 1 << "";
    for (const char* model :
         {"synthetic:tiny-gemma", "synthetic:tiny-nope", "synthetic:tiny-moe", "synthetic:tiny-odd"})
      for (const int window : {0, 12})
        for (const char* v : {"f32", "int8"})
          if (sample.takes())
            QTest::addRow("%s, V %s, window %d", model, v, window) << "f32" << v << window << "context" << 1 << model;
    for (const int window : {0, 6, 16})
      for (const int block : {2, 3, 5})
        if (sample.takes())
          QTest::addRow("blocks of %d, window %d", block, window) << "f32"
                                                                  << "f16" << window << "context" << block << "";
  }
  void allAgree() {
    QFETCH(QString, k);
    QFETCH(QString, v);
    QFETCH(int, window);
    QFETCH(QString, position);
    QFETCH(int, block);
    QFETCH(QString, model);
    bool given = false;
    const int wanted = qEnvironmentVariableIntValue("KVLAB_PROPERTY_OPS", &given);
    const int operations = given && wanted > 0 ? std::max(10, wanted / 100) : 40;
    const unsigned seed = static_cast<unsigned>(window * 7 + k.size() + 3 * v.size() + position.size() + block);
    TwoLayouts lockstep({{"model", model.isEmpty() ? "synthetic:tiny" : model.toStdString()},
                         {"kv", {{"k", k.toStdString()}, {"v", v.toStdString()}}},
                         {"ring", {{"window", window}, {"block_tokens", block}}},
                         {"position", position.toStdString()},
                         {"absolute_overflow", "shift"}},
                        seed);
    for (int i = 0; i < operations; ++i)
      QVERIFY2(lockstep.step(),
               "seed " + QByteArray::number(seed) + ", operation " + QByteArray::number(i) + ": " + lockstep.said());
    if (window > 0 && window < 20) QVERIFY2(lockstep.wraps() > 0, "no ring wrapped");
  }
};

KV_TEST(LayoutsTest)
#include "layouts_test.moc"
