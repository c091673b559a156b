"""Turns a trained model and its tokenizer into a GGUF file, and back."""

import numpy as np
import torch

import gguf_reader
import gguf_writer
from gguf_format import FILE_MOSTLY_Q8_0, TENSOR_F32, TENSOR_Q8_0
from model import Config, Llama
from tokenizer import PRE, SPECIALS, Tokenizer

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

DESCRIPTION = (
    "Demo and test model of the Hearth home AI server. Answers short household commands and a little small talk, "
    "in English. Trained from scratch by tools/train_mini on dialogues that it generates itself."
)

# Our module names against llama.cpp's tensor names; {} is the block number.
BLOCK_TENSORS = {
    "attn_norm.weight": "attn_norm.weight",
    "attn.q.weight": "attn_q.weight",
    "attn.k.weight": "attn_k.weight",
    "attn.v.weight": "attn_v.weight",
    "attn.o.weight": "attn_output.weight",
    "ffn_norm.weight": "ffn_norm.weight",
    "ffn.gate.weight": "ffn_gate.weight",
    "ffn.up.weight": "ffn_up.weight",
    "ffn.down.weight": "ffn_down.weight",
}


def tensor_names(layers: int) -> dict[str, str]:
    """PyTorch parameter name -> GGUF tensor name, in file order."""
    names = {"embed.weight": "token_embd.weight"}
    for i in range(layers):
        names |= {f"blocks.{i}.{ours}": f"blk.{i}.{theirs}" for ours, theirs in BLOCK_TENSORS.items()}
    return names | {"norm.weight": "output_norm.weight"}


def general_metadata(parameters: int) -> dict:
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": "Hearth Mini",
        "general.basename": "hearth-mini",
        "general.description": DESCRIPTION,
        "general.author": "The Hearth authors",
        "general.license": "apache-2.0",
        "general.size_label": f"{parameters / 1e6:.1f}M",
        "general.languages": ["en"],
        "general.file_type": FILE_MOSTLY_Q8_0,
        "general.quantization_version": 2,
    }


def shape_metadata(c: Config) -> dict:
    return {
        "llama.vocab_size": c.vocab,
        "llama.context_length": c.context,
        "llama.embedding_length": c.embd,
        "llama.block_count": c.layers,
        "llama.feed_forward_length": c.ff,
        "llama.attention.head_count": c.heads,
        "llama.attention.head_count_kv": c.kv_heads,
        "llama.attention.layer_norm_rms_epsilon": c.norm_eps,
        "llama.rope.dimension_count": c.head_dim,
        "llama.rope.freq_base": c.rope_theta,
    }


def tokenizer_metadata(t: Tokenizer) -> dict:
    normal, control = 1, 3
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": PRE,
        "tokenizer.ggml.tokens": t.tokens,
        "tokenizer.ggml.token_type": [control if s in SPECIALS else normal for s in t.tokens],
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in t.merges],
        "tokenizer.ggml.bos_token_id": t.end_of_text,
        "tokenizer.ggml.eos_token_id": t.im_end,
        "tokenizer.ggml.eot_token_id": t.im_end,
        "tokenizer.ggml.padding_token_id": t.end_of_text,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def save(path: str, model: Llama, tokenizer: Tokenizer, provenance: dict) -> int:
    """Writes the model: matrices as Q8_0, norms as F32, no output.weight (tied). `provenance` are extra metadata
    keys. Returns the file size in bytes."""
    weights = model.state_dict()
    tensors = []
    for ours, theirs in tensor_names(model.config.layers).items():
        values = weights[ours].float().numpy()
        tensors.append((theirs, TENSOR_Q8_0 if values.ndim == 2 else TENSOR_F32, values))
    metadata = general_metadata(model.parameter_count()) | shape_metadata(model.config)
    return gguf_writer.write_file(path, metadata | provenance | tokenizer_metadata(tokenizer), tensors)


def load(path: str) -> tuple[Llama, Tokenizer, dict]:
    """The model as the engine sees it (weights after quantisation), its tokenizer and the metadata."""
    metadata, tensors = gguf_reader.read_file(path)
    tokenizer = Tokenizer([tuple(m.split(" ")) for m in metadata["tokenizer.ggml.merges"]])
    model = Llama(config_of(metadata))
    names = tensor_names(model.config.layers)
    model.load_state_dict({ours: torch.from_numpy(np.array(tensors[theirs])) for ours, theirs in names.items()})
    return model.eval(), tokenizer, metadata


def config_of(metadata: dict) -> Config:
    return Config(
        vocab=metadata["llama.vocab_size"],
        embd=metadata["llama.embedding_length"],
        layers=metadata["llama.block_count"],
        heads=metadata["llama.attention.head_count"],
        kv_heads=metadata["llama.attention.head_count_kv"],
        ff=metadata["llama.feed_forward_length"],
        context=metadata["llama.context_length"],
        rope_theta=metadata["llama.rope.freq_base"],
        norm_eps=metadata["llama.attention.layer_norm_rms_epsilon"],
    )
