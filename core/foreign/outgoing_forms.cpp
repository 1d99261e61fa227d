// SPDX-License-Identifier: Apache-2.0
#include "core/foreign/outgoing_forms.h"

#include <algorithm>
#include <array>

#include "core/foreign/outgoing_writers.h"

namespace kvlab {
namespace {

using kernels::DType;
constexpr std::array kLlamaTypes{DType::f16, DType::f32, DType::bf16, DType::q8_0, DType::q4_0};
constexpr std::array kVllmTypes{DType::bf16, DType::f16, DType::f32};
constexpr std::array kVllmCpuTypes{DType::f32, DType::f16};

constexpr std::array<OutgoingForm, 3> kOutgoing = {{{"llama_cpp", kLlamaTypes, true, false, true, writeLlamaSequence},
                                                    {"vllm_cpu", kVllmCpuTypes, false, true, false, writeVllmCpu},
                                                    {"vllm_cuda", kVllmTypes, false, true, false, writeVllmCuda}}};

}  // namespace

std::span<const OutgoingForm> outgoingForms() { return kOutgoing; }

const OutgoingForm* outgoingForm(std::string_view name) {
  const auto found = std::ranges::find(kOutgoing, name, &OutgoingForm::name);
  return found == kOutgoing.end() ? nullptr : &*found;
}

}  // namespace kvlab
