"""What ./quickstart and ./check share, with stand-ins for the programs it calls."""

import fcntl
import os
import pathlib
import subprocess
import tempfile
import unittest

LIBRARY = pathlib.Path(__file__).resolve().parent / "setup_lib.sh"


class SetupLib(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hearth-setup-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program("sleep", "exit 0")
        self.program("id", "echo 0")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def start(self, script):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        return subprocess.Popen(["sh", "-uc", f". {LIBRARY}\nhearth={self.folder}/hearth data_dir=.\n{script}"], cwd=self.folder,
                                env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_script(self, script):
        process = self.start(script)
        told, _ = process.communicate(timeout=30)
        return process.returncode, told

    def called(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_waits_for_a_package_index_that_another_program_updates(self):
        self.program("dpkg-query", "exit 1")
        self.program("apt-get", 'echo "$*" >>calls; [ "$(wc -l <calls)" -gt 2 ] && exit 0\n'
                                'echo "E: Could not get lock /var/lib/apt/lists/lock." >&2; exit 100')
        status, told = self.run_script("install_packages g++")
        self.assertEqual(status, 0, told)
        self.assertEqual(self.called()[:3], ["-q update"] * 3)
        self.assertIn("DPkg::Lock::Timeout=300 install -y --no-install-recommends g++", self.called()[3])

    def test_goes_on_at_once_with_an_index_that_cannot_be_updated(self):
        self.program("dpkg-query", "exit 1")
        self.program("apt-get", 'echo "$*" >>calls; case $* in *update*) exit 100 ;; esac')
        status, told = self.run_script("install_packages g++")
        self.assertEqual((status, len(self.called())), (0, 2), told)

    def test_tells_why_the_server_does_not_answer(self):
        self.program("hearth", 'case $1 in serve) echo "listening on x"; exec tail -f /dev/null ;; esac\n'
                               'echo "hearth: a key is needed" >&2; exit 1')
        status, told = self.run_script("trap stop_server EXIT\nstart_server log 1")
        self.assertNotEqual(status, 0)
        self.assertIn("a key is needed", told)

    def test_takes_no_other_server_for_its_own(self):
        self.program("hearth", 'case $1 in serve) echo "the port is taken"; exit 1 ;; esac')
        status, told = self.run_script("start_server log 1")
        self.assertNotEqual(status, 0)
        self.assertIn("ended at once: the port is taken", told)

    def test_adds_to_the_log(self):
        self.program("hearth", 'case $1 in serve) echo "listening on x"; exec tail -f /dev/null ;; esac')
        (self.folder / "log").write_text("earlier\n")
        status, told = self.run_script("start_server log 1; kill $server_pid")
        self.assertEqual(status, 0, told)
        self.assertEqual((self.folder / "log").read_text(), "earlier\nlistening on x\n")

    def test_one_sets_up_at_a_time(self):
        (self.folder / "build").mkdir()
        with open(self.folder / "build" / "setup.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("lock_setup; echo mine; unlock_setup")
            self.assertIn("waiting for it", process.stdout.readline())
        told, _ = process.communicate(timeout=30)
        self.assertEqual(told, "mine\n")


if __name__ == "__main__":
    unittest.main()
