// SPDX-License-Identifier: Apache-2.0
// One small file at least for each importer.
#pragma once
#include "unit/foreign_bytes.h"

namespace kvlab::test {

inline ForeignSample vllmSample() {
  ForeignSample out{"vllm", {}, "request"};
  const Shape shape{kForeignRows, kForeignHeads, 2 * kForeignDim};
  for (int layer = 0; layer < kForeignLayers; ++layer)
    out.files.emplace_back("request/model.layers." + std::to_string(layer) + ".self_attn.attn.safetensors",
                           safetensorsOf({{"kv_cache", "F32", shape, foreignArray(shape, [&](const Shape& i) {
                                             return foreignValue(
                                                 i[2] < kForeignDim ? 0 : 1, layer, static_cast<int>(i[0]),
                                                 static_cast<int>(i[1] * kForeignDim + i[2] % kForeignDim));
                                           })}}));
  return out;
}

/// Row 0 is kept, and of a ring of two rows the next place is the second of the file.
inline ForeignSample mlxSample() {
  std::vector<NamedBytes> tensors;
  for (int layer = 0; layer < kForeignLayers; ++layer) {
    const std::string front = std::to_string(layer) + ".";
    for (const int side : {0, 1}) tensors.push_back(headsFirst(front + std::to_string(side), side, layer, layer));
    const std::vector<int> numbers = layer == 0 ? std::vector{7, 1, 3, 2} : std::vector{3};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      tensors.push_back({front + std::to_string(i + 2), "I32", {}, raw<std::int32_t>(numbers[i])});
  }
  return {"mlx-lm",
          {{"prompt.safetensors",
            safetensorsOf(tensors, {{"0.model", "x"}, {"1.0", "RotatingKVCache"}, {"1.1", "KVCache"}, {"2.0", ""}})}},
          "prompt.safetensors"};
}

inline ForeignSample oldMlxSample() {
  std::vector<NamedBytes> tensors;
  for (int layer = 0; layer < kForeignLayers; ++layer)
    for (const int side : {0, 1})
      tensors.push_back(headsFirst(std::to_string(layer) + "." + std::to_string(side), side, layer));
  return {"mlx-lm",
          {{"prompt.safetensors",
            safetensorsOf(tensors,
                          {{"0.0", ""},
                           {"0.1.0", "0"},
                           {"0.1.1", "8"},
                           {"0.1.2", "3"},
                           {"0.1.3", "3"},
                           {"2.0", "KVCache"},
                           {"2.1", "RotatingKVCache"}})}},
          "prompt.safetensors",
          {},
          {0, 1, 2},
          "before 0.32"};
}

/// Two rounds; the second has the rows, and room behind them.
inline ForeignSample edgeSample() {
  std::vector<NamedBytes> tensors;
  for (const int round : {0, 1}) {
    const std::string front = "round_" + std::to_string(round) + ".";
    const Shape shape{1, 2, kForeignHeads, kForeignRows + 2, kForeignDim};
    for (int layer = 0; layer < kForeignLayers; ++layer)
      tensors.push_back(
          {front + "layer_" + std::to_string(layer) + ".kv", "F32", shape, foreignArray(shape, [&](const Shape& i) {
             const auto row = static_cast<int>(i[3]);
             return row < kForeignRows && round == 1
                 ? foreignValue(static_cast<int>(i[1]), layer, row, static_cast<int>(i[2] * kForeignDim + i[4]))
                 : 0.0f;
           })});
    tensors.push_back({front + "lengths", "I32", {1}, raw<std::int32_t>(round == 1 ? kForeignRows : 1)});
  }
  return {"tensorrt-edge-llm", {{"debug.safetensors", safetensorsOf(tensors)}}, "debug.safetensors"};
}

inline ForeignSample tensorsSample() {
  std::vector<NamedBytes> tensors;
  for (int layer = 0; layer < kForeignLayers; ++layer)
    for (const int side : {0, 1})
      tensors.push_back(
          headsFirst("past_key_values." + std::to_string(layer) + (side ? ".value" : ".key"), side, layer));
  tensors.push_back({"input_ids", "I64", {1, 3}, raw<std::int64_t>(5) + raw<std::int64_t>(6) + raw<std::int64_t>(7)});
  return {"huggingface", {{"cache.safetensors", safetensorsOf(tensors)}}, "cache.safetensors"};
}

/// A cache of transformers 5, as torch.save writes it: a layer with a window has dropped four rows, a static one has
/// room for two more.
inline ForeignSample torchSample() {
  TorchBytes torch;
  std::string layers = "](";
  for (int layer = 0; layer < kForeignLayers; ++layer)
    layers += (layer ? "ctransformers.cache_utils\nStaticLayer\n)\x81"
                     : "ctransformers.cache_utils\nDynamicSlidingWindowLayer\n)\x81") +
        pickleDict({{"keys", torch.tensor(headsFirst("", 0, layer, 2 * layer))},
                    {"values", torch.tensor(headsFirst("", 1, layer, 2 * layer))},
                    {"cumulative_length", layer ? torch.tensor("LongStorage", {}, raw<std::int64_t>(3)) : pickleInt(7)},
                    {"is_initialized", "\x88"},
                    {"dtype", "ctorch\nfloat32\n"}}) +
        "b";
  const std::string pickle = "ctransformers.cache_utils\nDynamicCache\n)\x81" +
      pickleDict({{"layers", layers + "e"}, {"offloading", "\x89"}}) + "b";
  return {"huggingface", {{"cache.pt", torch.file(pickle)}}, "cache.pt", {}, {0, 1, 2}, "torch.save"};
}

inline ForeignSample npzSample() {
  std::vector<std::pair<std::string, std::string>> entries;
  for (int layer = 0; layer < kForeignLayers; ++layer)
    for (const int side : {0, 1}) {
      const NamedBytes one = headsFirst("", side, layer);
      entries.emplace_back((side ? "value_cache." : "key_cache.") + std::to_string(layer) + ".npy",
                           numpyBytes("<f4", one.shape, one.bytes));
    }
  return {"huggingface", {{"cache.npz", zipOf(entries)}}, "cache.npz", {}, {0, 1, 2}, "npz"};
}

/// Two steps: two rows, then one.
inline ForeignSample sglangSample() {
  ForeignSample out{"sglang", {}, "dump"};
  int index = 0;
  for (const int step : {0, 1}) {
    const std::int64_t first = step == 0 ? 0 : 2, rows = step == 0 ? 2 : 1;
    const auto add = [&](const char* name, int layer, const std::function<std::string(TorchBytes&)>& value) {
      TorchBytes torch;
      const std::string tensor = value(torch);
      const std::string meta = pickleDict({{"name", pickleText(name)},
                                           {"step", pickleInt(step)},
                                           {"rank", pickleInt(0)},
                                           {"dump_index", pickleInt(++index)},
                                           {"layer_id", layer < 0 ? "N" : pickleInt(layer)}});
      out.files.emplace_back("dump/step=" + std::to_string(step) + "___dump_index=" + std::to_string(index) + ".pt",
                             torch.file(pickleDict({{"value", tensor}, {"meta", meta}})));
    };
    std::string positions;
    for (std::int64_t row = first; row < first + rows; ++row) positions += raw<std::int64_t>(row);
    add("positions", -1, [&](TorchBytes& torch) { return torch.tensor("LongStorage", {rows}, positions); });
    for (int layer = 0; layer < kForeignLayers; ++layer)
      for (const int side : {0, 1})
        add(side ? "v" : "k", layer, [&](TorchBytes& torch) {
          const Shape shape{rows, kForeignHeads, kForeignDim};
          return torch.tensor("FloatStorage", shape, foreignArray(shape, [&](const Shape& i) {
                                return foreignValue(side, layer, static_cast<int>(first + i[0]),
                                                    static_cast<int>(i[1] * kForeignDim + i[2]));
                              }));
        });
  }
  return out;
}

inline ForeignSample lmcacheSample() {
  const Shape shape{2, kForeignLayers, kForeignRows, kForeignWidth};
  const std::string data = foreignArray(shape, [](const Shape& i) {
    return foreignValue(static_cast<int>(i[0]), static_cast<int>(i[1]), static_cast<int>(i[2]), static_cast<int>(i[3]));
  });
  std::string head = raw(static_cast<std::int32_t>(data.size())) + raw<std::int32_t>(1) + raw<std::int32_t>(4);
  for (const std::int64_t d : shape) head += raw(static_cast<std::int32_t>(d));
  return {"lmcache", {{"model@1@0@77@float.data", head + data}}, "model@1@0@77@float.data"};
}

inline ForeignSample arraysSample() {
  const Shape shape{kForeignLayers, 2, kForeignRows, kForeignWidth};
  const std::string data = foreignArray(shape, [](const Shape& i) {
    return foreignValue(static_cast<int>(i[1]), static_cast<int>(i[0]), static_cast<int>(i[2]), static_cast<int>(i[3]));
  });
  const nlohmann::json side{{"name", "pool"}, {"axes", "layers sides rows dim"}};
  const nlohmann::json mapping{{"keys", side}, {"values", side}, {"ids", {5, 6, 7}}, {"positions", {0, 1, 2}}};
  return {"arrays",
          {{"pool.npy", numpyBytes("<f4", shape, data)}, {"mapping.json", mapping.dump()}},
          "pool.npy",
          "mapping.json"};
}

/// vLLM before 2026.
inline ForeignSample oldVllmSample() {
  ForeignSample out{"vllm", {}, "request", {}, {0, 1, 2}, "before 2026"};
  const Shape shape{2, kForeignRows, kForeignHeads, kForeignDim};
  for (int layer = 0; layer < kForeignLayers; ++layer)
    out.files.emplace_back("request/model.layers." + std::to_string(layer) + ".attn.safetensors",
                           safetensorsOf({{"kv_cache", "F32", shape, foreignArray(shape, [&](const Shape& i) {
                                             return foreignValue(static_cast<int>(i[0]), layer, static_cast<int>(i[1]),
                                                                 static_cast<int>(i[2] * kForeignDim + i[3]));
                                           })}}));
  return out;
}

/// Codes of 8 bits: a group is a head of a row, its least value the first one.
inline ForeignSample packedMlxSample() {
  std::vector<NamedBytes> tensors;
  const Shape shape{1, kForeignHeads, kForeignRows, 1};
  for (int layer = 0; layer < kForeignLayers; ++layer) {
    const std::string front = std::to_string(layer) + ".";
    for (const int side : {0, 1}) {
      const std::string own = front + std::to_string(side) + ".";
      std::string codes;
      for (int i = 0; i < kForeignHeads * kForeignRows; ++i) codes += raw<std::uint32_t>(0x03020100);
      tensors.push_back({own + "0", "U32", shape, codes});
      tensors.push_back({own + "1", "F32", shape, foreignArray(shape, [](const Shape&) { return 1.0f; })});
      tensors.push_back({own + "2", "F32", shape, foreignArray(shape, [&](const Shape& i) {
                           return foreignValue(side, layer, static_cast<int>(i[2]),
                                               static_cast<int>(i[1]) * kForeignDim);
                         })});
    }
    const std::vector<int> numbers = {3, kForeignDim, 8};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      tensors.push_back({front + std::to_string(i + 2), "I32", {}, raw<std::int32_t>(numbers[i])});
  }
  return {"mlx-lm",
          {{"prompt.safetensors", safetensorsOf(tensors, {{"1.0", "QuantizedKVCache"}, {"1.1", "QuantizedKVCache"}})}},
          "prompt.safetensors",
          {},
          {0, 1, 2},
          "packed",
          "q8/4"};
}

/// Chunks of one layer each, tokens first.
inline ForeignSample layerChunksSample() {
  ForeignSample out{"lmcache", {}, "store", {}, {0, 1, 2}, "by layer"};
  const Shape shape{kForeignRows, 2, kForeignWidth};
  for (int layer = 0; layer < kForeignLayers; ++layer) {
    const std::string data = foreignArray(shape, [&](const Shape& i) {
      return foreignValue(static_cast<int>(i[1]), layer, static_cast<int>(i[0]), static_cast<int>(i[2]));
    });
    std::string head = raw(static_cast<std::int32_t>(data.size())) + raw<std::int32_t>(2) + raw<std::int32_t>(4);
    for (const std::int64_t d : {shape[0], shape[1], shape[2], std::int64_t{0}})
      head += raw(static_cast<std::int32_t>(d));
    out.files.emplace_back("store/model@1@0@77@float@" + std::to_string(layer) + ".data", head + data);
  }
  return out;
}

/// Nothing but numbers, with keys and values side by side in pages of one row.
inline ForeignSample rawSample() {
  ForeignSample out{"arrays", {}, "dump", "mapping.json", {0, 1, 2}, "raw"};
  const Shape shape{kForeignRows, 1, kForeignHeads, 2 * kForeignDim};
  for (int layer = 0; layer < kForeignLayers; ++layer)
    out.files.emplace_back("dump/layer." + std::to_string(layer), foreignArray(shape, [&](const Shape& i) {
                             return foreignValue(i[3] < kForeignDim ? 0 : 1, layer, static_cast<int>(i[0]),
                                                 static_cast<int>(i[2] * kForeignDim + i[3] % kForeignDim));
                           }));
  const auto side = [](int first) {
    return nlohmann::json{
        {"name", "layer.{layer}"}, {"axes", "pages rows heads dim"}, {"dims", {first, first + kForeignDim}}};
  };
  const nlohmann::json mapping{
      {"keys", side(0)}, {"values", side(kForeignDim)}, {"dtype", "f32"}, {"shape", shape}, {"block", 1}};
  out.files.emplace_back("mapping.json", mapping.dump());
  return out;
}

inline std::vector<ForeignSample> foreignSamples() {
  std::vector<ForeignSample> out = llamaSamples();
  for (const auto& make :
       {vllmSample, oldVllmSample, mlxSample, oldMlxSample, packedMlxSample, edgeSample, tensorsSample, torchSample,
        npzSample, sglangSample, lmcacheSample, layerChunksSample, arraysSample, rawSample})
    out.push_back(make());
  return out;
}

}  // namespace kvlab::test
