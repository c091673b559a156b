"""Writes a whisper model with random weights in the format whisper.cpp reads: enough to run, not to understand speech."""

import random
import struct

F32, F16, Q4_0 = 0, 1, 2
STATE, HEADS, LAYERS, AUDIO_CONTEXT, TEXT_CONTEXT, MELS, VOCAB = 384, 6, 2, 1500, 64, 80, 51864


def _random(rng, count, kind):
    if kind == F32:
        return b"".join(struct.pack("<f", rng.uniform(-0.05, 0.05)) for _ in range(count))
    if kind == F16:  # small numbers of both signs
        raw = bytearray(rng.randbytes(count * 2))
        raw[1::2] = bytes((b & 0x80) | 0x24 | (b & 3) for b in raw[1::2])
        return bytes(raw)
    raw = bytearray(rng.randbytes(count // 32 * 18))
    low, high = struct.pack("<e", 0.01)
    raw[0::18] = bytes([low]) * (count // 32)
    raw[1::18] = bytes([high]) * (count // 32)
    return bytes(raw)


def _block(name, cross):
    parts = []
    for attention in ["attn", "cross_attn"] if cross else ["attn"]:
        parts += [(f"{attention}_ln.weight", (STATE,)), (f"{attention}_ln.bias", (STATE,))]
        for matrix in ("query", "key", "value", "out"):
            parts.append((f"{attention}.{matrix}.weight", (STATE, STATE)))
            if matrix != "key":
                parts.append((f"{attention}.{matrix}.bias", (STATE,)))
    parts += [("mlp_ln.weight", (STATE,)), ("mlp_ln.bias", (STATE,)), ("mlp.0.weight", (STATE, 4 * STATE)),
              ("mlp.0.bias", (4 * STATE,)), ("mlp.2.weight", (4 * STATE, STATE)), ("mlp.2.bias", (STATE,))]
    return [(f"{name}.{part}", shape, Q4_0 if len(shape) == 2 else F32) for part, shape in parts]


def _tensors():
    yield "encoder.positional_embedding", (STATE, AUDIO_CONTEXT), F32
    for number, width in ((1, MELS), (2, STATE)):
        yield f"encoder.conv{number}.weight", (3, width, STATE), F16
        yield f"encoder.conv{number}.bias", (1, STATE), F32
    yield "encoder.ln_post.weight", (STATE,), F32
    yield "encoder.ln_post.bias", (STATE,), F32
    for layer in range(LAYERS):
        yield from _block(f"encoder.blocks.{layer}", False)
    yield "decoder.positional_embedding", (STATE, TEXT_CONTEXT), F32
    yield "decoder.token_embedding.weight", (STATE, VOCAB), Q4_0
    yield "decoder.ln.weight", (STATE,), F32
    yield "decoder.ln.bias", (STATE,), F32
    for layer in range(LAYERS):
        yield from _block(f"decoder.blocks.{layer}", True)


def write_whisper(path, seed=1):
    rng = random.Random(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<I11i", 0x67676D6C, VOCAB, AUDIO_CONTEXT, STATE, HEADS, LAYERS, TEXT_CONTEXT, STATE, HEADS,
                               LAYERS, MELS, 1002 + 1000))
        file.write(struct.pack("<ii", MELS, 201) + _random(rng, MELS * 201, F32))
        file.write(struct.pack("<i", 50256))
        for token in range(50256):
            word = f" w{token}".encode() if token != 220 else b" "  # the engine looks the blank up by name
            file.write(struct.pack("<I", len(word)) + word)
        for name, shape, kind in _tensors():
            count = 1
            for length in shape:
                count *= length
            raw = name.encode()
            file.write(struct.pack("<iii", len(shape), len(raw), kind) + struct.pack(f"<{len(shape)}i", *shape) + raw)
            file.write(_random(rng, count, kind))


def write_sound(path, seconds=2, rate=16000):
    """A WAV file with a falling tone."""
    import math
    count = seconds * rate
    data = b"".join(struct.pack("<h", int(9000 * math.sin(i * (0.2 - 0.05 * i / count)))) for i in range(count))
    with open(path, "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
                   struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16) + b"data" + struct.pack("<I", len(data)) + data)
