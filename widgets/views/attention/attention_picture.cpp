// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/attention/attention_picture.h"

#include <algorithm>
#include <cmath>

#include "widgets/base/column_from.h"

namespace kvlab {
namespace {

Error badReply(const std::string& why) { return {"bad_reply", "the attention cannot be shown", why, "measure again"}; }

CacheLayer layerFrom(const Snapshot& s, const nlohmann::json& reply) {
  const CacheLayers layers = s.info ? s.info->cacheLayers : CacheLayers{static_cast<int>(s.layers.size())};
  const auto own = layers.of(Layer(reply.at("layer").get<std::int32_t>()));
  return own[reply.at("kvHead").is_null() ? 0 : reply.at("kvHead").get<std::int32_t>()];
}

bool complete(const AttentionPicture& p) {
  const std::size_t lines = p.heads.size() * at(std::max(0, p.queries));
  return (p.heads.size() == 1 || p.queries == 1) && lines > 0 && p.values.size() == lines * p.of->context.size() &&
      p.own.size() == lines && at(p.layer) < p.of->layers.size();
}

}  // namespace

double AttentionPicture::sum(int line) const {
  double sum = double(own[at(line)]);
  bool any = false;
  for (int p = 0; p < length(); ++p)
    if (const float one = value(line, p); !std::isnan(one)) sum += double(one), any = true;
  return any ? sum : NAN;
}

int AttentionPicture::strongest(int line) const {
  int best = -1;
  for (int p = 0; p < length(); ++p)
    if (const float one = value(line, p); !std::isnan(one) && (best < 0 || one > value(line, best))) best = p;
  return best;
}

Result<AttentionPicturePtr> attentionPicture(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history) {
  auto out = std::make_shared<AttentionPicture>();
  try {
    const Tick tick(reply.at("tick").get<std::int64_t>());
    const auto found =
        std::find_if(history.rbegin(), history.rend(), [&](const SnapshotPtr& one) { return one->tick == tick; });
    if (found == history.rend())
      return badReply("tick " + std::to_string(tick.value()) + " is no longer in the window's history");
    out->of = *found;
    out->layer = layerFrom(*out->of, reply);
    out->heads = reply.at("heads").get<std::vector<int>>();
    out->begin = reply.at("begin");
    out->queries = reply.at("end").get<int>() - out->begin;
    out->values = columnFrom(reply.at("values"));
    out->own = columnFrom(reply.at("own"));
  } catch (const nlohmann::json::exception& error) {
    return badReply(error.what());
  }
  if (!complete(*out)) return badReply("the reply does not fit the context of its tick");
  out->scale = scaleFor(Quantity::Attention, out->values);
  std::vector<std::uint8_t> indices(out->values.size());
  out->scale.quantise(out->values, indices);
  out->cells.assign(out->lines(), out->length(), std::move(indices));
  return AttentionPicturePtr(std::move(out));
}

}  // namespace kvlab
