"""What bench/prefix stands on: its report, a streamed question, files that it damages or makes, a disk that fills up."""

import hashlib
import http.client
import json
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "engine"))
from prefix_world import GREEDY, World  # noqa: E402


class Report:
    """Rows of what was measured; with a file, kept there, and those of earlier runs with it where wanted."""

    def __init__(self, file, resume):
        self.file = file
        self.rows = json.loads(file.read_text()) if file and resume and file.exists() else []
        for row in self.rows:
            self.show(row)

    def write(self):
        if self.file:
            self.file.write_text(json.dumps(self.rows, indent=1) + "\n")

    def add(self, model, part, what, value, bar=None, met=None):
        self.rows.append({"model": model, "part": part, "what": what, "value": value, "bar": bar, "met": met})
        self.show(self.rows[-1])

    def show(self, row):
        verdict = "" if row["met"] is None else "met" if row["met"] else "NOT MET"
        print(f"{row['model']:12} {row['what']:84} {row['value']:>24}  {row['bar'] or '':10} {verdict}", flush=True)

    def has(self, model, part):
        return any(row["model"] == model and row["part"] == part for row in self.rows)


def ask(world, model, system, user, limit=1, ids=False, **more):
    """A streamed chat: milliseconds to the first event, the engine's counts, and the ids of the answer's tokens."""
    messages = ([{"role": "system", "content": system}] if system else []) + [{"role": "user", "content": user}]
    body = {"model": model, "messages": messages, "max_tokens": limit, "stream": True, **GREEDY, **({"logprobs": True} if ids else {}), **more}
    connection = http.client.HTTPConnection(world.host, timeout=300)
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read(500)
    first, timings, tokens = None, None, []
    for line in reply:
        if not line.startswith(b"data: {"):
            continue
        first = first or (time.monotonic() - begin) * 1e3
        event = json.loads(line[6:])
        timings = event.get("timings", timings)
        tokens += [token["id"] for choice in event["choices"] for token in (choice.get("logprobs") or {}).get("content", [])]
    connection.close()
    assert first and timings, "the answer ended without a token"
    record = world.record(reply.headers["x-hearth-request-id"])
    stages = {stage["stage"]: stage for stage in record["stages"]}
    return {"ms": first, "per_token": timings["predicted_per_token_ms"], "cached": timings["cache_n"], "tokens": timings["cache_n"] + timings["prompt_n"], "ids": tokens,
            "restored": stages["prefix_restore"].get("tokens") or 0, "stages": {name: stage["ms"] for name, stage in stages.items() if stage["ms"]}}


def median_ms(answers):
    return statistics.median(answer["ms"] for answer in answers)


def lora_of(path, width, seed):
    """A small adapter for the first layer's queries, of random numbers (GGUF version 3)."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    numbers = random.Random(seed)
    rank = 4
    fields = [text("general.type") + struct.pack("<I", 8) + text("adapter"), text("general.architecture") + struct.pack("<I", 8) + text("llama"),
              text("adapter.type") + struct.pack("<I", 8) + text("lora"), text("adapter.lora.alpha") + struct.pack("<If", 6, 8.0)]
    tensors = [("blk.0.attn_q.weight.lora_a", (width, rank)), ("blk.0.attn_q.weight.lora_b", (rank, width))]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields)) + b"".join(fields)
    head += b"".join(text(name) + struct.pack("<IQQIQ", 2, *shape, 0, index * width * rank * 4) for index, (name, shape) in enumerate(tensors))
    data = struct.pack(f"<{2 * width * rank}f", *(numbers.gauss(0, 0.3) for _ in range(2 * width * rank)))
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path


def flip(data, numbers):
    """One bit of the second half."""
    data = bytearray(data)
    data[numbers.randrange(len(data) // 2, len(data))] ^= 1 << numbers.randrange(7)
    return data


def newer(record):
    """The same record as a hearth of the future would write it."""
    body = record.split(b"\n", 1)[1]
    head = b"hearth-prefix 2"
    return head + b" sha256:" + hashlib.sha256(head + b"\n" + body).hexdigest().encode() + b"\n" + body


def context_place(data):
    """Where a GGUF file says, as 32 bits, how many tokens its model was trained for."""
    key = b".context_length"
    at = data.index(key) + len(key)
    assert int.from_bytes(data[at:at + 4], "little") == 4, "the context's length is no 32-bit number"
    return at + 4


def context_of(file):
    with open(file, "rb") as whole:
        data = whole.read(1 << 20)
    at = context_place(data)
    return int.from_bytes(data[at:at + 4], "little")


def with_context(file, copy, tokens):
    data = bytearray(file.read_bytes())
    at = context_place(data)
    data[at:at + 4] = tokens.to_bytes(4, "little")
    copy.write_bytes(data)


def requantise(world, file, other):
    """The same weights in another type."""
    engines = json.loads(world.hearth("engine", "list", "--json", "--data-dir", world.data))["engines"]
    command = engines[0]["command"]
    tool = str(pathlib.Path(command[-1]).with_name("llama-quantize"))
    subprocess.run([*command[:-1], tool, "--allow-requantize", file, other, "q5_0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class FullDisk(World):
    """A server whose prefixes lie on a tmpfs of its own, which can be filled up. Takes root."""

    def __init__(self, build):
        super().__init__(build)
        (self.data / "prefix").mkdir()
        self.wrapper = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=2g tmpfs "$0" && exec "$@"', str(self.data / "prefix")]

    def prefix_folder(self):
        return pathlib.Path(f"/proc/{self.process.pid}/root{self.data}/prefix")

    def resize(self, size):
        subprocess.run(["nsenter", "-t", str(self.process.pid), "-m", "mount", "-o", f"remount,size={size}", self.data / "prefix"], check=True)

    def fill(self, engine):
        """From now on not one page more fits; the engine stands still meanwhile. False when it had written everything already."""
        os.kill(engine, signal.SIGSTOP)
        try:
            disk = os.statvfs(self.prefix_folder())
            self.resize((disk.f_blocks - disk.f_bfree) * disk.f_frsize)
            return any(self.prefix_folder().rglob("*.part"))
        finally:
            os.kill(engine, signal.SIGCONT)
