// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cache_session.h"

#include <filesystem>

#include "core/files/cache_file.h"
#include "core/files/cache_native.h"
#include "core/files/cache_rounding.h"
#include "core/files/fingerprint.h"
#include "core/foreign/row_codes.h"
#include "core/model/files/mapped_file.h"
#include "core/parts/kinds.h"
#include "core/session/import_rows.h"
#include "core/session/requests.h"
#include "core/verbs/outgoing_session.h"

namespace kvlab {
namespace {

using nlohmann::json;
/// The row type for the whole file: the pools' type, or f32 if pools differ or store codes with scales.
kernels::DType fileType(const CacheStore& store) {
  const kernels::DType one = store.pool(CacheLayer(0)).format().k;
  bool alike = !kernels::dtypeHasScale(one);
  for (const CacheLayer layer : store.layers())
    alike = alike && store.pool(layer).format().k == one && store.pool(layer).format().v == one;
  return alike ? one : kernels::DType::f32;
}

const char* typeName(kernels::DType type) {
  return type == kernels::DType::f16 ? "float16" : type == kernels::DType::bf16 ? "bfloat16" : "float32";
}

/// Tensors of one layer, [1, kvHeads, rows, headDim].
struct LayerTensors {
  std::vector<std::byte> key, value;
};

class HfWriter {
 public:
  HfWriter(const OutgoingRows& rows, kernels::DType type) : m_rows(rows), m_type(type) {}

  Status addTo(SafetensorsWriter& writer) {
    const ModelConfig& config = m_rows.config;
    m_layers.resize(m_rows.layers.size());
    for (std::int32_t layer = 0; layer < config.layers; ++layer) {
      KV_TRY(convert(layer));
      const auto rows = static_cast<std::int64_t>(m_rows.layers[at(layer)].size());
      const std::vector<std::int64_t> shape = {1, config.kvHeads, rows, config.headDim};
      const std::string prefix = "past_key_values." + std::to_string(layer);
      writer.add(prefix + ".key", elementOf(m_type), shape, m_layers[at(layer)].key);
      writer.add(prefix + ".value", elementOf(m_type), shape, m_layers[at(layer)].value);
    }
    return ok();
  }

 private:
  Status convert(std::int32_t layer) {
    const std::vector<OutgoingRow>& rows = m_rows.layers[at(layer)];
    const std::size_t dim = at(m_rows.config.headDim), heads = at(m_rows.config.kvHeads), width = heads * dim;
    const std::size_t bytes = dim * at(kernels::dtypeBytes(m_type));  // of a head
    LayerTensors& out = m_layers[at(layer)];
    out.key.resize(rows.size() * heads * bytes);
    out.value.resize(out.key.size());
    std::vector<float> k(width), v(width);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      m_rows.read(layer, row, 1, k.data(), v.data());
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t place = (head * rows.size() + row) * bytes;
        if (!encodeValues(m_type, std::span(k).subspan(head * dim, dim), out.key.data() + place) ||
            !encodeValues(m_type, std::span(v).subspan(head * dim, dim), out.value.data() + place))
          return notFinite(layer, rows[row], m_type);
      }
    }
    return ok();
  }

  const OutgoingRows& m_rows;
  const kernels::DType m_type;
  std::vector<LayerTensors> m_layers;
};

Status unrotatedOnly(const char* done) {
  return Error("other_format", std::string("the cache was not ") + done,
               "native files hold keys without rotation, and this session stores rotated keys",
               "use form hf_dynamic, or a session with key_phase on_read", "key_phase", "at_write");
}

Status savable(const Session& session, bool native) {
  if (session.health().status == SessionState::Broken)
    return Error("broken", "the cache was not saved", "the session is broken", "rebuild first, or save the ids");
  KV_TRY(session.kind().allows(session.parts(), Capability::Import, "the cache was not saved"));
  KV_TRY(noDraft(session, "the cache was not saved"));
  return native && session.transformer().keysRotated() ? unrotatedOnly("saved") : ok();
}

/// [layers] indices in the context of the rows that a layer has; nothing if each layer has all.
std::optional<json> rowsByLayer(const OutgoingRows& rows) {
  json out = json::array();
  bool ragged = false;
  for (const std::vector<OutgoingRow>& layer : rows.layers) {
    json tokens = json::array();
    for (const OutgoingRow& row : layer) tokens.push_back(row.token);
    ragged = ragged || layer.size() < rows.ids.size();
    out.push_back(std::move(tokens));
  }
  return ragged ? std::optional(std::move(out)) : std::nullopt;
}

json manifestOf(const Session& session, CacheForm form) {
  const CacheState& state = session.state();
  json ids = json::array(), positions = json::array();
  for (std::int32_t i = 0; i < state.length(); ++i) {
    ids.push_back(state.ledger[state.context[at(i)]].token.value());
    positions.push_back(state.phases[at(i)]);
  }
  return {{"format", "kvlab-cache"},
          {"version", form == CacheForm::Native ? kNativeVersion : 1},
          {"form", name(form)},
          {"model", describeModel(session.model().config())},
          {"input_ids", std::move(ids)},
          {"position_ids", std::move(positions)},
          {"dtype", typeName(fileType(session.store()))},
          {"fingerprint", modelFingerprint(session.model())},
          {"numerics", session.transformer().ops().numericsId()},
          {"rounded", roundedJson(state, session.store(), form, session.transformer().keysRotated())},
          {"edited", state.edited}};
}

}  // namespace

CacheTarget cacheTarget(const Session& session) {
  CacheTarget target;
  target.config = session.model().config();
  target.fingerprint = modelFingerprint(session.model());
  target.numerics = session.transformer().ops().numericsId();
  const kernels::DType weights = session.model().layer(Layer(0)).k.dtype;
  if (!session.manifest().dtype.empty() || kernels::dtypeHasScale(weights) || kernels::dtypeInBlocks(weights))
    target.weights = weights;
  for (const CacheLayer layer : session.store().layers()) {
    target.formats.push_back(session.store().pool(layer).format());
    target.keep.push_back(session.parts().layouts.demand(layer).keep);
  }
  target.position = session.manifest().position;
  target.capacity = session.parts().capacity;
  target.maxPhases = session.parts().maxPhases;
  target.maxBrightness = session.manifest().brightness.max;
  target.kind = session.kind().file(session.state());
  for (const KindInfo& kind : kinds())
    if (kind.fileKey) target.kinds.push_back(kind.fileKey);
  return target;
}

Result<json> saveCache(Session& session, const std::string& path, CacheForm form) {
  KV_TRY(savable(session, form == CacheForm::Native));
  if (form == CacheForm::Native)  // a native file that violates an invariant would be refused by every load
    for (const InvariantState& invariant : session.check(true))
      if (!invariant.ok && invariant.id != "next_logits")
        return Error("damaged", "the cache was not saved",
                     invariant.detail + (invariant.since ? "; it broke " + intervalText(*invariant.since) : ""),
                     "rebuild, or check the weights");
  SafetensorsWriter writer;
  json manifest = manifestOf(session, form);
  std::optional<NativeColumns> native;
  std::optional<OutgoingRows> rows;
  std::optional<HfWriter> rotated;
  if (form == CacheForm::Native) {
    const CacheTarget target = cacheTarget(session);
    manifest.update(nativeManifest(session.state(), target, session.pending()));
    native.emplace(session.state(), session.store(), target).addTo(writer);
  } else {
    rows = KV_TRY(outgoingRows(session, name(form)));
    if (auto held = rowsByLayer(*rows)) manifest["rows"] = std::move(*held);
    KV_TRY(rotated.emplace(*rows, fileType(session.store())).addTo(writer));
  }
  writer.metadata("kvlab", manifest.dump());
  KV_TRY(writer.write(path));
  return json{{"path", path}, {"form", name(form)}, {"rows", session.state().length()}, {"bytes", writer.bytes()}};
}

Result<json> saveForeign(Session& session, const std::string& path, const OutgoingForm& form,
                         const OutgoingWish& wish) {
  KV_TRY(savable(session, false));
  const OutgoingRows rows = KV_TRY(outgoingRows(session, form.name));
  const std::int64_t bytes = KV_TRY(form.write(rows, wish, path));
  return json{{"path", path}, {"form", form.name}, {"rows", session.state().length()}, {"bytes", bytes}};
}

Error fileChanged(const std::string& path, const std::string& hash, const std::string& content) {
  return {"file_changed",
          "cannot load " + path + " again",
          "its content hash is " + hash + ", it was " + content + " when the command ran",
          "restore the file",
          "path",
          path};
}

Status loadRows(Session& session, const OutgoingRows& rows, const std::string& path) {
  std::vector<std::int32_t> positions(rows.ids.size(), -1);  // of a token that no layer has: behind the one before
  for (const std::vector<OutgoingRow>& layer : rows.layers)
    for (const OutgoingRow& row : layer) positions[at(row.token)] = row.position;
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (positions[i] < 0) positions[i] = i == 0 ? 0 : positions[i - 1] + 1;
  json manifest{{"format", "kvlab-cache"},
                {"version", 1},
                {"form", name(CacheForm::HfDynamic)},
                {"model", describeModel(rows.config)},
                {"input_ids", json::array()},
                {"position_ids", std::move(positions)},
                {"dtype", typeName(kernels::DType::f32)},
                {"edited", true}};
  for (const TokenId id : rows.ids) manifest["input_ids"].push_back(id.value());
  if (auto held = rowsByLayer(rows)) manifest["rows"] = std::move(*held);
  SafetensorsWriter writer;
  HfWriter tensors(rows, kernels::DType::f32);
  KV_TRY(tensors.addTo(writer));
  writer.metadata("kvlab", manifest.dump());
  const std::string file = KV_TRY(writer.content());
  const CacheImport read = KV_TRY(parseCache(std::as_bytes(std::span(file)), path, cacheTarget(session)));
  return importRows(session, read, false);
}

Result<json> loadCache(Session& session, const std::string& path, const std::string& content, bool verify) {
  auto file = KV_TRY(MappedFile::open(path));
  const std::string hash = contentHash(file->bytes());
  if (!content.empty() && content != hash) return fileChanged(path, hash, content);
  CacheImport rows = KV_TRY(parseCache(file->bytes(), path, cacheTarget(session)));
  if (rows.form == CacheForm::Native && session.transformer().keysRotated()) return unrotatedOnly("loaded").error();
  rows.storage = std::move(file);
  if (verify && (rows.edited || rows.kind))
    return Error("other_rows", "the cache was not loaded",
                 "its rows saw others that are gone, so that no pass over its tokens gives them", "load without verify",
                 "verify", true);
  const std::string place = std::filesystem::absolute(path).string();  // a replay may be in another folder
  json args{{"path", place}, {"content", hash}};
  if (verify) args["verify"] = true;
  session.history().beginCommand("loadCache", std::move(args));
  KV_TRY(importRows(session, rows, verify));
  return json{{"path", path}, {"form", name(rows.form)}, {"rows", session.state().length()}, {"content", hash}};
}

}  // namespace kvlab
