// SPDX-License-Identifier: Apache-2.0
// Sessions of each kind with something in every part, for tests of calls that are refused.
#pragma once
#include <QDir>
#include <QFileInfo>

#include "core/parts/kinds.h"
#include "support/good_calls.h"

namespace kvlab {

inline constexpr std::pair<const char*, const char*> kKinds[] = {
    {"indirection", R"({})"},
    {"in place", R"({"layout":"contiguous_splice"})"},
    {"paged", R"({"layout":"paged:block=4","check":{"level":"full"}})"},
    {"ring", R"({"layout":"ring_fused","ring":{"window":16,"block_tokens":2},"kv":{"k":"int8"}})"},
    {"at write", R"({"key_phase":"at_write","after_edit":"recompute"})"},
    {"selective", R"({"after_edit":{"selective":{"ratio":0.3}},"executor":"descending"})"},
    {"policy", R"({"policy":"h2o:capacity=16,window=4","kv":{"k":"int8","v":"int8"}})"},
    {"by head", R"({"policy":"snapkv:capacity=16,window=4","residency":"kv_head"})"},
    {"culling", R"({"brightness":{"compressor":"nearest","target":20,"min_cosine":-1}})"},
    {"little history", R"({"history_bytes":60000})"},
    {"faults", R"({"faults":true})"},
    {"wLOD",
     R"({"capacity":0,"policy":"h2o:capacity=20,window=4",)"
     R"("wlod":{"budget":64,"protect":8,"every":8,"start_tokens":16,"w":8,"w2":64}})"}};

/// False if the kind of the manifest's session is left out of the program.
inline bool isServed(const char* manifest) {
  const Result<Manifest> read = Manifest::fromJson(json::parse(manifest));
  return read && std::ranges::any_of(kinds(), [&](const KindInfo& kind) { return kind.serves(*read); });
}

/// Work that waits when the call comes.
enum class Waiting { Nothing, Actions, OpenTick };
inline constexpr std::pair<const char*, Waiting> kWaiting[] = {
    {"", Waiting::Nothing}, {", actions wait", Waiting::Actions}, {", a tick is open", Waiting::OpenTick}};

/// A QTemporaryDir for the files of thousands of sessions: in memory where it can be, since each file is synced.
inline QString scratchFolder() {
  const QString memory = "/dev/shm";
  return (QFileInfo(memory).isWritable() ? memory : QDir::tempPath()) + "/kvlab-XXXXXX";
}

/// History with a branch ahead, conditions, a note, a pin, files to load; wLOD sessions have no edits that wait.
inline SessionFixture furnishedSession(const QByteArray& manifest, Waiting waiting, const std::string& folder) {
  SessionFixture s(json::parse(manifest.toStdString()));
  const bool wlod = s->manifest().wlod.has_value();
  s.must("promptIds", {{"ids", SessionFixture::ids(wlod ? 90 : 30)}});
  s.must("step", {{"n", 3}});
  s.must("step");
  s.must("undo");
  s.must("note", {{"text", "here"}});
  s.must("break", {{"condition", "length == 9999"}});
  s.must("watch", {{"expression", "length"}});
  if (!wlod) s.must("pin", {{"ledger", 20}});
  const bool rotated = s->manifest().keyPhase == "at_write";  // which native files do not hold
  s.must("saveCache", {{"path", folder + "/given"}, {"form", rotated ? "hf_dynamic" : "native"}});
  s.must("saveCapture", {{"path", folder + "/way"}});
  if (waiting == Waiting::Actions && !wlod) s.must("inject", {{"actions", {remove(4), remove(9)}}});
  for (int i = 0; i < 3 && waiting == Waiting::OpenTick; ++i) s.must("stepStage");
  return s;
}

}  // namespace kvlab
