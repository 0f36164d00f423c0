"""The language models that compare_llm.py measures: random weights in the shapes of known models."""

import collections

# rows, tokens: of a batch; labels: the part of the tokens that have one; quantize: of the frozen
# weights in Ondine, which PyTorch keeps in floating point.
Workload = collections.namedtuple("Workload", "model rows tokens labels quantize",
                                  defaults=(1, None))

RANK, ALPHA, RATE = 8, 16, 1e-4
WORKLOADS = {
    "G1": Workload("gpt2", 1, 256),
    "G2": Workload("gpt2", 1, 256, 0.25),
    "G3": Workload("gpt2", 1, 1024),
    "G4": Workload("gpt2", 1, 4096),
    "G5": Workload("qwen2.5", 1, 256, 1, "nf4"),
    "G7": Workload("gemma3", 1, 256, 0.25),
}


def settings(name):
    """A configuration of transformers, and the modules beside which adapters train."""
    import transformers
    linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    if name == "gpt2":
        return transformers.GPT2Config(n_positions=4096), ["c_attn"]
    if name == "qwen2.5":
        return transformers.Qwen2Config(
            vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
            num_attention_heads=14, num_key_value_heads=2, tie_word_embeddings=True), linear
    return transformers.Gemma3TextConfig(
        vocab_size=262144, hidden_size=640, intermediate_size=2048, num_hidden_layers=18,
        num_attention_heads=4, num_key_value_heads=1, head_dim=256, sliding_window=512), linear


def make(name):
    """The network, and ids and labels of a batch."""
    import torch
    import transformers
    workload = WORKLOADS[name]
    torch.manual_seed(0)
    configuration, _ = settings(workload.model)
    configuration.use_cache = False
    for member in ("resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout"):
        if hasattr(configuration, member):
            setattr(configuration, member, 0.0)
    network = transformers.AutoModelForCausalLM.from_config(configuration)
    shape = (workload.rows, workload.tokens)
    ids = torch.randint(0, configuration.vocab_size, shape)
    labels = torch.randint(0, configuration.vocab_size, shape)
    labels[:, int(workload.tokens * workload.labels):] = -100
    return network, ids, labels


def logits_of(network):
    """The network as a module of ids alone."""
    import torch

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x):
            return self.network(input_ids=x, attention_mask=torch.ones_like(x)).logits

    return Logits()


class Step:
    """A step of PyTorch and peft; returns the loss."""

    def __init__(self, name, bf16):
        import peft
        import torch
        network, self.ids, self.labels = make(name)
        _, targets = settings(WORKLOADS[name].model)
        how = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=targets,
                              fan_in_fan_out=WORKLOADS[name].model == "gpt2")
        self.torch, self.bf16 = torch, bf16
        self.network = peft.get_peft_model(network, how)
        trained = [one for one in self.network.parameters() if one.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=RATE)

    def __call__(self):
        functional = self.torch.nn.functional
        with self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.bf16):
            logits = self.network(input_ids=self.ids).logits
        loss = functional.cross_entropy(logits.float().flatten(0, 1), self.labels.flatten(),
                                        ignore_index=-100)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()
