"""What the writer and the reader of GGUF share: type numbers and the Q8_0 block."""

import numpy as np

MAGIC = b"GGUF"
VERSION = 3
ALIGNMENT = 32

# Numbers of metadata value types.
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9

# Numbers of tensor types, and of whole files that mostly have that type.
TENSOR_F32, TENSOR_F16, TENSOR_Q8_0 = 0, 1, 8
FILE_MOSTLY_Q8_0 = 7

Q8_BLOCK = 32
Q8_BLOCK_BYTES = 34  # one f16 scale and 32 signed bytes


def align(offset: int) -> int:
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def tensor_bytes(kind: int, elements: int) -> int:
    if kind == TENSOR_Q8_0:
        return elements // Q8_BLOCK * Q8_BLOCK_BYTES
    return elements * {TENSOR_F32: 4, TENSOR_F16: 2}[kind]


def quantise_q8_0(values: np.ndarray) -> bytes:
    """Q8_0 bytes of a float array whose last axis divides by 32. Per block of 32: scale = max|x| / 127 in half
    precision, then round(x / scale). The error of each value is at most half a scale step, plus what rounding
    the scale to half precision costs (at most 127 * scale * 2^-11)."""
    if values.shape[-1] % Q8_BLOCK:
        raise ValueError(f"a row of {values.shape[-1]} values does not divide into blocks of {Q8_BLOCK}")
    blocks = np.ascontiguousarray(values, np.float32).reshape(-1, Q8_BLOCK)
    scale = np.abs(blocks).max(1, keepdims=True) / 127.0
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    out = np.empty(len(blocks), np.dtype([("d", "<f2"), ("q", "i1", Q8_BLOCK)]))
    out["d"] = scale[:, 0]
    out["q"] = np.rint(blocks * inverse)
    return out.tobytes()


def dequantise_q8_0(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    blocks = np.frombuffer(data, np.dtype([("d", "<f2"), ("q", "i1", Q8_BLOCK)]))
    return (blocks["d"].astype(np.float32)[:, None] * blocks["q"]).reshape(shape)
