#!/usr/bin/env python3
"""Measures the library against the stock engine: paired, interleaved, medians. Prints a table and, with --json, the data.

    measure.py --engine "llama-server" --library build/release/libhearth_tier.so --model MODEL.gguf --rounds 7

Run it on a quiet machine; the ratios are what matters. "cold" means that the pages of the model and of the packed file were
dropped before (posix_fadvise), "warm" that they are in the page cache.
"""

import argparse
import concurrent.futures
import json
import os
import random
import shlex
import shutil
import signal
import statistics
import tempfile
import time

from control import Engine, drop_file_cache

PROMPT = [60 + 3 * i for i in range(20)]  # 20 tokens of any vocabulary
LONG = [60 + (7 * i) % 180 for i in range(200)]


def disk_rate(path, readers):
    """Bytes a second of `readers` threads reading one cold file in 4 MiB pieces."""
    drop_file_cache(path)
    size = os.path.getsize(path)
    step = 4 << 20
    fd = os.open(path, os.O_RDONLY)

    def read(first):
        buffer = bytearray(step)
        for offset in range(first * step, size, readers * step):
            os.preadv(fd, [buffer], offset)

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        list(pool.map(read, range(readers)))
    seconds = time.monotonic() - begin
    os.close(fd)
    return size / seconds


class Round:
    """One round of every measured case, in random order where cases do not build on each other."""

    def __init__(self, options, samples):
        self.options = options
        self.samples = samples
        self.packed = os.path.join(options.work, "packed")
        self.segment = os.path.join(self.packed, "test", "0.seg")

    def note(self, name, value):
        self.samples.setdefault(name, []).append(value)

    def cold(self):
        drop_file_cache(self.options.model)
        if os.path.exists(self.segment):
            drop_file_cache(self.segment)

    def start(self, tier):
        flags = shlex.split(self.options.flags)
        return Engine(shlex.split(self.options.engine), self.options.model, flags,
                      tier=self.options.library if tier else None, directory=self.packed)

    def speed(self, engine, name):
        engine.complete(PROMPT, 2)
        prefill, decode = [], []
        for _ in range(3):
            timings = engine.complete(LONG, 32)["timings"]
            prefill.append(timings["prompt_per_second"])
            decode.append(timings["predicted_per_second"])
        self.note(f"prefill {name} tokens/s", statistics.median(prefill))
        self.note(f"decode {name} tokens/s", statistics.median(decode))

    def stock(self):
        for state in ("cold", "warm"):
            if state == "cold":
                self.cold()
            with self.start(False) as engine:
                self.note(f"ready stock {state} s", engine.ready_seconds)
                self.note(f"restart to first token stock {state} s",
                          engine.ready_seconds + engine.first_token_seconds(PROMPT))
                self.note("first token stock resident s", engine.first_token_seconds(PROMPT))
                if state == "warm":
                    self.speed(engine, "stock")

    def pack(self, state):
        shutil.rmtree(self.packed, ignore_errors=True)
        if state == "cold":
            self.cold()
        with self.start(True) as engine:
            self.note(f"ready first pack {state} s", engine.ready_seconds)
            self.note("publish s", engine.wait_event("published").ns / 1e9)

    def reuse(self, state):
        if state == "cold":
            self.cold()
        with self.start(True) as engine:
            self.note(f"ready packed {state} s", engine.ready_seconds)
            self.note(f"restart to first token packed {state} s",
                      engine.ready_seconds + engine.first_token_seconds(PROMPT))
            if state == "warm":
                self.speed(engine, "arena")
                self.note("first token arena resident s", engine.first_token_seconds(PROMPT))
                self.hibernation(engine)

    def hibernation(self, engine):
        for _ in range(2):
            done = engine.command("hibernate")
            self.note("hibernate s", (done.end_ns - done.begin_ns) / 1e9)
            self.note("hibernate bytes left / weights", done.moved / (done.arena_before + done.model_before))
            self.note("resident after hibernate MB", engine.resident() / 1e6)
            woken = engine.command("wake", readers=self.options.readers)
            self.note("wake s", (woken.end_ns - woken.begin_ns) / 1e9)
            self.note("wake bytes/s", woken.moved / ((woken.end_ns - woken.begin_ns) / 1e9))
        engine.command("hibernate")
        self.note("first token hibernated cold, faults only s", engine.first_token_seconds(PROMPT))
        for _ in range(2):
            engine.command("hibernate")
            serial = engine.send("wake", readers=self.options.readers)
            self.note("first token hibernated cold, wake beside s", engine.first_token_seconds(PROMPT))
            engine.answer(serial)
        self.note("second request after wake s", engine.first_token_seconds(PROMPT))
        engine.command("hibernate")
        for path in (self.options.model, self.segment):
            with open(path, "rb") as file:
                while file.read(1 << 24):
                    pass
        serial = engine.send("wake", readers=self.options.readers)
        self.note("first token hibernated warm s", engine.first_token_seconds(PROMPT))
        engine.answer(serial)
        self.note("disk bytes/s", max(disk_rate(self.options.model, n) for n in (1, 2, 4)))

    def run(self):
        groups = [self.stock, lambda: (self.pack("warm"), self.pack("cold"), self.reuse("cold"), self.reuse("warm"))]
        random.shuffle(groups)
        for group in groups:
            group()


RATIOS = [
    ("ready, packed cold / stock cold", "ready packed cold s", "ready stock cold s", 0.40),
    ("first token hibernated cold / stock restart cold", "first token hibernated cold, wake beside s",
     "restart to first token stock cold s", 0.12),
    ("first token hibernated warm / stock restart warm", "first token hibernated warm s",
     "restart to first token stock warm s", 0.08),
    ("first pack / stock, warm", "ready first pack warm s", "ready stock warm s", 1.10),
    ("first pack / stock, cold", "ready first pack cold s", "ready stock cold s", 1.10),
    ("prefill arena / stock", "prefill arena tokens/s", "prefill stock tokens/s", 0.98),
    ("decode arena / stock", "decode arena tokens/s", "decode stock tokens/s", 0.98),
    ("disk rate / wake rate", "disk bytes/s", "wake bytes/s", 1.25),
]


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--flags", default="--fit off -c 2048 -np 1")
    parser.add_argument("--json")
    options = parser.parse_args()
    samples = {}
    with tempfile.TemporaryDirectory(prefix="hearth_measure_", dir=os.path.dirname(os.path.abspath(options.model))) as work:
        options.work = work
        try:
            for number in range(options.rounds):
                begin = time.monotonic()
                Round(options, samples).run()
                print(f"round {number + 1} of {options.rounds}: {time.monotonic() - begin:.0f} s", flush=True)
        except KeyboardInterrupt:  # what was measured so far is still worth printing
            print("interrupted; the figures below are of the rounds so far", flush=True)
    medians = {name: statistics.median(values) for name, values in samples.items()}
    print(f"\n{'median of ' + str(options.rounds) + ' rounds':58} {'median':>12} {'least':>12} {'most':>12}")
    for name, values in samples.items():
        print(f"{name:58} {medians[name]:12.4g} {min(values):12.4g} {max(values):12.4g}")
    print(f"\n{'ratio of medians':58} {'value':>12} {'aim':>12}")
    for name, above, below, aim in RATIOS:
        if above not in medians or below not in medians:
            continue
        print(f"{name:58} {medians[above] / medians[below]:12.3f} {aim:12.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"samples": samples, "medians": medians}, file, indent=1)


if __name__ == "__main__":
    main()
