"""Byte-level BPE, exactly as llama.cpp computes it for `tokenizer.ggml.model = gpt2`, `tokenizer.ggml.pre = smollm`.

Pre-tokenisation runs in two passes, as in llama.cpp: every character of Unicode category N becomes a piece of its
own, then what lies between is split by the GPT-2 expression. Pieces are turned into UTF-8 bytes, every byte into a
printable character (the GPT-2 byte alphabet), and merged by rank.

Token ids: 0-255 are the bytes in alphabet order, then the merges, then the three control tokens.
"""

import re
import sys
import unicodedata
from collections import Counter, defaultdict

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PRE = "smollm"

# Unicode White_Space, which is what llama.cpp calls \s; Python's own \s also has U+001C..U+001F.
WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def number_class() -> str:
    """The inside of a character class with every character of category N."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == "N":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in ranges)


NUMBER = re.compile(f"([{number_class()}])")
# No number is left in the text this sees, so [^\W\d_] is exactly category L.
PIECE = re.compile(
    rf"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?(?:[^\w{WHITE}]|_)+|[{WHITE}]+(?![^{WHITE}])|[{WHITE}]+"
)


def pre_tokenise(text: str) -> list[str]:
    """The pieces of `text`, in order; joined they are `text` again. Merges never cross a piece."""
    pieces: list[str] = []
    for i, part in enumerate(NUMBER.split(text)):
        if i % 2:
            pieces.append(part)
        else:
            pieces.extend(PIECE.findall(part))
    return pieces


def byte_alphabet() -> list[str]:
    """One printable character per byte value: itself where it is printable, else U+0100 and up."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(b) if b in printable else chr(next(spare)) for b in range(256)]


ALPHABET = byte_alphabet()
BYTE_OF = {c: b for b, c in enumerate(ALPHABET)}


def to_symbols(piece: str) -> tuple[str, ...]:
    return tuple(ALPHABET[b] for b in piece.encode("utf-8"))


def merge_pair(symbols: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """`symbols` with every occurrence of `pair`, from the left, replaced by one symbol."""
    out: list[str] = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


def learn_merges(texts, count: int, least: int = 4) -> list[tuple[str, str]]:
    """The `count` most frequent merges of `texts`; ties go to the lexically smaller pair, so the result is
    deterministic. Pieces seen fewer than `least` times teach nothing."""
    pieces = Counter(p for text in texts for p in pre_tokenise(text))
    words = [[to_symbols(p), n] for p, n in pieces.items() if n >= least]
    pairs: Counter = Counter()
    where: dict[tuple[str, str], set[int]] = defaultdict(set)

    def account(index: int, sign: int) -> None:
        symbols, n = words[index]
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += sign * n
            where[pair].add(index)

    for index in range(len(words)):
        account(index, 1)
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] <= 0:
            break
        merges.append(best)
        for index in sorted(where.pop(best)):
            account(index, -1)
            words[index][0] = merge_pair(words[index][0], best)
            account(index, 1)
        pairs.pop(best, None)
    return merges


class Tokenizer:
    """Encodes and decodes with a fixed list of merges. Not thread-safe (it caches pieces)."""

    def __init__(self, merges: list[tuple[str, str]]):
        self.merges = [tuple(m) for m in merges]
        self.tokens = ALPHABET + [a + b for a, b in self.merges] + list(SPECIALS)
        self.id_of = {t: i for i, t in enumerate(self.tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.end_of_text, self.im_start, self.im_end = (self.id_of[s] for s in SPECIALS)
        self.cache: dict[str, list[int]] = {}

    @classmethod
    def train(cls, texts, vocab: int) -> "Tokenizer":
        return cls(learn_merges(texts, vocab - 256 - len(SPECIALS)))

    def __len__(self) -> int:
        return len(self.tokens)

    def encode_piece(self, piece: str) -> list[int]:
        symbols = to_symbols(piece)
        while len(symbols) > 1:
            best = min(zip(symbols, symbols[1:]), key=lambda p: self.rank.get(p, len(self.rank)))
            if best not in self.rank:
                break
            symbols = merge_pair(symbols, best)
        return [self.id_of[s] for s in symbols]

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; control tokens inside it are not recognised."""
        ids: list[int] = []
        for piece in pre_tokenise(text):
            known = self.cache.get(piece)
            if known is None:
                known = self.encode_piece(piece)
                if len(self.cache) < 200_000:
                    self.cache[piece] = known
            ids.extend(known)
        return ids

    def decode(self, ids) -> str:
        """Text of `ids`; control tokens appear by name, broken UTF-8 as U+FFFD."""
        out = bytearray()
        for i in ids:
            token = self.tokens[i]
            out += token.encode() if token in SPECIALS else bytes(BYTE_OF[c] for c in token)
        return out.decode("utf-8", "replace")

    def encode_message(self, role: str, content: str) -> list[int]:
        """One ChatML message: <|im_start|>role, newline, content, <|im_end|>, newline."""
        return [self.im_start, *self.encode(f"{role}\n{content}"), self.im_end, *self.encode("\n")]

    def encode_prompt(self, messages: list[dict]) -> list[int]:
        """A whole prompt up to where the assistant speaks, as the chat template renders it."""
        ids = [i for m in messages for i in self.encode_message(m["role"], m["content"])]
        return ids + [self.im_start, *self.encode("assistant\n")]
