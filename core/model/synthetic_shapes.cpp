// SPDX-License-Identifier: Apache-2.0
#include "core/model/synthetic.h"

#include "core/api/texts.h"

namespace kvlab {
namespace {

struct Shape {
  std::string_view name;
  const char* json;
};

constexpr Shape kShapes[] = {
    {"tiny", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
      "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "bos_token_id": 1, "eos_token_id": 2})"},
    {"tiny-gemma", R"({"model_type": "gemma3_text", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 256,
      "max_position_embeddings": 8192, "query_pre_attn_scalar": 16, "sliding_window": 24, "sliding_window_pattern": 2,
      "final_logit_softcapping": 20.0, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
      "bos_token_id": 1, "eos_token_id": 2})"},
    {"tiny-nope", R"({"model_type": "smollm3", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
      "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "no_rope_layer_interval": 2,
      "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2})"},
    {"tiny-moe", R"({"model_type": "gpt_oss", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 32, "vocab_size": 256,
      "num_local_experts": 5, "num_experts_per_tok": 2, "max_position_embeddings": 8192, "sliding_window": null,
      "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "bos_token_id": 1, "eos_token_id": 2})"},
    {"tiny-odd", R"({"model_type": "phi3", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 21, "intermediate_size": 96, "vocab_size": 256,
      "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "partial_rotary_factor": 0.6,
      "bos_token_id": 1, "eos_token_id": 2})"},
    {"tiny-longrope", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256,
      "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "rope_scaling": {"rope_type": "longrope", "short_factor": [1, 1, 1, 1, 1, 1, 1, 1],
        "long_factor": [1, 1.5, 2, 3, 4, 6, 8, 8], "original_max_position_embeddings": 64},
      "original_max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2})"},
    {"stories-15m", R"({"model_type": "llama", "hidden_size": 288, "num_hidden_layers": 6,
      "num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 768,
      "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
      "rope_theta": 10000.0, "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2})"},
    {"smollm-135m", R"({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30,
      "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
      "vocab_size": 49152, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
      "rope_theta": 10000.0, "tie_word_embeddings": true, "bos_token_id": 0, "eos_token_id": 0})"},
    {"tinyllama-1.1b", R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
      "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632,
      "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
      "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": 2})"},
    {"llama-2-7b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008,
      "vocab_size": 32000, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
      "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": 2})"},
    {"llama-3-8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
      "rope_theta": 500000.0, "bos_token_id": 128000, "eos_token_id": 128001})"},
    {"qwen2-0.5b", R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
      "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864,
      "vocab_size": 151936, "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
      "rope_theta": 1000000.0, "tie_word_embeddings": true, "use_sliding_window": false,
      "bos_token_id": 151643, "eos_token_id": 151643})"},
    {"qwen3-0.6b", R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 3072, "vocab_size": 151936, "max_position_embeddings": 40960,
      "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": true,
      "bos_token_id": 151643, "eos_token_id": 151645})"},
    {"gemma-3-270m", R"({"model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18,
      "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 2048,
      "vocab_size": 262144, "max_position_embeddings": 32768, "query_pre_attn_scalar": 256, "sliding_window": 512,
      "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "bos_token_id": 2, "eos_token_id": 1})"},
    {"mistral-7b", R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 32000, "max_position_embeddings": 32768, "rms_norm_eps": 1e-5,
      "rope_theta": 10000.0, "sliding_window": 4096, "bos_token_id": 1, "eos_token_id": 2})"},
};

}  // namespace

const char* syntheticShape(std::string_view name) {
  for (const Shape& shape : kShapes)
    if (shape.name == name) return shape.json;
  return nullptr;
}

std::vector<std::string> Model::syntheticNames() { return namesOf(kShapes); }

}  // namespace kvlab
