// SPDX-License-Identifier: Apache-2.0
#include "core/model/synthetic.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/model/counter_random.h"
#include "core/model/model_builder.h"
#include "core/model/weight_memory.h"
#include "kernels/scalar_convert.h"
#include "kernels/thread_pool.h"

namespace kvlab {
namespace {

using kernels::DType;

struct Options {
  DType dtype = DType::bf16;
  std::uint64_t seed = 1;
  int layers = 0;  // 0 = as many as the model has
};

Error badSpec(const std::string& spec, const std::string& why, const std::string& remedy) {
  Error error{"bad_model", "cannot make model " + spec, why, remedy};
  error.field = "model";
  error.value = spec;
  return error;
}

template <class T>
bool parseNumber(const std::string& text, T& out) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failure == std::errc{} && end == text.data() + text.size();
}

/// Takes an option; returns its fault, empty = none.
std::string takeOption(const std::string& key, const std::string& value, Options& out) {
  if (key == "seed") return parseNumber(value, out.seed) ? "" : "gives no whole number from 0 to 2^64 - 1";
  if (key == "layers") {
    const bool good = parseNumber(value, out.layers) && out.layers > 0 && out.layers <= 4096;
    return good ? "" : "gives no whole number from 1 to 4096";
  }
  if (key != "dtype") return "is not known";
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    if (value == kernels::dtypeName(type)) return out.dtype = type, "";
  return "gives none of f32, f16 and bf16";
}

/// "dtype=f32,seed=3"
Result<Options> parseOptions(const std::string& spec, std::string text) {
  Options out;
  while (!text.empty()) {
    const std::string item = text.substr(0, text.find(','));
    text.erase(0, item.size() + 1);
    const auto equals = std::ranges::find(item, '=');
    const std::string value(equals == item.end() ? equals : equals + 1, item.end());
    if (const std::string wrong = takeOption({item.begin(), equals}, value, out); !wrong.empty())
      return badSpec(spec, "option \"" + item + "\" " + wrong, "use dtype=f32|f16|bf16, seed=N, layers=N");
  }
  return out;
}

std::int64_t availableBytes() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  std::int64_t kib = 0;
  while (info >> key >> kib && std::getline(info, unit))
    if (key == "MemAvailable:") return kib * 1024;
  return INT64_MAX;
}

/// Deviations that keep activations near unit size: 1/sqrt(inputs) for a linear layer, logits of
/// deviation 2 from the embedding; norms near 1.
RandomTensor distribution(const TensorNeed& need, std::uint64_t seed) {
  const std::uint64_t key = XXH3_64bits_withSeed(need.name.data(), need.name.size(), seed);
  if (need.name.ends_with("norm.weight")) return {key, 1.0f, 0.1f};
  if (need.name.ends_with(".bias")) return {key, 0.0f, 0.1f};
  const auto inputs = static_cast<float>(need.shape.back());
  const bool table = need.name.ends_with("embed_tokens.weight") || need.name == "lm_head.weight";
  return {key, 0.0f, (table ? 2.0f : 1.0f) / std::sqrt(inputs)};
}

/// The offsets of all tensors in one block, 64-byte aligned.
class Layout {
 public:
  Layout(const std::vector<TensorNeed>& needs, DType type) {
    for (const TensorNeed& need : needs) {
      m_offsets.push_back(m_bytes);
      m_views.push_back({nullptr, type, need.shape});
      m_bytes += (m_views.back().bytes() + 63) / 64 * 64;
    }
  }
  std::int64_t bytes() const { return m_bytes; }
  TensorView view(std::size_t i, std::byte* base) const {
    TensorView view = m_views[i];
    view.data = base + m_offsets[i];
    return view;
  }

 private:
  std::int64_t m_bytes = 0;
  std::vector<std::int64_t> m_offsets;
  std::vector<TensorView> m_views;
};

bool fillAll(const std::vector<TensorNeed>& needs, const Layout& layout, std::byte* base, std::uint64_t seed,
             const Progress& progress) {
  kernels::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  std::int64_t done = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (!report(progress, "drawing weights", done, layout.bytes())) return false;
    const TensorView view = layout.view(i, base);
    const RandomTensor random = distribution(needs[i], seed);
    auto* data = const_cast<void*>(view.data);
    const std::int64_t n = view.elements();
    pool.parallelFor(0, (n + 3) / 4, 1 << 14, [&](std::int64_t begin, std::int64_t end, int) {
      fillRandom(random, data, view.dtype, n, begin, end);
    });
    done += view.bytes();
  }
  return report(progress, "drawing weights", layout.bytes(), layout.bytes());
}

Result<std::shared_ptr<const Model>> draw(const std::string& spec, const ModelConfig& config, const Options& options,
                                          const Progress& progress) {
  const auto needs = tensorNeeds(config);
  const Layout layout(needs, options.dtype);
  const std::int64_t available = availableBytes();
  const auto memory = layout.bytes() <= available ? weightMemory(static_cast<std::size_t>(layout.bytes()))
                                                  : std::shared_ptr<std::byte>();
  if (!memory)
    return Error(
        "out_of_memory", "cannot make model " + spec,
        std::to_string(layout.bytes() >> 20) + " MiB of weights, " + std::to_string(available >> 20) + " MiB available",
        "add :layers=N to make fewer layers, or choose a smaller model");
  if (!fillAll(needs, layout, memory.get(), options.seed, progress)) return cancelledOpening(spec);
  std::map<std::string, TensorView> views;
  for (std::size_t i = 0; i < needs.size(); ++i) views[needs[i].name] = layout.view(i, memory.get());
  ModelBuilder builder(spec, config);
  const auto find = [&](const std::string& name) -> std::optional<TensorView> {
    const auto it = views.find(name);
    return it == views.end() ? std::nullopt : std::optional(it->second);
  };
  KV_TRY(builder.weights(find, memory));
  builder.tokenizer(makeSyntheticTokenizer(config));
  return builder.build();
}

template <class Out, class Convert>
void fillAs(const RandomTensor& random, Out* out, std::int64_t elements, std::int64_t begin, std::int64_t end,
            Convert convert) {
  // 16 bits per value: the middle of one of 65536 equal parts of [-sqrt(3), sqrt(3)) deviations.
  const float step = random.deviation * 1.7320508f / 32768.0f;
  for (std::int64_t group = begin; group < end; ++group) {
    std::uint64_t bits = randomBits(random.key, static_cast<std::uint64_t>(group));
    const std::int64_t last = std::min(group * 4 + 4, elements);
    for (std::int64_t i = group * 4; i < last; ++i, bits >>= 16)
      out[i] = convert(random.mean + (static_cast<float>(static_cast<std::int16_t>(bits & 0xffff)) + 0.5f) * step);
  }
}

}  // namespace

void fillRandom(const RandomTensor& random, void* data, DType type, std::int64_t elements, std::int64_t begin,
                std::int64_t end) {
  auto* half = static_cast<std::uint16_t*>(data);
  switch (type) {
    case DType::bf16: return fillAs(random, half, elements, begin, end, kernels::floatToBf16);
    case DType::f16: return fillAs(random, half, elements, begin, end, kernels::floatToHalf);
    default: return fillAs(random, static_cast<float*>(data), elements, begin, end, [](float x) { return x; });
  }
}

Error cancelledOpening(const std::string& spec) {
  return {"cancelled", "model " + spec + " was not opened", "cancelled", "open it again"};
}

Result<std::shared_ptr<const Model>> openSynthetic(const std::string& spec, const std::string& name,
                                                   const Progress& progress) {
  const std::string shape = name.substr(0, name.find(':'));
  const char* json = syntheticShape(shape);
  if (!json) {
    std::string names;
    for (const std::string& known : Model::syntheticNames()) names += (names.empty() ? "" : ", ") + known;
    return badSpec(spec, "there is no shape \"" + shape + "\"", "choose one of " + names);
  }
  const auto options =
      KV_TRY(parseOptions(spec, shape.size() < name.size() ? name.substr(shape.size() + 1) : std::string()));
  auto fields = nlohmann::json::parse(json);
  if (options.layers) fields["num_hidden_layers"] = options.layers;
  auto config = KV_TRY(configFromJson(fields, spec));
  return draw(spec, config, options, progress);
}

}  // namespace kvlab
