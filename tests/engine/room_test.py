"""Two models in memory for one, and one that never fits, with a real engine.

    python3 tests/engine/room_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
build = ROOT / "build" / "release"


class Server:
    def __init__(self, data, config):
        (data / "hearth.toml").write_text(f'[server]\nlisten = "127.0.0.1:0"\ndata_dir = "{data}"\n' + config)
        self.process = subprocess.Popen([build / "hearth", "serve", "--config", data / "hearth.toml"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.host = self.process.stdout.readline().removeprefix("listening on http://").strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def hearth(self, *arguments):
        return subprocess.run([build / "hearth", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True,
                              env=dict(os.environ, HEARTH_URL=f"http://{self.host}")).stdout

    def ask(self, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), json.loads(answer.read())
        finally:
            connection.close()

    def plan(self, model):
        return self.ask(f"/hearth/v1/models/{model}/plan", {"what": "load"})[2]

    def chat(self, model, tokens=4, **options):
        return self.ask("/v1/chat/completions", {"model": model, "max_tokens": tokens,
                                                 "messages": [{"role": "user", "content": "good morning"}]}, **options)

    def model(self, name):
        return self.ask(f"/hearth/v1/models/{name}")[2]

    def events(self, what):
        return [event for event in self.ask("/hearth/v1/events")[2]["events"] if event["what"] == what]


class RoomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        engines = os.environ.get("HEARTH_TEST_DATA_DIR")
        assert engines, "HEARTH_TEST_DATA_DIR is not set; it names a data directory with an engine"
        cls.data = pathlib.Path(tempfile.mkdtemp(prefix="hearth-room-"))
        cls.addClassCleanup(shutil.rmtree, cls.data)
        (cls.data / "engines").symlink_to(pathlib.Path(engines) / "engines")
        big = cls.data / "big.gguf"
        subprocess.run([build / "make_model", "--out", big, "--layers", "8", "--embd", "1024", "--ff", "4096", "--heads", "8", "--kv-heads", "8",
                        "--vocab", "64000", "--type", "f16", "--seed", "5", "--context", "4096"], check=True, capture_output=True)
        unbounded = Server(cls.data, "")
        for name, file in {"a": ROOT / "models" / "hearth-mini.gguf", "b": ROOT / "models" / "hearth-mini.gguf", "big": big}.items():
            unbounded.hearth("import", file, "--name", name)
        big.unlink()
        cls.needed = unbounded.plan("a")["needed"]
        big_needed = unbounded.plan("big")["needed"]
        unbounded.stop()
        cls.budget = cls.needed * 5 // 4
        assert big_needed > cls.budget
        cls.server = Server(cls.data, f'[memory]\nhost_budget = {cls.budget}\nreserve = 0\n[models.big]\ncontext = 4096\n')
        cls.addClassCleanup(cls.server.stop)

    def test_1_the_second_takes_the_place_of_the_first_and_both_answer(self):
        for round_number in range(2):
            for name, other in (("a", "b"), ("b", "a")):
                status, _, body = self.server.chat(name)
                self.assertEqual(status, 200, body)
                self.assertEqual(self.server.model(name)["state"], "ready")
                self.assertIn(self.server.model(other)["state"], ("cold", "hibernated"), f"round {round_number}")
                memory = self.server.ask("/hearth/v1/machine")[2]["memory"]
                self.assertLessEqual(memory["reserved"], memory["budget"])
                self.assertEqual(memory["budget"], self.budget)
        gone = self.server.events("evicted") + self.server.events("hibernated")
        self.assertGreaterEqual(len(gone), 3)
        self.assertIn("request for a", {event["by"] for event in gone})
        self.assertGreaterEqual(self.server.model("a")["evictions"], 1)

    def cause_after_eviction(self):
        self.server.chat("a")
        self.server.chat("b")
        _, headers, _ = self.server.chat("a")
        return self.server.ask("/hearth/v1/requests/" + headers["x-hearth-request-id"])[2]["cause"]

    def test_2_explain_names_whom_it_was_for(self):
        # A model this small may come back so fast that nothing is worth naming.
        causes = (self.cause_after_eviction() for _ in range(10))
        cause = next((cause for cause in causes if cause), None)
        self.assertIsNotNone(cause)
        self.assertEqual(cause["because"][0]["for"], "request for b", cause)

    def test_3_a_busy_model_is_waited_for(self):
        self.server.chat("a")
        answers = []
        busy = threading.Thread(target=lambda: answers.append(self.server.chat("a", tokens=200)))
        busy.start()
        status, _, body = self.server.chat("b")
        busy.join()
        self.assertEqual((status, answers[0][0]), (200, 200), (body, answers))

    def test_4_what_never_fits_is_refused_with_the_numbers(self):
        self.assertEqual(self.server.plan("big")["action"], "refuse")
        status, headers, body = self.server.chat("big")
        self.assertEqual(status, 507, body)
        self.assertNotIn("Retry-After", headers)
        status, _, body = self.server.ask("/hearth/v1/models/big/warm?wait=1", {})
        self.assertEqual((status, body["error"]["code"]), (507, "does_not_fit"))
        self.assertGreater(body["error"]["details"]["needed"], self.budget)
        self.assertEqual(body["error"]["details"]["available"], self.budget)

    def test_5_a_class_that_does_not_exist_is_an_error(self):
        self.assertEqual(self.server.chat("a", headers={"X-Hearth-Class": "urgent"})[0], 400)
        self.server.chat("a")  # background work would wait for as long as another is held for a higher class
        self.assertEqual(self.server.chat("a", headers={"X-Hearth-Class": "background"})[0], 200)

    def test_6_ps_shows_what_is_reserved(self):
        self.server.chat("a")
        self.assertIn("RESERVED", self.server.hearth("ps"))
        self.assertGreater(self.server.model("a")["memory"]["reserved"], 0)


if __name__ == "__main__":
    build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
