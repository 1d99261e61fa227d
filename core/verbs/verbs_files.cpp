// SPDX-License-Identifier: Apache-2.0
// Verbs that read and write files.
#include <algorithm>

#include "core/api/read_json.h"
#include "core/files/cache_file.h"
#include "core/foreign/outgoing_forms.h"
#include "core/session/truth.h"
#include "core/verbs/cache_session.h"
#include "core/verbs/capture_session.h"
#include "core/verbs/foreign_session.h"
#include "core/verbs/verb_args.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

using nlohmann::json;

/// The words of all forms.
std::vector<std::string> formNames() {
  std::vector<std::string> out;
  for (const std::string_view name : cacheFormNames()) out.emplace_back(name);
  for (const OutgoingForm& form : outgoingForms()) out.emplace_back(form.name);
  return out;
}

/// The words of the types that files of other programs have.
std::vector<std::string> foreignTypes() {
  std::vector<std::string> out;
  for (const OutgoingForm& form : outgoingForms())
    for (const kernels::DType type : form.types)
      if (std::ranges::find(out, kernels::dtypeName(type)) == out.end()) out.emplace_back(kernels::dtypeName(type));
  return out;
}

/// What the arguments choose of a file of another program. A choice that the form does not have is refused.
OutgoingWish wishOf(VerbArgs& in, const OutgoingForm* form) {
  OutgoingWish wish;
  if (form) wish.type = form->types.front();
  const std::string idle = "form " + in.text("form") + " has no such choice";
  if (in.has("type")) {
    const std::span<const kernels::DType> types = form ? form->types : std::span<const kernels::DType>();
    const auto found = std::ranges::find(types, in.text("type"), kernels::dtypeName);
    if (found == types.end()) in.fail("type", in.raw("type"), form ? "is no type of form " + in.text("form") : idle);
    else wish.type = *found;
  }
  if (in.has("flash")) {
    if (!form || !form->flash) in.fail("flash", in.raw("flash"), idle);
    wish.flash = in.flag("flash");
  }
  if (in.has("page")) {
    if (!form || !form->page) in.fail("page", in.raw("page"), idle);
    wish.page = static_cast<std::int32_t>(in.integer("page"));
  }
  if (in.has("version")) {
    if (!form || !form->versions) in.fail("version", in.raw("version"), idle);
    wish.version = static_cast<std::int32_t>(in.integer("version"));
  }
  return wish;
}

Result<json> save(Session& session, VerbArgs& in) {
  const OutgoingForm* form = outgoingForm(in.text("form"));
  const OutgoingWish wish = wishOf(in, form);
  if (in.error()) return *in.error();
  if (form) return saveForeign(session, in.text("path"), *form, wish);
  return saveCache(session, in.text("path"), cacheFormFromName(in.text("form")).value_or(CacheForm::Native));
}

Result<json> load(Session& session, VerbArgs& in) {
  const std::string path = in.text("path"), content = in.text("content");
  const bool verify = in.flag("verify"), foreign = isForeignCache(path);
  if (verify && foreign) in.fail("verify", true, "differenceFrom tells how the rows of another program differ");
  if (in.error()) return *in.error();
  return foreign ? loadForeign(session, path, content) : loadCache(session, path, content, verify);
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
      {verb::measures(
           "saveCache",
           {arg::writes("path"), arg::text("form", formNames()).orElse("native"),
            arg::text("type", foreignTypes()).orNone(), arg::of("flash", ArgType::Flag).orNone(),
            arg::integer("page", 1, 1 << 16).orNone(), arg::integer("version", 3, 4).orNone()},
           "Writes the cache to a file. native holds the whole state, with what policies observed. "
           "kvlab_cache.py turns hf_tuple and hf_dynamic into live caches. llama_cpp is a sequence file that "
           "llama_state_seq_load_file reads; type (f16) is that of the reader's K and V, and flash (true) "
           "says whether the reader uses flash attention; version is 3, or 4 for a llama.cpp of October 2026 and "
           "later. vllm_cpu and vllm_cuda write a folder that vLLM's "
           "ExampleConnector reads as its shared_storage_path, in the order of attention on x86 processors "
           "or on CUDA; type is the model's there, and page is the reader's block size (128 on a CPU, 16 on "
           "CUDA). A form refuses a state that it cannot hold.",
           "SavedCache"),
       save},
      {verb::commits(
           "loadCache", {arg::reads("path"), arg::text("content").orNone(), arg::flag("verify", false)},
           "Replaces the session's content by a cache file, as one commit; content is the hash that the file must "
           "have. The rows are labelled loaded. With verify each row is compared with what the model computes, at the "
           "price of a prompt, and labelled exact; a file with other rows is refused (other_rows). The cache of "
           "another "
           "program is read as the smallest explanation of its rows says; wrong rows stay wrong.",
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
