// SPDX-License-Identifier: Apache-2.0
// Verbs that read and write files.
#include "core/session/cache_file.h"
#include "core/session/cache_session.h"
#include "core/session/capture_session.h"
#include "core/session/verb_args.h"
#include "core/session/verbs.h"

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
      {{"saveCache",
        {"path", "form"},
        "Writes the cache to a file: native, hf_tuple or hf_dynamic.",
        false},
       save},
      {{"loadCache",
        {"path", "content"},
        "Replaces the session's content by a cache file; content = hash it must have.",
        true},
       load},
      {{"saveCapture",
        {"path"},
        "Writes the commands of this branch to a file that replays them.",
        false},
       capture<saveCapture>},
      {{"startCapture", {"path"}, "The same, and appends every later command as it ends.", false},
       capture<startCapture>},
      {{"stopCapture", {}, "Ends what startCapture began.", false}, stop},
  };
  return kVerbs;
}

}  // namespace kvlab
