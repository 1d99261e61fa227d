// SPDX-License-Identifier: Apache-2.0
// Verbs that read and write files.
#include <algorithm>

#include "core/files/cache_file.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

Result<json> save(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string path = in.path("path"), word = in.text("form", "native");
  const auto form = cacheFormFromName(word);
  if (!form) in.fail("form", word, "is none of native, hf_tuple, hf_dynamic");
  if (in.error()) return *in.error();
  return saveCache(session, path, *form);
}

Result<json> load(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string path = in.path("path"), content = in.text("content", "");
  if (in.error()) return *in.error();
  return loadCache(session, path, content);
}

Result<json> lifespans(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string path = in.path("path");
  LifespanRules rules;
  rules.after = static_cast<std::int32_t>(
      in.integer("after", endOfPrompt(session.state()), 0, std::max(session.state().length(), 1) - 1));
  if (in.has("threshold")) rules.threshold = static_cast<float>(in.real("threshold", 0, 1));
  if (in.has("cap")) rules.cap = static_cast<float>(in.real("cap", 1, 16));
  rules.stretch = static_cast<std::int32_t>(in.integer("stretch", rules.stretch, 0, 1 << 30));
  rules.keys = in.flag("keys", true);
  if (in.error()) return *in.error();
  const Result<Lifespans> recorded = recordLifespans(session, rules);
  if (!recorded) return recorded.error();
  if (Status written = recorded->write(path); !written) return written.error();
  return json{{"path", path}, {"rows", recorded->rows}, {"layers", recorded->layers.size()}, {"after", rules.after}};
}

/// saveCapture, startCapture: both take a path.
template <Result<json> (*write)(Session&, const std::string&)>
Result<json> capture(Session& session, const json& args) {
  VerbArgs in(args);
  const std::string path = in.path("path");
  if (in.error()) return *in.error();
  return write(session, path);
}

Result<json> stop(Session& session, const json&) { return stopCapture(session); }

}  // namespace

std::span<const Verb> fileVerbs() {
  static const Verb kVerbs[] = {
      {{"saveCache", {"path", "form"}, "Writes the cache to a file: native, hf_tuple or hf_dynamic.", false}, save},
      {{"loadCache",
        {"path", "content"},
        "Replaces the session's content by a cache file; content = hash it must have.",
        true},
       load},
      {{"recordLifespans",
        {"path", "after", "threshold", "cap", "stretch", "keys"},
        "How long keys are looked at when nothing is evicted, as a file for training gates and for the oracle policy.",
        false},
       lifespans},
      {{"saveCapture", {"path"}, "Writes the commands of this branch to a file that replays them.", false},
       capture<saveCapture>},
      {{"startCapture", {"path"}, "The same, and appends every later command as it ends.", false},
       capture<startCapture>},
      {{"stopCapture", {}, "Ends what startCapture began.", false}, stop},
  };
  return kVerbs;
}

}  // namespace kvlab
