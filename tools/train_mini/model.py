"""A small llama-architecture decoder in PyTorch.

The shapes and the arithmetic are those llama.cpp uses for `general.architecture = llama`: RMS norm before attention
and before the feed-forward part, grouped-query attention, rotary positions on *interleaved* pairs (2i, 2i+1), a SiLU
gated feed-forward part, no biases, the output projection tied to the token embedding. Because the rotary pairs are
interleaved in training, the q and k weights go into the file as they are; no permutation is needed.
"""

import math
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F


INITIAL_STD = 0.04
CONSTANT = 0.12  # the start value of axis 0 of every embedding, about 3 after the norm
FAST_PAIRS = 5  # rotary pairs whose angle changes enough from one place to the next


@dataclass(frozen=True)
class Config:
    """Shape of a model. `embd`, `ff` and `kv_heads * head_dim` must divide by 32 (rows of Q8_0 blocks)."""

    vocab: int
    embd: int = 192
    layers: int = 5
    heads: int = 6
    kv_heads: int = 2
    ff: int = 512
    context: int = 1024
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.embd // self.heads

    def as_dict(self) -> dict:
        return asdict(self)


class RmsNorm(nn.Module):
    """x / rms(x) * weight over the last axis, in float32 whatever the input is."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rope_tables(positions: int, head_dim: int, theta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of position * theta^(-2i/head_dim), each of shape [positions, head_dim / 2]."""
    inverse = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.arange(positions).float()[:, None] * inverse[None, :]
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates the pairs (2i, 2i+1) of x [batch, heads, length, head_dim] by the tables' angles."""
    pairs = x.float().unflatten(-1, (-1, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    """Causal grouped-query attention. `cache` is a (k, v) pair to continue from, or None."""

    def __init__(self, c: Config):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = c.heads, c.kv_heads, c.head_dim
        self.q = nn.Linear(c.embd, c.heads * c.head_dim, bias=False)
        self.k = nn.Linear(c.embd, c.kv_heads * c.head_dim, bias=False)
        self.v = nn.Linear(c.embd, c.kv_heads * c.head_dim, bias=False)
        self.o = nn.Linear(c.heads * c.head_dim, c.embd, bias=False)

    def split(self, x: torch.Tensor, heads: int) -> torch.Tensor:
        return x.unflatten(-1, (heads, self.head_dim)).transpose(1, 2)

    def forward(self, x, cos, sin, mask, cache=None):
        batch, length, _ = x.shape
        q = rotate(self.split(self.q(x), self.heads), cos, sin)
        k = rotate(self.split(self.k(x), self.kv_heads), cos, sin)
        v = self.split(self.v(x), self.kv_heads)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        # The query heads of one group share a key head: fold the group into the row axis instead of copying keys.
        group = self.heads // self.kv_heads
        rows = q.reshape(batch * self.kv_heads, group * length, self.head_dim)
        keys, values = k.flatten(0, 1), v.flatten(0, 1)
        scores = torch.bmm(rows, keys.transpose(1, 2)).view(-1, group, length, keys.shape[1])
        weights = torch.softmax(scores.float() / math.sqrt(self.head_dim) + mask, -1).to(values.dtype)
        out = torch.bmm(weights.view(-1, group * length, keys.shape[1]), values)
        out = out.view(batch, self.heads, length, self.head_dim).transpose(1, 2).flatten(2)
        return self.o(out), (k, v)


class FeedForward(nn.Module):
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, c: Config):
        super().__init__()
        self.gate = nn.Linear(c.embd, c.ff, bias=False)
        self.up = nn.Linear(c.embd, c.ff, bias=False)
        self.down = nn.Linear(c.ff, c.embd, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.attn_norm, self.attn = RmsNorm(c.embd, c.norm_eps), Attention(c)
        self.ffn_norm, self.ffn = RmsNorm(c.embd, c.norm_eps), FeedForward(c)

    def forward(self, x, cos, sin, mask, cache=None):
        attended, cache = self.attn(self.attn_norm(x), cos, sin, mask, cache)
        x = x + attended
        return x + self.ffn(self.ffn_norm(x)), cache


@torch.no_grad()
def look_back(attn: Attention, c: Config, distances: list[int]) -> None:
    """Makes query head h of key head 0 attend to the token `distances[h]` places back, whatever the tokens are.

    Repeating a name needs to know which token came before each place. Learning that from nothing takes a small model
    most of its training; given as a start it costs nothing, and training may change it. Every embedding has the same
    value in axis 0; q and k read only that axis, q rotated ahead by the distance, so that the score of two places is
    sum_i cos(angle_i * (their distance - the wanted one)) over the fastest pairs, with its peak at the wanted one.
    """
    strength = 1.9
    k = torch.zeros(c.head_dim, c.embd)
    k[: 2 * FAST_PAIRS : 2, 0] = strength
    attn.k.weight[: c.head_dim] = k
    angles = c.rope_theta ** (-torch.arange(0, 2 * FAST_PAIRS, 2).float() / c.head_dim)
    for head, distance in enumerate(distances):
        q = torch.zeros(c.head_dim, c.embd)
        q[: 2 * FAST_PAIRS : 2, 0] = strength * torch.cos(-angles * distance)
        q[1 : 2 * FAST_PAIRS : 2, 0] = strength * torch.sin(-angles * distance)
        attn.q.weight[head * c.head_dim : (head + 1) * c.head_dim] = q


class Llama(nn.Module):
    """The whole decoder. `forward` gives the normalised hidden states, `logits` projects chosen ones."""

    def __init__(self, c: Config):
        super().__init__()
        self.config = c
        self.embed = nn.Embedding(c.vocab, c.embd)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RmsNorm(c.embd, c.norm_eps)
        cos, sin = rope_tables(c.context, c.head_dim, c.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.reset()

    @torch.no_grad()
    def reset(self) -> None:
        """Normal initialisation; projections that write into the residual stream are scaled by depth. The query heads
        of the first key head of block 0 start out looking 1, 2, 3, ... tokens back."""
        for name, p in self.named_parameters():
            if p.dim() == 2:
                scale = math.sqrt(2 * self.config.layers) if name.endswith(("attn.o.weight", "ffn.down.weight")) else 1
                nn.init.normal_(p, std=INITIAL_STD / scale)
        self.embed.weight[:, 0] = CONSTANT
        group = self.config.heads // self.config.kv_heads
        look_back(self.blocks[0].attn, self.config, list(range(1, group + 1)))

    def forward(self, tokens: torch.Tensor, caches: list | None = None) -> tuple[torch.Tensor, list]:
        """tokens [batch, length] -> hidden states [batch, length, embd] and the caches to continue with."""
        past = caches[0][0].shape[2] if caches else 0
        length = tokens.shape[1]
        cos, sin = self.cos[past : past + length], self.sin[past : past + length]
        mask = torch.full((length, past + length), float("-inf")).triu(past + 1)
        x, new = self.embed(tokens), []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, cos, sin, mask, caches[i] if caches else None)
            new.append(cache)
        return self.norm(x), new

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return F.linear(hidden, self.embed.weight)

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())


@torch.no_grad()
def greedy(model: Llama, prompt: list[int], stop: int, limit: int = 64) -> list[int]:
    """The most likely continuation of `prompt`, without the stop token; at most `limit` tokens."""
    model.eval()
    tokens, caches, out = torch.tensor([prompt]), None, []
    for _ in range(min(limit, model.config.context - len(prompt))):
        hidden, caches = model(tokens, caches)
        best = int(model.logits(hidden[:, -1]).argmax())
        if best == stop:
            break
        out.append(best)
        tokens = torch.tensor([[best]])
    return out
