"""Ollama's dialect as its clients see it, over fake engines.

    python3 tests/residency/ollama_test.py BUILD_FOLDER [unittest arguments]
"""

import datetime
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from hearth_server import ROOT, HearthServer  # noqa: E402

build = ROOT / "build" / "release"
CONFIG = '[engine]\ncommand = ["@ENGINE@"]\ntier = false\n'
QUESTION = [{"role": "user", "content": "good morning"}]


class OllamaTest(unittest.TestCase):
    MODELS = {"mini": "context = 512", "tagged:q4": ""}

    @classmethod
    def setUpClass(cls):
        cls.server = HearthServer(build, cls.MODELS, CONFIG)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        for name in self.MODELS:
            self.server.set_scenario(name)

    def post(self, path, body, status=200):
        answer = self.server.ask(path, body)
        self.assertEqual(answer.status, status, answer.body)
        return answer

    def refused(self, path, body, status):
        answer = self.post(path, body, status)
        self.assertEqual(list(answer.json), ["error"])
        return answer.json["error"]

    def test_the_root_says_that_ollama_runs(self):
        answer = self.server.ask("/")
        self.assertEqual((answer.status, answer.body), (200, "Ollama is running"))
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        head = self.server.ask("/", method="HEAD")
        self.assertEqual((head.status, head.body), (200, ""))

    def test_the_version_is_three_numbers(self):
        self.assertRegex(self.server.ask("/api/version").json["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.server.ask("/api/version", method="HEAD").status, 200)

    def test_tags_carry_what_clients_need(self):
        models = self.server.ask("/api/tags").json["models"]
        self.assertEqual({model["name"] for model in models}, {"mini:latest", "tagged:q4"})
        for model in models:
            self.assertEqual(model["name"], model["model"])
            self.assertRegex(model["digest"], "^[0-9a-f]{64}$")
            self.assertIsInstance(model["size"], int)
            datetime.datetime.fromisoformat(model["modified_at"])
            self.assertEqual(model["details"]["format"], "gguf")
            self.assertEqual(model["details"]["families"], [model["details"]["family"]])

    def test_names_from_tags_are_taken_back(self):
        for name in ("mini", "mini:latest", "MINI", "library/mini", "registry.ollama.ai/library/mini:latest", "tagged:q4"):
            answer = self.post("/api/chat", {"model": name, "messages": QUESTION, "stream": False})
            self.assertEqual(answer.json["model"], name, "the name comes back as it was asked for")

    def test_ps_lists_what_is_loaded(self):
        self.server.unload_all(self.MODELS)
        self.assertEqual(self.server.ask("/api/ps").json, {"models": []})
        self.post("/api/generate", {"model": "mini", "keep_alive": "10m"})
        self.post("/api/generate", {"model": "tagged:q4", "keep_alive": -1})
        models = self.server.ask("/api/ps").json["models"]
        self.assertEqual([model["name"] for model in models], ["tagged:q4", "mini:latest"], "the longest expiry first")
        ends = [datetime.datetime.fromisoformat(model["expires_at"]) for model in models]
        now = datetime.datetime.now(datetime.timezone.utc)
        self.assertGreater(ends[0] - now, datetime.timedelta(days=30000))
        self.assertAlmostEqual((ends[1] - now).total_seconds(), 600, delta=10)
        self.assertEqual(models[1]["context_length"], 512)
        for model in models:
            self.assertIsInstance(model["size"], int)
            self.assertIsInstance(model["size_vram"], int)

    def test_show_has_info_and_capabilities(self):
        for key in ("model", "name"):
            shown = self.post("/api/show", {key: "mini"}).json
            architecture = shown["model_info"]["general.architecture"]
            self.assertIsInstance(shown["model_info"][f"{architecture}.context_length"], int)
            self.assertIn("completion", shown["capabilities"])
            self.assertTrue(shown["template"])
            for line in shown["parameters"].splitlines():
                self.assertRegex(line, r'^(\S+)\s+((?:".*")|\S+)$')

    def test_a_chat_is_streamed_unless_told_not_to(self):
        answer = self.post("/api/chat", {"model": "mini", "messages": QUESTION})
        self.assertEqual(answer.headers["Content-Type"], "application/x-ndjson")
        self.assertEqual(answer.headers["X-Accel-Buffering"], "no")
        self.assertNotIn("\n\n", answer.body)
        lines = answer.lines
        self.assertEqual("".join(line["message"]["content"] for line in lines), "Fake answer w3 w4 w5 w6 w7 w8")
        self.assertEqual([line["done"] for line in lines], [False] * 8 + [True])
        for line in lines:
            self.assertEqual(line["message"]["role"], "assistant")
            self.assertNotIn("error", line)
            self.assertNotIn("thinking", line["message"])
            datetime.datetime.fromisoformat(line["created_at"])
        for line in lines[:-1]:
            self.assertNotIn("eval_count", line, "figures on more than one line are added up by clients")
        last = lines[-1]
        self.assertEqual((last["done_reason"], last["eval_count"], last["prompt_eval_count"]), ("stop", 8, 3))
        for figure in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"):
            self.assertIsInstance(last[figure], int)
        self.assertGreaterEqual(last["total_duration"], last["load_duration"] + last["prompt_eval_duration"] + last["eval_duration"])

    def test_a_prompt_answers_with_a_context(self):
        whole = self.post("/api/generate", {"model": "mini", "prompt": "good morning", "stream": False}).json
        self.assertEqual(whole["response"], "Fake answer w3 w4 w5 w6 w7 w8")
        self.assertTrue(whole["context"] and all(isinstance(token, int) for token in whole["context"]))
        more = self.post("/api/generate", {"model": "mini", "prompt": "and then?", "context": whole["context"], "stream": False}).json
        self.assertGreater(more["prompt_eval_count"], 3, "what was said before goes before the prompt")
        raw = self.post("/api/generate", {"model": "mini", "prompt": "x", "raw": True, "stream": False}).json
        self.assertNotIn("context", raw)

    def test_num_predict_bounds_the_answer(self):
        last = self.post("/api/generate", {"model": "mini", "prompt": "hi", "options": {"num_predict": 3}}).lines[-1]
        self.assertEqual((last["done_reason"], last["eval_count"]), ("length", 3))

    def test_a_context_that_is_not_there_is_told(self):
        fits = self.post("/api/chat", {"model": "mini", "messages": QUESTION, "options": {"num_ctx": 512}})
        self.assertNotIn("x-hearth-context", fits.headers)
        more = self.post("/api/chat", {"model": "mini", "messages": QUESTION, "options": {"num_ctx": 8192}})
        self.assertEqual(more.headers["x-hearth-context"], "512")

    def test_load_and_unload_are_one_object(self):
        for path, field in (("/api/generate", "response"), ("/api/chat", "message")):
            loaded = self.post(path, {"model": "mini"}).json
            self.assertEqual((loaded["done"], loaded["done_reason"]), (True, "load"))
            self.assertIn(field, loaded)
            for _ in range(2):
                unloaded = self.post(path, {"model": "mini", "keep_alive": 0}).json
                self.assertEqual((unloaded["done"], unloaded["done_reason"]), (True, "unload"))
            self.server.wait_for_end("mini")

    def test_errors_are_one_text(self):
        self.assertEqual(self.refused("/api/chat", {"model": "nothing", "messages": QUESTION}, 404), "model 'nothing' not found")
        self.assertEqual(self.refused("/api/generate", {"model": "hf.co/a/b:Q4", "prompt": "x"}, 404), "model 'hf.co/a/b:Q4' not found")
        self.assertEqual(self.refused("/api/show", {"model": "nothing"}, 404), "model 'nothing' not found")
        self.assertEqual(self.refused("/api/generate", {"model": "nothing", "keep_alive": 0}, 404), "model 'nothing' not found")
        self.assertEqual(self.refused("/api/chat", {"messages": QUESTION}, 400), "model is required")
        self.assertEqual(self.refused("/api/chat", "", 400), "missing request body")
        self.assertIn("not JSON", self.refused("/api/chat", "{", 400))
        self.assertIn("keep_alive", self.refused("/api/chat", {"model": "mini", "keep_alive": "soon"}, 400))
        self.assertEqual(self.refused("/api/nothing", {}, 404), "there is nothing at this path; docs/http-api.md lists what there is")
        self.assertEqual(self.server.ask("/api/tags", {}).status, 405)

    def test_thinking_needs_a_model_that_can(self):
        self.assertEqual(self.refused("/api/chat", {"model": "mini", "messages": QUESTION, "think": True}, 400), '"mini" does not support thinking')
        self.post("/api/chat", {"model": "mini", "messages": QUESTION, "think": False})

    def test_an_engine_that_dies_ends_the_stream_with_an_error_line(self):
        self.server.unload_all(["mini"])
        self.server.set_scenario("mini", crash_at="token:4", crash_signal=9)
        lines = self.post("/api/chat", {"model": "mini", "messages": QUESTION}).lines
        self.assertEqual([sorted(line) for line in lines[-1:]], [["error"]])
        self.assertIn("signal 9", lines[-1]["error"])
        self.assertNotIn(True, [line.get("done") for line in lines])
        self.server.set_scenario("mini", crash_at="token:4", crash_signal=9)
        self.assertIn("signal 9", self.refused("/api/chat", {"model": "mini", "messages": QUESTION, "stream": False}, 502))

    def test_a_request_is_recorded_as_ollamas(self):
        self.server.unload_all(["mini"])  # one that has to wait: nothing keeps a request for a loaded model long enough to be told
        answer = self.post("/api/chat", {"model": "mini", "messages": QUESTION})
        record = self.server.request(answer)
        self.assertEqual((record["api"], record["model"], record["status"], record["error"]), ("ollama", "mini", 200, None))
        self.assertEqual(record["tokens"], {"prompt": 3, "cached": record["tokens"]["cached"], "generated": 8})
        self.assertGreater(record["ttft_ms"], 0)
        self.assertTrue(re.search("queue", answer.headers["Server-Timing"]))

    def test_unknown_fields_and_legacy_options_are_left_out(self):
        options = {"tfs_z": 1, "mirostat": 0, "use_mlock": True, "num_gpu": 1, "repeat_last_n": -1, "stop": ["\n"]}
        self.post("/api/chat", {"model": "mini", "messages": QUESTION, "options": options, "format": "", "truncate": True, "whatever": {}})


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
