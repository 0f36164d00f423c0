"""Networks of transformers for check_exported.py and real_models.py, of small configurations."""
import torch
import transformers

from exported_network import CLASSES, Network, Output, classes_second

VOCABULARY, LENGTH, BATCH = 40, 12, 4
WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48}
TEXT = {**WIDE, "vocab_size": VOCABULARY, "max_position_embeddings": 32}
GPT = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32}
IMAGE = {**WIDE, "image_size": 16, "patch_size": 8}
SAMPLES = 400  # of sound
SOUND = {**WIDE, "conv_dim": (8, 8), "conv_kernel": (10, 3), "conv_stride": (5, 2),
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 4,
         "num_feat_extract_layers": 2, "vocab_size": 12, "apply_spec_augment": False,
         "layerdrop": 0.0}

ENTROPY, SQUARES = "softmax-cross-entropy", "mse"
TOKENS = ["input_ids", "attention_mask"]


def tokens():
    """Tokens, and a mask that leaves out the end of every other row."""
    mask = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    mask[::2, LENGTH - 3:] = 0
    return [torch.randint(3, VOCABULARY, (BATCH, LENGTH)), mask]


def images(size=16):
    return [torch.randn(BATCH, 3, size, size)]


def without_dropout(config):
    for name, value in list(vars(config).items()):
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif isinstance(value, transformers.PretrainedConfig):
            without_dropout(value)


def classifier(name, config, names, inputs, loss=ENTROPY, pick=None, **settings):
    """A network of the class `name`, whose logits the loss reads."""
    def make():
        settings_of = getattr(transformers, config)(**settings)
        without_dropout(settings_of)
        network = getattr(transformers, name)(settings_of)
        return Output(network.eval(), pick or (lambda result: result.logits), names)

    return Network(make, inputs, loss, "sgd")


def generator(name, config, **settings):
    """A language model: the next token at each position, without a cache."""
    return classifier(name, config, TOKENS, tokens(), use_cache=False, **settings,
                      pick=lambda result: classes_second(result.logits))


def encoder(name, config, names, inputs, **settings):
    return classifier(name, config, names, inputs, SQUARES,
                      lambda result: result.last_hidden_state, **settings)


def texts():
    labels = {"num_labels": CLASSES}
    first_token = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    rotary = {**TEXT, **first_token, "num_key_value_heads": 2}
    mamba = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}
    t5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2,
          "num_heads": 4}
    return {
        "BERT": classifier("BertForSequenceClassification", "BertConfig", TOKENS, tokens(),
                           **TEXT, **labels),
        "BERT masked words": classifier("BertForMaskedLM", "BertConfig", TOKENS, tokens(), **TEXT,
                                        pick=lambda result: classes_second(result.logits)),
        "DistilBERT": classifier("DistilBertForSequenceClassification", "DistilBertConfig", TOKENS,
                                 tokens(), vocab_size=VOCABULARY, dim=32, n_layers=2, n_heads=4,
                                 hidden_dim=48, max_position_embeddings=32, **labels),
        "RoBERTa": classifier("RobertaForSequenceClassification", "RobertaConfig", TOKENS,
                              tokens(), **TEXT, **labels),
        "ALBERT": classifier("AlbertForSequenceClassification", "AlbertConfig", TOKENS, tokens(),
                             **TEXT, embedding_size=16, **labels),
        "ELECTRA": classifier("ElectraForSequenceClassification", "ElectraConfig", TOKENS,
                              tokens(), **TEXT, embedding_size=16, **labels),
        "DeBERTa-v2": classifier("DebertaV2ForSequenceClassification", "DebertaV2Config", TOKENS,
                                 tokens(), **TEXT, **labels, relative_attention=True,
                                 pos_att_type=["p2c", "c2p"]),
        "MPNet": classifier("MPNetForSequenceClassification", "MPNetConfig", TOKENS, tokens(),
                            **TEXT, **labels),
        "ModernBERT": classifier("ModernBertForSequenceClassification", "ModernBertConfig", TOKENS,
                                 tokens(), **TEXT, **labels, **first_token,
                                 local_attention=4, attn_implementation="eager"),
        "GPT-2": generator("GPT2LMHeadModel", "GPT2Config", **GPT),
        "GPT-Neo": generator("GPTNeoForCausalLM", "GPTNeoConfig", vocab_size=VOCABULARY,
                             hidden_size=32, num_layers=2, num_heads=4, window_size=4,
                             attention_types=[[["global", "local"], 1]], intermediate_size=48,
                             max_position_embeddings=32),
        "GPT-NeoX": generator("GPTNeoXForCausalLM", "GPTNeoXConfig", **TEXT),
        "OPT": generator("OPTForCausalLM", "OPTConfig", vocab_size=VOCABULARY, hidden_size=32,
                         num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
                         max_position_embeddings=32, word_embed_proj_dim=32),
        "BLOOM": generator("BloomForCausalLM", "BloomConfig", vocab_size=VOCABULARY,
                           hidden_size=32, n_layer=2, n_head=4),
        "Llama": generator("LlamaForCausalLM", "LlamaConfig", **rotary),
        "Qwen2": generator("Qwen2ForCausalLM", "Qwen2Config", **rotary),
        "Qwen3": generator("Qwen3ForCausalLM", "Qwen3Config", head_dim=8, **rotary),
        "Gemma": generator("GemmaForCausalLM", "GemmaConfig", head_dim=8, **rotary),
        "Phi": generator("PhiForCausalLM", "PhiConfig", **rotary),
        "Mamba": classifier("MambaForCausalLM", "MambaConfig", TOKENS[:1], tokens()[:1],
                            use_cache=False, **mamba,
                            pick=lambda result: classes_second(result.logits)),
        "T5 encoder": encoder("T5EncoderModel", "T5Config", TOKENS, tokens(), **t5),
        "T5": classifier("T5ForConditionalGeneration", "T5Config",
                         [*TOKENS, "decoder_input_ids"], [*tokens(), tokens()[0]], **t5,
                         use_cache=False, decoder_start_token_id=0,
                         pick=lambda result: classes_second(result.logits)),
        "BART": classifier("BartForConditionalGeneration", "BartConfig",
                           [*TOKENS, "decoder_input_ids"], [*tokens(), tokens()[0]],
                           vocab_size=VOCABULARY, d_model=32, encoder_layers=1, decoder_layers=1,
                           encoder_attention_heads=4, decoder_attention_heads=4,
                           encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=32,
                           use_cache=False, pick=lambda result: classes_second(result.logits)),
    }


def signals():
    labels = {"num_labels": CLASSES}
    clip = {"text_config": TEXT, "vision_config": IMAGE, "projection_dim": 16}
    whisper = {"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4,
               "encoder_ffn_dim": 48, "num_mel_bins": 8, "max_source_positions": 10,
               "vocab_size": VOCABULARY, "decoder_layers": 1, "decoder_attention_heads": 4,
               "decoder_ffn_dim": 48, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
               "decoder_start_token_id": 1, "max_target_positions": 32}
    pixels = ["pixel_values"]
    return {
        "ViT": classifier("ViTForImageClassification", "ViTConfig", pixels, images(), **IMAGE,
                          **labels),
        "DeiT": classifier("DeiTForImageClassification", "DeiTConfig", pixels, images(), **IMAGE,
                           **labels),
        "DINOv2": encoder("Dinov2Model", "Dinov2Config", pixels, images(), **IMAGE),
        "SegFormer": classifier("SegformerForSemanticSegmentation", "SegformerConfig", pixels,
                                images(64), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16,
                                **labels),
        "CLIP": classifier("CLIPModel", "CLIPConfig", [*TOKENS, *pixels],
                           [*tokens(), *images()], **clip,
                           pick=lambda result: result.logits_per_image),
        "Whisper encoder": Network(
            lambda: Output(transformers.WhisperModel(
                transformers.WhisperConfig(**whisper)).encoder.eval(),
                lambda result: result.last_hidden_state),
            [torch.randn(BATCH, 8, 20)], SQUARES, "sgd"),
        "Whisper": classifier("WhisperForConditionalGeneration", "WhisperConfig",
                              ["input_features", "decoder_input_ids", "decoder_attention_mask"],
                              [torch.randn(BATCH, 8, 20), *tokens()], use_cache=False, **whisper,
                              pick=lambda result: classes_second(result.logits)),
        "wav2vec 2.0": classifier("Wav2Vec2ForCTC", "Wav2Vec2Config", ["input_values"],
                                  [torch.randn(BATCH, SAMPLES)], **SOUND,
                                  pick=lambda result: classes_second(result.logits)),
        "HuBERT": encoder("HubertModel", "HubertConfig", ["input_values"],
                          [torch.randn(BATCH, SAMPLES)], **SOUND),
        "AST": classifier("ASTForAudioClassification", "ASTConfig", ["input_values"],
                          [torch.randn(BATCH, 32, 16)], **WIDE, num_mel_bins=16, max_length=32,
                          patch_size=8, frequency_stride=8, time_stride=8, **labels),
        "PatchTST": classifier("PatchTSTForClassification", "PatchTSTConfig", ["past_values"],
                               [torch.randn(BATCH, 16, 2)], num_input_channels=2,
                               context_length=16, patch_length=4, patch_stride=4, d_model=16,
                               num_hidden_layers=2, num_attention_heads=4, ffn_dim=32,
                               num_targets=CLASSES, use_cls_token=True,
                               pick=lambda result: result.prediction_logits),
    }


def networks():
    return {f"transformers {name}": one for name, one in {**texts(), **signals()}.items()}
