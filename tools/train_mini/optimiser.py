"""Two optimisers side by side: Muon for the weight matrices, AdamW for the embedding and the norms.

Muon (K. Jordan, 2024): momentum whose update is made orthogonal by five Newton-Schulz steps. On a model of this size it
needs about half the steps AdamW needs.
"""

import torch

from model import Llama

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
MUON_RATE, ADAM_RATE = 0.02, 0.003
MOMENTUM, WEIGHT_DECAY = 0.95, 0.02


def orthogonalise(g: torch.Tensor) -> torch.Tensor:
    """Roughly the nearest matrix to g [rows, columns] with all singular values one, in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    tall = g.shape[0] > g.shape[1]
    x = (g.t() if tall else g).bfloat16()
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.t()
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.t() if tall else x).float()


class Optimiser:
    """Steps all parameters of a model; `rate` in 0..1 scales both learning rates."""

    def __init__(self, model: Llama):
        named = dict(model.named_parameters())
        self.matrices = [p for n, p in named.items() if p.dim() == 2 and n != "embed.weight"]
        others = [p for n, p in named.items() if p.dim() != 2 or n == "embed.weight"]
        self.momenta = [torch.zeros_like(p) for p in self.matrices]
        self.adam = torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.0)
        self.parameters = list(named.values())

    @torch.no_grad()
    def step(self, rate: float) -> None:
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for group in self.adam.param_groups:
            group["lr"] = ADAM_RATE * rate
        self.adam.step()
        for p, m in zip(self.matrices, self.momenta):
            m.lerp_(p.grad, 1 - MOMENTUM)
            update = orthogonalise(p.grad.lerp(m, MOMENTUM))
            p.mul_(1 - MUON_RATE * rate * WEIGHT_DECAY)
            p.add_(update, alpha=-MUON_RATE * rate * max(1, p.shape[0] / p.shape[1]) ** 0.5)
        for p in self.parameters:
            p.grad = None

    def state(self) -> dict:
        return {"momenta": self.momenta, "adam": self.adam.state_dict()}

    def restore(self, state: dict) -> None:
        self.momenta = state["momenta"]
        self.adam.load_state_dict(state["adam"])
