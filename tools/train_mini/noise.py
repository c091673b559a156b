"""How people really type and speak: polite forms, capitals, punctuation, spelled-out numbers, slips of the finger.

Nothing here changes what a sentence means; the answer stays the same.
"""

import re

NEUTRAL_PREFIXES = ("hey hearth, ", "hearth, ", "um, ", "so, ", "well, ", "ok, ", "hey, ", "ok hearth, ", "hi, ")
POLITE_PREFIXES = ("please ", "can you ", "could you ", "could you please ", "can you please ", "would you ",
                   "will you ", "would you mind to ", "i would like you to ", "i want you to ", "now ", "just ",
                   "hey hearth, can you ", "hearth, please ", "then ", "now please ", "i'd like you to ", "go and ")
SUFFIXES = (" please", ", please", " now", " for me", " thanks", ", thank you", " right now", ", hearth", " will you")
IMPERATIVES = frozenset(
    "turn switch put set dim make open close lock unlock play stop pause start add remove delete take clear cancel "
    "activate deactivate enable disable light kill brighten colour run shut raise lower pull heat increase reduce "
    "warm cool resume skip vacuum clean send dock return wake buy write cross empty tell give read show count say "
    "change secure release".split())

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen").split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL_NUMBER = re.compile(r"(?<![\d.:])\d{1,2}(?![\d:.%°])")


def in_words(n: int) -> str:
    """0..99 as English words."""
    if n < 20:
        return ONES[n]
    return TENS[n // 10] + (f" {ONES[n % 10]}" if n % 10 else "")


def decorate(rng, core: str) -> str:
    """`core` with a polite frame, or as it is."""
    text, chance = core, rng.random()
    if chance < 0.26 and core.split(" ")[0] in IMPERATIVES:
        text = rng.choice(POLITE_PREFIXES) + core
    elif 0.26 <= chance < 0.38:
        text = rng.choice(NEUTRAL_PREFIXES) + core
    if rng.random() < 0.14 and "please" not in text:
        text += rng.choice(SUFFIXES)
    return text


def swap(rng, word: str, at: int) -> str:
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def drop(rng, word: str, at: int) -> str:
    return word[:at] + word[at + 1 :]


def double(rng, word: str, at: int) -> str:
    return word[: at + 1] + word[at:]


def replace(rng, word: str, at: int) -> str:
    return word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :]


def slip(rng, text: str) -> str:
    """One typing error in one of the longer words, if there is one."""
    words = text.split(" ")
    places = [i for i, w in enumerate(words) if len(w) > 4 and w.isalpha()]
    if not places:
        return text
    at = rng.choice(places)
    change = rng.choice((swap, drop, double, replace))
    words[at] = change(rng, words[at], rng.randint(1, len(words[at]) - 2))
    return " ".join(words)


def punctuate(rng, text: str) -> str:
    if text and text[-1] in ".!?":
        return text
    asks = text.split(" ")[0] in ("can", "could", "would", "will", "what", "who", "how", "is", "are", "did", "do",
                                  "where", "why", "when", "which", "should")
    return text + rng.choice(("", "", "?", "?", ".") if asks else ("", "", "", ".", ".", "!"))


def recase(rng, text: str, exact: bool) -> str:
    """Lower case, sentence case, and seldom capitals. With `exact` no word but the first changes its case."""
    chance = rng.random()
    if chance < 0.03 and not exact:
        return text.upper()
    if chance < 0.05 and not exact:
        return text.title()
    if chance < 0.50:
        return text
    return re.sub(r"\bi\b", "I", text[:1].upper() + text[1:])


def disturb(rng, text: str, exact: bool) -> str:
    """A sentence as it may arrive. `exact`: it holds a name the model must repeat letter by letter, so that name is
    left as it is (no slips, no capitals, no digits turned into words)."""
    if rng.random() < 0.07 and not exact:
        text = SMALL_NUMBER.sub(lambda m: in_words(int(m[0])), text)
    if rng.random() < 0.06 and not exact:
        text = slip(rng, text)
    text = recase(rng, punctuate(rng, text), exact)
    return rng.choice((text + " ", " " + text, text + "\n")) if rng.random() < 0.02 else text
