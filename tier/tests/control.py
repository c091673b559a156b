"""A small stand-in for the daemon: starts an engine with or without the library, reads records, sends commands.

Used by the engine tests and by proof.py. Standard library only. The record layouts are those of tier/protocol.h.
"""

import collections
import http.client
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time

PROTOCOL = 1
MAGIC = 0x48545231
HEADER = struct.Struct("<IHHII")
HELLO = struct.Struct("<QQQII8H64s")
SPAN = struct.Struct("<HHIQQqq")
EVENT = struct.Struct("<HHIQQQQiI96s")
COMMAND = struct.Struct("<IHHII")
REPLY = struct.Struct("<IHHiI11Q128s")

Hello = collections.namedtuple("Hello", "at_ns symbols memlock_limit pid powers reasons build dropped")
Span = collections.namedtuple("Span", "kind reserved thread begin_ns end_ns count result dropped")
Event = collections.namedtuple("Event", "kind reason ordinal at_ns ns bytes count error reserved text dropped")
Reply = collections.namedtuple(
    "Reply",
    "serial op reason error segments begin_ns end_ns moved arena_bytes arena_before arena_after model_bytes "
    "model_before model_after private locked text dropped",
)

SPANS = {1: "backend_load", 2: "model_load", 3: "context_init", 4: "tokenize", 5: "process", 6: "graph",
         7: "synchronize", 8: "state_save", 9: "state_load", 10: "adapter_load"}
EVENTS = {1: "arena_created", 2: "attached", 3: "settled", 4: "published", 5: "not_published", 6: "set_aside",
          7: "distrusted", 8: "thawed", 9: "released", 10: "stood_aside", 11: "verified"}
OPS = {"status": 1, "hibernate": 2, "wake": 3, "pin": 4, "unpin": 5, "cancel": 6}
ARENA_ONLY, ONLY_MARK, ON_FAULT = 1, 2, 4


def text(raw):
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def parse(packet):
    magic, version, kind, length, dropped = HEADER.unpack_from(packet)
    if magic != MAGIC or version != PROTOCOL or length != len(packet):
        raise ValueError(f"malformed record: {packet[:16].hex()}")
    body = packet[HEADER.size:]
    if kind == 1:
        f = HELLO.unpack(body)
        return Hello(*f[:5], f[5:13], text(f[13]), dropped)
    if kind == 2:
        return Span(*SPAN.unpack(body), dropped)
    if kind == 3:
        f = EVENT.unpack(body)
        return Event(*f[:9], text(f[9]), dropped)
    if kind == 4:
        f = REPLY.unpack(body)
        return Reply(*f[:16], text(f[16]), dropped)
    raise ValueError(f"unknown record type {kind}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class EngineDied(Exception):
    pass


class Engine:
    """One engine process. `tier` is the path of the library or None for a stock run."""

    def __init__(self, command, model, flags=(), tier=None, directory=None, key="test", settings=None, log=None,
                 protocol=PROTOCOL, wait=True):
        self.port = free_port()
        self.records = []
        self.serial = 0
        self.socket = None
        environment = dict(os.environ)
        pass_fds = ()
        theirs = None
        if tier is not None:
            self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            environment["LD_PRELOAD"] = tier
            environment["HEARTH_TIER_FD"] = str(theirs.fileno())
            environment["HEARTH_TIER_PROTOCOL"] = str(protocol)
            if directory is not None:
                environment["HEARTH_TIER_DIR"] = directory
                environment["HEARTH_TIER_KEY"] = key
            environment.update(settings or {})
            pass_fds = (theirs.fileno(),)
        arguments = list(command)
        if model is not None:
            arguments += ["-m", model, "--host", "127.0.0.1", "--port", str(self.port)]
        self.log = open(log or os.devnull, "ab")
        self.begin = time.monotonic_ns()
        self.process = subprocess.Popen(arguments + list(flags), env=environment, pass_fds=pass_fds, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        if theirs is not None:
            theirs.close()
        self.ready_seconds = None
        if wait:
            try:
                self.wait_ready()
            except BaseException:  # nobody will get this object: do not leave the process behind
                self.stop()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # --- HTTP ---

    def request(self, method, path, body=None, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def wait_ready(self, timeout=180):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                self.drain()
                raise EngineDied(f"the engine ended with status {self.process.returncode} before it was ready")
            try:
                if self.request("GET", "/health", timeout=5)[0] == 200:
                    self.ready_seconds = (time.monotonic_ns() - self.begin) / 1e9
                    return
            except OSError:
                pass
            time.sleep(0.005)
            self.drain()
        raise EngineDied("the engine was not ready in time")

    def complete(self, prompt, tokens=16, **more):
        body = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "cache_prompt": False, "seed": 1,
                "return_tokens": True, **more}
        status, answer = self.request("POST", "/completion", body)
        if status != 200:
            raise EngineDied(f"completion failed: {status} {answer[:200]!r}")
        return json.loads(answer)

    def tokens(self, prompt, tokens=16):
        return self.complete(prompt, tokens)["tokens"]

    def first_token_seconds(self, prompt):
        """Seconds until the first streamed token of a completion."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            begin = time.monotonic()
            body = {"prompt": prompt, "n_predict": 2, "temperature": 0, "cache_prompt": False, "stream": True}
            connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.readline()
            seconds = time.monotonic() - begin
            answer.read()
            return seconds
        finally:
            connection.close()

    # --- records ---

    def drain(self, wait=0.0):
        """Reads what is there; returns the new records."""
        new = []
        while self.socket is not None:
            ready, _, _ = select.select([self.socket], [], [], wait)
            if not ready:
                break
            packet = self.socket.recv(1024)
            if not packet:
                self.socket.close()
                self.socket = None
                break
            new.append(parse(packet))
            wait = 0.0
        self.records += new
        return new

    def hello(self):
        self.drain()
        return next((r for r in self.records if isinstance(r, Hello)), None)

    def events(self, name=None):
        self.drain()
        found = [r for r in self.records if isinstance(r, Event)]
        return found if name is None else [r for r in found if EVENTS.get(r.kind) == name]

    def spans(self, name=None):
        self.drain()
        found = [r for r in self.records if isinstance(r, Span)]
        return found if name is None else [r for r in found if SPANS.get(r.kind) == name]

    def wait_event(self, *names, timeout=60):
        """The first event with one of the names."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = [e for e in self.events() if EVENTS.get(e.kind) in names]
            if found:
                return found[0]
            if self.process.poll() is not None:
                raise EngineDied(f"the engine ended with status {self.process.returncode}")
            self.drain(0.02)
        raise TimeoutError(f"no event {' or '.join(names)} in {timeout} s; seen: {[EVENTS.get(e.kind) for e in self.events()]}")

    def send(self, op, flags=0, readers=0, chunk=0):
        self.serial += 1
        header = HEADER.pack(MAGIC, PROTOCOL, 16, HEADER.size + COMMAND.size, 0)
        self.socket.send(header + COMMAND.pack(self.serial, OPS[op], readers, flags, chunk))
        return self.serial

    def answer(self, serial, timeout=120):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.drain(0.05)
            for record in self.records:
                if isinstance(record, Reply) and record.serial == serial:
                    return record
            if self.socket is None:
                raise EngineDied("the library closed the socket")
        raise TimeoutError("no answer to the command")

    def command(self, op, flags=0, readers=0, chunk=0):
        return self.answer(self.send(op, flags, readers, chunk))

    # --- end ---

    def resident(self):
        """Resident bytes of the process (VmRSS)."""
        with open(f"/proc/{self.engine_pid()}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return None

    def held_of(self, path):
        """Bytes of a file that the process has mapped and holds."""
        held, inside = 0, False
        with open(f"/proc/{self.engine_pid()}/smaps", encoding="ascii") as smaps:
            for line in smaps:
                if "-" in line.split(" ", 1)[0]:
                    inside = line.rstrip().endswith(path)
                elif inside and line.startswith("Rss:"):
                    held += int(line.split()[1]) * 1024
        return held

    def engine_pid(self):
        hello = self.hello()
        return hello.pid if hello is not None else self.process.pid

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
        self.drain()
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        self.log.close()


def drop_file_cache(path):
    """Writes a file out and drops its pages (those nobody maps)."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
