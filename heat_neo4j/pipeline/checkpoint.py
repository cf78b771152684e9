"""Checkpoint file of a trained model, so that a failed publication does not require another training."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from heat_neo4j._utils.output_file import check_output, write_output
from heat_neo4j._utils.version import __version__
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import check_points
from heat_neo4j.graph import Graph
from heat_neo4j.heat import HEAT

_FORMAT = "heat_neo4j checkpoint"


class Checkpoint:
    """A trained model in a file; without a path, nothing is saved.

    Raises ConfigError if the file is not writable, or exists and is not a checkpoint.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._fingerprint = ""
        self.notes: tuple[str, ...] = ()
        """Notes for the user, set by `restore`."""
        if path is None:
            return
        check_output(path, "checkpoint")
        if path.exists() and self._read() is None:
            raise ConfigError(f"checkpoint {path} is not a checkpoint: choose another name")

    def restore(self, model: HEAT, graph: Graph) -> dict[str, Any] | None:
        """Fit `model` from the file if it is of the same graph and parameters; return the `extra` of `save`.

        Returns None if the file is missing or does not match. Raises ConfigError if it matches but is
        damaged.
        """
        if self._path is None:
            return None
        self._fingerprint = _fingerprint(model, graph)
        content = self._read()
        if content is None:
            return None
        if content["fingerprint"] != self._fingerprint:
            self.notes = (f"checkpoint {self._path} had another graph or other parameters: replaced",)
            return None
        self.notes = (f"training was restored from checkpoint {self._path} of an earlier run",)
        try:
            return _fit_from(model, graph, content)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"checkpoint {self._path} is damaged: delete it, or name another") from error

    def save(self, model: HEAT, extra: Mapping[str, Any]) -> None:
        """Save a fitted model and JSON data; an existing file is replaced atomically."""
        if self._path is None:
            return
        parameters = model.get_params()
        facts = {
            "parameters": {name: parameters[name] for name in parameters if name not in RUNTIME_PARAMETERS},
            "seed": int(model.seed_),
            "pairs": int(model.n_pairs_),
            "training": model.training_,
            "extra": dict(extra),
        }
        file = BytesIO()
        np.savez(
            file,
            format=_FORMAT,
            fingerprint=self._fingerprint,
            facts=_json(facts),
            embedding=model.embedding_,
            losses=model.loss_curve_,
        )
        write_output(self._path, file.getvalue(), "checkpoint", private=True)

    def remove(self) -> None:
        """Remove the file, once the model is published."""
        if self._path is not None:
            self._path.resolve().unlink(missing_ok=True)

    def _read(self) -> dict[str, Any] | None:
        """Return the content of the file; None if there is no checkpoint."""
        assert self._path is not None
        try:
            with self._path.open("rb") as file:
                arrays = np.load(file, allow_pickle=False)
                content = dict(arrays) if isinstance(arrays, NpzFile) else {}
        except (OSError, ValueError, EOFError, BadZipFile):
            return None
        return content if str(content.get("format", "")) == _FORMAT else None


def _fit_from(model: HEAT, graph: Graph, content: Mapping[str, Any]) -> dict[str, Any]:
    """Set `model` from the content of a file and return the extra data; raises an error if it is invalid."""
    facts = json.loads(str(content["facts"]))
    embedding, losses, extra = content["embedding"], content["losses"], facts["extra"]
    if embedding.shape != (graph.n_nodes, model.n_components + 1) or embedding.dtype != np.float64:
        raise ValueError("the embedding is of another shape")
    check_points(embedding)
    if losses.ndim != 1 or losses.dtype != np.float64 or not np.isfinite(losses).all():
        raise ValueError("losses are finite numbers")
    if not isinstance(extra, dict) or not isinstance(facts["training"], dict):
        raise TypeError("the training and the extra data are mappings")
    model.embedding_, model.loss_curve_ = embedding, losses
    model.seed_, model.n_pairs_, model.training_ = int(facts["seed"]), int(facts["pairs"]), facts["training"]
    return extra


def _fingerprint(model: HEAT, graph: Graph) -> str:
    """Return a hash of all inputs of an embedding."""
    parameters = model.get_params()
    digest = blake2b(digest_size=16)
    decisive = {name: parameters[name] for name in sorted(parameters) if name not in RUNTIME_PARAMETERS}
    digest.update(_json([__version__, decisive]).encode())
    digest.update(graph.digest().encode())
    return digest.hexdigest()


def _json(data: Any) -> str:
    return json.dumps(data, default=np.generic.item)  # a parameter may be a scalar of numpy
