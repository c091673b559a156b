"""What a person sees, from outside: the built `hearth`, a real engine, the demo model. Run by ./check; by hand:

    python3 tools/acceptance.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR may name a data directory that has an engine; without it one is installed.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = "hearth-mini"
QUESTION = "turn on the kitchen lights"
KILLS = int(os.environ.get("HEARTH_TEST_KILLS", "50"))
IDLE_BYTES = 30_000_000
LISTEN_SECONDS = 0.150

build = ROOT / "build" / "release"


def hearth(*arguments, url=None, timeout=120):
    environment = dict(os.environ)
    if url:
        environment["HEARTH_URL"] = url
    return subprocess.run(
        [build / "hearth", *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, check=False, env=environment, stdin=subprocess.DEVNULL,
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_of(folder):
    """Command lines of the running programs that name a file in this folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if int(entry.parent.name) != os.getpid() and any(word.startswith(f"{folder}/") for word in words):
            found.append(" ".join(words))
    return found


def first_token_ms(waterfall):
    number, unit = re.search(r"first token ([0-9.]+) (ms|s)", waterfall).groups()
    return float(number) * (1000 if unit == "s" else 1)


class Server:
    """`hearth serve` on a free port. `seconds` is how long it took until it took connections."""

    def __init__(self, data_dir):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = tempfile.TemporaryFile(mode="w+")
        start = time.monotonic()
        self.process = subprocess.Popen(
            [build / "hearth", "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", data_dir],
            stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )
        while not self.listens():
            if self.process.poll() is not None or time.monotonic() > start + 15:
                self.kill()
                raise AssertionError(f"hearth serve did not come up: {self.said()}")
            time.sleep(0.001)
        self.seconds = time.monotonic() - start

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def ask(self, question=QUESTION):
        body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "temperature": 0, "max_tokens": 64}
        return self.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=40)
        self.log.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.log.close()


class Acceptance(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="hearth-acceptance-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        engines = os.environ.get("HEARTH_TEST_DATA_DIR")
        if not engines:
            engines = cls.home / "engines-only"
            done = hearth("engine", "install", "--data-dir", engines, timeout=900)
            assert done.returncode == 0, done.stderr
        cls.engines = pathlib.Path(engines) / "engines"
        cls.data = cls.new_data("data")
        with Server(cls.data) as server:
            done = hearth("import", ROOT / "models" / f"{MODEL}.gguf", url=server.url)
            assert done.returncode == 0, done.stderr
            server.stop()

    @classmethod
    def new_data(cls, name):
        data = cls.home / name
        data.mkdir()
        if cls.engines.is_dir():
            (data / "engines").symlink_to(cls.engines)
        return data

    def assert_refused(self, done, *patterns, status=1):
        """One sentence on stderr, with the thing and the mend in it."""
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for pattern in patterns:
            self.assertRegex(done.stderr, pattern)
        self.assertLessEqual(len(done.stderr.strip().splitlines()), 2, done.stderr)

    def assert_no_processes(self, data, seconds=5.0):
        until = time.monotonic() + seconds
        while processes_of(data) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(processes_of(data), [])

    def test_quickstart_shows_cold_and_warm_and_stops(self):
        data = self.new_data("quickstart")
        environment = dict(os.environ, HEARTH_DATA_DIR=str(data))
        for limit in (120, 20):
            start = time.monotonic()
            done = subprocess.run([ROOT / "quickstart", "--once"], capture_output=True, text=True, env=environment, timeout=300, check=False)
            seconds = time.monotonic() - start
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            print(f"quickstart --once: {seconds:.1f} s", file=sys.stderr)
            self.assertLess(seconds, limit)
            cold, warm = done.stdout.split("== Warm")[0].split("== Cold")[1], done.stdout.split("== Warm")[1]
            for part in (cold, warm):
                self.assertRegex(part, r"(?i)kitchen")
            # The cold one says what it paid for; the warm one paid for none of it (a prefill of one token may round to 0).
            for stage in ("process_start", "weights_load", "prefill"):
                self.assertIn(stage, cold)
            for stage in ("process_start", "weights_load"):
                self.assertNotIn(stage, warm)
            self.assertIn("because the model had not been started", " ".join(cold.split()))
            self.assertIn("no layer missed", warm)
            self.assertLess(first_token_ms(warm), first_token_ms(cold))
            self.assert_no_processes(data)

    def test_the_same_answer_ten_times(self):
        with Server(self.data) as server:
            answers = set()
            for _ in range(10):
                status, body = server.ask()
                self.assertEqual(status, 200, body)
                answers.add(json.loads(body)["choices"][0]["message"]["content"])
            self.assertEqual(len(answers), 1, answers)
            self.assertRegex(answers.pop(), r"(?i)kitchen")
            self.assertEqual(server.stop(), 0)
        self.assert_no_processes(self.data)

    def test_starts_fast_and_idles_small(self):
        times = []
        for _ in range(5):
            with Server(self.data) as server:
                times.append(server.seconds)
                status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
                resident = int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024
                self.assertEqual(server.stop(), 0)
        print(f"until listening: best {min(times) * 1000:.0f} ms, idle: {resident / 1e6:.1f} MB", file=sys.stderr)
        self.assertLess(min(times), LISTEN_SECONDS)
        self.assertLess(resident, IDLE_BYTES)

    def test_a_killed_server_leaves_no_engine(self):
        for cycle in range(KILLS):
            with Server(self.data) as server:
                status, body = server.ask()
                self.assertEqual(status, 200, f"cycle {cycle}: {body}")
                self.assertTrue([line for line in processes_of(self.data) if f"{MODEL}" in line or "llama-server" in line], "no engine seen")
                server.kill()
            self.assert_no_processes(self.data)

    def test_port_in_use(self):
        with Server(self.data) as server:
            done = hearth("serve", "--listen", f"127.0.0.1:{server.port}", "--data-dir", self.new_data("other"), timeout=20)
            self.assert_refused(done, str(server.port), "--listen|listen")

    def test_data_directory_that_cannot_be_made(self):
        file = self.home / "file"
        file.write_text("not a folder")
        self.assert_refused(hearth("serve", "--listen", f"127.0.0.1:{free_port()}", "--data-dir", file / "data", timeout=20), "file/data|file")

    def test_wrong_usage(self):
        for arguments in (["frobnicate"], ["run"], ["serve", "--nonsense"], ["engine", "fly"]):
            self.assertEqual(hearth(*arguments).returncode, 2, arguments)

    def test_config_typo(self):
        config = self.home / "typo.toml"
        config.write_text('[server]\nlisten = "127.0.0.1:0"\n\n[memroy]\nhost_budget = "1GB"\n')
        self.assert_refused(hearth("serve", "--config", config, "--data-dir", self.data, timeout=20), r"typo\.toml", r"\b4\b", "memory")

    def test_bad_models(self):
        whole = (ROOT / "models" / f"{MODEL}.gguf").read_bytes()
        truncated, other = self.home / "truncated.gguf", self.home / "other.gguf"
        truncated.write_bytes(whole[: len(whole) // 2])
        other.write_text("this is no model\n" * 100)
        with Server(self.data) as server:
            for file in (truncated, other, self.home / "absent.gguf"):
                self.assert_refused(hearth("import", file, url=server.url), file.name)
            self.assert_refused(hearth("run", "nothing-of-that-name", "hello", url=server.url), "nothing-of-that-name")
            listed = json.loads(hearth("list", "--json", url=server.url).stdout)
            self.assertEqual([model["id"] for model in listed["models"]], [MODEL])
            self.assertEqual(server.stop(), 0)

    def test_bad_bodies(self):
        kind = {"Content-Type": "application/json"}
        with Server(self.data) as server:
            for body, wanted in (("{not json", 400), ("[]", 400), ("{}", 400), ('{"model": "nothing-of-that-name"}', 404)):
                status, answer = server.request("POST", "/v1/chat/completions", body, kind)
                self.assertEqual(status, wanted, answer)
                self.assertIn("error", json.loads(answer))
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
                client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000000\r\n\r\n")
                self.assertRegex(client.recv(4096), rb"^HTTP/1\.1 413 ")
            status, answer = server.ask()
            self.assertEqual(status, 200, answer)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
