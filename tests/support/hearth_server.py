"""A `hearth serve` on a free port over fake engines, for tests from outside.

Each model has a scenario of its own (tests/fake_engine/scenario.h), which may be changed between two starts, and a log in
which its engines tell what happened to them.
"""

import http.client
import json
import shutil
import tempfile
import threading
import time

from server_process import ROOT, ServerProcess


class Answer:
    """`lines` are the JSON objects of an NDJSON body; `json` is the whole body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.split("\n")[:-1]]


class HearthServer(ServerProcess):
    def __init__(self, build, models, config=""):
        """`models`: name -> lines for its section of the configuration. `config`: sections, as text."""
        super().__init__(build, tempfile.mkdtemp(prefix="hearth-fake-"))
        text = config
        for name, lines in models.items():
            flags = ["--fake-scenario", str(self.scenario_file(name)), "--fake-log", str(self.log_file(name))]
            text += f'[models."{name}"]\nflags = {json.dumps(flags)}\n{lines}\n'
            self.set_scenario(name)
        self.config = text.replace("@ENGINE@", str(self.build / "tests" / "fake_engine" / "fake_engine"))
        self.start(self.config)
        for name in models:
            self.hearth("import", ROOT / "models" / "hearth-mini.gguf", "--name", name)

    def stop(self):
        try:
            super().stop()
        finally:
            shutil.rmtree(self.data)

    def kill_and_start_again(self):
        self.process.kill()
        self.process.wait(timeout=10)
        self.forget()
        self.start(self.config)

    def scenario_file(self, model):
        return self.data / f"{model}.scenario"

    def log_file(self, model):
        return self.data / f"{model}.log"

    def set_scenario(self, model, **fields):
        self.scenario_file(model).write_text(json.dumps(fields))

    def told(self, model, event):
        """What the engines of a model have told of this event."""
        if not self.log_file(model).exists():
            return []
        return [told for told in map(json.loads, self.log_file(model).read_text().splitlines()) if told["event"] == event]

    def starts(self, model):
        return len(self.told(model, "start"))

    def ask(self, path, body=None, client="tests", method=None, timeout=60):
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            text = body if isinstance(body, str) else None if body is None else json.dumps(body)
            connection.request(method or ("GET" if body is None else "POST"), path, text, {"User-Agent": client})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def in_background(self, *arguments, **options):
        """The same, beside us; call the result to wait for the answer."""
        result = []
        thread = threading.Thread(target=lambda: result.append(self.ask(*arguments, **options)))
        thread.start()

        def answer():
            thread.join(timeout=60)
            assert result, "no answer in 60 s"
            return result[0]
        return answer

    def model(self, name):
        return self.ask(f"/hearth/v1/models/{name}").json

    def state(self, name):
        return self.model(name)["state"]

    def pid(self, name):
        return self.model(name)["layers"]["process"]["pid"]

    def request(self, answer):
        """The record of the request that this answers."""
        identity = answer.headers["x-hearth-request-id"]
        until = time.monotonic() + 5
        while time.monotonic() < until:
            found = self.ask(f"/hearth/v1/requests/{identity}")
            if found.status == 200:
                return found.json
            time.sleep(0.01)
        raise AssertionError(f"request {identity} was never recorded")

    def wait_for(self, name, state, seconds=10):
        until = time.monotonic() + seconds
        while self.state(name) != state:
            assert time.monotonic() < until, f"{name} is {self.state(name)} and not {state} after {seconds} s"
            time.sleep(0.02)

    def unload_all(self, models):
        for name in models:
            self.ask("/api/generate", {"model": name, "keep_alive": 0})
            self.wait_for_end(name)

    def wait_for_end(self, name, seconds=10):
        until = time.monotonic() + seconds
        while self.pid(name) is not None:
            assert time.monotonic() < until, f"the engine of {name} still runs after {seconds} s"
            time.sleep(0.02)


def stage_ms(record, name):
    return sum(stage["ms"] for stage in record["stages"] if stage["stage"] == name)
