"""What the server learns and remembers, seen from outside, with fake engines.

    python3 tests/residency/demand_test.py BUILD_FOLDER [unittest arguments]
"""

import pathlib
import sqlite3
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from hearth_server import ROOT, HearthServer, stage_ms  # noqa: E402

build = ROOT / "build" / "release"

CONFIG = """[engine]
command = ["@ENGINE@"]
tier = false
"""


def chat(model):
    return {"model": model, "messages": [{"role": "user", "content": "a secret of the house"}], "stream": False}


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.server = HearthServer(build, {"a": ""}, CONFIG)
        self.addCleanup(self.server.stop)
        self.file = self.server.data / "history" / "history.sqlite"

    def rows(self, table):
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as database:
            return database.execute(f"SELECT * FROM {table}").fetchall()

    def wait_for_rows(self, table, count, seconds=10):
        """The server makes the database beside the requests, so it may not be there yet."""
        until = time.monotonic() + seconds
        found, why = 0, None
        while found < count:
            self.assertLess(time.monotonic(), until, f"{table} has no {count} rows after {seconds} s: {why or found}")
            try:
                found = len(self.rows(table))
            except sqlite3.OperationalError as error:
                why = error
            time.sleep(0.05)

    def test_requests_are_found_again_after_a_kill(self):
        answer = self.server.ask("/v1/chat/completions", chat("a"))
        before = self.server.request(answer)
        self.wait_for_rows("request", 1)
        self.server.kill_and_start_again()
        self.assertEqual(self.server.request(answer), before)
        self.assertIn(before["id"], self.server.hearth("explain", "--last", "5", "--json"))
        self.assertNotIn(b"secret of the house", self.file.read_bytes() + pathlib.Path(f"{self.file}-wal").read_bytes())

    def test_a_damaged_history_is_set_aside_and_the_server_serves(self):
        self.server.process.kill()
        self.server.process.wait(timeout=10)
        for ending in ("-wal", "-shm"):
            pathlib.Path(f"{self.file}{ending}").unlink(missing_ok=True)
        self.file.write_bytes(b"x" * 10000)
        self.server.forget()
        self.server.start(self.server.config)
        self.assertEqual(self.server.ask("/v1/chat/completions", chat("a")).status, 200)
        self.assertTrue(list(self.file.parent.glob("damaged-*.sqlite")))
        self.wait_for_rows("request", 1)


class ScheduleTest(unittest.TestCase):
    def serve(self, schedule):
        server = HearthServer(build, {"early": 'class = "voice"', "other": ""}, f'{CONFIG}[residency]\nschedules = ["{schedule}"]\n')
        self.addCleanup(server.stop)
        return server

    def events(self, server, what):
        return [event for event in server.ask("/hearth/v1/events?since=0").json["events"] if event["what"] == what]

    def test_a_scheduled_model_is_there_before_it_is_asked_for(self):
        server = self.serve("daily 00:00-23:59: voice resident")
        server.kill_and_start_again()  # its first look finds the models
        server.wait_for("early", "ready", 10)
        self.assertEqual(server.model("early")["keep"]["source"], "schedule")
        self.assertEqual(server.model("early")["expected"]["why"], "daily 00:00-23:59: voice resident")
        self.assertEqual([event["model"] for event in self.events(server, "prewarm")], ["early"])
        starts = server.starts("early")  # the server that was killed may have come to it too
        answer = server.ask("/v1/chat/completions", chat("early"))
        self.assertEqual(server.starts("early"), starts)
        self.assertLess(stage_ms(server.request(answer), "process_start"), 1)
        self.assertEqual(len(self.events(server, "prewarm_used")), 1)
        self.assertEqual(server.model("early")["expected"]["used"], 1)
        self.assertEqual(server.starts("other"), 0)
        # Told to go, it stays away.
        server.unload_all(["early"])
        time.sleep(0.2)
        self.assertEqual(server.state("early"), "cold")


class PromiseTest(unittest.TestCase):
    """A limit that no start keeps: the model is warm without being asked for, and says so where it is not."""

    def setUp(self):
        limits = '[classes.voice]\nmax_cold_ttft = "1ms"\n[classes.background]\nmax_cold_ttft = "1h"\n'
        models = {"voice": 'class = "voice"', "batch": 'class = "background"', "chat": ""}
        self.server = HearthServer(build, models, CONFIG + limits)
        self.addCleanup(self.server.stop)

    def test_what_is_promised_is_told_everywhere(self):
        self.server.unload_all(["voice", "batch", "chat"])  # the server may have warmed what it promised already
        for model, wanted in (("voice", "a cold start of .* is accepted, more than its 0.0 s"), ("batch", "within its 3600.0 s"),
                              ("chat", "^a cold start of .* s is accepted$")):
            answer = self.server.ask("/v1/chat/completions", chat(model))
            self.assertRegex(answer.headers["x-hearth-cold-start"], wanted)
            record = self.server.request(answer)
            self.assertEqual(record["cold_start"]["why"], answer.headers["x-hearth-cold-start"])
            self.assertIn(record["cold_start"]["why"], " ".join(self.server.hearth("explain", record["id"]).split()))
        self.assertIsNone(self.server.ask("/api/chat", chat("chat")).headers["x-hearth-cold-start"], "nothing was paid")
        self.assertEqual(self.server.model("batch")["cold_start"]["limit_ms"], 3_600_000)
        self.assertIsNone(self.server.model("chat")["cold_start"]["limit_ms"])

    def test_without_configuration_a_model_stays_five_minutes(self):
        self.server.ask("/v1/chat/completions", chat("chat"))
        vote = self.server.model("chat")["keep"]["votes"][0]
        self.assertEqual((vote["keep_alive"], vote["source"]), ("5m", "config"))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
