// SPDX-License-Identifier: Apache-2.0
// Verbs that read and write files.
#include <algorithm>

#include "core/api/read_json.h"
#include "core/files/cache_file.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

Result<json> save(Session& session, VerbArgs& in) {
  return saveCache(session, in.text("path"), cacheFormFromName(in.text("form")).value_or(CacheForm::Native));
}

Result<json> load(Session& session, VerbArgs& in) {
  return loadCache(session, in.text("path"), in.text("content"), in.flag("verify"));
}

Result<json> lifespans(Session& session, VerbArgs& in) {
  const std::string path = in.text("path");
  LifespanRules rules;
  rules.after = static_cast<std::int32_t>(
      in.within("after", 0, std::max(session.state().length(), 1) - 1, endOfPrompt(session.state())));
  if (in.has("threshold")) rules.threshold = static_cast<float>(in.number("threshold"));
  if (in.has("cap")) rules.cap = static_cast<float>(in.number("cap"));
  rules.stretch = static_cast<std::int32_t>(in.integer("stretch", rules.stretch));
  rules.keys = in.flag("keys");
  if (in.error()) return *in.error();
  const Lifespans recorded = KV_TRY(recordLifespans(session, rules));
  KV_TRY(recorded.write(path));
  return json{{"path", path}, {"rows", recorded.rows}, {"layers", recorded.layers.size()}, {"after", rules.after}};
}

Result<json> keep(const Session& session, VerbArgs& in) { return saveCapture(session, in.text("path")); }
Result<json> start(Session& session, VerbArgs& in) { return startCapture(session, in.text("path")); }
Result<json> stop(Session& session, VerbArgs&) { return stopCapture(session); }

}  // namespace

std::span<const Verb> fileVerbs() {
  static const Verb kVerbs[] = {
      {verb::measures("saveCache",
                      {arg::writes("path"), arg::text("form", {"native", "hf_tuple", "hf_dynamic"}).orElse("native")},
                      "Writes the cache to a file: native, hf_tuple or hf_dynamic. native holds the whole state, with "
                      "what policies observed. kvlab_cache.py turns hf_tuple and hf_dynamic into live caches.",
                      "SavedCache"),
       save},
      {verb::commits(
           "loadCache", {arg::reads("path"), arg::text("content").orNone(), arg::flag("verify", false)},
           "Replaces the session's content by a cache file, as one commit; content is the hash that the file must "
           "have. The rows are labelled loaded. With verify each row is compared with what the model computes, at the "
           "price of a prompt, and labelled exact; a file with other rows is refused (other_rows).",
           "LoadedCache", InLanes::Refused),
       load,
       [](const json& args, const EditWords&) {
         const std::string path = memberOr(args, "path", std::string());
         return "load " + path.substr(path.find_last_of('/') + 1);
       }},
      {verb::measures(
           "recordLifespans",
           {arg::writes("path"), arg::integer("after", 0, 1 << 30).orNone(), arg::number("threshold", 0, 1).orNone(),
            arg::number("cap", 1, 16).orNone(), arg::integer("stretch", 0, 1 << 30).orNone(), arg::flag("keys", true)},
           "Records how long keys receive attention without eviction, as a file for training gates and for the oracle "
           "policy. One fresh pass in which nothing is evicted finds for each layer, KV head and token: the last query "
           "whose attention exceeds threshold (0.05); log4 of how long that is (at most cap, 6); whether that may not "
           "be the end of it (used or born within the last stretch queries, 32); the attention received from queries "
           "behind position after (the end of the last prompt). With keys the file also has the keys before k-norm and "
           "rotation. It is a safetensors file, written whole; core/analysis/lifespans.h names the tensors.",
           "SavedLifespans"),
       lifespans},
      {verb::reads("saveCapture", {arg::writes("path")},
                   "Writes the commands of this branch to a file that replays them.", "SavedCapture"),
       keep},
      {verb::queues("startCapture", {arg::writes("path")},
                    "Writes the commands of this branch to a file, and appends every later command as it ends.",
                    "SavedCapture"),
       start},
      {verb::queues("stopCapture", {},
                    "Ends what startCapture began. Refused once where a full disk had ended it: the file has a part.",
                    "{ path: string } | null"),
       stop},
  };
  return kVerbs;
}

}  // namespace kvlab
