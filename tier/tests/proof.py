#!/usr/bin/env python3
"""The long proofs of the library in a real engine, on demand; engine_test.py has their short forms.

    proof.py --engine "llama-server" --build build/release matrix|cycles MODEL.gguf|group MODEL.gguf

    matrix   50 prompts x {Q4_0, Q8_0, Q4_K, F16} x {cold, packed, woken, pinned}: the tokens of the stock engine, one by one
    cycles   100 times hibernate and wake: what leaves, how fast, and whether memory stays flat
    group    a memory control group 25 % smaller than the packed weights (needs root; version 1 or 2): the stock engine is killed,
             the one with the library answers, and what that costs is measured

Each prints what it found and ends with status 1 when a bar is missed. 200 kills at random instants are
HEARTH_TEST_KILLS=200 engine_test.py EngineTest.test_kill_at_random_instants_never_hurts_the_next_start.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

from control import Engine, EngineDied, drop_file_cache

FLAGS = ["--fit", "off", "-c", "512", "-t", "2", "-np", "1"]
SHAPE = "--layers 4 --embd 512 --ff 1024 --heads 8 --kv-heads 4 --vocab 8192 --seed 5".split()
PROMPTS, TOKENS = 50, 12
CYCLES = 100


def prompts():
    rng = random.Random(11)
    letters = "abcdefghijklmnopqrstuvwxyz    "
    return ["".join(rng.choice(letters) for _ in range(rng.randrange(3, 90))) for _ in range(PROMPTS)]


class Proof:
    def __init__(self, options, work):
        self.command = shlex.split(options.engine)
        self.library = str(options.build / "libhearth_tier.so")
        self.maker = options.build / "make_model"
        self.work = pathlib.Path(work)
        self.failed = False

    def check(self, good, text):
        self.failed = self.failed or not good
        print(f"{'ok  ' if good else 'FAIL'} {text}", flush=True)

    def engine(self, model, tier=True, key="proof", command=None, **more):
        return Engine(command or self.command, str(model), FLAGS, tier=self.library if tier else None,
                      directory=str(self.work / "packed") if tier else None, key=key,
                      settings={"HEARTH_TIER_MODEL": str(model)} if tier else None, **more)

    def matrix(self):
        for kind in ("q4_0", "q8_0", "q4_k", "f16"):
            model = self.work / f"{kind}.gguf"
            subprocess.run([self.maker, "--out", model, "--type", kind, *SHAPE], check=True, capture_output=True)
            with self.engine(model, tier=False) as stock:
                expected = [stock.tokens(p, TOKENS) for p in prompts()]
            for state in ("cold", "packed", "woken", "pinned"):
                with self.engine(model, key=kind) as engine:
                    if state == "woken":
                        engine.tokens("x", 1)
                        engine.command("hibernate")
                        engine.command("wake")
                    if state == "pinned":
                        engine.tokens("x", 1)
                        pinned = engine.command("pin")
                        if pinned.reason != 0:
                            self.check(False, f"{kind} pinned: {pinned.text}")
                            continue
                    got = [engine.tokens(p, TOKENS) for p in prompts()]
                    if state == "cold" and any(e for e in engine.events("arena_created") if "REPACK" in e.text):
                        engine.wait_event("published")
                    attached = len(engine.events("attached"))
                same = sum(a == b for a, b in zip(got, expected))
                self.check(same == PROMPTS, f"{kind} {state}: {same} of {PROMPTS} answers equal to stock; {attached} packed files used")

    def cycles(self, model):
        with self.engine(model) as engine:
            engine.tokens("warm up", 2)
            engine.wait_event("published")
        with self.engine(model) as engine:
            engine.tokens("warm up", 2)
            engine.command("wake")
            before = engine.resident()
            shares, seconds, awake, asleep = [], [], [], []
            for _ in range(CYCLES):
                done = engine.command("hibernate")
                asleep.append(engine.resident())
                shares.append(1 - (done.arena_after + done.model_after) / (done.arena_bytes + done.model_bytes))
                seconds.append((done.end_ns - done.begin_ns) / 1e9)
                engine.command("wake")
                awake.append(engine.resident())
            weights = done.arena_bytes
            self.check(min(shares) >= 0.95, f"hibernate: at least {min(shares):.1%} of the weight bytes are out of memory (cachestat)")
            self.check(before - max(asleep) >= 0.95 * weights,
                       f"hibernate: resident memory falls from {before / 1e6:.0f} to at most {max(asleep) / 1e6:.0f} MB; packed weights {weights / 1e6:.0f} MB")
            self.check(max(seconds) <= 1, f"hibernate: {sorted(seconds)[CYCLES // 2] * 1e3:.0f} ms, at most {max(seconds) * 1e3:.0f} ms")
            spread = (max(awake) - min(awake)) / max(awake)
            self.check(spread <= 0.02, f"{CYCLES} cycles: resident memory awake {min(awake) / 1e6:.1f} to {max(awake) / 1e6:.1f} MB ({spread:.2%})")

    # --- a memory control group ---

    @contextlib.contextmanager
    def group(self, limit):
        """A shell command that enters a fresh group with this limit, and the files of the group."""
        one = pathlib.Path("/sys/fs/cgroup/memory")
        version_one = (one / "memory.limit_in_bytes").exists()
        place = (one if version_one else pathlib.Path("/sys/fs/cgroup")) / f"hearth_proof_{os.getpid()}"
        place.mkdir()
        try:
            (place / ("memory.limit_in_bytes" if version_one else "memory.max")).write_text(str(limit))
            if not version_one and (place / "memory.swap.max").exists():
                (place / "memory.swap.max").write_text("0")
            yield ["sh", "-c", f'echo $$ > {place}/cgroup.procs; exec "$@"', "sh", *self.command]
        finally:
            for _ in range(100):  # the kernel needs a moment to see that the last process has gone
                try:
                    place.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)

    def bytes_read(self, engine):
        with open(f"/proc/{engine.engine_pid()}/io", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("read_bytes:"))

    def small_group(self, model):
        with self.engine(model, key="group") as engine:
            expected = engine.tokens("The kitchen lights are", 8)
            packed = engine.wait_event("published").bytes
        segment = self.work / "packed" / "group" / "0.seg"
        with self.group(int(packed * 0.75)) as inside:
            print(f"     packed weights {packed / 1e6:.0f} MB, group {packed * 0.75 / 1e6:.0f} MB", flush=True)
            for kept in (True, False):
                for path in (model, segment):
                    if os.path.exists(path):
                        drop_file_cache(path)
                if not kept:
                    segment.unlink()
                name = "packed weights kept" if kept else "packing for the first time"
                try:
                    with self.engine(model, key="group", command=inside) as engine:
                        begin, read = time.monotonic(), self.bytes_read(engine)
                        first = engine.first_token_seconds("The kitchen lights are")
                        begin, read = time.monotonic(), self.bytes_read(engine)
                        answer = engine.tokens("The kitchen lights are", 8)
                        seconds, read = time.monotonic() - begin, self.bytes_read(engine) - read
                    self.check(answer == expected, f"{name}: ready in {engine.ready_seconds:.1f} s, first token {first:.2f} s, then {seconds / 8:.2f} s and "
                                                   f"{read / 8e6:.0f} MB read again a token; the answer is that of a machine with room")
                except EngineDied as error:
                    self.check(False, f"{name}: {error}")
            drop_file_cache(model)
            try:
                with self.engine(model, tier=False, command=inside) as stock:
                    stock.tokens("The kitchen lights are", 8)
                self.check(False, "stock: lives in that group as well, so this shows nothing")
            except (EngineDied, OSError) as error:
                self.check(True, f"stock: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", default=None, help="folder for models and packed weights, on a disk")
    parser.add_argument("what", choices=("matrix", "cycles", "group"))
    parser.add_argument("model", nargs="?")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="hearth_proof_", dir=options.work) as work:
        proof = Proof(options, work)
        if options.what == "matrix":
            proof.matrix()
        elif options.what == "cycles":
            proof.cycles(options.model)
        else:
            proof.small_group(options.model)
    sys.exit(1 if proof.failed else 0)


if __name__ == "__main__":
    main()
