// SPDX-License-Identifier: Apache-2.0
// The writers, one for each form of outgoing_forms.h. Any thread.
#pragma once
#include "core/foreign/outgoing.h"

namespace kvlab {

/// The sequence file, version 3, that llama_state_seq_load_file reads. Cells stand in the order of tokens. Keys are
/// paired and rows rotated as llama.cpp does it for the model's architecture and the type of rows.
Result<std::int64_t> writeLlamaSequence(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path);

/// A folder that vLLM's ExampleConnector reads as its shared_storage_path: within it a folder for the tokens of all
/// whole blocks, with a file for each layer. The two differ in the order within a block: that of attention on x86
/// processors without AMX, and that of CUDA.
Result<std::int64_t> writeVllmCpu(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path);
Result<std::int64_t> writeVllmCuda(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path);

}  // namespace kvlab
