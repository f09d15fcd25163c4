"""Packages that parts of capball need and that are not installed with it."""

from __future__ import annotations

import importlib
from typing import Any

# Module: the package that has it, and the extra of capball that installs it.
_PACKAGES = {"annoy": ("annoy", "engines"), "faiss": ("faiss-cpu", "engines"), "hnswlib": ("hnswlib", "engines"),
             "usearch": ("usearch", "engines"), "scann": ("scann", "paper"), "psycopg": ("psycopg", ""),
             "sklearn": ("scikit-learn", "sklearn"), "pyod": ("pyod", "pyod"), "torch": ("torch", "torch"),
             "matplotlib": ("matplotlib", "plots"), "tqdm": ("tqdm", ""), "pyarrow": ("pyarrow", ""), "voyager": ("voyager", ""), "lancedb": ("lancedb", ""),
             "qdrant_client": ("qdrant-client", ""), "chromadb": ("chromadb", ""), "milvus_lite": ("milvus-lite", ""),
             "pymilvus": ("pymilvus", ""), "sqlite_vec": ("sqlite-vec", ""), "apsw": ("apsw", ""), "duckdb": ("duckdb", ""),
             "onnx": ("onnx", "")}


def module(name: str) -> Any:
    """The module; where its package is not installed, the error says how to install it."""
    root = name.partition(".")[0]
    try:
        importlib.import_module(root)
    except ModuleNotFoundError as error:
        if error.name != root:
            raise
        package, extra = _PACKAGES[root]
        also = f", or install capball with its extra: capball[{extra}]" if extra else ""
        raise ModuleNotFoundError(f"{package} is not installed: pip install {package}{also}", name=root) from None
    return importlib.import_module(name)
