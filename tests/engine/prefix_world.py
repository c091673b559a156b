"""A hearth server of one's own with a model in it, for tests and measurements of prompt prefixes.

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import json
import os
import pathlib
import shutil
import signal
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server_process import ServerProcess, folder_with_engine  # noqa: E402

GREEDY = {"temperature": 0, "seed": 1}


def devices(count, salt=0):
    """A home's devices as a system prompt lists them: long, and the same each time."""
    rooms = ["kitchen", "hall", "bedroom", "garden", "office", "bathroom", "garage"]
    lines = [f"{rooms[(i + salt) % 7]} lamp {i + salt} is {'on' if (i * 7 + salt) % 3 else 'off'} at {(i * 37 + salt) % 101} percent."
             for i in range(count)]
    return "You control the devices of a home. " + " ".join(lines)


class World(ServerProcess):
    def __init__(self, build, config=""):
        super().__init__(build, folder_with_engine("hearth-prefix-"))
        self.config = config

    def start(self, config=None):
        super().start(self.config if config is None else config)

    def prefix_folder(self):
        return self.data / "prefix"

    def kill(self):
        """The server and its engines at once, as a power cut takes them."""
        engine = self.model_pids()
        self.process.kill()
        for pid in engine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it died with the server
        self.process.wait()
        self.forget()

    def close(self):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.data)

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
        raise AssertionError("waited in vain; the last events: " + json.dumps(self.events()[-5:]) + self.said())

    def wait_saved(self, count, seconds=60):
        return self.wait_for(lambda: [p for p in self.prefixes() if p["state"] == "stored"][count - 1:count], seconds)[0]

    def unload(self, model):
        self.hearth("cool", model, "--layer", "process")

    def load(self, model):
        self.hearth("warm", model, "--layer", "process")
