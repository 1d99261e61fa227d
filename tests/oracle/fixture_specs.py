# SPDX-License-Identifier: Apache-2.0
"""The list of model fixtures: one entry per directory of tests/oracle/models.

An entry is data only: storage type of the weights, the config.json to write, and how to spread the
tensors over shards. config.json comes in the two styles found in the wild: `rope_theta` and
`rope_scaling` at top level with `torch_dtype` (transformers 4), or `rope_parameters` with `dtype`
(transformers 5). Shapes are small and awkward on purpose: head_dim 24 leave a tail in every
vector width, kv heads are 1, 2 and 4 of 4.
"""

PROMPT_LENGTH = 40


def _config(model_type, architecture, **changes):
    base = {
        "architectures": [architecture],
        "model_type": model_type,
        "vocab_size": 96,
        "hidden_size": 64,
        "intermediate_size": 60,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_act": "silu",
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "use_cache": True,
    }
    base.update(changes)
    return base


def _llama(**changes):
    return _config("llama", "LlamaForCausalLM", **changes)


def _mistral(**changes):
    return _config("mistral", "MistralForCausalLM", **{"sliding_window": 12, **changes})


def _qwen2(**changes):
    return _config("qwen2", "Qwen2ForCausalLM", **{"rms_norm_eps": 1e-6, **changes})


def _qwen3(**changes):
    return _config("qwen3", "Qwen3ForCausalLM", **{"rms_norm_eps": 1e-6, "head_dim": 24, "attention_bias": False,
                                                   **changes})


def _gemma(model_type, architecture, **changes):
    return _config(model_type, architecture, **{
        "rms_norm_eps": 1e-6, "head_dim": 24, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
        "query_pre_attn_scalar": 20, "sliding_window": 10, **changes})


def _gemma2(**changes):
    return _gemma("gemma2", "Gemma2ForCausalLM", **{"attn_logit_softcapping": 5.0, "final_logit_softcapping": 4.0,
                                                    **changes})


def _gemma3(**changes):
    return _gemma("gemma3_text", "Gemma3ForCausalLM", **{
        "num_hidden_layers": 3, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"], **changes})


def _phi3(**changes):
    return _config("phi3", "Phi3ForCausalLM", **{"pad_token_id": 0, "sliding_window": None, "head_dim": 16,
                                                 "original_max_position_embeddings": 256, **changes})


def _olmo(number, **changes):
    return _config(f"olmo{number}", f"Olmo{number}ForCausalLM", **{"pad_token_id": 0, **changes})


def _legacy(config, theta, scaling=None):
    """transformers 4 style; a file without scaling carries an explicit null, as most do."""
    return {**config, "rope_theta": theta, "rope_scaling": scaling}


def _parameters(config, theta, **scaling):
    """transformers 5 style."""
    return {**config, "rope_parameters": {"rope_type": "default", **scaling, "rope_theta": theta}}


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}

# name -> (weight dtype, config, number of safetensors shards)
MODELS = {
    "llama_tied_f32": ("float32", _legacy(_llama(tie_word_embeddings=True), 10000.0), 1),
    "llama_untied_f32": ("float32", _legacy(_llama(num_key_value_heads=4), 10000.0), 1),
    "llama_untied_f16": ("float16", _parameters(_llama(), 10000.0), 1),
    "llama_untied_bf16": ("bfloat16", _legacy(_llama(), 10000.0), 1),
    "llama_sharded_bf16": ("bfloat16", _parameters(_llama(), 10000.0), 3),
    "llama_llama3_bf16": ("bfloat16", _legacy(_llama(), 500000.0, {**LLAMA3, "rope_type": "llama3"}), 1),
    "llama_llama3_params_f16": ("float16", _parameters(_llama(tie_word_embeddings=True, num_hidden_layers=1), 500000.0,
                                                       **{**LLAMA3, "rope_type": "llama3", "factor": 32.0}), 1),
    "llama_linear_bf16": ("bfloat16", _legacy(_llama(num_key_value_heads=1), 10000.0,
                                              {"type": "linear", "factor": 4.0}), 1),
    "llama_linear_params_f16": ("float16", _parameters(_llama(num_hidden_layers=1), 10000.0, rope_type="linear",
                                                       factor=2.5), 1),
    "llama_yarn_bf16": ("bfloat16", _legacy(_llama(), 10000.0, {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}), 1),
    "llama_yarn_params_f16": ("float16", _parameters(_llama(), 1000.0, rope_type="yarn", factor=8.0,
                                                     original_max_position_embeddings=32, beta_fast=4.0,
                                                     beta_slow=0.5, attention_factor=1.3), 1),
    "mistral_window_f32": ("float32", _legacy(_mistral(), 10000.0), 1),
    "mistral_window_bf16": ("bfloat16", _parameters(_mistral(head_dim=32), 1000000.0), 1),
    "qwen2_tied_f32": ("float32", _legacy(_qwen2(tie_word_embeddings=True, use_sliding_window=False, sliding_window=8,
                                                 max_window_layers=0), 1000000.0), 1),
    "qwen2_window_bf16": ("bfloat16", _parameters(_qwen2(use_sliding_window=True, sliding_window=10,
                                                         max_window_layers=1), 10000.0), 1),
    "qwen2_yarn_f16": ("float16", _legacy(_qwen2(tie_word_embeddings=True, num_hidden_layers=1), 1000000.0, {
        "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}), 1),
    "qwen3_f32": ("float32", _legacy(_qwen3(tie_word_embeddings=True), 1000000.0), 1),
    "llama_mlp_bias_f32": ("float32", _legacy(_llama(mlp_bias=True, attention_bias=True), 10000.0), 1),
    "llama_dynamic_f16": ("float16", _legacy(_llama(), 10000.0, {"rope_type": "dynamic", "factor": 2.0}), 1),
    "gemma2_f32": ("float32", {**_gemma2(), "rope_theta": 10000.0}, 1),
    "gemma2_bf16": ("bfloat16", _parameters(_gemma2(head_dim=32), 10000.0), 1),
    "gemma3_f32": ("float32", {**_gemma3(), "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
                               "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, 1),
    "gemma3_bf16": ("bfloat16", {**_gemma3(), "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}, 1),
    "smollm3_f32": ("float32", _legacy(_config("smollm3", "SmolLM3ForCausalLM", num_hidden_layers=4, pad_token_id=0,
                                               no_rope_layers=[1, 0, 1, 0]), 5000000.0), 1),
    "phi3_bf16": ("bfloat16", _legacy(_phi3(sliding_window=12), 10000.0), 1),
    "phi3_short_f32": ("float32", _legacy(_phi3(partial_rotary_factor=0.75, original_max_position_embeddings=64), 10000.0, {
        "type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.6, 2.0, 2.5],
        "long_factor": [1.0, 1.5, 2.5, 4.0, 6.0, 9.0]}), 1),
    "phi3_long_f32": ("float32", _legacy(_phi3(original_max_position_embeddings=32), 10000.0, {
        "type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5],
        "long_factor": [1.0, 1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 9.0]}), 1),
    "olmo2_f32": ("float32", _legacy(_olmo(2), 500000.0), 1),
    "olmo3_bf16": ("bfloat16", _legacy(_olmo(3, num_hidden_layers=4, sliding_window=10), 500000.0, {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}), 1),
    "ministral_f32": ("float32", _parameters(_config("ministral", "MinistralForCausalLM", head_dim=24, sliding_window=10,
                                                     layer_types=["sliding_attention", "full_attention"]), 1e6), 1),
    "ministral3_f32": ("float32", _parameters(_config("ministral3", "Ministral3ForCausalLM", head_dim=24), 1e6,
                                              rope_type="yarn", factor=4.0, original_max_position_embeddings=16,
                                              llama_4_scaling_beta=0.1, mscale=1.0, mscale_all_dim=1.0), 1),
    "qwen3_bf16": ("bfloat16", _parameters(_qwen3(), 1000000.0), 1),
}


def config_json(name):
    """The config.json of a fixture, with the storage type under the key its style uses."""
    dtype, config, _ = MODELS[name]
    return {**config, ("dtype" if "rope_parameters" in config else "torch_dtype"): dtype}
