"""Prompt prefixes that survive unload, restart and kill, with a real engine.

    python3 tests/engine/prefix_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import json
import os
import pathlib
import random
import sys
import time
import unittest

from prefix_world import World, devices

build = pathlib.Path(__file__).resolve().parents[2] / "build" / "release"
SHAPE = "--layers 8 --embd 512 --ff 1536 --heads 8 --kv-heads 4 --vocab 32000 --type q4_0 --seed 5 --context 4096".split()
SYSTEM = devices(55)


class PrefixTest(unittest.TestCase):
    config = ""

    def setUp(self):
        self.world = World(build, self.config)
        self.addCleanup(self.world.close)
        self.world.start()
        self.world.make_model("some", *SHAPE)

    def ask(self, user, system=SYSTEM, **more):
        return self.world.chat("some", system, user, **more)

    def saved(self):
        """The prefix is known and stored; the answer of a cold engine to "Gamma"."""
        cold = self.ask("Gamma")
        self.ask("Beta")
        self.stored = self.world.wait_saved(1)
        return cold

    def state_file(self):
        files = list((self.world.data / "prefix" / "states").glob("*/*.kv"))
        self.assertEqual(len(files), 1)
        return files[0]

    def assert_restored(self, answer, cold):
        self.assertEqual(answer["text"], cold["text"])
        self.assertGreaterEqual(answer["cached"], 0.97 * cold["evaluated"])

    def test_a_repeated_prefix_survives_unload_restart_and_kill(self):
        cold = self.saved()
        self.world.unload("some")
        self.assert_restored(self.ask("Gamma"), cold)
        self.world.stop()
        self.world.start()
        self.assert_restored(self.ask("Gamma"), cold)
        self.world.kill()
        self.world.start()
        answer = self.ask("Gamma")
        self.assert_restored(answer, cold)
        stage = next(stage for stage in answer["record"]["stages"] if stage["stage"] == "prefix_restore")
        self.assertGreater(stage["tokens"], 1000)
        self.assertGreater(stage["bytes"], 1_000_000)
        self.assertGreater(stage["saved_ms"], 0)

    def test_few_bytes_of_many_tokens_are_worth_a_restore(self):
        system = devices(15)
        self.assertLess(len(system), 1000)
        for user in ("Gamma", "Beta"):
            cold = self.ask(user, system)
        self.world.wait_saved(1)
        self.world.stop()
        self.world.start()  # so that the engine's speed is not known and taken for a usual one
        self.assertGreaterEqual(self.ask("Gamma", system)["cached"], 0.9 * cold["prompt_tokens"] - 20)

    def test_a_declared_prefix_is_warm_before_the_first_request(self):
        body = {"model": "some", "name": "house", "messages": [{"role": "system", "content": SYSTEM}]}
        status, declared, _ = self.world.call("POST", "/hearth/v1/prefixes", body)
        self.assertEqual((status, declared["state"]), (201, "pending"))
        self.world.load("some")
        stored = self.world.wait_saved(1)
        self.assertEqual((stored["name"], stored["origin"]), ("house", "declared"))
        first = self.ask("Gamma")
        self.assertGreaterEqual(first["cached"], 0.98 * stored["tokens"] - 1)
        listed = json.loads(self.world.hearth("prefix", "list", "--json"))["prefixes"]
        self.assertEqual(len(listed), 1)
        self.assertIn("is whole", self.world.hearth("prefix", "verify", declared["id"]))
        self.assertIn("house", self.world.hearth("prefix", "show", declared["id"]))
        self.world.hearth("prefix", "rm", declared["id"])
        self.assertEqual(self.world.prefixes(), [])
        self.assertEqual(list((self.world.data / "prefix" / "states").glob("*/*.kv")), [])

    def test_damage_is_found_before_the_engine_reads_it(self):
        cold = self.saved()
        for damage in ("flip", "cut", "version"):
            self.world.unload("some")
            file = self.state_file()
            data = bytearray(file.read_bytes())
            if damage == "flip":
                data[random.Random(1).randrange(len(data))] ^= 4
            elif damage == "version":
                data[4] += 1
            else:
                del data[len(data) // 2:]
            file.write_bytes(data)
            answer = self.ask("Gamma")
            self.assertEqual((answer["text"], answer["cached"]), (cold["text"], 0), damage)
            self.assertFalse(file.exists(), damage)
            self.ask("Beta")
            self.world.wait_saved(1)  # and it is made again
        self.assertEqual(len(self.world.events("prefix_quarantined")), 3)
        self.assertEqual(self.world.events("prefix_restore_failed"), [])

    def test_a_lost_index_is_made_again_and_leftovers_of_a_crash_are_reclaimed(self):
        cold = self.saved()
        self.world.kill()
        prefix = self.world.data / "prefix"
        for file in prefix.glob("index.sqlite*"):
            file.unlink()
        (self.state_file().parent / "1-1.part").write_bytes(b"half a state")
        self.world.start()
        self.assertEqual(len(self.world.events("prefix_orphans")), 1)
        self.assert_restored(self.ask("Gamma"), cold)

    def test_killed_at_any_moment_of_saving_nothing_wrong_is_left(self):
        cold = self.ask("Gamma")
        # Saving begins a second after the last request and takes some hundredths of one.
        for moment in (1.0, 1.02, 1.04, 1.06, 1.1, 1.15):
            self.ask("Beta")
            time.sleep(moment)
            self.world.kill()
            self.world.start()
            self.assertEqual(self.ask("Gamma")["text"], cold["text"])
            self.assertEqual(self.world.events("prefix_restore_failed"), [])
        self.assertEqual(self.world.events("prefix_quarantined"), [])

    def test_near_misses_restore_no_more_than_what_is_the_same(self):
        self.saved()
        numbers = random.Random(3)
        for _ in range(4):
            words = SYSTEM.split(" ")
            at = numbers.randrange(len(words) // 4, len(words))
            words[at] = "otherwise"
            changed = " ".join(words)
            self.world.unload("some")
            answer = self.ask("Gamma", changed)
            share = len(" ".join(words[:at])) / len(SYSTEM)
            self.assertLess(answer["cached"], share * 1040 + 40)
            self.assertGreater(answer["cached"], share * 1040 - 60)

    def test_another_context_or_cache_type_is_another_fingerprint(self):
        cold = self.saved()
        self.world.stop()
        for config in ('[models."some"]\ncontext = 2048\n', '[models."some"]\nflags = ["--cache-type-k", "q8_0"]\n'):
            self.world.config = config
            self.world.start()
            self.assertEqual(self.ask("Gamma")["cached"], 0, config)
            self.world.stop()
        self.world.config = ""
        self.world.start()
        self.assert_restored(self.ask("Gamma"), cold)

    def test_two_conversations_keep_their_slots(self):
        self.saved()
        talks = {"a": [], "b": []}
        for turn in range(3):
            for name, history in talks.items():
                user = f"{name} says {turn} " + "and so on " * 120
                answer = self.world.chat("some", SYSTEM, user, history=history)
                history += [{"role": "user", "content": user}, {"role": "assistant", "content": answer["text"]}]
                if turn == 0:
                    first = answer["prompt_tokens"] - self.stored["tokens"]
                else:
                    self.assertLess(answer["evaluated"], 1.5 * first, f"turn {turn} of {name} evaluated the turn before again")

    def test_what_breaks_a_prefix_is_named(self):
        for clock in ("12:04", "12:05"):
            self.ask("Gamma", f"It is {clock}. {SYSTEM}")
        time.sleep(2)
        cause = self.ask("Gamma", f"It is 12:06. {SYSTEM}")["record"]["cause"]
        self.assertEqual(cause["layer"], "prefix")
        self.assertRegex(cause["remedy"]["detail"], r"your prompt changes at token \d+: a clock")
        self.assertGreater(cause["remedy"]["saves_ms"], 0)
        self.assertIn("a clock", self.world.hearth("explain"))

    def test_the_layer_is_measured_warmed_and_cooled(self):
        self.saved()
        layer = self.world.get("/hearth/v1/models/some")["layers"]["prefix"]
        self.assertEqual(layer["state"], "warm")
        self.assertGreater(layer["tokens_disk"], 1000)
        cooled = json.loads(self.world.hearth("cool", "some", "--layer", "prefix", "--json"))
        self.assertEqual(cooled["layers"]["prefix"]["state"], "cold")
        self.assertGreater(cooled["bytes"], 1_000_000)
        self.assertEqual(self.ask("Gamma")["cached"], 0)
        self.world.hearth("warm", "some", "--layer", "prefix")


class Exact(unittest.TestCase):
    """The keys of the cache are bf16, so that few tokens are attended like many."""

    least = 4  # tokens after a prefix
    config = '[prefix]\nexact = true\n'
    setUp = PrefixTest.setUp

    def answer(self, user):
        """What it chose of, to the last bit that JSON tells, and how many tokens it reused and evaluated."""
        body = {"model": "some", "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}], "max_tokens": 6,
                "logprobs": True, "top_logprobs": 4, "temperature": 0}
        status, answer, _ = self.world.call("POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["logprobs"]["content"], answer["timings"]["cache_n"], answer["timings"]["prompt_n"]

    def assert_exact(self, user, cold):
        answer, cached, evaluated = self.answer(user)
        self.assertEqual(answer, cold)
        self.assertEqual(cached % 4, 0)
        self.assertTrue(evaluated >= self.least or cached % 512 == 0, f"{evaluated} after {cached}")
        self.assertGreaterEqual(cached, 512 if self.least > 4 else 0.98 * (cached + evaluated) - 16)
        self.assertEqual(self.world.events("prefix_inexact"), [])

    def test_a_reused_prefix_gives_the_bits_of_an_uncached_run(self):
        cold, cached, _ = self.answer("Gamma")
        self.assertEqual(cached, 0)
        self.assertEqual("--cache-type-k bf16" in self.world.hearth("explain"), self.least == 4)
        self.assert_exact("Gamma", cold)  # its own slot
        self.answer("Beta")
        self.world.wait_saved(1)
        self.assert_exact("Gamma", cold)
        self.world.unload("some")
        self.assert_exact("Gamma", cold)  # from the disk
        self.world.kill()
        self.world.start()
        self.assert_exact("Gamma", cold)


class ExactWhereTheConfigurationChoseTheCache(Exact):
    least = 64
    config = Exact.config + '[models."some"]\nflags = ["--cache-type-k", "f16"]\n'


class SlidingWindow(unittest.TestCase):
    """Such an engine goes on from a state's end, and from the midst of one only while that still has what it needs."""

    def setUp(self):
        self.world = World(build)
        self.addCleanup(self.world.close)
        self.world.start()
        self.world.make_model("slide", *SHAPE, "--sliding-window", "256")

    def after_unload(self, system, user):
        self.world.unload("slide")
        answer = self.world.chat("slide", system, user)
        stage = next(stage for stage in answer["record"]["stages"] if stage["stage"] == "prefix_restore")
        return answer["cached"], stage.get("tokens") or 0

    def test_what_it_does_not_use_is_tried_once_and_what_it_uses_is_used(self):
        long = devices(140, 7)
        words = long.split(" ")
        words[300] = "otherwise"
        for _ in range(2):
            self.world.chat("slide", " ".join(words), "Gamma")  # the same twice: all of it is stored
        self.world.wait_saved(1)
        cached, restored = self.after_unload(long, "Beta")  # it parts from what is stored far before that ends
        self.assertGreater(restored, 500)
        self.assertLess(cached * 2, restored)
        self.assertEqual(len(self.world.events("prefix_ineffective")), 1)
        self.assertIn("does not use restored states", self.world.hearth("explain"))
        words[150] = "otherwise"
        self.assertEqual(self.after_unload(" ".join(words), "Delta")[1], 0)
        for user in ("Gamma", "Beta"):
            self.world.chat("slide", SYSTEM, user)
        stored = self.world.wait_for(lambda: [p for p in self.world.prefixes() if p["tokens"] in range(1000, 1100)])[0]["tokens"]
        cached, restored = self.after_unload(SYSTEM, "Delta")  # this one ends where the prompt's common part ends
        self.assertGreaterEqual(restored, 0.98 * stored)
        self.assertGreaterEqual(cached, 0.98 * stored)
        self.assertEqual(len(self.world.events("prefix_ineffective")), 1)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    assert os.access(build / "hearth", os.X_OK), f"{build} has no hearth"
    unittest.main()
