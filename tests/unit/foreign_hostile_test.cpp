// SPDX-License-Identifier: Apache-2.0
// Damaged files of other programs: cut at every byte, and with bytes changed at random, each is read or refused. More
// changes: KVLAB_FOREIGN_CHANGES=20000.
#include <random>

#include "core/foreign/foreign_cache.h"
#include "support/runner.h"
#include "unit/foreign_samples.h"

using namespace kvlab;
using namespace kvlab::test;

namespace {

constexpr std::int64_t kMostForeign = 1 << 24;  // bytes of rows that a damaged file may claim here

/// Thousands of files: in memory, where there is such a place.
QString quickPlace() {
  const QString memory = "/dev/shm";
  return (QFileInfo(memory).isWritable() ? memory : QDir::tempPath()) + "/kvlab-foreign-XXXXXX";
}

/// Opens what there is and reads all rows; nothing if it was refused as it should.
QString foreignFault(const ForeignSample& sample, const std::string& folder) {
  ForeignAsk ask{.importer = sample.importer, .sequence = sample.name == "session" ? 3 : -1, .mostBytes = kMostForeign};
  if (!sample.mapping.empty()) ask.mapping = folder + "/" + sample.mapping;
  const std::string path = folder + "/" + sample.path;
  for (const ForeignImporter& one : importers()) one.recognises(path);
  const auto cache = openForeign(path, ask);
  if (!cache) {
    const Error& error = cache.error();
    (void)error.toJson().dump();  // throws at a text that is no UTF-8
    const bool known = error.code == "bad_file" || error.code == "bad_argument" || error.code == "too_large";
    return known && !error.why.empty() && !error.remedy.empty() ? QString() : QString::fromStdString(error.text());
  }
  (void)nlohmann::json(cache->notes).dump();
  for (const ForeignLayer& layer : cache->layers)
    for (const ForeignRows* rows : {&layer.keys, &layer.values}) {
      const auto values = rows->read();
      if (!values || values->size() != static_cast<std::size_t>(layer.rows * rows->width))
        return "a layer whose rows are not there";
      if (!layer.positions.empty() && layer.positions.size() != static_cast<std::size_t>(layer.rows))
        return "other numbers of rows and of positions";
    }
  return {};
}

/// A byte at random, a length near a border, a piece taken out, or one put in twice.
std::string changedForeign(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(3); changes-- > 0;) {
    const std::size_t at = below(bytes.size()), length = std::min<std::size_t>(1 + below(16), bytes.size() - at);
    switch (below(5)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 2:
        for (std::size_t i = at; i < std::min(bytes.size(), at + 4); ++i)
          bytes[i] = static_cast<char>(random() % 2 ? 0xff : 0);
        break;
      case 3: bytes.erase(at, length); break;
      default: bytes.insert(at, bytes.substr(below(bytes.size()), length));
    }
  }
  return bytes;
}

}  // namespace

class ForeignHostileTest : public QObject {
  Q_OBJECT
  const std::vector<ForeignSample> m_samples = foreignSamples();

  void samples() const {
    QTest::addColumn<int>("sample");
    for (std::size_t i = 0; i < m_samples.size(); ++i)
      QTest::newRow(m_samples[i].label().c_str()) << static_cast<int>(i);
  }

 private Q_SLOTS:
  void cutAnywhere_data() { samples(); }
  void cutAnywhere() {
    QFETCH(int, sample);
    const ForeignSample& whole = m_samples[static_cast<std::size_t>(sample)];
    QTemporaryDir folder(quickPlace());
    const std::string path = folder.path().toStdString();
    (void)openSample(whole, path);
    const auto& [name, bytes] = whole.files.front();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      writeFile(path + "/" + name, bytes.substr(0, size));
      const QString fault = foreignFault(whole, path);
      QVERIFY2(fault.isEmpty(), qPrintable(QString("%1 bytes: %2").arg(size).arg(fault)));
    }
  }

  void changedAnywhere_data() { samples(); }
  void changedAnywhere() {
    QFETCH(int, sample);
    const ForeignSample& whole = m_samples[static_cast<std::size_t>(sample)];
    QTemporaryDir folder(quickPlace());
    const std::string path = folder.path().toStdString();
    (void)openSample(whole, path);
    const int changes = std::max(qEnvironmentVariableIntValue("KVLAB_FOREIGN_CHANGES"), 200);
    std::mt19937 random(static_cast<unsigned>(sample));
    for (int i = 0; i < changes; ++i) {
      const auto& [name, bytes] = whole.files[random() % whole.files.size()];
      writeFile(path + "/" + name, changedForeign(bytes, random));
      const QString fault = foreignFault(whole, path);
      QVERIFY2(fault.isEmpty(), qPrintable(QString("change %1: %2").arg(i).arg(fault)));
      writeFile(path + "/" + name, bytes);
    }
  }
};

KV_TEST(ForeignHostileTest)
#include "foreign_hostile_test.moc"
