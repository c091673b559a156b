"""The training loop: seeded, resumable, with a log line every few seconds."""

import os
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

import batches
import grammar
from model import Config, Llama
from optimiser import Optimiser
from tokenizer import Tokenizer

VOCAB = 1536
TOKENIZER_DIALOGUES = 20_000
BATCH_TOKENS = 2048

# Learning rate factor along a run of USUAL_STEPS; straight lines between the knots, stretched for other lengths. First
# at full rate, to find the way; then small steps, because steps of so few tokens are noisy: at full rate the loss stays
# above 0.4, at a quarter of it it halves within 50 steps.
USUAL_STEPS = 1900
RATE_KNOTS = ((0, 0.025), (39, 1.0), (550, 1.0), (636, 0.948), (637, 0.28), (1200, 0.179), (1360, 0.163), (1361, 0.085),
              (USUAL_STEPS, 0.0))


@dataclass(frozen=True)
class Plan:
    """How long to train: `steps`, or as many as fit into `minutes` (then the result depends on the machine)."""

    seed: int
    steps: int | None
    minutes: float | None
    checkpoint: str


def make_tokenizer(seed: int) -> Tokenizer:
    """Learnt from what users and the assistant say; system prompts are spelled out in whatever tokens that gives."""
    dialogues = grammar.training_dialogues(seed, -1, TOKENIZER_DIALOGUES)
    return Tokenizer.train((m["content"] for d in dialogues for m in d.messages if m["role"] != "system"), VOCAB)


def rate_at(progress: float) -> float:
    """Learning rate factor at a progress of 0..1."""
    return float(np.interp(progress * USUAL_STEPS, *zip(*RATE_KNOTS)))


def loss_of(model: Llama, batch: batches.Batch) -> torch.Tensor:
    """Weighted sum of the cross entropy over the tokens of the answers. Matrix products run in bfloat16, the rest in
    float32."""
    wanted = batch.weight[:, 1:] > 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden, _ = model(batch.ids[:, :-1])
        logits = model.logits(hidden[wanted])
    losses = F.cross_entropy(logits.float(), batch.ids[:, 1:][wanted], reduction="none")
    return (losses * batch.weight[:, 1:][wanted]).sum()


def backward(model: Llama, step: list[batches.Batch]) -> float:
    """Leaves the gradient of the mean loss of a whole step in the parameters; returns that loss."""
    total = sum(b.weight.sum().item() for b in step)
    value = 0.0
    for batch in step:
        loss = loss_of(model, batch) / total
        loss.backward()
        value += loss.item()
    return value


class Trainer:
    """Owns model, optimiser and position in the data. A checkpoint is written after every part of the data and a run
    with the same plan goes on from it."""

    def __init__(self, plan: Plan, config: Config, tokenizer: Tokenizer):
        torch.manual_seed(plan.seed)
        self.plan, self.tokenizer = plan, tokenizer
        self.model = Llama(config)
        self.optimiser = Optimiser(self.model)
        self.part = self.step = self.tokens = 0
        self.seconds = 0.0
        self.recent = 0.0

    def progress(self) -> float:
        if self.plan.steps is not None:
            return self.step / self.plan.steps
        return self.seconds / (self.plan.minutes * 60)

    def train_step(self, step: list[batches.Batch]) -> None:
        started = time.monotonic()
        loss = backward(self.model, step)
        self.optimiser.step(rate_at(self.progress()))
        self.seconds += time.monotonic() - started
        self.step += 1
        self.tokens += sum(b.ids.numel() for b in step)
        self.recent = loss if self.step == 1 else 0.95 * self.recent + 0.05 * loss

    def log(self) -> None:
        print(f"step {self.step}  {self.progress():6.1%}  loss {self.recent:.4f}  "
              f"{self.tokens / max(self.seconds, 1e-9):.0f} tokens/s  {self.seconds / 60:.1f} min", flush=True)

    def run(self) -> Llama:
        while self.progress() < 1:
            budget = (self.plan.seed, self.part, self.model.config.context, BATCH_TOKENS)
            for step in batches.steps_of_part(self.tokenizer, *budget):
                if self.progress() >= 1:
                    break
                self.train_step(step)
                if self.step % 20 == 0:
                    self.log()
            self.part += 1
            self.save()
        return self.model

    def save(self) -> None:
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state(), "part": self.part,
                 "step": self.step, "tokens": self.tokens, "seconds": self.seconds, "recent": self.recent,
                 "seed": self.plan.seed, "merges": self.tokenizer.merges}
        torch.save(state, self.plan.checkpoint + ".part")
        os.replace(self.plan.checkpoint + ".part", self.plan.checkpoint)

    def resume(self) -> bool:
        """Continues from the plan's checkpoint, if there is one of the same seed and the same tokenizer."""
        if not os.path.exists(self.plan.checkpoint):
            return False
        state = torch.load(self.plan.checkpoint)
        if state["seed"] != self.plan.seed or state["merges"] != self.tokenizer.merges:
            raise SystemExit(f"{self.plan.checkpoint} is from another run; delete it or name another --checkpoint.")
        self.model.load_state_dict(state["model"])
        self.optimiser.restore(state["optimiser"])
        self.part, self.step, self.tokens = state["part"], state["step"], state["tokens"]
        self.seconds, self.recent = state["seconds"], state["recent"]
        return True
