"""Generates household dialogues: seeded, without end, and split into training and held-out ones.

Every user turn has a *key*: what it asks for, in which wording, with which values. A hash of the key puts about one
key in twelve into the held-out part. A training dialogue holds no held-out turn, in whatever typing; a held-out
dialogue holds at least one. The split does not depend on the seed.

The answer to a turn is a function of the meaning of the dialogue so far, so there is exactly one right answer.
"""

import hashlib
import random
from dataclasses import dataclass, field

import intents
import lexicon
import noise
from intents import FollowUp, Intent
from system_prompts import system_prompt

HELD_OUT_ONE_IN = 12
BY_NAME = {i.name: i for i in intents.COMMANDS}
TOO_LATE_FOR_PRONOUN = ("on_what", "off_what")
KNOWN_WORDS = frozenset(
    lexicon.ROOMS + lexicon.RARE_ROOMS + lexicon.DEVICES + lexicon.ITEMS + lexicon.COVERS + lexicon.DOORS
    + lexicon.GENRES + lexicon.COLOURS + lexicon.SCENES)


@dataclass(frozen=True)
class Act:
    """An intent with its values: what the household now wants."""

    intent: Intent
    slots: dict

    @property
    def answer(self) -> str:
        return self.intent.answer.format(**self.slots)

    def become(self, target: str, renewed: dict) -> "Act":
        """The act of intent `target` ("" keeps the intent) with the same values except the renewed ones."""
        intent = BY_NAME[target] if target else self.intent
        return Act(intent, {**self.slots, **renewed})

    @property
    def identity(self) -> str:
        return f"{self.intent.name}({','.join(self.slots[s] for s in self.intent.slots)})"


@dataclass(frozen=True)
class Turn:
    """What the user means to say (before typing habits), the right answer, and the key for the split."""

    text: str
    answer: str
    key: str
    exact: bool = False
    act: Act | None = None

    @property
    def held_out(self) -> bool:
        return int.from_bytes(hashlib.sha256(self.key.encode()).digest()[:4], "big") % HELD_OUT_ONE_IN == 0


@dataclass
class Memory:
    """What the dialogue has established: the act a pronoun refers to, states by subject, the shopping list."""

    focus: Act | None = None
    states: dict = field(default_factory=dict)
    shopping: list = field(default_factory=list)

    def note(self, act: Act | None) -> None:
        if act is None:
            return
        self.focus = act
        state = intents.STATE_OF.get(act.intent.name)
        if state:
            self.states[subject(act)] = state
        self.note_shopping(act)

    def note_shopping(self, act: Act) -> None:
        name, slots = act.intent.name, act.slots
        added = {"list_add": ("item",), "list_add2": ("item", "item2")}.get(name, ())
        self.shopping += [slots[s] for s in added if slots[s] not in self.shopping]
        if name == "list_remove" and slots["item"] in self.shopping:
            self.shopping.remove(slots["item"])
        if name == "list_clear":
            self.shopping.clear()


@dataclass(frozen=True)
class Dialogue:
    messages: list[dict]
    held_out: bool


def subject(act: Act) -> str:
    return intents.SUBJECT_OF[act.intent.family].format(**act.slots)


def fill(rng, wording: str, slots: dict) -> str:
    """The wording with slots and freely chosen synonyms filled in."""
    return wording.format(**{s: rng.choice(w) for s, w in lexicon.SYNONYMS.items()}, **slots)


def draw_slots(rng, names) -> dict:
    return {s: lexicon.SLOTS[s](rng) for s in names}


def is_exact(slots: dict) -> bool:
    """True when a value is an invented name that has to be repeated letter by letter."""
    return any(v.isalpha() and v not in KNOWN_WORDS for v in slots.values())


def spoken(rng, wording: str, slots: dict) -> tuple[str, str]:
    """(sentence, part of the key that tells how it was worded). Where there is no value to combine a wording with, the
    polite frame takes part in the key."""
    text = noise.decorate(rng, fill(rng, wording, slots))
    return text, wording if slots else text


def act_turn(rng, act: Act) -> Turn:
    wording = rng.choice(act.intent.wordings)
    text, how = spoken(rng, wording, {s: act.slots[s] for s in act.intent.slots})
    return Turn(text, act.answer, f"{act.identity}|{how}", is_exact(act.slots), act)


def command(rng, memory: Memory) -> Turn:
    intent = rng.choices(intents.COMMANDS, WEIGHTS)[0]
    return act_turn(rng, Act(intent, draw_slots(rng, intent.slots)))


WEIGHTS = [i.weight for i in intents.COMMANDS]
TALK_WEIGHTS = [i.weight for i in intents.SMALL_TALK]


def small_talk(rng, memory: Memory) -> Turn:
    """Talk changes nothing, so a later pronoun still refers to the act before. "Turn it off" is only drawn while there
    is nothing it could refer to."""
    intent = rng.choices(intents.SMALL_TALK, TALK_WEIGHTS)[0]
    if memory.focus and intent.name in TOO_LATE_FOR_PRONOUN:
        return small_talk(rng, memory)
    turn = act_turn(rng, Act(intent, draw_slots(rng, intent.slots)))
    return Turn(turn.text, turn.answer, turn.key, turn.exact)


def counting(rng, memory: Memory) -> Turn:
    slots = draw_slots(rng, ("count",))
    wording = rng.choice(intents.COUNTING.wordings)
    numbers = ", ".join(str(i) for i in range(1, int(slots["count"]) + 1))
    text, how = spoken(rng, wording, slots)
    return Turn(text, f"{numbers}.", f"count({slots['count']})|{how}")


def echo(rng, memory: Memory) -> Turn:
    """Saying something word for word: of little use in a house, but the shortest way to learn to repeat names."""
    phrase, wording = lexicon.a_phrase(rng), rng.choice(intents.ECHO.wordings)
    return Turn(wording.format(phrase=phrase), phrase, f"echo({phrase})|{wording}", True)


def two_commands(rng, memory: Memory) -> Turn:
    first, second = command(rng, memory), command(rng, memory)
    joint = rng.choice((" and ", " and ", ", ", " and then ", ", and "))
    return Turn(first.text + joint + second.text, f"{first.answer} {second.answer}",
                f"{first.key} & {second.key}", first.exact or second.exact, second.act)


def follow_up(rng, memory: Memory) -> Turn:
    """A sentence that needs the act before it; a plain command where there is none to continue."""
    choices = FOLLOW_UPS_OF.get(memory.focus.intent.family, []) if memory.focus else []
    if not choices:
        return command(rng, memory)
    chosen: FollowUp = rng.choice(choices)
    wording, renewed = rng.choice(chosen.wordings), draw_slots(rng, chosen.renewed)
    act = memory.focus.become(chosen.target, renewed)
    text = noise.decorate(rng, fill(rng, wording, renewed))
    return Turn(text, act.answer, f"{memory.focus.identity}>{act.identity}|{wording}", is_exact(act.slots), act)


FOLLOW_UPS_OF: dict[str, list[FollowUp]] = {}
for _follow_up in intents.FOLLOW_UPS:
    for _family in _follow_up.families:
        FOLLOW_UPS_OF.setdefault(_family, []).append(_follow_up)


def undo(rng, memory: Memory) -> Turn:
    if not memory.focus or not memory.focus.intent.undo:
        return follow_up(rng, memory)
    act = memory.focus.become(memory.focus.intent.undo, {})
    wording = rng.choice(intents.UNDO_WORDINGS)
    return Turn(noise.decorate(rng, wording), act.answer, f"{act.identity}|{wording}", is_exact(act.slots), act)


def state_answer(subject_text: str, known: str | None, asked: str) -> str:
    if known is None:
        return "I do not know, because I have not changed that yet."
    return f"{'Yes' if known == asked else 'No'}, {subject_text} {known}."


def question(rng, memory: Memory) -> Turn:
    """Asks for a state: by pronoun, by the name of something mentioned before, or of something never mentioned."""
    family = rng.choice(tuple(intents.SUBJECT_OF))
    slot = {"light": "room"}.get(family, family)
    slots, wordings = draw_slots(rng, (slot,)), intents.QUESTIONS[family]
    focus = memory.focus
    if focus and focus.intent.name in intents.STATE_OF:
        family, slots = focus.intent.family, focus.slots
        wordings = intents.QUESTIONS[family] + intents.PRONOUN_QUESTIONS[family]
    asked = rng.choice(intents.STATES[family])
    wording = rng.choice(wordings)
    text = fill(rng, wording, {**slots, "state": asked})
    about = intents.SUBJECT_OF[family].format(**slots)
    answer = state_answer(about, memory.states.get(about), asked)
    return Turn(text, answer, f"{about}|{answer}|{wording}", is_exact(slots))


def list_question(rng, memory: Memory) -> Turn:
    wording = rng.choice(intents.LIST_QUESTIONS)
    items = memory.shopping
    listed = " and ".join(filter(None, (", ".join(items[:-1]), items[-1] if items else "")))
    answer = f"The shopping list has {listed}." if items else "There is nothing on the shopping list yet."
    text = fill(rng, wording, {})
    return Turn(text, answer, f"{answer}|{text}", any(i not in KNOWN_WORDS for i in items))


def unknown(rng, memory: Memory) -> Turn:
    """Something the household model cannot do, from plain questions to garbage."""
    if rng.random() < 0.25:
        text = garbage(rng)
        return Turn(text, intents.UNKNOWN_ANSWER, f"garbage|{text}", True)
    wording = rng.choice(intents.UNKNOWN.wordings)
    text = fill(rng, wording, draw_slots(rng, ANY_SLOTS))
    return Turn(noise.decorate(rng, text), intents.UNKNOWN_ANSWER, f"unknown|{text}", True)


ANY_SLOTS = ("country", "thing", "person", "item", "n", "m", "language", "word", "count")


def garbage(rng) -> str:
    """Text no household would say: symbols, code, other languages, emoji, a long ramble, or nothing at all."""
    kind = rng.randint(0, 7)
    if kind == 0:
        return "".join(rng.choice(lexicon.SYMBOLS) for _ in range(rng.randint(1, 30)))
    if kind == 1:
        return "".join(rng.choice(lexicon.UNICODE_SYMBOLS) for _ in range(rng.randint(1, 12)))
    if kind == 2:
        return rng.choice(lexicon.CODE)
    if kind == 3:
        return rng.choice(lexicon.FOREIGN)
    if kind == 4:
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(rng.randint(2, 25)))
    if kind == 5:
        return " ".join(rng.choice(lexicon.COMMON_WORDS) for _ in range(rng.randint(12, 60)))
    if kind == 6:
        letters = "".join(chr(rng.choice((rng.randint(0x21, 0x7E), rng.randint(0xA1, 0x17F)))) for _ in range(12))
        return letters[: rng.randint(1, 12)]
    return rng.choice(("", " ", "...", "???", "\n", "?", "!", ".", "asdf", "aaaaaaaa", "hmm", "lol", "x"))


# (how it is drawn, weight without an act to refer to, weight with one)
TURNS = (
    (command, 60, 26), (follow_up, 0, 40), (small_talk, 15, 9), (unknown, 13, 7), (two_commands, 7, 3),
    (question, 1.5, 6), (undo, 0, 4), (list_question, 1, 2), (counting, 1, 0.5),
    (echo, 3, 2),
)

# The first parts of the training data hold many dialogues of nothing but repeating. The ability to copy forms early
# then, and everything that repeats a room, an item or a number builds on it.
COPYING_PARTS, COPYING_SHARE = 8, 0.8


def draw_turn(rng, memory: Memory) -> Turn:
    column = 2 if memory.focus else 1
    draw = rng.choices(TURNS, [t[column] for t in TURNS])[0][0]
    if memory.shopping and rng.random() < 0.15:
        draw = list_question
    return draw(rng, memory)


def draw_allowed(rng, memory: Memory, allow_held_out: bool) -> Turn:
    while True:
        turn = draw_turn(rng, memory)
        if allow_held_out or not turn.held_out:
            return turn


def dialogue(rng: random.Random, allow_held_out: bool = False) -> Dialogue:
    """One dialogue of one to five turns. Unless allowed, no turn of it is held out."""
    memory, held_out = Memory(), False
    prompt = system_prompt(rng)
    messages = [{"role": "system", "content": prompt}] if prompt is not None else []
    for _ in range(rng.choices((1, 2, 3, 4, 5), (22, 28, 26, 16, 8))[0]):
        turn = draw_allowed(rng, memory, allow_held_out)
        memory.note(turn.act)
        held_out = held_out or turn.held_out
        messages.append({"role": "user", "content": noise.disturb(rng, turn.text, turn.exact)})
        messages.append({"role": "assistant", "content": turn.answer})
    return Dialogue(messages, held_out)


def copying_dialogue(rng: random.Random) -> Dialogue:
    """A training dialogue that only repeats."""
    messages = []
    for _ in range(rng.randint(1, 3)):
        turn = echo(rng, Memory())
        while turn.held_out:
            turn = echo(rng, Memory())
        messages += [{"role": "user", "content": noise.disturb(rng, turn.text, True)},
                     {"role": "assistant", "content": turn.answer}]
    return Dialogue(messages, False)


def training_dialogues(seed: int, part: int, count: int) -> list[Dialogue]:
    """`count` training dialogues. Parts are independent of each other, so that training can go on at any part."""
    rng = random.Random(f"training {seed} {part}")
    share = COPYING_SHARE if 0 <= part < COPYING_PARTS else 0.0
    return [copying_dialogue(rng) if rng.random() < share else dialogue(rng) for _ in range(count)]


def held_out_dialogues(seed: int):
    """Dialogues without end, each with at least one turn that no training dialogue has."""
    rng = random.Random(f"held out {seed}")
    while True:
        candidate = dialogue(rng, allow_held_out=True)
        if candidate.held_out:
            yield candidate
