#!/usr/bin/env python3
"""Writes the cases of import_hugging_face_test.cpp: a config.json, the names and shapes of the
tensors, whose elements follow from a formula, inputs, and what PyTorch computes of them.

  record.py FOLDER

Element i of tensor number k is 0.5 sin(0.37 i + 1.1 k), in float32; vectors whose names end in
"norm.weight", "LayerNorm.weight" or "ln_*.weight" have 1 more where their network begins with ones.
Needs torch and transformers (written with transformers 5.24 and torch 2.15)."""
import json
import re
import sys
from pathlib import Path

import torch
import transformers

WORDS, IDS = 11, [[1, 7, 3, 10, 2, 5, 9], [4, 4, 8, 0, 6, 2, 1]]
COMMON = {"vocab_size": WORDS, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 2,
          "num_attention_heads": 4, "max_position_embeddings": 16, "pad_token_id": 0,
          "bos_token_id": None, "eos_token_id": None}
GEMMA = {**COMMON, "num_key_value_heads": 2, "head_dim": 6, "query_pre_attn_scalar": 5,
         "sliding_window": 3}
GPT2 = {"vocab_size": WORDS, "n_positions": 16, "n_embd": 8, "n_layer": 2, "n_head": 2}
ROBERTA = {**COMMON, "pad_token_id": 1, "type_vocab_size": 1, "hidden_act": "relu"}
DISTILBERT = {"vocab_size": WORDS, "dim": 8, "hidden_dim": 12, "n_layers": 2, "n_heads": 4,
              "max_position_embeddings": 16, "pad_token_id": 0}
CASES = {
    "llama": ("LlamaForCausalLM", {**COMMON, "num_key_value_heads": 2, "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 100.0, "factor": 4.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8}}),
    "llama_biases": ("LlamaForCausalLM", {
        **COMMON, "num_key_value_heads": 1, "head_dim": 6, "attention_bias": True,
        "mlp_bias": True, "tie_word_embeddings": True}),
    "mistral": ("MistralForCausalLM", {**COMMON, "num_key_value_heads": 2, "sliding_window": 3}),
    "qwen2": ("Qwen2ForCausalLM", {
        **COMMON, "num_key_value_heads": 2, "use_sliding_window": True, "sliding_window": 3,
        "max_window_layers": 1}),
    "qwen3": ("Qwen3ForCausalLM", {**COMMON, "num_key_value_heads": 2, "head_dim": 6}),
    "phi3": ("Phi3ForCausalLM", {**COMMON, "hidden_size": 16, "rope_parameters": {
        "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}}),
    "gemma2": ("Gemma2ForCausalLM", {**GEMMA, "attn_logit_softcapping": 2.0,
                                     "final_logit_softcapping": 3.0}),
    "gemma3": ("Gemma3ForCausalLM", {
        **GEMMA, "layer_types": ["sliding_attention", "full_attention"], "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 100.0, "factor": 2.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10.0}}}),
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "bert": ("BertModel", COMMON),
    "bert_masked": ("BertForMaskedLM", COMMON),
    "bert_classes": ("BertForSequenceClassification", {**COMMON, "num_labels": 3}),
    "bert_tokens": ("BertForTokenClassification", {**COMMON, "num_labels": 4}),
    "roberta": ("RobertaModel", ROBERTA),
    "roberta_masked": ("RobertaForMaskedLM", ROBERTA),
    "roberta_classes": ("XLMRobertaForSequenceClassification", {**ROBERTA, "num_labels": 3}),
    "distilbert_masked": ("DistilBertForMaskedLM", DISTILBERT),
    "distilbert_classes": ("DistilBertForSequenceClassification", {**DISTILBERT, "num_labels": 3}),
}
KEPT = set(COMMON) | set(GPT2) | set(DISTILBERT) | {
    "type_vocab_size", "hidden_act",
    "architectures", "num_key_value_heads", "head_dim", "rope_parameters", "attention_bias", "mlp_bias",
    "tie_word_embeddings", "sliding_window", "use_sliding_window", "max_window_layers", "layer_types",
    "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "id2label"}


def fill(model):
    tensors = {}
    tied = model.all_tied_weights_keys if model.config.tie_word_embeddings else {}
    for k, (name, value) in enumerate(model.state_dict().items()):
        if name in tied:
            continue
        places = torch.arange(value.numel(), dtype=torch.float64)
        ones = value.dim() == 1 and bool((value == 1).all())
        assert ones == (bool(re.search(r"(norm|LayerNorm|layer_norm|ln_\w+)\.weight$", name))
                        and value.dim() == 1 and "Gemma" not in type(model).__name__), name
        elements = 0.5 * torch.sin(0.37 * places + 1.1 * k)
        with torch.no_grad():
            value.copy_((elements + (1 if ones else 0)).reshape(value.shape).float())
        tensors[name] = {"shape": list(value.shape), "one": ones, "number": k}
    return tensors


def main():
    folder = Path(sys.argv[1])
    for name, (architecture, members) in CASES.items():
        model_class = getattr(transformers, architecture)
        config = model_class.config_class(**members)
        model = model_class._from_config(config, attn_implementation="eager").eval()
        tensors = fill(model)
        feeds = {"input_ids": IDS}
        if "Bert" in architecture or "Roberta" in architecture:
            feeds["attention_mask"] = [[1] * 7, [1] * 5 + [0] * 2]
        if architecture.startswith("Bert"):
            feeds["token_type_ids"] = [[0] * 4 + [1] * 3] * 2
        with torch.no_grad():
            result = model(**{one: torch.tensor(value) for one, value in feeds.items()})
        is_alone = architecture in ("BertModel", "RobertaModel")
        wanted = ["last_hidden_state", "pooler_output"] if is_alone else ["logits"]
        written = {one: value for one, value in config.to_dict().items() if one in KEPT}
        written["architectures"] = [architecture]
        if not architecture.endswith("Classification"):
            written.pop("id2label", None)
        case = {
            "config": written, "tensors": tensors, "inputs": feeds,
            "outputs": {one: {"shape": list(result[one].shape),
                              "values": [float(f"{x:.6g}") for x in result[one].flatten()]}
                        for one in wanted}}
        lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in case.items())
        (folder / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
