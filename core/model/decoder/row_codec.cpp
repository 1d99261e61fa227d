// SPDX-License-Identifier: Apache-2.0
#include "core/model/decoder/row_codec.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>

#include "core/api/manifest.h"

namespace kvlab {
namespace {

/// What a number means. Entry i has the number i + 1.
struct CodecPair {
  AddedUse k, v;  // without `what`: none
};
struct CodecPairs {
  std::mutex mutex;
  std::deque<CodecPair> all;
};
CodecPairs& codecPairs() {
  static auto* const pairs = new CodecPairs;  // outlives every thread
  return *pairs;
}

/// 0 and numbers that nobody has: no codecs.
const CodecPair& pairOf(std::uint16_t codecs) {
  static const CodecPair kNone;
  if (codecs == 0) return kNone;
  CodecPairs& pairs = codecPairs();
  const std::lock_guard lock(pairs.mutex);
  return codecs <= pairs.all.size() ? pairs.all[codecs - 1u] : kNone;
}

bool isRowType(const std::string& text) {
  return text.empty() || std::ranges::find(rowTypes(), text) != rowTypes().end();
}

Result<AddedUse> useOf(const std::string& text) {
  if (isRowType(text)) return AddedUse{};
  return addedUse(AddedKind::Codec, text);
}

Error failed(const AddedUse& use, bool keys, Layer layer, const std::string& why) {
  return Error("bad_codec",
               "the codec " + use.what->name + " failed with " + (keys ? "keys" : "values") + " of layer " +
                   std::to_string(layer.value()),
               why, "mend it and add it again; the session is as it was", "name", use.what->name);
}

bool finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float one) { return std::isfinite(one); });
}

}  // namespace

Status addCodec(const std::string& name, const std::string& help, const nlohmann::json& options,
                const std::string& revision, RowCodec codec) {
  if (isRowType(name))
    return Error("bad_codec", "the codec " + name + " was not added", "it has the name of a row type",
                 "give it another one", "name", name);
  return add({.kind = AddedKind::Codec,
              .name = name,
              .help = help,
              .revision = revision,
              .options = options,
              .rule = std::make_shared<const RowCodec>(std::move(codec))});
}

Result<std::uint16_t> codecsOf(const std::string& k, const std::string& v) {
  CodecPair pair{KV_TRY(useOf(k)), KV_TRY(useOf(v))};
  if (!pair.k.what && !pair.v.what) return std::uint16_t{0};
  CodecPairs& pairs = codecPairs();
  const std::lock_guard lock(pairs.mutex);
  const auto same = [&](const CodecPair& one) {
    return one.k.what == pair.k.what && one.k.text == pair.k.text && one.v.what == pair.v.what &&
        one.v.text == pair.v.text;
  };
  const auto found = std::ranges::find_if(pairs.all, same);
  if (found == pairs.all.end() && pairs.all.size() == std::numeric_limits<std::uint16_t>::max())
    return Error("bad_codec", "the codecs were refused", "the program has used 65535 pairs of codecs and options",
                 "start it again");
  const auto number = static_cast<std::uint16_t>(found - pairs.all.begin() + 1);
  if (found == pairs.all.end()) pairs.all.push_back(std::move(pair));
  return number;
}

const std::string& codecOf(std::uint16_t codecs, bool keys) {
  const CodecPair& pair = pairOf(codecs);
  return keys ? pair.k.text : pair.v.text;
}

std::string typeText(const kernels::RowFormat& format, bool keys) {
  const std::string& codec = codecOf(format.codecs, keys);
  return codec.empty() ? kernels::dtypeName(keys ? format.k : format.v) : codec;
}

Result<kernels::RowFormat> withTypes(kernels::RowFormat format, std::optional<kernels::DType> k,
                                     std::optional<kernels::DType> v) {
  format.k = k.value_or(format.k);
  format.v = v.value_or(format.v);
  if (format.codecs && (k || v))
    format.codecs = KV_TRY(codecsOf(k ? "" : codecOf(format.codecs, true), v ? "" : codecOf(format.codecs, false)));
  return format;
}

Result<std::vector<float>> coded(const kernels::RowFormat& format, bool keys, Layer layer, int first, std::int64_t n,
                                 const float* from, std::int64_t stride) {
  if (format.codecs == 0) return std::vector<float>();
  const CodecPair& pair = pairOf(format.codecs);
  const AddedUse& use = keys ? pair.k : pair.v;
  if (!use.what || n == 0) return std::vector<float>();
  const std::int64_t width = std::int64_t{format.kvHeads} * format.headDim;
  std::vector<float> values;
  std::vector<std::int32_t> heads;
  values.reserve(at(n * width));
  for (std::int64_t row = 0; row < n; ++row) {
    values.insert(values.end(), from + row * stride, from + row * stride + width);
    for (int head = 0; head < format.kvHeads; ++head) heads.push_back(first + head);
  }
  const auto& codec = *static_cast<const RowCodec*>(use.what->rule.get());
  std::vector<float> out = KV_TRY(codec.rule({layer, keys, format.headDim, heads, values, use.options}));
  if (out.size() != values.size())
    return failed(use, keys, layer,
                  "it gave " + std::to_string(out.size()) + " numbers for " + std::to_string(values.size()));
  if (!finite(out) && finite(values)) return failed(use, keys, layer, "it gave numbers that are not finite");
  return out;
}

Result<CodecChange> encodeRows(const kernels::RowFormat& format, Layer layer, int first, std::int64_t n, float* k,
                               float* v) {
  CodecChange out;
  if (format.codecs == 0) return out;
  const std::int64_t width = std::int64_t{format.kvHeads} * format.headDim;
  const auto half = [&](bool keys, float* values, float& most) -> Status {
    const std::vector<float> made = KV_TRY(coded(format, keys, layer, first, n, values, width));
    for (std::size_t head = 0; head < made.size(); head += at(format.headDim)) {
      float largest = 0, change = 0;
      for (std::size_t i = head; i < head + at(format.headDim); ++i) {
        largest = std::max(largest, std::abs(values[i]));
        change = std::max(change, std::abs(values[i] - made[i]));
      }
      if (change > 0) most = std::max(most, change / std::max(largest, std::numeric_limits<float>::min()));
    }
    std::ranges::copy(made, values);
    return ok();
  };
  KV_TRY(half(true, k, out.k));
  KV_TRY(half(false, v, out.v));
  return out;
}

}  // namespace kvlab
