"""Arrays as compressed text, for JSON documents."""

import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[Any], dtype: str) -> str:
    """Return numbers of a type such as ``"<i8"`` as text: compressed, in base64."""
    return b64encode(zlib.compress(values.astype(dtype).tobytes(), 9)).decode()


def unpack(text: str, dtype: str, count: int) -> NDArray[Any]:
    """Return the `count` numbers in a text of `pack`; raises ValueError if the text is invalid.

    Memory is bounded by `count` for any input.
    """
    n_bytes = count * np.dtype(dtype).itemsize
    if len(text) > 2 * n_bytes + 100:
        raise ValueError(f"a text of {len(text)} characters is too long for {count} numbers")
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(b64decode(text, validate=True), n_bytes + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(content) != n_bytes or not inflater.eof or inflater.unused_data:
        raise ValueError(f"the text does not hold exactly {count} numbers")
    return np.frombuffer(content, dtype=dtype)
