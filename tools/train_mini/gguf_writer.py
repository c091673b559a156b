"""Writes a GGUF version 3 file: header, metadata, tensor table, then aligned tensor data."""

import os
import struct

import numpy as np

from gguf_format import (ALIGNMENT, ARRAY, BOOL, F32, I32, MAGIC, STRING, TENSOR_F16, TENSOR_F32, TENSOR_Q8_0, U32,
                         VERSION, align, quantise_q8_0)


def pack_string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def pack_value(value) -> tuple[int, bytes]:
    """Type number and bytes of a metadata value. bool, int (as u32), float (as f32), str, or a list of one of them
    (ints in a list as i32)."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return STRING, pack_string(value)
    if isinstance(value, list) and value:
        return ARRAY, pack_array(value)
    raise TypeError(f"no GGUF type for {value!r}")


def pack_array(values: list) -> bytes:
    if isinstance(values[0], str):
        return struct.pack("<iQ", STRING, len(values)) + b"".join(map(pack_string, values))
    if isinstance(values[0], int):
        return struct.pack("<iQ", I32, len(values)) + struct.pack(f"<{len(values)}i", *values)
    raise TypeError(f"no GGUF array of {type(values[0]).__name__}")


def pack_tensor(kind: int, values: np.ndarray) -> bytes:
    if kind == TENSOR_Q8_0:
        return quantise_q8_0(values)
    dtype = {TENSOR_F32: "<f4", TENSOR_F16: "<f2"}[kind]
    return np.ascontiguousarray(values, dtype).tobytes()


def pack_file(metadata: dict, tensors: list[tuple[str, int, np.ndarray]]) -> bytes:
    """The whole file. `tensors` are (name, type number, values); the last axis of `values` is the row."""
    head = bytearray(MAGIC + struct.pack("<Iqq", VERSION, len(tensors), len(metadata) + 1))
    for key, value in {"general.alignment": ALIGNMENT, **metadata}.items():
        kind, data = pack_value(value)
        head += pack_string(key) + struct.pack("<i", kind) + data
    body = bytearray()
    for name, kind, values in tensors:
        shape = values.shape[::-1]
        head += pack_string(name) + struct.pack(f"<I{len(shape)}qiQ", len(shape), *shape, kind, len(body))
        body += pack_tensor(kind, values)
        body += bytes(align(len(body)) - len(body))
    return bytes(head) + bytes(align(len(head)) - len(head)) + bytes(body)


def write_file(path: str, metadata: dict, tensors: list[tuple[str, int, np.ndarray]]) -> int:
    """Writes the file whole or not at all (temporary name, then rename). Returns its size in bytes."""
    data = pack_file(metadata, tensors)
    temporary = f"{path}.part"
    with open(temporary, "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.replace(temporary, path)
    return len(data)
