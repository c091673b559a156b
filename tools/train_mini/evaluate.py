"""Held-out accuracy: of dialogues whose asking was never in the training data, how many are answered word for word.

An answer counts only when it is exactly the right one and ends where it should. Earlier answers in a dialogue are given
as they should have been, so one mistake is counted once.
"""

import itertools
import json
import urllib.request
from dataclasses import dataclass, field

import torch

import batches
import export
import grammar
from tokenizer import Tokenizer


@dataclass
class Result:
    """Counts of dialogues and answers; `wrong` holds question, wanted and given answer."""

    where: str
    dialogues: int = 0
    dialogues_right: int = 0
    answers: int = 0
    answers_right: int = 0
    wrong: list[dict] = field(default_factory=list)

    def count(self, rights: list[bool]) -> None:
        self.dialogues += 1
        self.dialogues_right += all(rights)
        self.answers += len(rights)
        self.answers_right += sum(rights)

    def summary(self) -> dict:
        return {"where": self.where, "held_out_dialogues": self.dialogues,
                "dialogues_right": round(self.dialogues_right / max(1, self.dialogues), 4),
                "answers": self.answers, "answers_right": round(self.answers_right / max(1, self.answers), 4)}


def held_out(tokenizer: Tokenizer, context: int, seed: int, count: int) -> list[grammar.Dialogue]:
    """The first `count` held-out dialogues that fit the context."""
    fits = (d for d in grammar.held_out_dialogues(seed) if len(batches.sample(tokenizer, d.messages).ids) <= context)
    return list(itertools.islice(fits, count))


@torch.no_grad()
def in_torch(path: str, seed: int, count: int) -> Result:
    """Greedy exactness from the file's own (quantised) weights. One pass per dialogue suffices: a greedy answer is the
    right one exactly when every token of the right answer is the most likely one after those before it."""
    model, tokenizer, _ = export.load(path)
    result = Result("torch")
    for dialogue in held_out(tokenizer, model.config.context, seed, count):
        s = batches.sample(tokenizer, dialogue.messages)
        best = model.logits(model(torch.tensor([s.ids]))[0])[0].argmax(-1).tolist()
        spans = batches.answer_spans(s.said)
        rights = [best[a - 1 : b - 1] == s.ids[a:b] for a, b in spans]
        result.count(rights)
        for (a, b), right in zip(spans, rights):
            if not right:
                result.wrong.append({"context": tokenizer.decode(s.ids[:b])[-400:],
                                     "guess": tokenizer.decode(best[a - 1 : b - 1])})
    return result


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def ask(server: str, messages: list[dict], temperature: float) -> str:
    """The server's answer; one that was cut off at the token limit is marked so that it never counts as right."""
    body = {"messages": messages, "temperature": temperature, "max_tokens": 600}
    choice = post(f"{server}/v1/chat/completions", body)["choices"][0]
    return choice["message"]["content"] + ("" if choice["finish_reason"] == "stop" else " <cut off>")


def through_server(path: str, server: str, seed: int, count: int, temperature: float) -> Result:
    """The same dialogues through a real engine that serves the file, with its tokenizer, template, sampler and
    arithmetic."""
    model, tokenizer, _ = export.load(path)
    result = Result(f"engine, temperature {temperature}")
    for dialogue in held_out(tokenizer, model.config.context, seed, count):
        rights = []
        for i, message in enumerate(dialogue.messages):
            if message["role"] != "assistant":
                continue
            given = ask(server, dialogue.messages[:i], temperature)
            rights.append(given == message["content"])
            if not rights[-1]:
                result.wrong.append({"question": [m["content"][-120:] for m in dialogue.messages[:i]],
                                     "wanted": message["content"], "given": given})
        result.count(rights)
    return result


def compare_tokenizers(path: str, server: str, seed: int, count: int) -> tuple[int, list[str]]:
    """(number of texts, texts on which the engine's tokenizer and ours differ)."""
    _, tokenizer, _ = export.load(path)
    texts = {m["content"] for d in itertools.islice(grammar.held_out_dialogues(seed), count) for m in d.messages}
    by_engine = lambda text: post(f"{server}/tokenize", {"content": text})["tokens"]
    return len(texts), [t for t in sorted(texts) if by_engine(t) != tokenizer.encode(t)]
