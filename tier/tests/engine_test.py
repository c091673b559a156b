"""The library inside a real engine. Needs

    HEARTH_TEST_ENGINE   command of a stock, dynamically linked llama-server (words as a shell would split them)
    HEARTH_TIER_LIBRARY  the built libhearth_tier.so (set by ctest)
    HEARTH_TEST_MODEL    a GGUF with weights the CPU backend repacks (Q4_0 does), a few tens of MB are enough; without it,
                         and for the other types of weights, make_model beside the library makes what is needed

Optional: HEARTH_TEST_KILLS (rounds of the kill test, default 12), HEARTH_TEST_SEED.
"""

import array
import glob
import os
import random
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from control import ARENA_ONLY, EVENTS, Engine, ONLY_MARK

PROMPTS = ["The kitchen lights are", "hello", "one two three four five six seven eight nine ten",
           "Once upon a time there was a house that listened.", "a b c d e f g h i j k l m n o p q r s t u v w x y z"]
FLAGS = ["--fit", "off", "-c", "512", "-t", "2", "-np", "1"]
REASON = {"protocol": 1, "no_directory": 3, "bad_key": 4, "disabled": 19, "memlock": 12, "bad_chunk": 40, "other_tensor": 44,
          "short": 33, "bad_magic": 35, "lost": 47, "pinned": 13}


SHAPE = {"layers": 4, "embd": 512, "ff": 1024, "heads": 8, "kv-heads": 4, "vocab": 8192, "seed": 5}


def write_adapter(path, seed, rank=64):
    """A LoRA adapter for a model of SHAPE: random matrices for two projections of every layer."""
    def string(value):
        return struct.pack("<Q", len(value)) + value.encode()
    values = [string("general.architecture") + struct.pack("<I", 8) + string("llama"),
              string("general.type") + struct.pack("<I", 8) + string("adapter"),
              string("adapter.type") + struct.pack("<I", 8) + string("lora"),
              string("adapter.lora.alpha") + struct.pack("<If", 6, 64.0)]
    rng = random.Random(seed)
    embd, tensors, data = SHAPE["embd"], b"", b""
    names = [f"blk.{layer}.{part}.weight.{side}" for layer in range(SHAPE["layers"])
             for part in ("attn_q", "attn_output") for side in ("lora_a", "lora_b")]
    for name in names:
        shape = (embd, rank) if name.endswith("a") else (rank, embd)
        tensors += string(name) + struct.pack("<IqqIQ", 2, *shape, 0, len(data))
        data += array.array("f", (rng.uniform(-0.02, 0.02) for _ in range(embd * rank))).tobytes()
    head = b"GGUF" + struct.pack("<Iqq", 3, len(names), len(values)) + b"".join(values) + tensors
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


def setting(name, meaning):
    value = os.environ.get(name)
    if not value:
        raise AssertionError(f"{name} is not set: give {meaning}, or leave these tests out with ctest -LE engine.")
    return value


class EngineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.command = shlex.split(setting("HEARTH_TEST_ENGINE", "the command of a stock llama-server"))
        cls.library = setting("HEARTH_TIER_LIBRARY", "the path of libhearth_tier.so")
        cls.made = tempfile.mkdtemp(prefix="hearth_tier_models_")
        cls.model = os.environ.get("HEARTH_TEST_MODEL") or cls.make("q4_0")
        cls.stock_tokens = {}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.made, ignore_errors=True)

    @classmethod
    def make(cls, kind):
        """A small model with weights of this type."""
        maker = os.path.join(os.path.dirname(cls.library), "make_model")
        if not os.path.exists(maker):
            raise AssertionError(f"{maker} is missing: build the whole project, or set HEARTH_TEST_MODEL to a GGUF file.")
        path = os.path.join(cls.made, f"{kind}.gguf")
        if not os.path.exists(path):
            shape = [word for name, value in SHAPE.items() for word in (f"--{name}", str(value))]
            subprocess.run([maker, "--out", path, "--type", kind, *shape], check=True, capture_output=True)
        return path

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="hearth_tier_")
        self.packed = os.path.join(self.root, "packed")
        self.log = os.path.join(self.root, "engine.log")

    def tearDown(self):
        shutil.rmtree(self.root, ignore_errors=True)

    # --- helpers ---

    def engine(self, *, tier=True, flags=(), settings=None, model=None, **more):
        return Engine(self.command, model or self.model, FLAGS + list(flags), tier=self.library if tier else None,
                      directory=self.packed if tier else None, settings=settings, log=self.log, **more)

    def expected(self, flags=(), model=None):
        """What the stock engine answers, asked once per set of flags."""
        name = (tuple(flags), model)
        if name not in self.stock_tokens:
            with self.engine(tier=False, flags=flags, model=model) as stock:
                self.stock_tokens[name] = [stock.tokens(p) for p in PROMPTS]
        return self.stock_tokens[name]

    def check_answers(self, engine, flags=(), model=None):
        self.assertEqual([engine.tokens(p) for p in PROMPTS], self.expected(flags, model))

    def pack(self, **more):
        with self.engine(**more) as engine:
            published = engine.wait_event("published")
            self.assertEqual(published.reason, 0)
            return published

    def segment(self):
        return os.path.join(self.packed, "test", "0.seg")

    def names(self, engine):
        return [EVENTS.get(e.kind) for e in engine.events()]

    # --- packing and reuse ---

    def test_answers_are_the_same_packing_reusing_and_woken(self):
        with self.engine() as first:
            self.check_answers(first)
            first.wait_event("published")
            self.assertEqual(first.hello().powers, 0b111111)
        with self.engine() as second:
            attached = second.wait_event("attached")
            self.check_answers(second)
            settled = second.wait_event("settled")
            self.assertGreater(settled.count, 0, "no tensor was skipped")
            self.assertEqual(settled.bytes, attached.bytes)
            self.assertNotIn("arena_created", self.names(second))
            second.command("hibernate")
            self.check_answers(second)
            second.command("hibernate")
            second.command("wake")
            self.check_answers(second)

    def test_whoever_looks_often_does_not_keep_the_weights_from_their_file(self):
        with self.engine() as engine:
            until = time.monotonic() + 20
            while not engine.events("published"):
                self.assertLess(time.monotonic(), until, "nothing was published while somebody looked")
                engine.command("status")
                time.sleep(0.1)
            self.check_answers(engine)

    def test_only_weights_go_into_files(self):
        with self.engine(flags=["-c", "4096"]) as engine:
            engine.tokens(PROMPTS[0])
            engine.wait_event("published")
            with open(f"/proc/{engine.engine_pid()}/maps", encoding="ascii") as maps:
                lines = [line for line in maps if self.packed in line or "/test/" in line]
            status = engine.command("status")
            mapped = sum(int(a, 16) - int(b, 16) for b, a in (line.split()[0].split("-") for line in lines))
            self.assertEqual(mapped, status.arena_bytes)
            self.assertTrue(all(line.split()[1].startswith("r--") for line in lines), "packed weights are writable")
            created = engine.events("arena_created")
            self.assertEqual(len(created), 1)
            self.assertIn("REPACK", created[0].text)

    def test_without_mapping_of_the_model_the_plain_buffers_are_in_the_arena_too(self):
        flags = ["--load-mode", "none"]
        with self.engine(flags=flags) as engine:
            self.check_answers(engine, flags)
            kinds = {e.text for e in engine.events("arena_created")}
            self.assertEqual(kinds, {"CPU", "CPU_REPACK"})
            done = engine.command("hibernate")
            self.assertEqual(done.reason, 0, done.text)
            self.assertLess(done.arena_after, 0.05 * done.arena_before)
            self.check_answers(engine, flags)
        with self.engine(flags=flags) as engine:
            self.check_answers(engine, flags)
            self.assertEqual({e.text for e in engine.events("attached")}, {"CPU_REPACK"})

    def test_another_layout_under_the_same_key_is_packed_anew(self):
        self.pack()
        with self.engine(flags=["--no-repack"]) as engine:
            self.check_answers(engine, ["--no-repack"])
        with self.engine() as engine:
            self.check_answers(engine)

    def test_two_engines_share_the_pages(self):
        self.pack()
        with self.engine() as one, self.engine() as two:
            self.check_answers(one)
            self.check_answers(two)
            for engine in (one, two):
                self.assertEqual(len(engine.events("attached")), 1)
            with open(f"/proc/{two.engine_pid()}/smaps", encoding="ascii") as smaps:
                lines = smaps.read().splitlines()
            inside, shared, private = False, 0, 0
            for line in lines:
                if "-" in line.split()[0] and ":" not in line.split()[0]:
                    inside = line.endswith("0.seg")
                elif inside and line.startswith("Shared_Clean:"):
                    shared += int(line.split()[1])
                elif inside and line.startswith(("Private_Dirty:", "Shared_Dirty:")):
                    private += int(line.split()[1])
            self.assertGreater(shared * 1024, 0.95 * one.events("attached")[0].bytes)
            self.assertEqual(private, 0)

    def test_two_cold_engines_at_once_leave_one_good_file(self):
        one, two = self.engine(wait=False), self.engine(wait=False)
        with one, two:
            for engine in (one, two):
                engine.wait_ready()
                self.check_answers(engine)
            # One names its file; the other comes second, or found the first one's in time. How long that takes is the disk's affair.
            ends = sorted(EVENTS[engine.wait_event("published", "not_published", "attached").kind] for engine in (one, two))
            self.assertIn(ends, (["not_published", "published"], ["attached", "published"]))
            for lost in one.events("not_published") + two.events("not_published"):
                self.assertEqual(lost.reason, REASON["lost"])
        with self.engine() as engine:
            engine.wait_event("attached")
            self.check_answers(engine)

    # --- several models, several types of weights ---

    def check_all_states(self, flags=(), model=None):
        """First pack, reuse, woken; returns the events of the first start."""
        with self.engine(flags=flags, model=model) as engine:
            self.check_answers(engine, flags, model)
            engine.command("hibernate")  # also waits until publishing is done
            self.check_answers(engine, flags, model)
            first = engine.events()
        with self.engine(flags=flags, model=model) as engine:
            self.check_answers(engine, flags, model)
            self.assertEqual(len(engine.events("attached")), sum(1 for e in first if EVENTS[e.kind] == "published"))
            self.assertEqual(engine.command("hibernate").reason, 0)
            self.assertEqual(engine.command("wake").reason, 0)
            self.check_answers(engine, flags, model)
        return first

    def test_every_type_of_weights(self):
        for kind in ("q4_0", "q8_0", "q4_k", "f16"):
            with self.subTest(kind=kind):
                shutil.rmtree(self.packed, ignore_errors=True)
                self.check_all_states(model=self.make(kind))

    def test_a_draft_model_has_its_own_buffer(self):
        model = self.make("q4_0")
        flags = ["--spec-draft-model", model, "--spec-type", "draft-simple"]
        events = self.check_all_states(flags, model)
        packed = [e for e in events if EVENTS[e.kind] == "published"]
        self.assertEqual(sorted(e.ordinal for e in packed if "REPACK" in e.text), [0, 1])

    def test_an_adapter_changes_nothing_about_the_weights(self):
        model = self.make("q4_0")
        one, two = os.path.join(self.root, "one.gguf"), os.path.join(self.root, "two.gguf")
        write_adapter(one, 1)
        write_adapter(two, 2)
        self.assertNotEqual(self.expected(["--lora", one], model), self.expected(["--lora", two], model))
        events = self.check_all_states(["--lora", one], model)
        self.assertEqual({e.text for e in events if EVENTS[e.kind] == "arena_created"}, {"CPU_REPACK"})
        with self.engine(flags=["--lora", two], model=model) as engine:
            engine.wait_event("attached")
            self.check_answers(engine, ["--lora", two], model)

    # --- damage ---

    def damage(self, change, reason, settings=None):
        self.pack()
        change(self.segment())
        with self.engine(settings=settings) as engine:
            self.assertEqual(engine.wait_event("set_aside").reason, reason)
            self.check_answers(engine)
            engine.wait_event("published")
        self.assertTrue(os.path.exists(self.segment() + ".bad"))
        with self.engine() as engine:
            engine.wait_event("attached")
            self.check_answers(engine)

    def test_a_flipped_bit_in_the_weights_is_found(self):
        def flip(path):
            with open(path, "r+b") as file:
                size = os.path.getsize(path)
                at = random.Random(7).randrange(3 << 20, size - (1 << 20))
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 0x20]))
        self.damage(flip, REASON["bad_chunk"])

    def test_a_short_file_is_found(self):
        self.damage(lambda path: os.truncate(path, os.path.getsize(path) // 2), REASON["short"])

    def test_a_foreign_file_is_found(self):
        def replace(path):
            size = os.path.getsize(path)
            with open(path, "wb") as file:
                file.write(b"GGUF" + bytes(size - 4))
        self.damage(replace, REASON["bad_magic"])

    def test_another_model_under_the_same_key_is_noticed(self):
        self.pack()
        other = os.path.join(self.root, "other.gguf")
        shutil.copyfile(self.model, other)
        size = os.path.getsize(other)
        with open(other, "r+b") as file:  # other weights, same shapes: scramble nibbles, keep the Q4_0 scales
            file.seek(size // 2)
            tail = bytearray(file.read())
            tail[5::18] = bytes(b ^ 0x11 for b in tail[5::18])
            file.seek(size // 2)
            file.write(tail)
        with self.engine(model=other) as engine:
            self.assertEqual(engine.wait_event("set_aside").reason, REASON["other_tensor"])
            self.check_answers(engine, model=other)

    def test_kill_at_random_instants_never_hurts_the_next_start(self):
        rounds = int(os.environ.get("HEARTH_TEST_KILLS", "12"))
        rng = random.Random(int(os.environ.get("HEARTH_TEST_SEED", "1")))
        for _ in range(rounds):
            engine = self.engine(wait=False)
            try:
                time.sleep(rng.uniform(0.02, 0.8))
                if engine.process.poll() is None and rng.random() < 0.5:
                    try:
                        engine.wait_ready()
                        engine.send(rng.choice(["hibernate", "wake"]))
                        time.sleep(rng.uniform(0, 0.05))
                    except OSError:
                        pass
                engine.kill()
            finally:
                engine.stop()
            leftovers = set(os.listdir(os.path.join(self.packed, "test"))) if os.path.isdir(self.packed) else set()
            self.assertLessEqual(leftovers, {"0.seg", "lock"})
            if rng.random() < 0.3:
                shutil.rmtree(self.packed, ignore_errors=True)
        with self.engine() as engine:
            self.check_answers(engine)
            self.assertNotIn("set_aside", self.names(engine))

    # --- commands ---

    def test_hibernate_returns_the_weights_and_says_how_much(self):
        self.pack()
        with self.engine() as engine:
            self.check_answers(engine)
            before, in_place = engine.resident(), engine.held_of(os.path.realpath(self.model))
            done = engine.command("hibernate")
            self.assertEqual(done.reason, 0, done.text)
            weights = done.arena_before + done.model_before
            self.assertGreaterEqual(done.moved, 0.95 * weights)
            self.assertLess((done.end_ns - done.begin_ns) / 1e9, 1.0)
            self.assertGreater(before - engine.resident(), 0.9 * (done.arena_before + in_place))
            self.check_answers(engine)

    def test_what_was_packed_of_the_model_leaves_the_process(self):
        size = os.path.getsize(self.model)
        for _ in ("packs", "finds it packed"):
            with self.engine() as engine:
                self.check_answers(engine)
                if "arena_created" in self.names(engine):
                    engine.wait_event("published")
                self.assertGreater(engine.held_of(os.path.realpath(self.model)), 0)
                self.assertLess(engine.held_of(os.path.realpath(self.model)), 0.4 * size)

    def test_hibernate_can_only_mark_the_weights(self):
        self.pack()
        with self.engine() as engine:
            engine.command("wake")
            done = engine.command("hibernate", ONLY_MARK)
            self.assertEqual(done.reason, 0, done.text)
            self.assertEqual(done.moved, 0)
            self.assertEqual(done.arena_after, done.arena_bytes)
            self.check_answers(engine)

    def test_wake_brings_everything_back(self):
        self.pack()
        with self.engine() as engine:
            engine.command("hibernate")
            woken = engine.command("wake", readers=3, chunk=1 << 20)
            self.assertEqual(woken.reason, 0, woken.text)
            self.assertGreaterEqual(woken.arena_after, 0.99 * woken.arena_bytes)
            self.assertGreater(woken.moved, 0)
            self.check_answers(engine)

    def test_wake_runs_beside_a_request(self):
        self.pack()
        with self.engine() as engine:
            expected = self.expected()
            for prompt, answer in zip(PROMPTS, expected):
                engine.command("hibernate")
                serial = engine.send("wake")
                self.assertEqual(engine.tokens(prompt), answer)
                self.assertEqual(engine.answer(serial).reason, 0)

    def test_many_cycles_leave_memory_flat(self):
        self.pack()
        with self.engine() as engine:
            self.check_answers(engine)
            sizes = []
            for _ in range(20):
                self.assertEqual(engine.command("hibernate").reason, 0)
                self.assertEqual(engine.command("wake").reason, 0)
                sizes.append(engine.resident())
            self.assertLess(max(sizes[1:]) - min(sizes[1:]), 0.02 * max(sizes))
            self.check_answers(engine)

    def test_pinned_weights_refuse_to_hibernate(self):
        self.pack()
        with self.engine() as engine:
            pinned = engine.command("pin")
            if pinned.reason == REASON["memlock"]:
                self.assertIn("limit", pinned.text)
                self.assertEqual(pinned.locked, 0)
                return
            self.assertEqual(pinned.reason, 0, pinned.text)
            self.assertGreaterEqual(pinned.locked, pinned.arena_bytes)
            self.assertEqual(engine.command("hibernate", ARENA_ONLY).reason, REASON["pinned"])
            self.check_answers(engine)
            self.assertEqual(engine.command("unpin").locked, 0)
            self.assertEqual(engine.command("hibernate").reason, 0)

    def test_spans_cover_start_and_requests(self):
        with self.engine() as engine:
            engine.drain(0.1)
            self.assertEqual(len(engine.spans("model_load")), 1)
            self.assertEqual(len(engine.spans("context_init")), 1)
            self.assertTrue(engine.spans("backend_load"))
            engine.records.clear()
            answer = engine.complete(PROMPTS[2], 8)
            prompt_tokens = answer["timings"]["prompt_n"]
            spans = engine.spans("process")
            self.assertEqual(sum(s.count for s in spans if s.count > 1), prompt_tokens)
            # The first token after the prompt is told; of the equal short steps that follow only some are.
            self.assertIn(sum(1 for s in spans if s.count == 1), range(1, 8))
            self.assertTrue(engine.spans("tokenize"))
            self.assertTrue(all(s.begin_ns <= s.end_ns for s in engine.spans()))
            prefill = sum(s.end_ns - s.begin_ns for s in spans if s.count > 1) / 1e6
            self.assertLess(prefill, answer["timings"]["prompt_ms"] * 1.2 + 5)

    # --- standing aside ---

    def test_another_protocol_version_stands_aside(self):
        with self.engine(protocol=99) as engine:
            hello = engine.hello()
            self.assertEqual(hello.powers, 0)
            self.assertEqual(set(hello.reasons[:6]), {REASON["protocol"]})
            self.check_answers(engine)
            self.assertEqual(self.names(engine), [])
            self.assertFalse(os.path.exists(self.packed))

    def test_without_a_folder_only_the_probe_works(self):
        with Engine(self.command, self.model, FLAGS, tier=self.library, log=self.log) as engine:
            self.assertEqual(engine.hello().reasons[1], REASON["no_directory"])
            self.check_answers(engine)
            self.assertTrue(engine.spans("process"))
            done = engine.command("hibernate")  # the model file's own mapping can still be cooled
            self.assertEqual(done.reason, 0, done.text)
            self.assertGreater(done.moved, 0)
            self.check_answers(engine)

    def test_an_unwritable_folder_leaves_the_engine_as_stock(self):
        with Engine(self.command, self.model, FLAGS, tier=self.library, directory="/proc/nowhere", log=self.log) as engine:
            self.assertEqual(engine.hello().reasons[1], REASON["no_directory"])
            self.check_answers(engine)

    def test_the_daemon_may_die(self):
        with self.engine() as engine:
            engine.drain()
            engine.socket.close()
            engine.socket = None
            self.check_answers(engine)

    def test_without_a_socket_nothing_happens(self):
        environment = dict(os.environ, LD_PRELOAD=self.library, HEARTH_TIER_DIR=self.packed, HEARTH_TIER_KEY="test",
                           HEARTH_TIER_PROTOCOL="1")
        done = subprocess.run(self.command + ["--version"], env=environment, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.packed))

    def test_programs_that_are_no_engine_are_left_alone(self):
        environment = dict(os.environ, LD_PRELOAD=self.library, HEARTH_TIER_FD="0", HEARTH_TIER_PROTOCOL="1")
        done = subprocess.run([sys.executable, "-c", "import os; print(os.environ['HEARTH_TIER_FD'])"], env=environment,
                              capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout, b"0\n")
        self.assertEqual(done.stderr, b"")

    def test_the_engines_children_inherit_neither_settings_nor_socket(self):
        with self.engine() as engine:
            with open(f"/proc/{engine.engine_pid()}/maps", encoding="ascii") as maps:
                self.assertIn("libhearth_tier.so", maps.read())
            for fd in glob.glob(f"/proc/{engine.engine_pid()}/fdinfo/*"):
                link = fd.replace("fdinfo", "fd")
                try:
                    target = os.readlink(link)
                    with open(fd, encoding="ascii") as info:
                        flags = int(next(l for l in info if l.startswith("flags:")).split()[1], 8)
                except (OSError, StopIteration):
                    continue
                if "0.seg" in target or "/packed/" in target:
                    self.assertTrue(flags & os.O_CLOEXEC, target)


if __name__ == "__main__":
    unittest.main(verbosity=2)
