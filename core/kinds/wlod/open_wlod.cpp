// SPDX-License-Identifier: Apache-2.0
// Reads the files of a wLOD session, and refuses manifest keys that do not combine with wLOD.
#include <filesystem>

#include "core/files/fingerprint.h"
#include "core/files/trained_file.h"
#include "core/kinds/base/storage_plan.h"
#include "core/kinds/wlod/wlod_kind.h"
#include "core/model/files/mapped_file.h"

namespace kvlab {
namespace {

Error refused(const char* code, std::string why, const char* remedy, const char* field, nlohmann::json value) {
  return {code, "wLOD was refused", std::move(why), remedy, std::nullopt, field, std::move(value)};
}

Result<std::shared_ptr<const GistNet>> gistsFor(const SessionParts& parts, const WlodSettings& wanted) {
  const int hidden = parts.model->config().hidden;
  if (wanted.gist == "mean") return std::shared_ptr<const GistNet>(meanGistNet(hidden));
  const std::string shipped = trainedFile("gists", parts.model->spec(), parts.resources);
  const bool trained = wanted.gist == "trained";
  if (trained && !std::filesystem::exists(shipped))
    return refused("bad_manifest", "there are no gists for the model " + parts.model->spec() + ": no file " + shipped,
                   "train some with kvlab train gists, use wlod.gist mean, or name a file", "wlod.gist", "trained");
  Result<std::shared_ptr<const GistNet>> net =
      loadGistNet(trained ? shipped : wanted.gist, hidden, kernels::makeCpuBackend(1));
  if (!net) return net;
  const std::string own = modelFingerprint(*parts.model), theirs = (*net)->model();
  if (!theirs.empty() && theirs != own)
    return refused("bad_gist_net",
                   (*net)->name() + " was trained for a model of fingerprint " + theirs + ", this one has " + own,
                   "train gists for this model, or use wlod.gist mean", "wlod.gist", wanted.gist);
  return net;
}

}  // namespace

Status wlodPossible(const SessionParts& parts) {
  const Manifest& m = parts.manifest;
  const auto refuse = [](const char* key, const nlohmann::json& value, const char* why) {
    return Error{"bad_manifest",
                 "wLOD was refused",
                 std::string(key) + " " + why,
                 "omit the key, or open the session without wlod",
                 std::nullopt,
                 key,
                 value};
  };
  if (m.capacity) return refuse("capacity", m.capacity, "is set by wlod.budget in a wLOD session");
  if (m.position != PositionMode::Context)
    return refuse("position", nullptr, "must be context: the phase of a row is its place on the time line");
  if (m.keyPhase != "on_read") return refuse("key_phase", m.keyPhase, "at_write is not supported in a wLOD session");
  if (m.brightness.compressor != "off")
    return refuse("brightness.compressor", m.brightness.compressor,
                  "would replace two tokens by one, and moments must not move");
  if (m.newRows != NewRows::Forward)
    return refuse("new_rows", "embedding_only", "embedding_only is not supported: rows are always computed");
  if (m.ring.blockTokens > 1)
    return refuse("ring.block_tokens", m.ring.blockTokens,
                  "is 1 in a wLOD session: a round of focus may follow any token");
  return ok();
}

Result<WlodParts> openWlod(const SessionParts& parts, const WlodSettings& wanted) {
  WlodParts out;
  out.gists = KV_TRY(gistsFor(parts, wanted));
  out.gistContent = out.gists->name();
  if (wanted.gist != "mean") {
    const auto file = KV_TRY(MappedFile::open(out.gists->name()));
    out.gistContent = contentHash(file->bytes());
  }
  out.lens.name = wanted.lens;
  if (wanted.lens != "attention" && wanted.lens != "script" && wanted.lens != "off") {
    out.lens = KV_TRY(loadLens(wanted.lens, parts.model->config().layers));
  }
  if (wanted.lens != "script" && wanted.allocates() && !parts.manifest.probes)
    return refused("bad_manifest", "the lens uses attention, and probes are off",
                   "set probes to true, or wlod.lens to script or off", "probes", false);
  return out;
}

}  // namespace kvlab
