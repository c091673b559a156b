"""Many clients at once that ask, leave, change their minds and unload, while engines are killed: everything ends well.

    python3 tests/residency/random_run_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_RANDOM_SECONDS (20) is how long, HEARTH_TEST_SEED (1) what is drawn. Held at every moment: at most one process a
model, no engine stopped under a request, every request answered or refused with a reason within its bound.
"""

import json
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from hearth_server import ROOT, HearthServer  # noqa: E402

build = ROOT / "build" / "release"
SECONDS = float(os.environ.get("HEARTH_TEST_RANDOM_SECONDS", "20"))
SEED = int(os.environ.get("HEARTH_TEST_SEED", "1"))
BOUND_SECONDS = 20  # the longest load, the back-off after failures and the longest answer, three times over
CONFIG = '[engine]\ncommand = ["@ENGINE@"]\ntier = false\nstart_stall = "2s"\n'
WISHES = [None, 0, "0s", "200ms", "1s", 2, "1h", -1, "-1"]
# What may be said to a client whose engine was killed, or whose model was told to unload while it started.
REASONS = ("signal 9", "failed", "told to stop", "closed the connection", "broke off")


class RandomRunTest(unittest.TestCase):
    MODELS = {"a": "", "b": 'keep_alive = "300ms"', "c": "slots = 1", "d": "pinned = true"}

    def setUp(self):
        self.server = HearthServer(build, self.MODELS, CONFIG)
        self.addCleanup(self.server.stop)
        self.end = time.monotonic() + SECONDS
        self.faults = []
        self.count = {"answered": 0, "refused": 0, "left": 0, "killed": 0}
        for n, name in enumerate(self.MODELS):
            self.server.set_scenario(name, load_ms=100 + 150 * n, prefill_ms=10, token_ms=10, tokens=20)

    def guarded(self, work, *arguments):
        """A thread whose fault is the test's."""
        def run():
            try:
                while time.monotonic() < self.end and not self.faults:
                    work(*arguments)
            except Exception as error:  # the fault is raised again by the test itself
                self.faults.append(f"{work.__name__}: {error!r}")
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def body(self, dice):
        body = {"model": dice.choice(list(self.MODELS)), "messages": [{"role": "user", "content": dice.choice(["hi", "good morning"])}],
                "stream": dice.random() < 0.5, "options": {"num_ctx": dice.choice([256, 4096]), "num_predict": dice.choice([1, 5, 50])}}
        wish = dice.choice(WISHES)
        if wish is not None:
            body["keep_alive"] = wish
        return body

    def client(self, dice):
        what = dice.random()
        if what < 0.65:
            self.ask(dice)
        elif what < 0.85:
            self.leave(dice)
        else:
            model = dice.choice(list(self.MODELS))
            status = self.server.ask("/api/generate", {"model": model, "keep_alive": 0}).status
            assert status == (409 if model == "d" else 200), f"an unload of {model} was answered with {status}"
        time.sleep(dice.random() * 0.2)

    def ask(self, dice):
        began = time.monotonic()
        answer = self.server.ask(dice.choice(["/api/chat", "/v1/chat/completions"]), self.body(dice), client=f"c{dice.randrange(5)}/1")
        took = time.monotonic() - began
        assert took < BOUND_SECONDS, f"a request took {took:.1f} s"
        if answer.status == 200 and '"error"' not in answer.body:
            assert "Fake" in answer.body, f"an answer without text: {answer.body}"
            self.count["answered"] += 1
        else:
            assert any(reason in answer.body for reason in REASONS), f"{answer.status}: {answer.body}"
            self.count["refused"] += 1

    def leave(self, dice):
        client = socket.create_connection(self.server.host.split(":"))
        body = json.dumps(self.body(dice)).encode()
        client.sendall(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        time.sleep(dice.random() * 0.5)
        client.close()
        self.count["left"] += 1

    def kill_one(self, dice):
        time.sleep(1 + dice.random())
        pid = self.server.pid(dice.choice(list(self.MODELS)))
        if pid is not None:
            try:
                os.kill(pid, signal.SIGKILL)
                self.count["killed"] += 1
            except ProcessLookupError:
                pass  # it has just ended by itself

    def alive(self, model):
        alive = []
        for told in self.server.told(model, "start"):
            stat = pathlib.Path(f"/proc/{told['pid']}/stat")
            try:
                if stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    alive.append(told["pid"])
            except (FileNotFoundError, ProcessLookupError):
                pass
        return alive

    def watch_processes(self):
        for model in self.MODELS:
            alive = self.alive(model)
            assert len(alive) <= 1, f"{model} has {len(alive)} engines"
        health = self.server.ask("/hearth/v1/health")
        assert health.status == 200, health.body
        time.sleep(0.2)

    def assert_none_was_stopped_while_busy(self, model):
        running = {}
        for line in self.server.log_file(model).read_text().splitlines():
            told = json.loads(line)
            if told["event"] == "begun":
                running[told["pid"]] = running.get(told["pid"], 0) + 1
            elif told["event"] in ("finished", "cancelled"):
                running[told["pid"]] -= 1
            elif told["event"] == "stopped":
                self.assertEqual(running.get(told["pid"], 0), 0, f"an engine of {model} was stopped under a request")

    def test_everything_ends_well(self):
        threads = [self.guarded(self.client, random.Random(SEED * 100 + n)) for n in range(10)]
        threads += [self.guarded(self.kill_one, random.Random(SEED)), self.guarded(self.watch_processes)]
        for thread in threads:
            thread.join(timeout=SECONDS + 60)
            self.assertFalse(thread.is_alive(), "a client waits for ever")
        self.assertEqual(self.faults, [])
        print(f"seed {SEED}, {SECONDS:.0f} s: {self.count}", file=sys.stderr)
        self.assertGreater(self.count["answered"], SECONDS)
        for model in self.MODELS:
            self.assert_none_was_stopped_while_busy(model)
        self.server.unload_all(["a", "b", "c"])
        for model in ("a", "b", "c"):
            self.assertEqual(self.alive(model), [])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
