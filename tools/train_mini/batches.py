"""From dialogues to padded batches of token ids, with a mask of the tokens the model has to learn to say."""

import random
from dataclasses import dataclass

import torch

import grammar
from tokenizer import Tokenizer

DIALOGUES_PER_PART = 1500


@dataclass(frozen=True)
class Sample:
    """Ids of one dialogue; `said[i]` is True where ids[i] is a token of an answer or the <|im_end|> that ends it."""

    ids: list[int]
    said: list[bool]


def sample(tokenizer: Tokenizer, messages: list[dict]) -> Sample:
    ids: list[int] = []
    said: list[bool] = []
    opening = len(tokenizer.encode("assistant\n")) + 1
    closing = len(tokenizer.encode("\n"))
    for message in messages:
        new = tokenizer.encode_message(message["role"], message["content"])
        learn = message["role"] == "assistant"
        ids += new
        said += [learn and opening <= i < len(new) - closing for i in range(len(new))]
    return Sample(ids, said)


def samples_of_part(tokenizer: Tokenizer, seed: int, part: int, context: int) -> list[Sample]:
    """The samples of one part of the training data that fit the context."""
    dialogues = grammar.training_dialogues(seed, part, DIALOGUES_PER_PART)
    made = (sample(tokenizer, d.messages) for d in dialogues)
    return [s for s in made if len(s.ids) <= context]


def group(samples: list[Sample], budget: int) -> list[list[Sample]]:
    """Samples of like length together, each group at most `budget` tokens with its padding (or one sample)."""
    groups: list[list[Sample]] = []
    for s in sorted(samples, key=lambda s: len(s.ids)):
        if groups and (len(groups[-1]) + 1) * len(s.ids) <= budget:
            groups[-1].append(s)
        else:
            groups.append([s])
    return groups


def to_tensors(samples: list[Sample], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """ids and mask, [batch, longest]. Padding is at the end, where no causal position sees it."""
    longest = max(len(s.ids) for s in samples)
    ids = torch.full((len(samples), longest), pad)
    said = torch.zeros(len(samples), longest, dtype=torch.bool)
    for row, s in enumerate(samples):
        ids[row, : len(s.ids)] = torch.tensor(s.ids)
        said[row, : len(s.ids)] = torch.tensor(s.said)
    return ids, said


def batches_of_part(tokenizer: Tokenizer, seed: int, part: int, context: int, budget: int):
    """All batches of one part, in a seeded order."""
    groups = group(samples_of_part(tokenizer, seed, part, context), budget)
    random.Random(f"order {seed} {part}").shuffle(groups)
    return [to_tensors(g, tokenizer.end_of_text) for g in groups]
