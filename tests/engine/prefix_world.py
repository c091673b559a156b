"""A hearth server of one's own with a model in it, for tests and measurements of prompt prefixes.

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

GREEDY = {"temperature": 0, "seed": 1}


def devices(count, salt=0):
    """A home's devices as a system prompt lists them: long, and the same each time."""
    rooms = ["kitchen", "hall", "bedroom", "garden", "office", "bathroom", "garage"]
    lines = [f"{rooms[(i + salt) % 7]} lamp {i + salt} is {'on' if (i * 7 + salt) % 3 else 'off'} at {(i * 37 + salt) % 101} percent."
             for i in range(count)]
    return "You control the devices of a home. " + " ".join(lines)


class World:
    def __init__(self, build, config=""):
        engines = os.environ.get("HEARTH_TEST_DATA_DIR")
        assert engines, "HEARTH_TEST_DATA_DIR is not set; it names a data directory with an engine"
        self.build = pathlib.Path(build)
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="hearth-prefix-"))
        (self.data / "engines").symlink_to(pathlib.Path(engines) / "engines")
        self.config = self.data / "hearth.toml"
        self.config.write_text(config)
        self.server = None
        self.log = open(self.data / "server.log", "a")

    def start(self):
        self.server = subprocess.Popen([self.build / "hearth", "serve", "--config", self.config, "--listen", "127.0.0.1:0", "--data-dir", self.data],
                                       stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True)
        self.url = self.server.stdout.readline().removeprefix("listening on ").strip()
        assert self.url, "the server did not start: " + (self.data / "server.log").read_text()[-500:]

    def stop(self):
        if self.server is None:
            return
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(timeout=60) == 0, "hearth serve did not stop cleanly"
        self.server.stdout.close()
        self.server = None

    def kill(self):
        """The server and its engines at once, as a power cut takes them."""
        engine = self.model_pids()
        self.server.kill()
        for pid in engine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it died with the server
        self.server.wait()
        self.server.stdout.close()
        self.server = None

    def close(self):
        try:
            self.stop()
        finally:
            self.log.close()
            shutil.rmtree(self.data)

    def hearth(self, *arguments, status=0):
        done = subprocess.run([self.build / "hearth", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, HEARTH_URL=self.url), check=False)
        assert done.returncode == status, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    def call(self, method, path, body=None, timeout=300):
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.load(answer), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.load(error), error.headers

    def get(self, path):
        status, body, _ = self.call("GET", path)
        assert status == 200, body
        return body

    def chat(self, model, system, user, max_tokens=8, history=(), **more):
        messages = ([{"role": "system", "content": system}] if system else []) + list(history) + [{"role": "user", "content": user}]
        body = {"model": model, "messages": messages, "max_tokens": max_tokens, **GREEDY, **more}
        status, answer, headers = self.call("POST", "/v1/chat/completions", body)
        assert status == 200, answer
        record = self.record(headers["x-hearth-request-id"])
        timings = answer["timings"]
        return {"text": answer["choices"][0]["message"]["content"], "ttft": record["ttft_ms"], "cached": timings["cache_n"],
                "evaluated": timings["prompt_n"], "prompt_tokens": timings["cache_n"] + timings["prompt_n"], "prompt_ms": timings["prompt_ms"], "record": record}

    def record(self, request):
        for _ in range(100):
            status, record, _ = self.call("GET", f"/hearth/v1/requests/{request}")
            if status == 200:
                return record
            time.sleep(0.01)
        raise AssertionError(f"request {request} is not remembered")

    def events(self, what=None):
        events = self.get("/hearth/v1/events?since=0")["events"]
        return [event for event in events if what is None or event["what"] == what]

    def prefixes(self):
        return self.get("/hearth/v1/prefixes")["prefixes"]

    def model_pids(self):
        models = self.get("/hearth/v1/models")["models"]
        return [model["layers"]["process"]["pid"] for model in models if model["layers"]["process"]["pid"]]

    def wait_for(self, what, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            value = what()
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError("waited in vain; the last events: " + json.dumps(self.events()[-5:]) + self.tail())

    def wait_saved(self, count, seconds=60):
        return self.wait_for(lambda: [p for p in self.prefixes() if p["state"] == "stored"][count - 1:count], seconds)[0]

    def tail(self):
        return (self.data / "server.log").read_text()[-2000:]

    def make_model(self, name, *options):
        file = self.data / f"{name}.gguf"
        subprocess.run([self.build / "make_model", "--out", file, *map(str, options)], check=True, capture_output=True)
        self.hearth("import", file, "--name", name)
        file.unlink()

    def unload(self, model):
        self.hearth("cool", model, "--layer", "process")

    def load(self, model):
        self.hearth("warm", model, "--layer", "process")
