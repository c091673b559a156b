"""Two models in memory for one, and one that never fits, with a real engine.

    python3 tests/engine/room_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import http.client
import json
import pathlib
import shutil
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server_process import ROOT, ServerProcess, folder_with_engine  # noqa: E402

build = ROOT / "build" / "release"


class Server(ServerProcess):
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
        cls.server = Server(build, folder_with_engine("hearth-room-"))
        cls.addClassCleanup(shutil.rmtree, cls.server.data)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        for name in ("a", "b"):
            cls.server.hearth("import", ROOT / "models" / "hearth-mini.gguf", "--name", name)
        cls.server.make_model("big", "--layers", "8", "--embd", "1024", "--ff", "4096", "--heads", "8", "--kv-heads", "8",
                              "--vocab", "64000", "--type", "f16", "--seed", "5", "--context", "4096")
        cls.needed = cls.server.plan("a")["needed"]
        big_needed = cls.server.plan("big")["needed"]
        cls.server.stop()
        cls.budget = cls.needed * 5 // 4
        assert big_needed > cls.budget
        cls.config = f'[memory]\nhost_budget = {cls.budget}\nreserve = 0\n[models.big]\ncontext = 4096\n'
        cls.server.start(cls.config)

    def restart(self, more=""):
        self.server.stop()
        self.server.start(more + self.config)

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
        # Hibernated weights would still be in the page cache of this machine, and cost nothing.
        self.restart("[engine]\ntier = false\n")
        self.addCleanup(self.restart)
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
