// SPDX-License-Identifier: Apache-2.0
#include "core/api/wlod_settings.h"

#include "core/api/added.h"
#include "core/api/manifest_keys.h"

namespace kvlab {
namespace {

using nlohmann::json;

constexpr Word<WlodRecompute> kRecomputes[] = {{"chosen", WlodRecompute::Chosen},
                                               {"incremental", WlodRecompute::Incremental},
                                               {"full", WlodRecompute::Full},
                                               {"selective", WlodRecompute::Selective},
                                               {"keep", WlodRecompute::Keep}};

/// A name, a file, or one that was added.
void readName(ManifestKeys& keys, const char* key, AddedKind kind, std::string& out, std::string_view meaning) {
  keys.take(key, "text", out, meaning, [&, kind](const json& v) -> std::optional<std::string> {
    if (v.is_object() || namesAdded(kind, v)) {
      const Result<AddedUse> use = addedUse(kind, v);
      if (use) out = use->text;
      return use ? std::nullopt : std::optional(use.error().why);
    }
    if (!v.is_string() || v.get<std::string>().empty()) return "is not a name or a file";
    out = v.get<std::string>();
    return std::nullopt;
  });
}

void readAllocator(ManifestKeys& keys, WlodSettings& w) {
  readName(keys, "lens", AddedKind::Lens, w.lens,
           "The source of scores that say where detail is wanted: attention, trained (a network for the model), "
           "script (the verb setLensScores), a file of a network or of weights, one that was added, or off.");
  keys.real("expand_at", w.expandAt, 0, 1, "A score above this expands a gist.");
  keys.real("collapse_at", w.collapseAt, 0, 1, "A score below minus this collapses a block.");
  keys.integer("edits", w.edits, 1, 1024, "Edits of one round at most.");
  keys.real(
      "dirty", w.dirty, 0, 1,
      "Edits that make more than this share of the entries dirty wait for one round of `patience`; 1: they do not.");
  keys.integer("patience", w.patience, 1, 1024, "One of so many rounds takes edits whatever they make dirty.");
  keys.integer("every", w.every, 1, 1 << 20, "Tokens between two rounds.");
  keys.integer("cooldown", w.cooldown, 0, 1024, "Rounds in which what was just swapped stays as it is.");
  keys.integer("protect", w.protectedTail, 0, 1 << 20, "Moments at the end that are never collapsed.");
}

void readRecompute(ManifestKeys& keys, WlodSettings& w) {
  keys.word(
      "recompute", w.recompute, kRecomputes,
      "The rows that an edit computes again: those that the cost model chooses, the dirty ones, all, a share of those "
      "that were there before, or none of them while they deviate little.");
  keys.real("selective_ratio", w.selectiveRatio, 0, 1,
            "With recompute selective: the share of older dirty rows that are computed.");
  keys.real("keep_drift", w.keepDrift, 0, 16,
            "With recompute keep: the relative L2 deviation of layer 1, as a mean over a sample of older dirty rows, "
            "above which all of them are computed.");
  keys.real("threshold", w.threshold, 0, 1, "Above this share of dirty rows everything is computed.");
}

}  // namespace

void WlodSettings::read(ManifestKeys& keys) {
  keys.text("attention", attention, {"flat", "pyramid"},
            "Which entries a query sees: all, or fewer details the farther away they are.");
  keys.integer("budget", budget, 64, 1 << 20, "Entries that the working context holds at most.");
  keys.integer("moments", moments, 0, 1 << 24,
               "The longest time line; 0 means 32 budgets, or the model's context where that is longer.");
  keys.integer("w", near, 0, 1 << 20, "With attention pyramid: moments that a query sees as their entries.");
  keys.integer("w2", middle, 0, 1 << 24, "With attention pyramid: moments that a query sees through LOD1 at least.");
  keys.flag("near_causal", nearCausal, "With attention pyramid: a summary also sees the rows of its own span.");
  if (nearCausal && attention != "pyramid")
    keys.fail("near_causal", true, "does nothing with attention flat: leave it out, or set attention to pyramid");
  keys.real("sigma", sigma, 0, 16, "Blur of a gist in halves of its span; 0 leaves its rotation undamped.");
  readName(keys, "gist", AddedKind::Gist, gist,
           "How a gist is made: mean, trained (shipped for the model), a file of a network, or one that was added.");
  readAllocator(keys, *this);
  keys.integer("start_tokens", startTokens, 0, 1 << 20, "Cold start: the newest moments that stand as tokens.");
  keys.integer("start_gists", startGists, 0, 1 << 24, "Cold start: moments before them that stand as LOD1.");
  readRecompute(keys, *this);
}

json WlodSettings::toJson() const {
  WlodSettings settings = *this;
  json out;
  ManifestKeys keys = ManifestKeys::into(out);
  settings.read(keys);
  return out;
}

}  // namespace kvlab
