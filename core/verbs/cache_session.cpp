// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cache_session.h"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/files/cache_file.h"
#include "core/files/cache_native.h"
#include "core/files/cache_rounding.h"
#include "core/files/fingerprint.h"
#include "core/files/key_rotation.h"
#include "core/model/files/mapped_file.h"
#include "core/parts/kinds.h"
#include "core/session/import_rows.h"
#include "core/session/requests.h"
#include "kernels/scalar_convert.h"

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

/// False if the type cannot hold the value.
bool put(kernels::DType type, float value, std::byte* out) {
  if (type == kernels::DType::f32) {
    std::memcpy(out, &value, sizeof value);
    return std::isfinite(value);
  }
  const std::uint16_t bits = type == kernels::DType::f16 ? kernels::floatToHalf(value) : kernels::floatToBf16(value);
  std::memcpy(out, &bits, sizeof bits);
  return std::isfinite(type == kernels::DType::f16 ? kernels::halfToFloat(bits) : kernels::bf16ToFloat(bits));
}

/// Tensors of one layer, [1, kvHeads, rows, headDim].
struct LayerTensors {
  std::vector<std::byte> key, value;
};

class HfWriter {
 public:
  explicit HfWriter(Session& session)
      : m_session(session), m_config(session.model().config()), m_type(fileType(session.store())) {}

  Status addTo(SafetensorsWriter& writer) {
    m_layers.resize(at(m_config.layers));
    for (const CacheLayer layer : m_session.store().layers()) {
      KV_TRY(convert(layer));
      const auto rows = static_cast<std::int64_t>(m_session.state().map(layer).resident());
      const std::vector<std::int64_t> shape = {1, m_config.kvHeads, rows, m_config.headDim};
      const std::string prefix = "past_key_values." + std::to_string(layer.value());
      writer.add(prefix + ".key", elementOf(m_type), shape, m_layers[at(layer)].key);
      writer.add(prefix + ".value", elementOf(m_type), shape, m_layers[at(layer)].value);
    }
    return ok();
  }
  const char* dtype() const { return typeName(m_type); }

 private:
  Status convert(CacheLayer layer) {
    const ResidencyView& map = m_session.state().map(layer);
    const auto n = static_cast<std::int64_t>(map.resident());
    const std::int64_t dim = m_config.headDim, width = m_config.kvHeads * dim, size = kernels::dtypeBytes(m_type);
    LayerTensors& out = m_layers[at(layer)];
    out.key.resize(at(n * width * size));
    out.value.resize(out.key.size());
    std::vector<float> k(at(width)), v(k.size());
    std::vector<double> rotated(k.size());
    const RowPool& pool = m_session.store().pool(layer);
    const KeyRotation rotation(m_config, Layer(layer.value()), m_session.state().reach());
    for (std::int64_t row = 0; row < n; ++row) {
      const std::size_t index = at(map.first + row);
      const std::int32_t slot = map.slotOf[index].value();
      pool.gather({&slot, 1}, k.data(), v.data());
      rotated.assign(k.begin(), k.end());
      if (m_session.transformer().keysRotated()) rotation.outside(m_config.kvHeads, rotated.data());
      else rotation.rotate(map.phase(index).value(), m_config.kvHeads, rotated.data());
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t place = ((x / dim * n + row) * dim + x % dim) * size;
        const bool good = put(m_type, static_cast<float>(rotated[at(x)]), out.key.data() + place) &
            put(m_type, v[at(x)], out.value.data() + place);
        if (!good)
          return Error("not_finite", "the cache was not saved",
                       "layer " + std::to_string(layer.value()) + ", index " + std::to_string(index) +
                           " holds a number that " + dtype() + " does not",
                       "rebuild, or check the weights");
      }
    }
    return ok();
  }

  Session& m_session;
  const ModelConfig& m_config;
  kernels::DType m_type;
  std::vector<LayerTensors> m_layers;
};

Status unrotatedOnly(const char* done) {
  return Error("other_format", std::string("the cache was not ") + done,
               "native files hold keys without rotation, and this session stores rotated keys",
               "use form hf_dynamic, or a session with key_phase on_read", "key_phase", "at_write");
}

/// The first layer that lacks rows.
std::optional<CacheLayer> firstRagged(const CacheState& state) {
  for (const CacheLayer layer : state.layers())
    if (!state.complete(state.map(layer))) return layer;
  return std::nullopt;
}

Status savable(const Session& session, CacheForm form) {
  if (session.health().status == SessionState::Broken)
    return Error("broken", "the cache was not saved", "the session is broken", "rebuild first, or save the ids");
  KV_TRY(session.kind().allows(session.parts(), Capability::Import, "the cache was not saved"));
  KV_TRY(noDraft(session, "the cache was not saved"));
  if (form == CacheForm::Native) return session.transformer().keysRotated() ? unrotatedOnly("saved") : ok();
  const CacheState& state = session.state();
  if (session.kind().file(state))
    return Error(
        "unsupported", "the cache was not saved",
        "rows of this kind of session stand for several tokens, and the Hugging Face forms have a row for each",
        "save with form native", "form", name(form));
  if (state.length() == 0)
    return Error("empty", "the cache was not saved", "there are no rows", "prompt some text first");
  if (session.cacheLayers().byHead())
    return Error("unsupported", "the cache was not saved",
                 "all KV heads of a layer have the same rows in a Hugging Face form, and the session's residency is by "
                 "KV head",
                 "save with form native", "form", name(form));
  if (session.manifest().position != PositionMode::Cache) return ok();
  if (const auto layer = firstRagged(state))
    return Error("ragged", "the cache was not saved",
                 "layer " + std::to_string(layer->value()) +
                     " lacks rows, and in position mode cache its others stand " + "at positions of their own",
                 "save with form native, or use position context", "form", name(form));
  return ok();
}

/// [layers] indices in the context of the rows that a layer has.
json rowsByLayer(const CacheState& state) {
  json out = json::array();
  for (const CacheLayer layer : state.layers()) {
    const ResidencyView& map = state.map(layer);
    json rows = json::array();
    std::int32_t position = 0;
    for (std::size_t i = at(map.first); i < map.size(); ++i, ++position) {
      while (state.context[at(position)] != map.ledger[i]) ++position;
      rows.push_back(position);
    }
    out.push_back(std::move(rows));
  }
  return out;
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
  KV_TRY(savable(session, form));
  if (form == CacheForm::Native)  // a native file that violates an invariant would be refused by every load
    for (const InvariantState& invariant : session.check(true))
      if (!invariant.ok && invariant.id != "next_logits")
        return Error("damaged", "the cache was not saved",
                     invariant.detail + (invariant.since ? "; it broke " + intervalText(*invariant.since) : ""),
                     "rebuild, or check the weights");
  SafetensorsWriter writer;
  json manifest = manifestOf(session, form);
  std::optional<NativeColumns> native;
  HfWriter rotated(session);
  if (form == CacheForm::Native) {
    const CacheTarget target = cacheTarget(session);
    manifest.update(nativeManifest(session.state(), target, session.pending()));
    native.emplace(session.state(), session.store(), target).addTo(writer);
  } else {
    if (firstRagged(session.state())) manifest["rows"] = rowsByLayer(session.state());
    KV_TRY(rotated.addTo(writer));
  }
  writer.metadata("kvlab", manifest.dump());
  KV_TRY(writer.write(path));
  return json{{"path", path}, {"form", name(form)}, {"rows", session.state().length()}, {"bytes", writer.bytes()}};
}

Result<json> loadCache(Session& session, const std::string& path, const std::string& content, bool verify) {
  auto file = KV_TRY(MappedFile::open(path));
  const std::string hash = contentHash(file->bytes());
  if (!content.empty() && content != hash)
    return Error("file_changed", "cannot load " + path + " again",
                 "its content hash is " + hash + ", it was " + content + " when the command ran", "restore the file",
                 "path", path);
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
