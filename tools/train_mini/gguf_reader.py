"""Reads back what gguf_writer.py writes, to evaluate a model from its file and to test the writer."""

import struct

import numpy as np

from gguf_format import (ARRAY, BOOL, F32, I32, MAGIC, STRING, TENSOR_F16, TENSOR_F32, TENSOR_Q8_0, U32, VERSION,
                         align, dequantise_q8_0, tensor_bytes)

SCALARS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}


class Cursor:
    """A position in a byte string; every read that would pass the end is a ValueError."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError(f"the file ends inside a field of {count} bytes at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout: str) -> tuple:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def string(self) -> str:
        return self.take(self.unpack("<Q")[0]).decode("utf-8")

    def value(self, kind: int):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.unpack("<iQ")
            return [self.value(element) for _ in range(count)]
        if kind not in SCALARS:
            raise ValueError(f"metadata type {kind} is not one the writer uses")
        return self.unpack(SCALARS[kind])[0]


def read_tensor(kind: int, data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    if kind == TENSOR_Q8_0:
        return dequantise_q8_0(data, shape)
    dtype = {TENSOR_F32: "<f4", TENSOR_F16: "<f2"}[kind]
    return np.frombuffer(data, dtype).astype(np.float32).reshape(shape)


def parse(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Metadata, and tensors by name as float32 with the row as last axis."""
    cursor = Cursor(data)
    if cursor.take(4) != MAGIC:
        raise ValueError("this is not a GGUF file")
    version, tensor_count, value_count = cursor.unpack("<Iqq")
    if version != VERSION:
        raise ValueError(f"GGUF version {version} is not {VERSION}")
    metadata = {}
    for _ in range(value_count):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.unpack("<i")[0])
    table = []
    for _ in range(tensor_count):
        name = cursor.string()
        shape = cursor.unpack(f"<{cursor.unpack('<I')[0]}q")[::-1]
        table.append((name, shape, *cursor.unpack("<iQ")))
    start = align(cursor.at)
    tensors = {}
    for name, shape, kind, offset in table:
        cursor.at = start + offset
        tensors[name] = read_tensor(kind, cursor.take(tensor_bytes(kind, int(np.prod(shape)))), shape)
    return metadata, tensors


def read_file(path: str) -> tuple[dict, dict[str, np.ndarray]]:
    with open(path, "rb") as f:
        return parse(f.read())
