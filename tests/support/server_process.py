"""A `hearth serve` of a test's own: started on a free port, spoken to through the command line, stopped in peace."""

import os
import pathlib
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder_with_engine(prefix):
    """A fresh data directory with the engine of HEARTH_TEST_DATA_DIR, as ./check sets it."""
    engines = os.environ.get("HEARTH_TEST_DATA_DIR")
    assert engines, "HEARTH_TEST_DATA_DIR is not set; it names a data directory with an engine"
    data = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    (data / "engines").symlink_to(pathlib.Path(engines) / "engines")
    return data


class ServerProcess:
    """`data` is the data directory; what is left in it stays when the server stops."""

    def __init__(self, build, data):
        self.build, self.data = pathlib.Path(build), pathlib.Path(data)
        self.process = None
        self.host = self.url = None
        self.wrapper = []  # a command that ends by executing the one that follows it

    def start(self, config=""):
        """`config`: a configuration as text, without the address and the data directory."""
        file = self.data / "hearth.toml"
        file.write_text(config)
        arguments = ["--config", file, "--listen", "127.0.0.1:0", "--data-dir", self.data]
        with open(self.data / "server.log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([*self.wrapper, self.build / "hearth", "serve", *arguments], stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.host = self.url.removeprefix("http://")
        assert self.host, f"hearth serve did not come up: {self.said()}"

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        self.forget()
        assert status == 0, f"hearth serve ended with {status}: {self.said()}"

    def forget(self):
        """The process has ended."""
        self.process.stdout.close()
        self.process = None

    def said(self):
        return (self.data / "server.log").read_text()[-4000:]

    def hearth(self, *arguments, status=0, timeout=300):
        """Standard output of a client command; standard error of one that is to fail with `status`."""
        done = subprocess.run([self.build / "hearth", *map(str, arguments)], capture_output=True, text=True, timeout=timeout, check=False,
                              env=dict(os.environ, HEARTH_URL=self.url))
        assert done.returncode == status, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout if status == 0 else done.stderr

    def make_model(self, name, *options):
        """A model of random weights, made with make_model's options and imported."""
        file = self.data / f"{name}.gguf"
        subprocess.run([self.build / "make_model", "--out", file, *map(str, options)], check=True, capture_output=True)
        self.hearth("import", file, "--name", name)
        file.unlink()
