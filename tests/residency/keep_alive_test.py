"""Who stays warm and for how long, seen from outside, with fake engines.

    python3 tests/residency/keep_alive_test.py BUILD_FOLDER [unittest arguments]

Each test is a situation that users of such servers have met.
"""

import pathlib
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from hearth_server import ROOT, HearthServer, stage_ms  # noqa: E402

build = ROOT / "build" / "release"

CONFIG = """[engine]
command = ["@ENGINE@"]
tier = false
start_stall = "3s"
[defaults]
keep_alive = "1s"
"""


def chat(model, **more):
    return {"model": model, "messages": [{"role": "user", "content": "good morning"}], "stream": False, **more}


class KeepAliveTest(unittest.TestCase):
    MODELS = {"a": "", "b": "", "pinned": "pinned = true", "stays": 'keep_alive = "forever"', "one-slot": "slots = 1"}

    @classmethod
    def setUpClass(cls):
        cls.server = HearthServer(build, cls.MODELS, CONFIG)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.server.unload_all([name for name in self.MODELS if name != "pinned"])
        for name in self.MODELS:
            self.server.set_scenario(name)

    def ask(self, body, path="/api/chat", client="tests"):
        answer = self.server.ask(path, body, client=client)
        self.assertEqual(answer.status, 200, answer.body)
        return answer

    def assert_starts(self, model, before, count):
        self.assertEqual(self.server.starts(model) - before, count, "number of engine starts")

    def test_a_long_keep_alive_outlives_the_default(self):
        before = self.server.starts("a")
        self.ask(chat("a", keep_alive="1h"))
        time.sleep(1.5)
        again = self.ask(chat("a"))
        record = self.server.request(again)
        for stage in ("process_start", "weights_load", "admission"):
            self.assertLess(stage_ms(record, stage), 5, stage)
        self.assertEqual(again.json["load_duration"], 0)
        time.sleep(1.5)
        keep = self.server.model("a")["keep"]
        self.assertEqual(keep["source"], "request")
        self.assertEqual(keep["votes"][0]["keep_alive"], "1h")
        self.assert_starts("a", before, 1)

    def test_the_default_holds_for_those_who_say_nothing(self):
        self.ask(chat("a"))
        keep = self.server.model("a")["keep"]
        self.assertEqual((keep["source"], keep["votes"][0]["keep_alive"]), ("config", "1s"))
        self.server.wait_for("a", "cold", 3)
        events = self.server.ask("/hearth/v1/events?since=0").json["events"]
        over = [event for event in events if event["what"] == "keep_alive_over" and event["model"] == "a"]
        self.assertIn("time", over[-1]["why"])

    def test_a_model_may_have_a_rule_of_its_own(self):
        self.ask(chat("stays"))
        time.sleep(1.5)
        self.assertEqual(self.server.state("stays"), "ready")
        self.assertEqual(self.server.model("stays")["keep"]["until"], "forever")

    def test_several_clients_votes_on_every_api(self):
        before = self.server.starts("a")
        self.ask(chat("a", keep_alive="2h"), client="ann/1")
        self.ask(chat("a"), "/v1/chat/completions", client="bob/1")
        self.ask(chat("a", keep_alive=2), client="cleo/1")
        keep = self.server.model("a")["keep"]
        self.assertEqual([(vote["owner"].split()[0], vote["keep_alive"], vote["source"]) for vote in keep["votes"]],
                         [("ann", "2h", "request"), ("bob", "1s", "config"), ("cleo", "2s", "request")])
        time.sleep(3)
        self.assertEqual(self.server.state("a"), "ready")
        self.assertEqual([vote["owner"].split()[0] for vote in self.server.model("a")["keep"]["votes"]], ["ann"])
        self.assert_starts("a", before, 1)
        shown = self.server.hearth("show", "a")
        self.assertIn("ann at 127.0.0.1: 2h (request)", shown)

    def test_openai_bodies_may_carry_it_too(self):
        self.ask(chat("a", keep_alive=-1), "/v1/chat/completions")
        time.sleep(1.5)
        self.assertEqual(self.server.model("a")["keep"]["until"], "forever")

    def test_minus_one_as_a_text_is_forever_and_other_bare_numbers_are_refused(self):
        self.ask(chat("a", keep_alive="-1"))
        self.assertEqual(self.server.model("a")["keep"]["until"], "forever")
        for path in ("/api/chat", "/v1/chat/completions"):
            refused = self.server.ask(path, chat("a", keep_alive="300"))
            self.assertEqual(refused.status, 400)
            self.assertIn("5m", refused.body, "the error names a form that is understood")

    def test_zero_unloads_when_the_request_ends(self):
        self.server.set_scenario("a", token_ms=50, tokens=10)
        self.ask(chat("a", keep_alive="1h"), client="ann/1")
        answer = self.ask(chat("a", keep_alive=0), client="bob/1")
        self.assertIn("w10", answer.json["message"]["content"])
        self.server.wait_for_end("a")

    def test_a_busy_model_is_never_stopped(self):
        self.server.set_scenario("a", token_ms=20, tokens=100)
        streaming = self.server.in_background("/api/chat", chat("a", stream=True, keep_alive=0))
        self.server.wait_for("a", "busy")
        pid = self.server.pid("a")
        self.assertEqual(self.ask({"model": "a", "keep_alive": 0}, "/api/generate").json["done_reason"], "unload")
        self.assertEqual(self.server.pid("a"), pid)
        lines = streaming().lines
        self.assertEqual((lines[-1]["done_reason"], lines[-1]["eval_count"], len(lines)), ("stop", 100, 101))
        self.server.wait_for_end("a")

    def test_a_long_answer_is_not_idleness(self):
        self.server.set_scenario("a", token_ms=100, tokens=25)
        before = self.server.starts("a")
        answer = self.ask(chat("a", keep_alive="500ms"))
        self.assertEqual(answer.json["eval_count"], 25)
        self.assert_starts("a", before, 1)
        self.server.wait_for("a", "cold", 3)

    def test_a_pinned_model_stays_and_says_so(self):
        self.ask(chat("pinned", keep_alive=0))
        pid = self.server.pid("pinned")
        began = time.monotonic()
        refused = self.server.ask("/api/generate", {"model": "pinned", "keep_alive": 0})
        self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(refused.status, 409)
        self.assertIn("pinned", refused.json["error"])
        time.sleep(1.5)
        self.assertEqual(self.server.pid("pinned"), pid)
        self.assertEqual(self.server.model("pinned")["keep"]["source"], "pin")

    def test_two_models_that_are_kept_are_loaded_once_each(self):
        before = {name: self.server.starts(name) for name in "ab"}
        for _ in range(10):
            for name in "ab":
                self.ask(chat(name, keep_alive=-1))
        for name in "ab":
            self.assert_starts(name, before[name], 1)

    def test_clients_with_different_options_share_one_engine(self):
        before = self.server.starts("a")
        for _ in range(10):
            self.ask(chat("a", keep_alive=60, options={"num_ctx": 1024}), client="ann/1")
            self.ask(chat("a", keep_alive=60), client="bob/1")
            self.ask(chat("a", keep_alive=60, options={"num_ctx": 512, "num_thread": 2, "use_mmap": False}), client="cleo/1")
        self.assert_starts("a", before, 1)

    def test_no_empty_answers_while_a_model_loads(self):
        for _ in range(5):
            self.server.set_scenario("a", load_ms=200)
            answers = [self.server.in_background("/api/chat", chat("a", keep_alive=60), client=f"c{n}/1") for n in range(8)]
            for answer in answers:
                got = answer()
                self.assertEqual(got.status, 200, got.body)
                self.assertTrue(got.json["message"]["content"])
                self.assertGreater(got.json["eval_count"], 0)
            self.server.unload_all(["a"])

    def leave_while_loading(self, after, keep_alive):
        client = socket.create_connection(self.server.host.split(":"))
        body = b'{"model": "a", "messages": [{"role": "user", "content": "hi"}], "keep_alive": %s}' % keep_alive
        client.sendall(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nUser-Agent: impatient\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        time.sleep(after)
        client.close()

    def test_a_client_that_gives_up_does_not_stop_the_load(self):
        self.server.set_scenario("a", load_ms=1500)
        before = self.server.starts("a")
        began = time.monotonic()
        self.leave_while_loading(0.4, b"60")
        time.sleep(0.2)
        self.ask(chat("a"), client="patient/1")
        self.assertLess(time.monotonic() - began, 2.5)
        self.assert_starts("a", before, 1)

    def test_a_load_that_nobody_waits_for_is_kept_as_was_wished(self):
        self.server.set_scenario("a", load_ms=1500)
        before = self.server.starts("a")
        self.leave_while_loading(0.3, b'"2s"')
        self.server.wait_for("a", "ready", 4)
        time.sleep(1)
        self.assertEqual(self.server.state("a"), "ready", "its two seconds count from when it was ready")
        self.server.wait_for("a", "cold", 4)
        self.assert_starts("a", before, 1)

    def test_an_unload_while_starting_lets_the_waiting_be_served_first(self):
        self.server.set_scenario("a", load_ms=800)
        waiting = self.server.in_background("/api/chat", chat("a", keep_alive="1h"))
        self.server.wait_for("a", "starting")
        self.assertEqual(self.ask({"model": "a", "keep_alive": 0}, "/api/generate").json["done_reason"], "unload")
        self.assertEqual(waiting().status, 200)
        self.server.wait_for_end("a")

    def test_requests_at_any_moment_of_a_load_are_served(self):
        self.server.set_scenario("a", load_ms=1000)
        before = self.server.starts("a")
        answers = []
        for n in range(10):
            answers.append(self.server.in_background("/api/chat", chat("a", keep_alive=60), client=f"c{n}/1"))
            time.sleep(0.1)
        self.assertEqual([answer().status for answer in answers], [200] * 10)
        self.assert_starts("a", before, 1)

    def test_a_slow_load_that_moves_is_not_killed_and_a_stalled_one_is(self):
        self.server.set_scenario("a", load_ms=4500, busy=True)
        before = self.server.starts("a")
        self.ask(chat("a", keep_alive=60))
        self.assert_starts("a", before, 1)
        self.server.unload_all(["a"])
        self.server.set_scenario("a", stall_at="start")
        refused = self.server.ask("/api/chat", chat("a"))
        self.assertEqual(refused.status, 502)
        self.assertIn("nothing of it moved", refused.json["error"])
        failure = self.server.model("a")["failure"]
        self.assertIn("nothing of it moved", failure["reason"])
        self.server.set_scenario("a")
        self.ask(chat("a", keep_alive=60))
        self.assertEqual(self.server.state("a"), "ready")

    def test_votes_outlive_a_crash(self):
        self.ask(chat("b", keep_alive="1h"), client="ann/1")
        self.server.unload_all(["b"])
        self.server.set_scenario("b", crash_at="token:3")
        broken = self.server.ask("/api/chat", chat("b", keep_alive="1h", stream=True), client="ann/1")
        self.assertIn("error", broken.lines[-1])
        self.assertNotIn("done_reason", broken.body)
        self.server.set_scenario("b")
        self.ask(chat("b"), client="ann/1")
        self.assertEqual(self.server.model("b")["keep"]["votes"][0]["keep_alive"], "1h")

    def test_many_cancelled_loads_leave_no_process(self):
        for n in range(15):
            self.server.set_scenario("a", load_ms=100 + 10 * n)
            self.leave_while_loading(0.01 * n, b"0")
        self.server.wait_for("a", "cold", 10)
        self.server.wait_for_end("a")
        for told in self.server.told("a", "start"):
            self.assertFalse(pathlib.Path(f"/proc/{told['pid']}").exists(), "an engine outlived its stop")

    def test_the_native_api_votes_too(self):
        answer = self.server.ask("/hearth/v1/models/a/warm?wait=1", {"layer": "process", "keep_alive": "1h"}, client="ann/1")
        self.assertEqual(answer.status, 200, answer.body)
        keep = self.server.model("a")["keep"]
        self.assertEqual((keep["source"], keep["votes"][0]["keep_alive"]), ("api", "1h"))
        time.sleep(1.5)
        self.assertEqual(self.server.state("a"), "ready")
        self.server.ask("/hearth/v1/models/a/cool?wait=1", {"layer": "process"})
        self.assertEqual(self.server.model("a")["keep"], {"until": None, "source": None, "votes": []})
        refused = self.server.ask("/hearth/v1/models/a/warm", {"keep_alive": "soon"})
        self.assertEqual((refused.status, refused.json["error"]["code"]), (400, "bad_request"))

    def test_the_command_line_shows_and_sets_it(self):
        self.server.hearth("warm", "a", "--layer", "process", "--keep-alive", "-1")
        line = next(line for line in self.server.hearth("ps").splitlines() if line.startswith("a "))
        self.assertIn("forever", line)

    def test_stages_add_up_and_a_delay_lands_where_it_was(self):
        self.server.set_scenario("a", load_ms=700)
        cold = self.ask(chat("a", keep_alive=60))
        record = self.server.request(cold)
        self.assertAlmostEqual(sum(s["critical_ms"] for s in record["stages"]), record["total_ms"], delta=max(5, record["total_ms"] / 100))
        self.assertGreater(cold.json["load_duration"], 650e6)
        self.assertLess(cold.json["load_duration"], cold.json["total_duration"])
        warm = self.ask(chat("a"))
        self.assertEqual(warm.json["load_duration"], 0)
        self.server.unload_all(["a"])
        self.server.set_scenario("a", prefill_ms=600)
        slow = self.ask(chat("a", keep_alive=60))
        self.assertGreater(stage_ms(self.server.request(slow), "prefill"), 550)
        self.assertGreater(slow.json["prompt_eval_duration"], 550e6)
        self.assertLess(slow.json["eval_duration"], 100e6)

    def test_a_preload_tells_how_long_it_took(self):
        self.server.set_scenario("a", load_ms=500)
        loaded = self.ask({"model": "a"}, "/api/generate").json
        self.assertEqual(loaded["done_reason"], "load")
        self.assertGreater(loaded["load_duration"], 450e6)
        self.assertEqual(self.ask({"model": "a"}, "/api/generate").json["load_duration"], 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
