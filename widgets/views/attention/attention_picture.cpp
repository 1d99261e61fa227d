// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/attention/attention_picture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/base/read_reply.h"

namespace kvlab {
namespace {

constexpr auto kRefused = "the attention cannot be shown";

Error badReply(const std::string& why) { return {"bad_reply", kRefused, why, "measure again"}; }

CacheLayer layerFrom(const Snapshot& s, const nlohmann::json& reply) {
  const CacheLayers layers = s.info ? s.info->cacheLayers : CacheLayers{static_cast<int>(s.layers.size())};
  const int layer = reply.at("layer"), head = reply.at("kvHead").is_null() ? 0 : reply.at("kvHead").get<int>();
  const bool known = layer >= 0 && layer < layers.layers && head >= 0 && head < layers.perLayer;
  return CacheLayer(known ? layer * layers.perLayer + head : -1);
}

bool complete(const AttentionPicture& p) {
  const int most = p.of->info ? p.of->info->heads : std::numeric_limits<int>::max();
  if (std::ranges::any_of(p.heads, [=](int head) { return head < 0 || head >= most; })) return false;
  const std::size_t lines = p.heads.size() * at(std::max(0, p.queries));
  return (p.heads.size() == 1 || p.queries == 1) && lines > 0 && p.values.size() == lines * p.of->context.size() &&
      p.own.size() == lines && p.layer.value() >= 0 && at(p.layer) < p.of->layers.size() && p.begin >= 0 &&
      p.begin + p.queries <= p.length();
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

namespace {
Status readPicture(AttentionPicture& out, const nlohmann::json& reply, const std::vector<SnapshotPtr>& history) {
  const Tick tick(reply.at("tick").get<std::int64_t>());
  const auto found =
      std::find_if(history.rbegin(), history.rend(), [&](const SnapshotPtr& one) { return one->tick == tick; });
  if (found == history.rend())
    return badReply("tick " + std::to_string(tick.value()) + " is no longer in the window's history");
  const int begin = reply.at("begin"), end = reply.at("end");
  out.of = *found;
  out.layer = layerFrom(*out.of, reply);
  out.heads = reply.at("heads").get<std::vector<int>>();
  out.begin = begin;
  out.queries = begin >= 0 && end > begin ? end - begin : 0;
  out.values = columnFrom(reply.at("values"));
  out.own = columnFrom(reply.at("own"));
  return complete(out) ? ok() : Status(badReply("the reply does not fit the context of its tick"));
}
}  // namespace

Result<AttentionPicturePtr> attentionPicture(const nlohmann::json& reply, const std::vector<SnapshotPtr>& history) {
  auto out = std::make_shared<AttentionPicture>();
  KV_TRY(wholeReply(kRefused, "measure again", [&] { return readPicture(*out, reply, history); }));
  return AttentionPicturePtr(std::move(out));
}

}  // namespace kvlab
