"""The file: header and metadata read back as written, values within the bound of Q8_0, damage is noticed."""

import os
import struct
import tempfile
import unittest
from dataclasses import replace

import numpy as np
import torch

import export
import gguf_reader
import gguf_writer
from gguf_format import TENSOR_F16, TENSOR_F32, TENSOR_Q8_0, dequantise_q8_0, quantise_q8_0
from model import Config, Llama
from tokenizer import Tokenizer


class Q8(unittest.TestCase):
    def test_error_is_at_most_half_a_step(self):
        values = np.random.default_rng(1).normal(size=(64, 96)).astype(np.float32)
        back = dequantise_q8_0(quantise_q8_0(values), values.shape)
        step = np.abs(values.reshape(-1, 32)).max(1, keepdims=True) / 127
        error = np.abs(values - back).reshape(-1, 32)
        self.assertTrue((error <= step * (0.5 + 127 / 2048) + 1e-7).all())

    def test_zeros_stay_zeros(self):
        self.assertFalse(dequantise_q8_0(quantise_q8_0(np.zeros((2, 32))), (2, 32)).any())

    def test_block_layout(self):
        row = np.zeros((1, 32), np.float32)
        row[0, 3] = -127.0
        data = quantise_q8_0(row)
        self.assertEqual(len(data), 34)
        self.assertEqual(struct.unpack("<e", data[:2])[0], 1.0)
        self.assertEqual(struct.unpack("<32b", data[2:])[3], -127)

    def test_a_row_that_does_not_divide_is_refused(self):
        with self.assertRaises(ValueError):
            quantise_q8_0(np.zeros((2, 33)))


class File(unittest.TestCase):
    def setUp(self):
        self.metadata = {"a.text": "käse", "a.number": 7, "a.real": 0.5, "a.flag": True, "a.list": ["x", "y"],
                         "a.numbers": [1, -2]}
        self.tensors = [("one", TENSOR_F32, np.arange(6, dtype=np.float32).reshape(2, 3)),
                        ("two", TENSOR_F16, np.ones((1, 5), np.float32)),
                        ("three", TENSOR_Q8_0, np.full((2, 32), 0.25, np.float32))]

    def test_read_back(self):
        metadata, tensors = gguf_reader.parse(gguf_writer.pack_file(self.metadata, self.tensors))
        self.assertEqual(metadata, {"general.alignment": 32, **self.metadata})
        for name, _, values in self.tensors:
            np.testing.assert_allclose(tensors[name], values, rtol=1e-3)

    def test_header_bytes(self):
        data = gguf_writer.pack_file(self.metadata, self.tensors)
        self.assertEqual(struct.unpack("<4sIqq", data[:24]), (b"GGUF", 3, 3, 7))
        self.assertEqual(len(data) % 32, 0)

    def test_any_truncation_is_noticed(self):
        data = gguf_writer.pack_file(self.metadata, self.tensors)
        end_of_last_tensor = len(data) - (-2 * 34 % 32)
        for length in range(end_of_last_tensor):
            with self.assertRaises(ValueError, msg=str(length)):
                gguf_reader.parse(data[:length])

    def test_a_value_without_a_type_is_refused(self):
        with self.assertRaises(TypeError):
            gguf_writer.pack_value(None)


class WholeModel(unittest.TestCase):
    def test_model_and_tokenizer_survive_the_file(self):
        torch.manual_seed(1)
        tokenizer = Tokenizer.train(["turn on the kitchen lights"] * 9, 270)
        model = Llama(Config(vocab=len(tokenizer), embd=64, layers=2, heads=2, kv_heads=1, ff=96, context=64)).eval()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.gguf")
            size = export.save(path, model, tokenizer, {"hearth.train.seed": 1})
            self.assertEqual(size, os.path.getsize(path))
            self.assertEqual(os.listdir(folder), ["m.gguf"])
            again, same, metadata = export.load(path)
        self.assertAlmostEqual(again.config.norm_eps, model.config.norm_eps)
        self.assertEqual(replace(again.config, norm_eps=model.config.norm_eps), model.config)
        self.assertEqual(same.tokens, tokenizer.tokens)
        self.assertEqual(metadata["tokenizer.ggml.eos_token_id"], tokenizer.im_end)
        ids = torch.tensor([[1, 2, 3, 4]])
        with torch.no_grad():
            torch.testing.assert_close(again(ids)[0], model(ids)[0], atol=0.1, rtol=0.1)


if __name__ == "__main__":
    unittest.main()
