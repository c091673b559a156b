"""Layers moved on purpose, through the command line and the API, with a real engine and the tier library.

    python3 tests/engine/layers_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server_process import ROOT, ServerProcess, folder_with_engine  # noqa: E402

build = ROOT / "build" / "release"


class LayersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(build, folder_with_engine("hearth-layers-"))
        cls.data = cls.server.data
        cls.addClassCleanup(shutil.rmtree, cls.data)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.hearth = cls.server.hearth
        cls.server.make_model("some", "--layers", "8", "--embd", "512", "--ff", "1536", "--heads", "8", "--kv-heads", "4", "--vocab", "32000",
                              "--type", "q4_0", "--seed", "5", "--context", "1024")

    def ask(self):
        return json.loads(self.hearth("run", "some", "good morning", "--temperature", "0", "--max-tokens", "12", "--json"))["answer"]

    def model(self):
        return json.loads(self.hearth("show", "some", "--json"))

    def events(self):
        with urllib.request.urlopen(f"{self.server.url}/hearth/v1/events?since=0", timeout=10) as answer:
            return [event["what"] for event in json.load(answer)["events"]]

    def test_weights_leave_and_come_back_and_say_the_same(self):
        answer = self.ask()
        weights = self.model()["layers"]["weights"]
        self.assertEqual(weights["state"], "warm")
        left = json.loads(self.hearth("cool", "some", "--json"))
        self.assertEqual(left["state"], "hibernated")
        self.assertGreaterEqual(left["bytes"], 0.95 * weights["total"])
        self.assertLess(left["layers"]["weights"]["bytes"], 0.05 * weights["total"])
        self.assertEqual(self.ask(), answer)
        self.hearth("cool", "some")
        woken = json.loads(self.hearth("warm", "some", "--json"))
        self.assertEqual((woken["state"], woken["layers"]["weights"]["state"]), ("ready", "warm"))
        self.assertEqual(self.ask(), answer)

    def test_packed_weights_serve_the_next_start(self):
        answer = self.ask()
        self.wait_packed()
        self.hearth("cool", "some", "--layer", "process")
        self.assertEqual(self.model()["state"], "cold")
        self.assertEqual(self.model()["layers"]["weights"]["bytes"], 0)
        self.assertEqual(self.ask(), answer)
        self.assertIn("packed_attached", self.events())
        self.assertEqual(self.model()["layers"]["packed"]["state"], "warm")

    def test_verify_finds_what_is_damaged_and_the_next_start_mends_it(self):
        answer = self.ask()
        self.wait_packed()
        found = json.loads(self.hearth("verify", "some", "--json"))["models"][0]
        self.assertTrue(found["sound"])
        self.assertGreater(found["packed"]["files"], 0)
        self.hearth("cool", "some", "--layer", "process")
        segment = next((self.data / "packed").rglob("0.seg"))
        with open(segment, "r+b") as file:
            file.seek(3 << 20)
            byte = file.read(1)[0]
            file.seek(3 << 20)
            file.write(bytes([byte ^ 1]))
        done = subprocess.run([build / "hearth", "verify"], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, HEARTH_URL=self.server.url), check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("set aside", done.stdout)
        self.assertIn("packed_set_aside", self.events())
        self.assertFalse(segment.exists())
        self.assertEqual(self.ask(), answer)
        self.wait_packed()
        self.assertTrue(json.loads(self.hearth("verify", "some", "--json"))["models"][0]["sound"])

    def test_the_timeline_has_the_probes_times_and_the_starts_flags(self):
        self.ask()
        self.hearth("cool", "some", "--layer", "process")
        self.ask()
        request = json.loads(self.hearth("explain", "--json"))
        stages = {stage["stage"]: stage for stage in request["stages"]}
        self.assertEqual((stages["prefill"]["source"], stages["tokenize"]["source"]), ("tier", "tier"))
        self.assertGreater(stages["tokenize"]["ms"], 0)
        self.assertIn("--no-warmup", request["start_flags"])
        self.assertIn("--no-warmup", self.hearth("explain"))

    def wait_packed(self):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if list((self.data / "packed").rglob("*.seg")):
                return
            time.sleep(0.05)
        self.fail("nothing was packed")

    def test_pinned_weights_are_locked(self):
        self.ask()
        pinned = json.loads(self.hearth("pin", "some", "--json"))
        self.assertGreater(pinned["layers"]["weights"]["locked"], 0)
        self.addCleanup(self.hearth, "unpin", "some")
        self.assertIn("pinned", self.hearth("cool", "some", status=1))
        self.assertEqual(json.loads(self.hearth("unpin", "some", "--json"))["layers"]["weights"]["locked"], 0)

    def test_what_cannot_be_changed_is_told(self):
        self.assertIn("not", self.hearth("cool", "nothing-here", status=1))
        self.assertIn("layer", self.hearth("cool", "some", "--layer", "device", status=2))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
