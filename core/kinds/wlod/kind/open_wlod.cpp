// SPDX-License-Identifier: Apache-2.0
// Reads the files of a wLOD session, and refuses manifest keys that do not combine with wLOD.
#include <filesystem>

#include "core/files/fingerprint.h"
#include "core/kinds/wlod/kind/wlod_kind.h"
#include "core/model/files/mapped_file.h"
#include "core/model/named_models.h"
#include "core/parts/storage_plan.h"

namespace kvlab {
namespace {

Error refused(const char* code, std::string why, const char* remedy, const char* field, nlohmann::json value) {
  return {code, "wLOD was refused", std::move(why), remedy, field, std::move(value)};
}

/// Error if a network was trained for another model.
Status ofThisModel(const SessionParts& parts, const char* code, const std::string& file, const std::string& model,
                   const char* field, const std::string& wanted) {
  const std::string own = modelFingerprint(*parts.model);
  if (model.empty() || model == own) return ok();
  return refused(code, file + " was trained for a model of fingerprint " + model + ", this one has " + own,
                 "train one for this model with kvlab train", field, wanted);
}

/// The file that `trained` means. Error (bad_manifest): there is none.
Result<std::string> trainedFor(const SessionParts& parts, const char* what, const char* field, const char* remedy) {
  const std::string file = trainedFile(what, parts.model->spec(), parts.resources);
  if (std::filesystem::exists(file)) return file;
  return refused("bad_manifest", "there is no trained file for the model " + parts.model->spec() + ": no file " + file,
                 remedy, field, "trained");
}

Result<std::shared_ptr<const GistNet>> gistsFor(const SessionParts& parts, const WlodSettings& wanted) {
  const int hidden = parts.model->config().hidden;
  if (wanted.gist == "mean") return std::shared_ptr<const GistNet>(meanGistNet(hidden));
  if (namesAdded(AddedKind::Gist, wanted.gist))
    return addedGistNet(hidden, KV_TRY(addedUse(AddedKind::Gist, wanted.gist)));
  const std::string file = wanted.gist != "trained"
      ? wanted.gist
      : KV_TRY(trainedFor(parts, "gists", "wlod.gist",
                          "train some with kvlab train gists, use wlod.gist mean, or name a file"));
  auto net = KV_TRY(loadGistNet(file, hidden, kernels::makeCpuBackend(1)));
  KV_TRY(ofThisModel(parts, "bad_gist_net", file, net->model(), "wlod.gist", wanted.gist));
  return net;
}

/// A network where the file is one, else weights of attention.
Result<Lens> lensFor(const SessionParts& parts, const WlodSettings& wanted) {
  Lens lens;
  lens.name = wanted.lens;
  if (wanted.lens == "attention" || wanted.lens == "script" || wanted.lens == "off") return lens;
  if (namesAdded(AddedKind::Lens, wanted.lens)) {
    lens.added = KV_TRY(addedUse(AddedKind::Lens, wanted.lens));
    return lens;
  }
  const std::string file = wanted.lens != "trained"
      ? wanted.lens
      : KV_TRY(trainedFor(parts, "lens", "wlod.lens",
                          "train one with kvlab train lens, use wlod.lens attention, or name a file"));
  if (!file.ends_with(".safetensors")) return loadLens(file, parts.model->config().layers);
  lens.net = KV_TRY(loadLensNet(file, parts.model->config().hidden, kernels::makeCpuBackend(1)));
  KV_TRY(ofThisModel(parts, "bad_lens", file, lens.net->model(), "wlod.lens", wanted.lens));
  return lens;
}

}  // namespace

Status wlodPossible(const SessionParts& parts) {
  const Manifest& m = parts.manifest;
  const auto refuse = [](const char* key, const nlohmann::json& value, const char* why) {
    return Error("bad_manifest", "wLOD was refused", std::string(key) + " " + why,
                 "omit the key, or open the session without wlod", key, value);
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
  if (wanted.gist != "mean" && !namesAdded(AddedKind::Gist, wanted.gist)) {
    const auto file = KV_TRY(MappedFile::open(out.gists->name()));
    out.gistContent = contentHash(file->bytes());
  }
  out.lens = KV_TRY(lensFor(parts, wanted));
  if (wanted.lens != "script" && !out.lens.net && wanted.allocates() && !parts.manifest.probes)
    return refused("bad_manifest", "the lens uses attention, and probes are off",
                   "set probes to true, or wlod.lens to script or off", "probes", false);
  return out;
}

}  // namespace kvlab
