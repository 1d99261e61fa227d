# SPDX-License-Identifier: Apache-2.0
"""The list of model fixtures: one entry per directory of tests/oracle/models.

An entry is data only: storage type of the weights (mxfp4: of the experts, all others are bfloat16), the config.json to write, and how to spread the
tensors over shards. config.json comes in the two styles found in the wild: `rope_theta` and
`rope_scaling` at top level with `torch_dtype` (transformers 4), or `rope_parameters` with `dtype`
(transformers 5). Shapes are small and awkward on purpose: head_dim 12, 20, 21 and 24 leave a tail in every
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
        "rms_norm_eps": 1e-6, "head_dim": 24, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 20,
        "sliding_window": 12, "tie_word_embeddings": True, "attention_bias": False, **changes})


def _gemma2(**changes):
    return _gemma("gemma2", "Gemma2ForCausalLM", **{"num_hidden_layers": 3, "hidden_size": 48, "intermediate_size": 36, "attn_logit_softcapping": 5.0,
                                                    "final_logit_softcapping": 3.0, **changes})


def _gemma3(**changes):
    return _gemma("gemma3_text", "Gemma3ForCausalLM", **changes)


def _smollm3(**changes):
    return _config("smollm3", "SmolLM3ForCausalLM", **{"rms_norm_eps": 1e-6, "pad_token_id": 0, **changes})


def _phi3(**changes):
    return _config("phi3", "Phi3ForCausalLM", **{"pad_token_id": 0, "num_hidden_layers": 2, **changes})


def _olmo2(**changes):
    return _config("olmo2", "Olmo2ForCausalLM", **{"attention_bias": False, **changes})


def _olmo3(**changes):
    return _config("olmo3", "Olmo3ForCausalLM", **{"attention_bias": False, "sliding_window": 12, **changes})


def _ministral(**changes):
    return _config("ministral", "MinistralForCausalLM", **{"sliding_window": 12, "head_dim": 16, **changes})


def _ministral3(**changes):
    return _config("ministral3", "Ministral3ForCausalLM", **{"head_dim": 24, "sliding_window": None, **changes})


def _mixtral(**changes):
    return _config("mixtral", "MixtralForCausalLM", **{"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16,
                                                       "hidden_size": 48, "intermediate_size": 36,
                                                       "sliding_window": None, **changes})


def _qwen3_moe(**changes):
    return _config("qwen3_moe", "Qwen3MoeForCausalLM", **{
        "rms_norm_eps": 1e-6, "head_dim": 16, "hidden_size": 48, "attention_bias": False, "num_experts": 6,
        "num_experts_per_tok": 3, "moe_intermediate_size": 20, "norm_topk_prob": True, "decoder_sparse_step": 1,
        "mlp_only_layers": [], **changes})


def _gpt_oss(**changes):
    return _config("gpt_oss", "GptOssForCausalLM", **{
        "head_dim": 16, "hidden_size": 64, "intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2,
        "attention_bias": True, "sliding_window": 12, "layer_types": ["sliding_attention", "full_attention"],
        **changes})


def _legacy(config, theta, scaling=None):
    """transformers 4 style; a file without scaling carries an explicit null, as most do."""
    return {**config, "rope_theta": theta, "rope_scaling": scaling}


def _parameters(config, theta, **scaling):
    """transformers 5 style."""
    return {**config, "rope_parameters": {"rope_type": "default", **scaling, "rope_theta": theta}}


def _by_type(config, full, sliding):
    """transformers 5 style, by layer type."""
    return {**config, "rope_parameters": {"full_attention": full, "sliding_attention": sliding}}


def _long(pairs):
    """Factors of longrope: those of short contexts near 1, those of long contexts larger."""
    return {"rope_type": "longrope", "short_factor": [1.0 + 0.05 * i for i in range(pairs)],
            "long_factor": [1.5 + 0.5 * i for i in range(pairs)]}


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
    "qwen3_bf16": ("bfloat16", _parameters(_qwen3(), 1000000.0), 1),
    "gemma2_f32": ("float32", _legacy(_gemma2(query_pre_attn_scalar=24), 10000.0), 1),
    "gemma2_bf16": ("bfloat16", _parameters(_gemma2(num_hidden_layers=2, final_logit_softcapping=None), 10000.0), 1),
    "gemma3_f16": ("float16", {**_legacy(_gemma3(num_hidden_layers=6, hidden_size=32, intermediate_size=36,
                                                 query_pre_attn_scalar=24), 100000.0,
                                         {"rope_type": "linear", "factor": 8.0}),
                               "rope_local_base_freq": 1000.0}, 1),
    "gemma3_types_bf16": ("bfloat16", _by_type(
        _gemma3(num_hidden_layers=2, num_key_value_heads=1, tie_word_embeddings=False, query_pre_attn_scalar=24,
                layer_types=["full_attention", "sliding_attention"], final_logit_softcapping=4.0),
        {"rope_type": "default", "rope_theta": 100000.0}, {"rope_type": "default", "rope_theta": 500.0}), 1),
    "gemma3_wide_f16": ("float16", {**_legacy(_gemma3(num_hidden_layers=2, sliding_window_pattern=2, head_dim=64,
                                                      hidden_size=48, num_key_value_heads=1), 100000.0),
                                    "rope_local_base_freq": 1000.0}, 1),
    "smollm3_f32": ("float32", _legacy(_smollm3(no_rope_layers=[0, 1]), 50000.0), 1),
    "smollm3_bf16": ("bfloat16", _parameters(_smollm3(num_hidden_layers=4, no_rope_layer_interval=4,
                                                      tie_word_embeddings=True), 50000.0), 1),
    "llama_mlp_bias_f32": ("float32", _legacy(_llama(mlp_bias=True, attention_bias=True), 10000.0), 1),
    "olmo2_f32": ("float32", _legacy(_olmo2(), 500000.0), 1),
    "olmo2_bf16": ("bfloat16", _parameters(_olmo2(num_key_value_heads=4), 500000.0), 1),
    "olmo3_f16": ("float16", _legacy(_olmo3(num_hidden_layers=4, hidden_size=48, intermediate_size=36, head_dim=16), 500000.0, {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}), 1),
    "ministral_f32": ("float32", _legacy(_ministral(layer_types=["sliding_attention", "full_attention"]), 10000.0), 1),
    "ministral3_bf16": ("bfloat16", _parameters(_ministral3(), 1000000.0, rope_type="yarn", factor=16.0,
                                              original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0,
                                              mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1), 1),
    "phi3_f32": ("float32", _legacy(_phi3(sliding_window=12), 10000.0), 1),
    "phi3_partial_f32": ("float32", {**_legacy(_phi3(num_attention_heads=2, num_key_value_heads=1), 10000.0),
                                     "partial_rotary_factor": 0.75}, 1),
    "phi3_short_f32": ("float32", {**_legacy(_phi3(), 10000.0, _long(8)),
                                   "original_max_position_embeddings": 64}, 1),
    "phi3_long_f32": ("float32", {**_legacy(_phi3(num_attention_heads=2, num_key_value_heads=1), 10000.0, _long(12)),
                                  "original_max_position_embeddings": 24, "partial_rotary_factor": 0.75}, 1),
    "mixtral_f32": ("float32", _legacy(_mixtral(), 10000.0), 1),
    "mixtral_window_bf16": ("bfloat16", _parameters(_mixtral(sliding_window=12, num_local_experts=3,
                                                             num_experts_per_tok=1), 10000.0), 1),
    "qwen3_moe_f32": ("float32", _legacy(_qwen3_moe(), 10000.0), 1),
    "qwen3_moe_dense_bf16": ("bfloat16", _parameters(_qwen3_moe(
        num_hidden_layers=3, norm_topk_prob=False, mlp_only_layers=[0], intermediate_size=40), 10000.0), 1),
    "gpt_oss_f32": ("float32", _parameters(_gpt_oss(), 1500.0, rope_type="yarn", factor=4.0, beta_fast=32.0,
                                           beta_slow=1.0, truncate=False, original_max_position_embeddings=32), 1),
    "gpt_oss_mxfp4": ("mxfp4", _parameters(_gpt_oss(), 1500.0, rope_type="yarn", factor=4.0, beta_fast=32.0,
                                           beta_slow=1.0, truncate=False, original_max_position_embeddings=32), 1),
    "llama_dynamic_f32": ("float32", _legacy(_llama(max_position_embeddings=24), 10000.0,
                                             {"type": "dynamic", "factor": 4.0}), 1),
    "llama_head12_f32": ("float32", _legacy(_llama(hidden_size=48), 10000.0), 1),
    "llama_head20_bf16": ("bfloat16", _parameters(_llama(hidden_size=60, num_attention_heads=3, num_key_value_heads=1),
                                                  10000.0), 1),
    "phi3_head21_f32": ("float32", {**_legacy(_phi3(head_dim=21, num_attention_heads=2, num_key_value_heads=1), 10000.0),
                                    "partial_rotary_factor": 0.6}, 1),
    "gemma3_head20_f16": ("float16", {**_legacy(_gemma3(head_dim=20, hidden_size=48, intermediate_size=36), 100000.0),
                                      "rope_local_base_freq": 1000.0}, 1),
    "qwen3_moe_head12_bf16": ("bfloat16", _legacy(_qwen3_moe(head_dim=12), 10000.0), 1),
}


def config_json(name):
    """The config.json of a fixture, with the storage type under the key its style uses."""
    dtype, config, _ = MODELS[name]
    key = "dtype" if "rope_parameters" in config else "torch_dtype"
    if dtype == "mxfp4":
        packed = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                      "model.embed_tokens", "lm_head"]}
        return {**config, key: "bfloat16", "quantization_config": packed}
    return {**config, key: dtype}
