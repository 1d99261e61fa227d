// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "kernels/backend/backend.h"
#include "kernels/backend/cuda_ops.h"

namespace kvlab::kernels {
namespace {

constexpr std::string_view kCuda = "cuda", kOneOfCuda = "cuda:";

std::vector<std::string> idsOf(const std::string& backend) {
  if (namesCuda(backend)) return {kCudaExactId, kCudaFastId};
  std::vector<std::string> ids;
  for (const NumericsAnswer& one : cpuNumerics())
    if (one.why.empty()) ids.push_back(one.id);
  return ids;
}

bool computesWith(const std::string& backend, const std::string& numerics) {
  const std::vector<std::string> ids = idsOf(backend);
  return numerics.empty() || std::find(ids.begin(), ids.end(), numerics) != ids.end();
}

std::string choices(const std::string& backend) {
  std::string text;
  for (const char* one : {"cpu", "cuda"}) {
    if (backend != "auto" && namesCuda(backend) != namesCuda(one)) continue;
    for (const std::string& id : idsOf(one)) text += (text.empty() ? "" : " or ") + id;
  }
  return text;
}

}  // namespace

bool namesCuda(const std::string& id) { return id == kCuda || id.starts_with(kOneOfCuda); }

bool isNamedBy(const std::string& id, const std::string& wanted) {
  return id == wanted || (wanted == kCuda && namesCuda(id));
}

std::vector<NumericsAnswer> numericsOf(const std::string& id) { return namesCuda(id) ? cudaNumerics() : cpuNumerics(); }

BackendAnswer openBackend(const std::string& id, int threads, const std::string& numerics) {
  const bool cuda = id != "cpu" && computesWith("cuda", numerics),
             cpu = !namesCuda(id) && computesWith("cpu", numerics);
  if (!cuda && !cpu) return {nullptr, "back end " + id + " computes with " + choices(id), true};
  BackendAnswer answer;
  if (cuda) answer = makeCudaBackend(namesCuda(id) ? id : std::string(kCuda), numerics);
  if (!answer.backend && cpu) answer.backend = makeCpuBackend(threads, numerics);
  return answer;
}

}  // namespace kvlab::kernels
