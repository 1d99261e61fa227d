// SPDX-License-Identifier: Apache-2.0
#include "core/lists/info.h"

#include <algorithm>
#include <cstdio>

#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string plainText(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A figure in the format of printf.
std::string figureText(const char* format, double figure) {
  char text[32];
  std::snprintf(text, sizeof text, format, figure);
  return text;
}

std::string mebibytes(const json& bytes) { return figureText("%.1f MiB", bytes.get<double>() / 1048576.0); }

/// "q4_1 (211 tensors), f32 (61)", or a name alone.
std::string typesText(const json& types) {
  if (types.size() == 1) return plainText(types[0]["type"]);
  std::string out;
  for (const json& one : types)
    out += (out.empty() ? "" : ", ") + plainText(one["type"]) + " (" + plainText(one["tensors"]) +
        (out.empty() ? " tensors)" : ")");
  return out;
}

std::string weightsText(const json& weights) {
  if (weights == "int8") return " with matrices in int8";
  return weights == "dequantise" ? " brought to f32" : "";
}

std::string lineText(std::string name, const std::string& value) {
  name.resize(std::max<std::size_t>(name.size(), 12), ' ');
  return name + " " + value + "\n";
}

std::string modelText(const json& m) {
  return lineText("model", plainText(m["model"]) + " (" + plainText(m["architecture"]) + ")") +
      lineText("parameters",
               plainText(m["parameters"]) + ", " + typesText(m["types"]) + weightsText(m["weights"]) + ", " +
                   mebibytes(m["weight_bytes"])) +
      lineText("shape",
               plainText(m["layers"]) + " layers, " + plainText(m["heads"]) + " query and " + plainText(m["kv_heads"]) +
                   " KV heads of " + plainText(m["head_dim"]) + ", width " + plainText(m["hidden"])) +
      lineText("vocabulary", plainText(m["vocabulary"])) +
      lineText("positions",
               plainText(m["positions"]) + (m["window"] == 0 ? "" : ", window " + plainText(m["window"]))) +
      lineText("KV cache",
               mebibytes(m["kv_bytes"]) + " of room for " + plainText(m["capacity"]) + " rows per layer (" +
                   plainText(m["row_bytes"]) + " bytes a row and layer), " + mebibytes(m["kv_bytes_reserved"]) +
                   (m["reserved_at_once"] == true ? " taken on the device with history"
                                                  : " of addresses reserved with history"));
}

/// "NVIDIA H200, compute capability 9.0, 139.2 of 139.8 GiB free, peak 4800 GB/s, driver of CUDA 13.0".
std::string deviceText(const json& device) {
  const auto gibibytes = [](const json& bytes) { return bytes.get<double>() / (1 << 30); };
  std::string text = plainText(device["name"]) + ", compute capability " + plainText(device["capability"]) + ", ";
  if (!device["free"].is_null()) text += figureText("%.1f of ", gibibytes(device["free"]));
  text += figureText("%.1f GiB", gibibytes(device["memory"])) + (device["free"].is_null() ? "" : " free");
  const double peak = device["bytesPerSecond"].get<double>() / 1e9;
  if (peak > 0) text += figureText(", peak %.0f GB/s", peak);
  return lineText("  device", text + ", driver of CUDA " + plainText(device["driver"]));
}

std::string answerText(const std::string& name, const json& one, const std::string& text) {
  return lineText(name, (one["available"].get<bool>() ? "" : "not available: ") + text);
}

}  // namespace

Result<json> modelAndBackends(const json& manifest, const std::string& resources) {
  const json model = KV_TRY(describeModel(manifest, resources));
  json backends = listBackends();
  for (json& backend : backends) backend["numerics"] = listNumerics(backend["id"]);
  return json{{"model", model}, {"backends", backends}};
}

std::string infoText(const json& info) {
  std::string out = modelText(info.at("model"));
  for (const json& backend : info.at("backends")) {
    out += answerText("backend " + plainText(backend["id"]), backend, plainText(backend["why"]));
    if (backend.contains("device")) out += deviceText(backend["device"]);
    for (const json& numerics : backend["numerics"])
      out += answerText(
          "  numerics", numerics,
          plainText(numerics["id"]) + (numerics["available"].get<bool>() ? "" : ": " + plainText(numerics["why"])));
  }
  return out;
}

}  // namespace kvlab
