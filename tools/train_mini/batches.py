"""From dialogues to padded batches of token ids, with the weight of each token in the loss."""

from dataclasses import dataclass

import torch

import grammar
from tokenizer import Tokenizer

DIALOGUES_PER_PART = 1500
ORDINARY_ANSWER = 16  # tokens


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


def steps(samples: list[Sample], budget: int) -> list[list[Sample]]:
    """Cuts the samples, in their order, into steps of about `budget` tokens. Each step so is a fair draw of all
    lengths; steps of one length each would pull the weights to and fro."""
    made: list[list[Sample]] = [[]]
    room = budget
    for s in samples:
        if made[-1] and len(s.ids) > room:
            made.append([])
            room = budget
        made[-1].append(s)
        room -= len(s.ids)
    return made


def group(samples: list[Sample], waste: float = 1.25) -> list[list[Sample]]:
    """Splits a step into groups of like length, longest first, in which the longest is at most `waste` times the
    shortest (and 24 tokens more), so that little of a padded group is padding."""
    groups: list[list[Sample]] = []
    for s in sorted(samples, key=lambda s: -len(s.ids)):
        if groups and len(groups[-1][0].ids) <= waste * len(s.ids) + 24:
            groups[-1].append(s)
        else:
            groups.append([s])
    return groups


@dataclass(frozen=True)
class Batch:
    """Padded ids [rows, longest] and the weight of each token in the loss (0: not to be learnt)."""

    ids: torch.Tensor
    weight: torch.Tensor


def answer_weights(said: list[bool]) -> list[float]:
    """1 for every token of an answer of ordinary length; long answers (a story, counting) weigh less per token, so that
    they do not drown the short ones."""
    weights = [0.0] * len(said)
    for start, end in answer_spans(said):
        weights[start:end] = [min(1.0, (ORDINARY_ANSWER / (end - start)) ** 0.5)] * (end - start)
    return weights


def answer_spans(said: list[bool]) -> list[tuple[int, int]]:
    """[start, end) of every run of True; the first and the last value are False."""
    edges = [i for i in range(1, len(said)) if said[i] != said[i - 1]]
    return list(zip(edges[::2], edges[1::2]))


def to_batch(samples: list[Sample], pad: int) -> Batch:
    """Padding is at the end, where no causal position sees it."""
    longest = max(len(s.ids) for s in samples)
    ids = torch.full((len(samples), longest), pad)
    weight = torch.zeros(len(samples), longest)
    for row, s in enumerate(samples):
        ids[row, : len(s.ids)] = torch.tensor(s.ids)
        weight[row, : len(s.ids)] = torch.tensor(answer_weights(s.said))
    return Batch(ids, weight)


def steps_of_part(tokenizer: Tokenizer, seed: int, part: int, context: int, budget: int) -> list[list[Batch]]:
    """One part of the training data as steps of one or more batches each."""
    samples = samples_of_part(tokenizer, seed, part, context)
    return [[to_batch(g, tokenizer.end_of_text) for g in group(step)] for step in steps(samples, budget)]
