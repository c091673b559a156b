"""The library inside another program on ggml. Needs

    HEARTH_TEST_WHISPER  command of a stock whisper-server (words as a shell would split them)
    HEARTH_TIER_LIBRARY  the built libhearth_tier.so (set by ctest)
"""

import http.client
import os
import shlex
import shutil
import tempfile
import unittest

from control import EVENTS, Engine
from engine_test import setting
from whisper_model import write_sound, write_whisper


class Whisper(Engine):
    def transcribe(self, sound):
        boundary = "hearth-test-boundary"
        with open(sound, "rb") as file:
            part = (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n'
                    "Content-Type: audio/wav\r\n\r\n").encode() + file.read() + b"\r\n"
        fields = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
                         for name, value in (("response_format", "text"), ("temperature", "0.0")))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", "/inference", part + fields.encode() + f"--{boundary}--\r\n".encode(),
                           {"Content-Type": f"multipart/form-data; boundary={boundary}"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise AssertionError(f"whisper-server answered {answer.status}: {text[:200]!r}")
        return text


class WhisperTest(unittest.TestCase):
    def setUp(self):
        self.command = shlex.split(setting("HEARTH_TEST_WHISPER", "the command of a stock whisper-server"))
        self.library = setting("HEARTH_TIER_LIBRARY", "the path of libhearth_tier.so")
        self.root = tempfile.mkdtemp(prefix="hearth_whisper_")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.model, self.sound = os.path.join(self.root, "w.bin"), os.path.join(self.root, "a.wav")
        write_whisper(self.model)
        write_sound(self.sound)

    def engine(self, tier):
        flags = ["-nf", "-bs", "1", "-bo", "1", "-t", "2"]
        return Whisper(self.command, self.model, flags, tier=self.library if tier else None,
                       directory=os.path.join(self.root, "packed"))

    def test_the_second_program_has_the_same_powers(self):
        with self.engine(False) as stock:
            expected = stock.transcribe(self.sound)
        self.assertGreater(len(expected), 10)
        with self.engine(True) as first:
            self.assertEqual(first.transcribe(self.sound), expected)
            self.assertEqual(first.wait_event("published").text, "CPU_REPACK")
            self.assertTrue(first.spans("graph"))
        with self.engine(True) as second:
            self.assertEqual(second.transcribe(self.sound), expected)
            self.assertEqual([e.text for e in second.events("attached")], ["CPU_REPACK"])
            self.assertGreater(next(e.count for e in second.events("settled")), 0)
            done = second.command("hibernate")
            self.assertEqual(done.reason, 0, done.text)
            self.assertGreaterEqual(done.moved, 0.95 * done.arena_before)
            self.assertEqual(second.transcribe(self.sound), expected)
            self.assertEqual(second.command("wake").reason, 0)
            self.assertEqual(second.transcribe(self.sound), expected)
        self.assertIn("settled", {EVENTS.get(e.kind) for e in second.events()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
