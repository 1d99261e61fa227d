// SPDX-License-Identifier: Apache-2.0
// A session on the smallest synthetic model for tests, driven through its verbs so that history can
// execute them again.
#pragma once
#include <QtTest>
#include <map>
#include <random>

#include "core/parts/kinds.h"
#include "core/session/state_hash.h"
#include "core/session/truth.h"
#include "support/scripted.h"

namespace kvlab {

using nlohmann::json;

class SessionFixture {
 public:
  static constexpr int kVocab = 256;

  /// The manifest's defaults here, changed by `changes`.
  explicit SessionFixture(const json& changes = json::object()) {
    json manifest{
        {"model", "synthetic:tiny"}, {"threads", 1}, {"capacity", 400}, {"staging", 400}, {"history_bytes", 64 << 20}};
    manifest.update(changes);
    Result<Manifest> parsed = Manifest::fromJson(manifest);
    if (!parsed) qFatal("%s", parsed.error().text().c_str());
    Result<std::unique_ptr<Session>> opened = openSession(*parsed, KVLAB_RESOURCES_DIR);
    if (!opened) qFatal("%s", opened.error().text().c_str());
    session = opened.take();
  }

  Session* operator->() const { return session.get(); }
  Session& operator*() const { return *session; }
  Result<json> verb(const std::string& name, const json& args = json::object()) const {
    return test::scripted(*session, name, args);
  }
  /// A verb that must succeed.
  json must(const std::string& name, const json& args = json::object()) const {
    Result<json> result = verb(name, args);
    if (!result) qFatal("%s: %s", name.c_str(), result.error().text().c_str());
    return result.take();
  }
  void prompt(int tokens, unsigned seed = 5) const { must("promptIds", {{"ids", ids(tokens, seed)}}); }

  static std::vector<int> ids(int count, unsigned seed = 5) {
    std::mt19937 random(seed);
    std::vector<int> out;
    for (int i = 0; i < count; ++i) out.push_back(3 + static_cast<int>(random() % 250));
    return out;
  }

  std::vector<int> tokens() const {
    std::vector<int> out;
    for (LedgerId id : session->state().context) out.push_back(session->state().ledger[id].token.value());
    return out;
  }

  /// Hash of the state without pending actions.
  std::string hash() const { return stateHash(session->state(), session->store(), {}); }

  /// The parts of the hash, to name the part that differs.
  std::map<std::string, std::string> parts() const {
    const CacheState& state = session->state();
    std::map<std::string, std::string> out;
    out["tick"] = std::to_string(state.tick.value());
    out["random"] = std::to_string(state.random[0]) + " " + std::to_string(state.random[1]);
    out["tokens"] = json(tokens()).dump();
    out["brightness"] = json(std::vector<float>(state.brightness.begin(), state.brightness.end())).dump();
    out["phases"] = json(std::vector<int>(state.phases.begin(), state.phases.end())).dump();
    for (const CacheLayer layer : state.layers()) {
      for (LedgerId id : state.map(layer).ledger)
        out["map " + std::to_string(layer.value())] += std::to_string(id.value()) + " ";
    }
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(state.ledger.size()); ++i) {
      const LedgerRow& row = state.ledger[LedgerId(i)];
      out["ledger " + std::to_string(i)] = std::string(name(row.state)) + " " + std::string(name(row.source)) +
          " born " + std::to_string(row.born.value()) + " changed " + std::to_string(row.changed.value()) +
          (row.pinned ? " pinned " : " ") + std::to_string(row.brightness);
    }
    return out;
  }

  /// Every key and value of every layer in logical order, without tags, as bytes.
  std::string rows(int firstLayer = 0) const {
    std::string out;
    for (const CacheLayer layer : session->state().layers() | std::views::drop(firstLayer)) {
      const RowPool& pool = session->store().pool(layer);
      const kernels::RowLayout layout = kernels::rowLayout(pool.format());
      std::vector<std::uint8_t> record(static_cast<std::size_t>(pool.stride()));
      for (Slot slot : session->state().map(layer).slotOf) {
        pool.readRecords({&slot, 1}, record.data());
        out.append(reinterpret_cast<const char*>(record.data()), static_cast<std::size_t>(layout.tag));
      }
    }
    return out;
  }

  /// Keys and values as numbers, head by head and layer by layer, in logical order: the same whether residency is by
  /// layer or by KV head.
  std::vector<float> values() const {
    std::vector<float> out;
    for (const CacheLayer layer : session->state().layers()) {
      const RowPool& pool = session->store().pool(layer);
      const std::span<const std::int32_t> slots = plain(session->state().map(layer).residentSlots());
      std::vector<float> k(slots.size() * static_cast<std::size_t>(pool.width())), v = k;
      pool.gather(slots, k.data(), v.data());
      const auto dim = static_cast<std::size_t>(pool.format().headDim),
                 heads = static_cast<std::size_t>(pool.format().kvHeads);
      for (std::size_t head = 0; head < heads; ++head)
        for (const std::vector<float>* all : {&k, &v})
          for (std::size_t row = 0; row < slots.size(); ++row)
            out.insert(out.end(), all->begin() + static_cast<std::ptrdiff_t>((row * heads + head) * dim),
                       all->begin() + static_cast<std::ptrdiff_t>((row * heads + head + 1) * dim));
    }
    return out;
  }

  /// Logits of the next token over the present rows.
  std::vector<float> logits() const {
    if (Status fresh = refreshLogits(*session); !fresh) qFatal("%s", fresh.error().text().c_str());
    return session->state().logits ? *session->state().logits : std::vector<float>();
  }

  /// The violations of a full check, in words; empty = none.
  QByteArray damage() const {
    QByteArray out;
    for (const InvariantState& state : session->check(true))
      if (!state.ok) out += QByteArray::fromStdString(std::string(state.id) + ": " + state.detail + "\n");
    return out;
  }
  /// True without damage; damage goes to the log.
  bool sound() const {
    const QByteArray found = damage();
    if (!found.isEmpty()) qWarning("%s", found.constData());
    return found.isEmpty();
  }

  std::unique_ptr<Session> session;
};

}  // namespace kvlab
