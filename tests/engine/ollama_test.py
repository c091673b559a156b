"""Ollama's dialect and keep-alive over a real engine with the tier library and the demo model.

    python3 tests/engine/ollama_test.py BUILD_FOLDER [unittest arguments]

HEARTH_TEST_DATA_DIR names a data directory that has an engine, as ./check sets it.
"""

import http.client
import json
import pathlib
import shutil
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from server_process import ROOT, ServerProcess, folder_with_engine  # noqa: E402

build = ROOT / "build" / "release"
QUESTION = [{"role": "user", "content": "turn on the kitchen lights"}]
GREEDY = {"temperature": 0, "seed": 1, "num_predict": 32, "repeat_penalty": 1, "top_k": 1}


class OllamaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(build, folder_with_engine("hearth-ollama-"))
        cls.addClassCleanup(shutil.rmtree, cls.server.data)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()
        cls.server.hearth("import", ROOT / "models" / "hearth-mini.gguf")

    def ask(self, path, body=None, status=200):
        connection = http.client.HTTPConnection(self.server.host, timeout=120)
        try:
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
            self.assertEqual(answer.status, status, text)
            return [json.loads(line) for line in text.splitlines() if line]
        finally:
            connection.close()

    def one(self, path, body=None, status=200):
        (answer,) = self.ask(path, body, status)
        return answer

    def model(self):
        return self.one("/hearth/v1/models/hearth-mini")

    def chat(self, **more):
        return self.one("/api/chat", {"model": "hearth-mini", "messages": QUESTION, "stream": False, "options": GREEDY, **more})

    def generate(self, **more):
        return self.one("/api/generate", {"model": "hearth-mini", "stream": False, "options": GREEDY, **more})

    def openai(self):
        body = {"model": "hearth-mini", "messages": QUESTION, "temperature": 0, "seed": 1, "max_tokens": 32, "top_k": 1}
        return self.one("/v1/chat/completions", body)["choices"][0]["message"]["content"]

    def test_the_answer_is_the_models_whichever_way_it_is_asked(self):
        expected = self.openai()
        self.assertTrue(expected)
        self.assertEqual(self.chat()["message"]["content"], expected)
        lines = self.ask("/api/chat", {"model": "hearth-mini", "messages": QUESTION, "options": GREEDY})
        self.assertEqual("".join(line["message"]["content"] for line in lines), expected)
        self.assertEqual(self.generate(prompt=QUESTION[0]["content"])["response"], expected)
        raw = "<|im_start|>user\nturn on the kitchen lights<|im_end|>\n<|im_start|>assistant\n"
        self.assertEqual(self.generate(prompt=raw, raw=True)["response"], expected)

    def test_figures_are_the_engines_and_add_up(self):
        answer = self.chat()
        self.assertGreater(answer["prompt_eval_count"], 5)
        self.assertGreater(answer["eval_count"], 0)
        self.assertGreaterEqual(answer["total_duration"], answer["load_duration"] + answer["prompt_eval_duration"] + answer["eval_duration"])
        bounded = self.chat(options={**GREEDY, "num_predict": 2})
        self.assertEqual((bounded["eval_count"], bounded["done_reason"]), (2, "length"))

    def test_stop_ends_the_answer(self):
        whole = self.chat()["message"]["content"]
        word = whole.split()[-1]
        self.assertNotIn(word, self.chat(options={**GREEDY, "stop": [word]})["message"]["content"])

    def test_a_schema_is_kept_to(self):
        schema = {"type": "object", "properties": {"room": {"enum": ["kitchen", "hall"]}}, "required": ["room"], "additionalProperties": False}
        options = {**GREEDY, "num_predict": 200}
        ask = {"format": schema, "options": options}
        for answer in (self.chat(**ask)["message"]["content"], self.generate(prompt="turn on the kitchen lights", **ask)["response"],
                       self.generate(prompt="turn on the kitchen lights", raw=True, **ask)["response"]):
            self.assertIn(json.loads(answer)["room"], ("kitchen", "hall"))

    def test_what_was_said_goes_before_the_next_prompt(self):
        first = self.generate(prompt="turn on the kitchen lights")
        self.assertGreaterEqual(len(first["context"]), first["prompt_eval_count"])
        more = self.generate(prompt="and the hall?", context=first["context"])
        alone = self.generate(prompt="and the hall?")
        self.assertGreater(more["prompt_eval_count"], alone["prompt_eval_count"] + first["eval_count"])

    def test_log_probabilities_come_with_their_pieces(self):
        answer = self.chat(logprobs=True, top_logprobs=2)
        self.assertEqual("".join(token["token"] for token in answer["logprobs"]).strip(), answer["message"]["content"].strip())
        self.assertEqual(len(answer["logprobs"][0]["top_logprobs"]), 2)

    def test_the_engines_refusals_are_passed_on(self):
        picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        body = {"model": "hearth-mini", "messages": [{"role": "user", "content": "what is this?", "images": [picture]}]}
        refused = self.one("/api/chat", body, 500)
        self.assertIn("image", refused["error"])
        too_long = {"model": "hearth-mini", "prompt": "a " * 5000}
        self.assertIn("context", self.one("/api/generate", too_long, 400)["error"])

    def test_time_up_hibernates_and_an_unload_stops(self):
        self.chat(keep_alive="1s")
        pid = self.model()["layers"]["process"]["pid"]
        until = time.monotonic() + 10
        while self.model()["state"] != "hibernated":
            self.assertLess(time.monotonic(), until, self.model()["state"])
            time.sleep(0.1)
        self.assertEqual(self.model()["layers"]["process"]["pid"], pid)
        self.assertEqual(self.one("/api/ps"), {"models": []})
        self.assertEqual(self.chat(keep_alive="1h")["load_duration"], 0)
        (loaded,) = self.one("/api/ps")["models"]
        self.assertEqual(loaded["name"], "hearth-mini:latest")
        self.assertEqual(self.generate(keep_alive=0)["done_reason"], "unload")
        self.assertIsNone(self.model()["layers"]["process"]["pid"])

    def test_show_tells_what_the_file_says(self):
        shown = self.one("/api/show", {"model": "hearth-mini"})
        self.assertEqual(shown["model_info"]["general.architecture"], shown["details"]["family"])
        self.assertIn("messages", shown["template"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        build = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
