"""What is tested of gensim, where it can be installed."""

import sys

import pytest

__all__ = ["needs_gensim"]

needs_gensim = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="gensim 4.4 has no wheels for Python 3.14, and cannot be built for it"
)
