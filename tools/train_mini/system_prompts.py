"""System prompts as clients send them: none, a sentence, a persona, or a long list of devices.

The answers do not depend on them; the model has to learn to look past them at any length.
"""

import lexicon

SHORT = (
    "You are a helpful assistant.", "You are Hearth.", "You are a home assistant.", "Be brief.",
    "You are a voice assistant for a smart home.", "Answer in one short sentence.", "You are an AI assistant.",
    "You are a friendly home assistant. Keep your answers short.", "Answer politely.", "You control the house.",
    "You are a helpful assistant that controls a smart home.", "Reply in plain text only.", "Help the user.",
    "You are Hearth, a small assistant for the home.", "You are a helpful AI.", "Do what the user asks.",
    "You are a helpful, respectful and honest assistant.", "Always answer in English.", "system", "Hello.",
)
SENTENCES = (
    "You are the voice of this house.", "Answer the user's requests about the home.", "Use short sentences.",
    "Never use markdown.", "The user speaks to you through a microphone.", "If you do not know, say so.",
    "You can switch lights, set the heating and play music.", "The house has two floors.", "Be friendly and precise.",
    "Only the devices in the list can be controlled.", "Do not invent devices.", "Times are given in 24 hours.",
    "The family has two children and a dog.", "Answer at once.", "Speak like a butler.", "Reply with one sentence.",
    "This conversation is spoken aloud.", "You are not a person.", "Do not ask back unless you must.",
    "When the user asks for an action, do it and confirm it.", "Current time is 18:42.", "Today is Tuesday.",
    "The user's name is Alex.", "Everybody is at home.", "You are a language model running on this machine.",
)
DOMAINS = ("light", "switch", "cover", "climate", "media_player", "lock", "sensor", "fan", "vacuum", "scene")
STATES = ("on", "off", "open", "closed", "locked", "unlocked", "idle", "playing", "unavailable", "21.5", "heat",
          "docked")
KINDS = ("Light", "Lights", "Lamp", "Blinds", "Thermostat", "Speaker", "Door", "Sensor", "Fan", "Switch", "TV",
         "Window")


def yaml_entry(room: str, kind: str, domain: str, state: str) -> str:
    return f"- names: {room.title()} {kind}\n  domain: {domain}\n  state: '{state}'\n  areas: {room.title()}\n"


def equals_entry(room: str, kind: str, domain: str, state: str) -> str:
    return f"{domain}.{room.replace(' ', '_')}_{kind.lower()} '{room.title()} {kind}' = {state}\n"


def csv_entry(room: str, kind: str, domain: str, state: str) -> str:
    return f"{domain}.{room.replace(' ', '_')},{room} {kind.lower()},{state}\n"


def bullet_entry(room: str, kind: str, domain: str, state: str) -> str:
    return f"* {room} {kind.lower()} ({state})\n"


def json_entry(room: str, kind: str, domain: str, state: str) -> str:
    return f'{{"entity": "{domain}.{kind.lower()}", "area": "{room}", "state": "{state}"}}\n'


ENTRIES = (yaml_entry, equals_entry, csv_entry, bullet_entry, json_entry)


def device_list(rng, entries: int) -> str:
    """A heading and `entries` devices, all in one of the usual notations."""
    entry = rng.choice(ENTRIES)
    heading = rng.choice(("Devices:\n", "Available devices:\n", "Static context: all devices of the home\n",
                          "entity_id,name,state\n", "The current state of the house:\n", "```\n", ""))
    draw = lambda: entry(lexicon.a_room(rng), rng.choice(KINDS), rng.choice(DOMAINS), rng.choice(STATES))
    return heading + "".join(draw() for _ in range(entries))


def persona(rng) -> str:
    return " ".join(rng.sample(SENTENCES, rng.randint(2, 6)))


def prose(rng) -> str:
    """Text about something else, in common words."""
    words = [rng.choice(lexicon.COMMON_WORDS) for _ in range(rng.randint(10, 80))]
    return " ".join(words).capitalize() + "."


def system_prompt(rng) -> str | None:
    """A system prompt, or None for a dialogue without one. About one in eighty is longer than 400 tokens."""
    chance = rng.random()
    if chance < 0.40:
        return None
    if chance < 0.80:
        return rng.choice(SHORT[:1] * 8 + SHORT)
    if chance < 0.88:
        return persona(rng)
    if chance < 0.90:
        return prose(rng)
    entries = rng.randint(1, 8) if chance < 0.982 else rng.randint(8, 40)
    return f"{persona(rng)}\n{device_list(rng, entries)}"
