"""The relay against a real engine: what goes through Hearth is what the engine says, and leaving cancels.

    python3 tests/engine/relay_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_ENGINE holds the engine's command (words as a shell splits them), as ./check sets it.
"""

import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server_process import ROOT, ServerProcess  # noqa: E402

build = ROOT / "build" / "release"
CANCEL_SECONDS = 2.0


class EngineConnection(http.client.HTTPConnection):
    """HTTP over the engine's own Unix socket."""

    def __init__(self, path):
        super().__init__("engine", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


def exchange(connection, body, path="/v1/chat/completions"):
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


def without_run(text):
    """The answer less what differs from run to run: ids, instants, times."""
    text = re.sub(r'"id":"[^"]*"', '"id":""', text)
    text = re.sub(r'"created":\d+', '"created":0', text)
    return re.sub(r'"timings":\{[^}]*\}', '"timings":{}', text)


class RelayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        engine = os.environ.get("HEARTH_TEST_ENGINE")
        assert engine, "HEARTH_TEST_ENGINE is not set; it holds the command of a llama-server"
        cls.server = ServerProcess(build, tempfile.mkdtemp(prefix="hearth-relay-"))
        cls.addClassCleanup(shutil.rmtree, cls.server.data)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start(f'[engine]\ncommand = {json.dumps(shlex.split(engine))}\n[models."slow"]\nslots = 4\ncontext = 8192\n')
        cls.host = cls.server.host
        cls.server.hearth("import", ROOT / "models" / "hearth-mini.gguf")
        cls.server.make_model("slow", "--layers", "8", "--embd", "512", "--ff", "1536", "--heads", "8", "--kv-heads", "4", "--vocab", "32000",
                              "--type", "q8_0", "--seed", "1", "--context", "8192")

    def hearth(self):
        return http.client.HTTPConnection(self.host, timeout=120)

    def engine(self, model):
        pid = self.native(f"/models/{model}")["layers"]["process"]["pid"]
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        return EngineConnection(words[words.index("--host") + 1]), pid

    def native(self, path):
        connection = self.hearth()
        try:
            connection.request("GET", f"/hearth/v1{path}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def recorded(self, request):
        until = time.monotonic() + 5
        while time.monotonic() < until:
            record = self.native(f"/requests/{request}")
            if "error" not in record or record["error"] is None or "status" in record:
                return record
            time.sleep(0.01)
        raise AssertionError(f"request {request} was never recorded")

    BODIES = [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "turn on the kitchen lights"}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], "logprobs": True, "top_logprobs": 2}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "tell me a joke"}], "n": 2}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 1}),
        ("/v1/completions", {"prompt": "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"}),
        ("/v1/completions", {"prompt": ["hello", "good morning"], "logprobs": 1}),
    ]

    def bodies(self, **more):
        for path, body in self.BODIES:
            yield path, {"model": "hearth-mini", "temperature": 0, "seed": 1, "max_tokens": 24, "cache_prompt": False, **body, **more}

    def test_whole_answers_are_the_engines(self):
        exchange(self.hearth(), next(self.bodies())[1])
        for path, body in self.bodies():
            with self.subTest(path=path, body=body):
                status, through, _ = exchange(self.hearth(), body, path)
                direct_status, direct, _ = exchange(self.engine("hearth-mini")[0], body, path)
                self.assertEqual((status, direct_status), (200, 200), through)
                self.assertEqual(json.loads(without_run(through)), json.loads(without_run(direct)))

    def test_streams_are_the_engines_byte_for_byte(self):
        exchange(self.hearth(), next(self.bodies())[1])
        for path, body in self.bodies(stream=True):
            if body.get("n", 1) > 1 or isinstance(body.get("prompt"), list):
                continue  # the engine interleaves several choices as their slots happen to run
            with self.subTest(path=path, body=body):
                _, through, headers = exchange(self.hearth(), body, path)
                _, direct, _ = exchange(self.engine("hearth-mini")[0], body, path)
                self.assertEqual(without_run(through), without_run(direct))
                self.assertEqual(headers["X-Accel-Buffering"], "no")
                self.assertIn("x-hearth-request-id", headers)

    def test_refusals_are_the_engines(self):
        for more in ({"messages": None}, {"max_tokens": "many"}, {"messages": [{"role": "user", "content": "a " * 5000}]}):
            with self.subTest(more=str(more)[:40]):
                body = {"model": "hearth-mini", "messages": [], "stream": True, **more}
                status, through, _ = exchange(self.hearth(), body)
                direct_status, direct, _ = exchange(self.engine("hearth-mini")[0], body)
                self.assertEqual((status, through), (direct_status, direct))

    def test_stages_add_up(self):
        for _ in range(3):
            _, _, headers = exchange(self.hearth(), next(self.bodies(stream=True))[1])
            record = self.recorded(headers["x-hearth-request-id"])
            before_token = sum(s["critical_ms"] for s in record["stages"] if s["stage"] != "decode")
            self.assertLessEqual(abs(before_token - record["ttft_ms"]), max(5, record["ttft_ms"] / 100))
            self.assertLessEqual(abs(sum(s["critical_ms"] for s in record["stages"]) - record["total_ms"]), max(5, record["total_ms"] / 100))
            self.assertGreater(record["tokens"]["prompt"], 0)

    def long_body(self, stream):
        return {"model": "slow", "stream": stream, "messages": [{"role": "user", "content": "count"}], "max_tokens": 4000, "ignore_eos": True}

    def busy_seconds(self, pid, seconds):
        """Processor time that the engine takes within so long."""
        def ticks():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        before = ticks()
        time.sleep(seconds)
        return (ticks() - before) / os.sysconf("SC_CLK_TCK")

    def leave(self, stream, read_first):
        client = socket.create_connection(self.host.split(":"))
        body = json.dumps(self.long_body(stream)).encode()
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        if read_first:
            while b"content" not in client.recv(4096):
                pass
        else:
            time.sleep(1.0)
        client.close()

    def assert_idle_soon(self, pid):
        until = time.monotonic() + CANCEL_SECONDS
        while time.monotonic() < until:
            if self.busy_seconds(pid, 0.2) < 0.03:
                return
        self.fail(f"the engine still works {CANCEL_SECONDS} s after its only client has left")

    def test_leaving_cancels_in_the_engine(self):
        exchange(self.hearth(), {**self.long_body(False), "max_tokens": 1})
        _, pid = self.engine("slow")
        for stream, read_first in ((True, True), (True, False), (False, False)):
            with self.subTest(stream=stream, read_first=read_first):
                self.leave(stream, read_first)
                self.assert_idle_soon(pid)

    def test_leaving_cancels_nobody_else(self):
        exchange(self.hearth(), {**self.long_body(False), "max_tokens": 1})
        outcome = {}

        def stay():
            outcome["stayed"] = exchange(self.hearth(), {**self.long_body(True), "max_tokens": 300})
        staying = threading.Thread(target=stay)
        staying.start()
        time.sleep(0.3)
        self.leave(False, False)
        self.leave(True, True)
        staying.join(timeout=120)
        status, text, _ = outcome["stayed"]
        self.assertEqual(status, 200)
        self.assertTrue(text.endswith("data: [DONE]\n\n"))
        self.assertIn('"predicted_n":300', text)
        self.assert_idle_soon(self.engine("slow")[1])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
