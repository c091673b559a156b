"""What the benchmarks that start a server of their own share."""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "support"))
from server_process import ServerProcess  # noqa: E402


def kernel(name, file="/proc/meminfo"):
    """A figure of the kernel's, of memory in bytes; None where it does not tell."""
    for line in pathlib.Path(file).read_text().splitlines():
        if line.split()[0].rstrip(":") == name:
            return int(line.split()[1]) * (1024 if file == "/proc/meminfo" else 1)
    return None


def give_engine(build, data):
    """The engine of HEARTH_TEST_DATA_DIR for a data directory, or one that is installed there."""
    engines = os.environ.get("HEARTH_TEST_DATA_DIR")
    if engines:
        (data / "engines").symlink_to(pathlib.Path(engines).resolve() / "engines")
    else:
        subprocess.run([build / "hearth", "engine", "install", "--data-dir", data], check=True)


class BenchServer(ServerProcess):
    def request(self, path, body=None):
        """Status, headers and body of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=300)
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())

    def model(self, name):
        return self.ask(f"/hearth/v1/models/{name}")[1]

    def wait_packed(self, name, seconds=180):
        """After its first load, so that all that follow are alike. Only a disk that takes what was packed makes it so."""
        until = time.monotonic() + seconds
        while self.model(name)["layers"]["packed"]["state"] != "warm":
            assert time.monotonic() < until, f"the packed weights of {name} are not on the disk after {seconds} s"
            time.sleep(0.2)

    def ask(self, path, body=None):
        """Headers and body of an answer that is to be one."""
        status, headers, answer = self.request(path, body)
        assert status == 200, answer
        return headers, answer
