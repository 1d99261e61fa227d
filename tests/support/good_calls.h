// SPDX-License-Identifier: Apache-2.0
// A good call of every verb, with every argument, for a session on the smallest synthetic model.
#pragma once
#include <limits>

#include "support/session_fixture.h"

namespace kvlab {

inline constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

/// One way to call a verb. `extra` adds bad values that only the session knows to those that the table gives.
struct Good {
  const char* verb;
  json args = json::object();
  std::map<std::string, json> extra = {};
  /// The table's entry of an argument.
  const ArgInfo& arg(const std::string& name) const {
    const std::vector<ArgInfo>& all = verbNamed(verb)->args;
    return *std::find_if(all.begin(), all.end(), [&](const ArgInfo& one) { return one.name == name; });
  }
};

inline json everyAction() {
  return {{{"action", "replace_pair"}, {"original_pos1", 2}, {"original_pos2", 3}, {"new_token_ids", {7}}},
          {{"action", "replace"}, {"positions", {5, 7}}, {"new_token_ids", {8, 9}}},
          {{"action", "delete"}, {"position", 10}},
          {{"action", "insert"}, {"position", 12}, {"token_ids", {9}}},
          {{"action", "evict"}, {"layer", 0}, {"ledger", {14, 15}}},
          {{"action", "add"}, {"token_id", 11}}};
}

inline json remove(int position) { return {{"action", "delete"}, {"position", position}}; }

/// Good neighbours that are bad together.
inline json clashes() {
  const json insert{{"action", "insert"}, {"position", 5}, {"token_ids", {1}}};
  return {
      json::array({remove(4), remove(4)}),
      json::array({{{"action", "replace"}, {"positions", {4, 6}}, {"new_token_ids", {1}}}, remove(6)}),
      json::array({remove(4), insert, remove(5)}),
      json::array({{{"action", "replace_pair"}, {"original_pos1", 6}, {"original_pos2", 5}, {"new_token_ids", {1}}}}),
      json::array({{{"action", "replace"}, {"positions", {7, 6}}, {"new_token_ids", {1}}}}),
      json::array({remove(4), {{"action", "evict"}, {"layer", 0}, {"ledger", {4}}}}),
      json::array({{{"action", "evict"}, {"layer", 0}, {"ledger", {4}}},
                   {{"action", "evict"}, {"layer", 0}, {"ledger", {4}}}})};
}

/// Also actions that are bad with the deletion of position 1 that waits.
inline json clashesBehind() {
  json out = clashes();
  out.push_back(json::array({remove(1)}));
  return out;
}

inline std::vector<Good> goodCalls(const std::string& folder) {
  const json nowhere{folder, folder + "/none/f"};
  const json tokens{{5, SessionFixture::kVocab}, {5, kFar}}, rows{json::array(), {3, 9999}, {3, 3}, {kFar}};
  const json words{"", "nonsense", std::string("k\0", 2)};
  std::vector<Good> out{
      {"prompt", {{"text", "ab"}}, {{"text", {"", "\xff"}}}},
      {"promptIds", {{"ids", {5, 6}}}, {{"ids", tokens}}},
      {"prefill", {{"ids", {5, 6}}, {"last", false}}, {{"ids", tokens}}},
      {"chat",
       {{"messages", json::array({{{"role", "user"}, {"content", "ab"}}})},
        {"template", "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"},
        {"addGenerationPrompt", false},
        {"more", true}},
       {{"messages", {json::array(), {1}, json::array({{{"role", 1}}})}},
        {"template", {"", "{{", "\xff", "{{ raise_exception('no') }}", "{{ x.y }}"}}}},
      {"score", {{"text", "ab"}, {"each", true}}, {{"text", {"", "\xff"}}}},
      {"scoreIds", {{"ids", {5, 6}}, {"each", true}}, {{"ids", tokens}}},
      {"endPrefill"},
      {"step", {{"n", 2}, {"tokens", {5, 6}}}, {{"n", {3}}, {"tokens", tokens}}},
      {"stepAction"},
      {"stepStage", {{"tokens", {5}}}, {{"tokens", tokens}}},
      {"finishTick"},
      {"cancelTick"},
      {"stage"},
      {"run", {{"maxTicks", 2}, {"reports", 1}}},
      {"inject", {{"actions", everyAction()}}, {{"actions", clashesBehind()}}},
      {"inject", {{"actions", everyAction()}, {"now", true}}, {{"actions", clashesBehind()}}},
      {"inject", {{"actions", everyAction()}, {"now", true}, {"instead", true}}, {{"actions", clashes()}}},
      {"clearPending"},
      {"plan", {{"actions", everyAction()}}, {{"actions", clashesBehind()}}},
      {"plan", {{"actions", everyAction()}, {"instead", true}}, {{"actions", clashes()}}},
      {"apply"},
      {"evict",
       {{"layer", 0}, {"ledger", {14, 15}}, {"now", true}},
       {{"layer", {99}}, {"ledger", rows}, {"kvHead", {0, "x", -1, 0.5, true}}}},
      {"break",
       {{"condition", "kl > 0.5"}, {"ignore", 2}, {"once", true}, {"log", true}, {"enabled", false}},
       {{"condition", {"", "kl", "kl > x", "evicted(slot==1)", std::string(5000, '(')}}}},
      {"changeBreak",
       {{"id", 1}, {"enabled", false}, {"ignore", 3}, {"once", true}, {"log", true}},
       {{"id", {9999, kFar}}}},
      {"clearBreaks", {{"id", 1}}, {{"id", {9999, kFar}}}},
      {"note",
       {{"text", "ab"}, {"tick", 1}, {"layer", 1}, {"kvHead", 0}, {"ledger", 3}},
       {{"text", {"\xff", std::string(20000, 'x')}},
        {"tick", {9999, kFar}},
        {"layer", {99}},
        {"kvHead", {99}},
        {"ledger", {9999, kFar}}}},
      {"changeNote", {{"id", 1}, {"text", "cd"}}, {{"id", {9999, kFar}}, {"text", {"\xff", std::string(20000, 'x')}}}},
      {"clearNotes", {{"id", 1}}, {{"id", {9999, kFar}}}},
      {"gotoNote", {{"id", 1}}, {{"id", {9999, kFar}}}},
      {"setBrightness", {{"ledger", 3}, {"value", 10.5}}, {{"ledger", {9999, kFar}}, {"value", {255.5, -0.5, 1e18}}}},
      {"pin", {{"ledger", 3}, {"on", true}}, {{"ledger", {9999, kFar}}}},
      {"settings",
       {{"layout", "ring_fused"},
        {"kv", {{"k", "bf16"}}},
        {"policy", "h2o:capacity=20,window=4"},
        {"layers", json::array({{{"match", 1}, {"layout", "paged"}}})},
        {"capacity", 100},
        {"after_edit", "recompute"},
        {"executor", "descending"},
        {"position", "absolute"},
        {"ring", {{"block_tokens", 2}}},
        {"check", {{"level", "full"}}},
        {"sampling", {{"seed", 5}}},
        {"brightness", {{"gain", 3}}},
        {"op_events", true}},
       {{"layout", {"", "ring", "paged:block=0", "paged:size=3", "indirection:block=4"}},
        {"kv", {3, words, json{{"k", "int4"}}, json{{"v", "f64"}}}},
        {"policy", {"", "lru", "h2o:size=3"}},
        {"layers", {3, words, json::array({{{"match", 99}, {"layout", "paged"}}})}},
        {"capacity", {0, 1 << 23}},
        {"after_edit", words},
        {"executor", words},
        {"position", words},
        {"sampling", words},
        {"ring", {3, words}},
        {"check", {3, words}},
        {"brightness", {3, words}}}},
      {"compact", {{"rows", 5}}},
      {"rebuild"},
      {"fault",
       {{"kind", "value_bit"}, {"layer", 0}, {"index", 1}, {"bit", 3}, {"seed", 1}},
       {{"kind", words},
        {"layer", {99}},
        {"index", {9999}},
        {"bit", {1 << 30}},
        {"other", {1}},
        {"n", {1}},
        {"column", {"slots"}}}},
      {"fault",
       {{"kind", "map_swap"}, {"index", 1}, {"other", 2}, {"column", "slots"}},
       {{"other", {1, 9999}}, {"column", words}}},
      {"fault", {{"kind", "kernel"}, {"n", 5}}, {{"layer", {0}}}},
      {"bug", {{"name", ""}, {"blind", 3}}, {{"name", {"bees", " "}}}},
      {"undo", {{"n", 1}, {"by", "edit"}}, {{"n", {9999, kFar}}}},
      {"redo", {{"n", 1}, {"by", "edit"}}, {{"n", {9999, kFar}}}},
      {"goto", {{"tick", 1}, {"branch", "main"}}, {{"tick", {9999, kFar}}, {"branch", words}}},
      {"runBack", {{"condition", "length == 4"}}, {{"condition", {"", "1", "rows(layer==99)", "stage(plan)"}}}},
      {"why", {{"ledger", 1}, {"layer", 0}}, {{"ledger", {9999, kFar}}, {"layer", {99, kFar}}, {"kvHead", {99}}}},
      {"knockOut",
       {{"ledger", {1}}, {"rebuild", true}, {"k", 3}, {"each", true}},
       {{"ledger", {{9999}, {kFar}}}, {"k", {kFar}}}},
      {"difference",
       {{"tick", 1}, {"branch", "main"}},
       {{"tick", {9999, kFar}}, {"branch", {"nonsense", std::string("k\0", 2)}}}},
      {"differenceFrom",
       {{"path", folder + "/way"}, {"tick", 1}},
       {{"path", {folder, folder + "/none/f", folder + "/given"}}, {"tick", {9999, kFar}}}},
      {"firstDifference", {{"branch", "main"}}, {{"branch", {"nonsense", std::string("k\0", 2)}}}},
      {"timeline", {{"since", 3}, {"packed", true}}},
      {"reset"},
      {"watch", {{"expression", "length"}}, {{"expression", {"", "1 < 2", "rows(layer==99)", std::string(500, '-')}}}},
      {"clearWatches", {}, {{"id", {77, kFar}}}},
      {"tokenise", {{"text", "ab"}}, {{"text", {"\xff"}}}},
      {"detokenise", {{"ids", {5, 6}}}, {{"ids", {{SessionFixture::kVocab}, {kFar}}}}},
      {"ring", {{"layer", 1}, {"kvHead", 0}}, {{"layer", {99}}, {"kvHead", {9}}}},
      {"storage", {{"layer", 0}, {"free", true}, {"kvHead", 0}}, {{"layer", {99}}, {"kvHead", {9}}}},
      {"quantisation",
       {{"rows", true}, {"packed", true}, {"k", "int8"}, {"v", "fp8-e4m3"}},
       {{"k", {"int4", ""}}, {"v", {"q8_0", 8}}}},
      {"logits"},
      {"attention", {{"layer", 0}, {"kvHead", 0}}, {{"layer", {99}}, {"kvHead", {9}}}},
      {"attentionMatrix",
       {{"layer", 0}, {"head", 0}, {"begin", 1}, {"end", 3}, {"kvHead", 0}, {"packed", true}},
       {{"layer", {99}}, {"head", {99}}, {"begin", {4, 9999}}, {"end", {0, 9999}}, {"kvHead", {9}}}},
      {"row",
       {{"layer", 0}, {"index", 3}, {"which", "k"}, {"rotated", true}, {"kvHead", 0}, {"compare", "rebuild"}},
       {{"layer", {99}}, {"index", {9999}}}},
      {"table",
       {{"name", "rows"},
        {"of", {{"layer", 0}, {"begin", 2}, {"end", 4}, {"kvHead", 0}, {"view", "committed_plus_pending"}}},
        {"columns", {"index", "evicted(layer==1)"}},
        {"where", "brightness > 3 or written"},
        {"begin", 1},
        {"limit", 2}},
       {{"name", words},
        {"of",
         {{{"layer", 99}},
          {{"layer", 0}, {"kvHead", 9}},
          {{"layer", 0}, {"end", 9999}},
          {{"lair", 0}},
          {{"layer", "x"}}}},
        {"columns", {{"lunch"}, {7}, {"index +"}, json::array()}},
        {"where", {"", "1", "rows(layer==99)", "stage(plan)", "index + 1", "checksum > 3"}}}},
      {"table",
       {{"name", "ticks"}, {"of", {{"since", 1}, {"newest", true}}}, {"where", "length == 4"}},
       {{"of", {{{"since", -1}}}}, {"where", {"stage(plan)", "kept == 1"}}}},
      {"table",
       {{"name", "story"}, {"of", {{"ledger", 1}, {"layer", 0}}}},
       {{"of", {{{"ledger", 9999}, {"layer", 0}}, {{"ledger", 1}, {"layer", 99}}, {{"ledger", kFar}, {"layer", 0}}}}}},
      {"table",
       {{"name", "reads"}, {"of", {{"ledger", 1}, {"layer", 0}}}},
       {{"of", {{{"ledger", 9999}, {"layer", 0}}, {{"ledger", 1}, {"layer", 99}}}}}},
      {"table",
       {{"name", "decisions"}, {"of", {{"ledger", 1}, {"layer", 0}}}},
       {{"of", {{{"ledger", 9999}}, {{"layer", 99}}, {{"tick", -1}}, {{"kvHead", 99}}}}}},
      {"table", {{"name", "ledger"}, {"of", {{"id", 3}}}}, {{"of", {{{"id", 9999}}, {{"id", kFar}}, {{"live", 1}}}}}},
      {"table", {{"name", "history"}, {"of", {{"ledger", 3}}}}, {{"of", {{{"ledger", 9999}}, {{"ledger", "x"}}}}}},
      {"table", {{"name", "topk"}, {"of", {{"k", 3}}}}, {{"of", {{{"k", SessionFixture::kVocab + 1}}}}}},
      {"table", {{"name", "invariants"}, {"where", "not ok"}}, {{"where", {"kl > 0", "since == 3"}}}},
      {"at",
       {{"tick", 1}, {"verb", "table"}, {"args", {{"name", "ledger"}, {"of", {{"id", 3}}}}}, {"branch", "main"}},
       {{"tick", {9999, kFar}}, {"verb", {"step", "at", "lunch"}}, {"branch", {"nonsense", std::string("k\0", 2)}}}},
      {"value",
       {{"expression", "length + 1"}},
       {{"expression", {"", "1 < 2", "rows(layer==99)", std::string(500, '-')}}}},
      {"drift", {{"rows", true}, {"attention", true}}},
      {"bytes"},
      {"policies"},
      {"measureLifespans", {{"points", 10}}},
      {"lifespans", {{"since", 1}}},
      {"expand", {{"node", 5}, {"room", true}, {"now", true}}},
      {"collapse", {{"node", 5}, {"now", true}}},
      {"refocus", {{"rounds", 2}}},
      {"setLensScores", {{"scores", {0.5}}}, {{"scores", {{"x"}, {nullptr}}}}},
      {"speculate", {{"tokens", {5, 6}}}, {{"tokens", tokens}}},
      {"accept"},
      {"rollback"},
      {"tree", {{"entries", true}}},
      {"saveCache", {{"path", folder + "/c"}, {"form", "native"}}, {{"path", nowhere}}},
      {"saveCache",
       {{"path", folder + "/s"}, {"form", "llama_cpp"}, {"type", "f32"}, {"flash", false}, {"version", 4}},
       {{"path", nowhere}, {"type", {"q8_0"}}, {"version", {2}}}},
      {"saveCache",
       {{"path", folder + "/v"}, {"form", "vllm_cuda"}, {"type", "f32"}, {"page", 4}},
       {{"path", {"/dev/null/none"}}, {"page", {65536}}}},
      {"loadCache", {{"path", folder + "/given"}, {"verify", true}}, {{"path", nowhere}, {"content", {"zz", 1, true}}}},
      {"recordLifespans",
       {{"path", folder + "/m"}, {"after", 2}, {"threshold", 0.1}, {"cap", 6}, {"stretch", 4}, {"keys", true}},
       {{"path", nowhere}, {"after", {9999}}}},
      {"saveCapture", {{"path", folder + "/k"}}, {{"path", nowhere}}},
      {"startCapture", {{"path", folder + "/l"}}, {{"path", nowhere}}},
      {"stopCapture"},
      {"lanesOpen", {{"lanes", {json::object()}}, {"together", false}, {"needles", {1}}}},
      {"lanesClose", {{"lane", 0}}},
      {"lane", {{"lane", 0}, {"verb", "bytes"}, {"args", json::object()}}},
      {"lanesReport"},
      {"lanesLosses"},
      {"lanesDifference", {{"lane", 0}, {"of", 0}}},
      {"lanesNeedles", {{"places", {1}}}},
      {"batchOpen", {{"size", 2}, {"together", false}}},
      {"batchClose", {{"sequence", 0}}},
      {"batchPrompts", {{"prompts", {nullptr, {1, 2}}}}},
      {"batchStep", {{"n", 1}}},
      {"sequence", {{"sequence", 0}, {"verb", "bytes"}, {"args", json::object()}}},
      {"batchRelease", {{"sequence", 1}}},
      {"batchReport"},
      {"batchBytes"},
  };
  std::erase_if(out, [](const Good& one) { return !verbNamed(one.verb); });  // verbs of a kind that is left out
  return out;
}

}  // namespace kvlab
