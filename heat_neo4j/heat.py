"""`HEAT`, the main class: it embeds a graph of any supported type; results use node names."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Self
from zipfile import BadZipFile

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from heat_neo4j._utils.display import did_you_mean, plural
from heat_neo4j._utils.frames import column_of, make_frame
from heat_neo4j._utils.output_file import write_output
from heat_neo4j._utils.progress import Progress, as_progress
from heat_neo4j._utils.random import RandomState, draw_seed
from heat_neo4j._utils.validation import check_choice, check_integer
from heat_neo4j.classes.prediction import predict_property
from heat_neo4j.classes.results import PredictedClasses, PredictedNumbers
from heat_neo4j.clusters.result import Clusters, cluster_nodes
from heat_neo4j.duplicates.search import Duplicates, find_duplicates
from heat_neo4j.embedding.fitting import RUNTIME_PARAMETERS, checked_schedule, fit_points
from heat_neo4j.embedding.warm_start import fit_local
from heat_neo4j.errors import ConfigError
from heat_neo4j.geometry.hyperboloid import (
    COORDINATES,
    check_points,
    distance,
    pair_distances,
    radius,
    to_coordinates,
)
from heat_neo4j.geometry.search import columns_of, nearest_neighbours
from heat_neo4j.graph import Graph
from heat_neo4j.inputs.conversion import as_graph
from heat_neo4j.inputs.values import plain_name
from heat_neo4j.linkpred.calibration import CalibrationError
from heat_neo4j.linkpred.candidates import patterns_of
from heat_neo4j.linkpred.explanation import LinkExplanation, explain_likeliest
from heat_neo4j.linkpred.link_score import LinkScore, fit_link_score
from heat_neo4j.linkpred.metrics import auroc
from heat_neo4j.linkpred.prediction import PredictedLinks, predict_links
from heat_neo4j.linkpred.recommendation import (
    Recommended,
    Scorers,
    likeliest_partners,
    patterns_at,
    probabilities,
)
from heat_neo4j.linkpred.rules.learning import learn_schema_rules
from heat_neo4j.linkpred.rules.pattern_rules import Rule
from heat_neo4j.linkpred.rules.schema_rules import SchemaRules
from heat_neo4j.linkpred.splits import draw_non_edges
from heat_neo4j.patterns import Pattern

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_MOST_PAIRS = 1_000_000  # of each kind, by which an embedding is scored
_FORMAT = "heat_neo4j model"
_FACTS, _ARRAYS = ("seed_", "n_pairs_", "training_"), ("embedding_", "loss_curve_")
_NOT_SAVED = ("_scorers", "_learned")  # what is computed again when it is needed
_SCORES = ("link", "distance")


class HEAT(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Hyperbolic embedding of an attributed graph by teleporting random walks.

    Walks start at every node, follow relationships and, with probability `alpha`, jump to a node with similar
    attributes. Nodes close in a walk (pairs D) are drawn together on the hyperboloid, and each is pushed away
    from nodes that it never meets in a walk (negatives outside D), by the softmax loss over exp(-d^2 / (2
    sigma^2)) and Riemannian gradient descent.

    Parameters
    ----------
    n_components : int, 1 to 4,096, default 10
        Dimension d of hyperbolic space. A picture needs 2; a vector index of Neo4j takes no more than 4,096.
    alpha : float in [0, 1] or "auto", default "auto"
        Share of steps that follow attributes; 0 is topology only. "auto" measures how well each attribute
        separates linked nodes from others: steps follow the informative ones only, with a share of 0.2. If
        none is, the share is 0, or 0.05 if over 5% of the nodes lie outside the largest component. A number
        applies to all attributes.
    forward : float in [0, 1], default 0.5
        Weight of a step along a relationship; a step against its direction weighs 1 - `forward`. 0.5 ignores
        direction, 1 only follows it. Values other than 0.5 need a directed graph.
    type_balance : float in [0, 1], default 0.0
        How evenly relationship types count: at 0, steps choose relationships by weight; at 1, they first
        choose a type uniformly. Above 0 it needs a graph with types.
    hierarchy : str, optional
        Relationship type from specific to general nodes, or the reverse, such as "HYPERNYM". Each node is
        then trained near all its ancestors, and lies farther from the centre than they do; other
        relationships and attributes also count. See Notes.
    sigma : float above 0, default 1.0
        Width of the Gaussian on hyperbolic distance.
    walks_per_node : int, at least 1, default 10
        Walks from every node. With 50,000 nodes or more, from every cluster; see Notes.
    walk_length : int, at least 2, default 80
        Nodes in a walk.
    window_size : int, at least 1, default 3
        Largest number of steps between the two nodes of a pair.
    n_negatives : int, at least 1, default 10
        Negative samples per pair. All pairs of a walk position share them.
    negative_exponent : float in [0, 1], default 0.5
        Negatives are drawn by occurrences in walks to this power. The paper uses 0.75; 0.5 predicted links
        better on the three benchmark graphs, with the tuning seeds.
    learning_rate : float above 0, default 0.05
        Initial step size per pair, 1.7 times as large in buckets; it falls linearly to 0. With this factor,
        training in buckets (see `n_parts`) predicts links as well as in batches. Training that diverges
        restarts with half the rate. ``training_["effective_learning_rate"]`` is what was used.
    batch_size : int, at least 1, default: 320, or N / 96 up to 1,280
        Walk positions per batch. At most 10 are from one walk; points move only after the batch. At most
        N / 8 on small graphs.
    n_epochs : int, at least 1, default 1
        Passes over the walks.
    n_parts : int, at least 1, default: by number of nodes
        Parts of the nodes for training in buckets; 1 trains in batches. A bucket trains the pairs of two
        parts. Nodes are reassigned in each round of walks, at least 10 per part. The result depends on it.
        The default is 1 below 10,000 nodes, then 16, up to 32 from two million nodes, or 64 with more walks.
    refine : bool, default True
        Move trained points a little towards their neighbours, and adjust radii to degrees. The paper does
        not do this. With a hierarchy, radii put each node nearer the centre than its descendants.
    time_limit : float above 0, default: none
        Stop training after this many seconds, or shortly after, and keep the result. If it finishes in time,
        the bits are those without a limit.
    n_threads : int, at least 1, default: the processors it may use
        Maximum number of threads. It is capped by the CPU affinity and quota of this process. Training uses
        fewer threads while other programs keep the processors busy. The result is the same to the bit.
    scratch : str or Path of a folder, optional
        Folder to train from disk in little memory; a killed run resumes there. Training in buckets then needs
        memory for two parts per thread, and for randomly accessed walk and negative tables. A killed training
        resumes, with the same bits, when `fit` is called again with the same graph and parameters.
    scheduler : str, optional
        Dask scheduler, such as tcp://host:8786; its workers share the scratch folder. They train buckets and
        must see the folder at the same path; links are predicted here. For a ``distributed.Client`` pass
        ``client.scheduler.address``. The bits do not change.
    random_state : int, at least 0, or numpy.random.RandomState, default: drawn, and recorded
        Seed: the same graph, parameters and seed give the same bits. With a RandomState or None it is drawn;
        see `seed_`.

    Attributes
    ----------
    embedding_ : float64 array of shape (N, d + 1)
        Points on the hyperboloid, time coordinate last, rows as in the graph.
    graph_ : Graph
        Embedded graph.
    loss_curve_ : float64 array
        Mean loss per pair in each round (one walk from every node), in nats; ln(1 + n_negatives) at chance.
    n_pairs_ : int
        Pairs trained.
    seed_ : int
        The seed used.
    link_score_ : LinkScore
        Ranks links and gives their probabilities. Fitted on first use by `predict_links`, `score_pairs`,
        `recommend` or `explain`, with another training without a tenth of the edges.
    training_ : dict
        Plain data about the fit: seconds of each stage, counters, and whether the exclusion of D was exact.

    Notes
    -----
    From 50,000 nodes up, training starts from coarse graphs, whose nodes are clusters of up to 16, then 4
    neighbouring nodes. `walks_per_node` walks start from each cluster of the coarsest graph, and 0.3 times
    as many from each cluster of the next and from each node. ``training_["coarse"]`` has the number of
    clusters. Training with given points (`start`) or a `hierarchy` uses no coarse graphs.

    With a `hierarchy`, points start in nested caps of directions, one per node, sized by its number of
    descendants; they are then trained in memory, in batches. In 2 * `walks_per_node` rounds (20 * if other
    relationships count), each node is drawn to its ancestors, 64 at most, and to nodes that walks of
    `window_size` steps reach before using the hierarchy. The step is a tenth of `learning_rate`. Nodes
    outside the hierarchy start among their neighbours or nodes with similar attributes, otherwise as far out
    as leaves. Nodes in a cycle are equally general. The end of the relationships that leads to fewer roots is
    the more general one. The hierarchy may have at most 268 million (node, ancestor) pairs: 1 GiB.

    References
    ----------
    McDonald and He, "HEAT: Hyperbolic Embedding of Attributed Networks", IDEAL 2020.

    Examples
    --------
    Pass a weight matrix, a NetworkX or igraph graph, or a data frame of edges:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from heat_neo4j import HEAT
    >>> ring = sparse.csr_array(np.roll(np.eye(40), 1, axis=1))
    >>> model = HEAT(n_components=2, random_state=0).fit(ring)
    >>> model.embedding_.shape
    (40, 3)
    >>> distances, nodes = model.kneighbors([7], n_neighbors=2)
    >>> sorted(nodes[0].tolist())
    [6, 8]
    """

    embedding_: Array
    graph_: Graph
    link_score_: LinkScore
    loss_curve_: Array
    n_features_in_: int
    n_pairs_: int
    seed_: int
    training_: dict[str, Any]

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float | Literal["auto"] = "auto",
        forward: float = 0.5,
        type_balance: float = 0.0,
        hierarchy: str | None = None,
        sigma: float = 1.0,
        walks_per_node: int = 10,
        walk_length: int = 80,
        window_size: int = 3,
        n_negatives: int = 10,
        negative_exponent: float = 0.5,
        learning_rate: float = 0.05,
        batch_size: int | None = None,
        n_epochs: int = 1,
        n_parts: int | None = None,
        refine: bool = True,
        time_limit: float | None = None,
        n_threads: int | None = None,
        scratch: str | Path | None = None,
        scheduler: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.forward = forward
        self.type_balance = type_balance
        self.hierarchy = hierarchy
        self.sigma = sigma
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.window_size = window_size
        self.n_negatives = n_negatives
        self.negative_exponent = negative_exponent
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.n_parts = n_parts
        self.refine = refine
        self.time_limit = time_limit
        self.n_threads = n_threads
        self.scratch = scratch
        self.scheduler = scheduler
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise a TypeError or ValueError if a parameter is out of range, as `fit` does."""
        checked_schedule(self)

    @property
    def alpha_(self) -> float:
        """Share of steps that followed attributes; ``training_["attributes"]`` has the measurements."""
        return float(self.training_["alpha"])

    @cached_property
    def nodes_(self) -> NDArray[Any]:
        """Node names in results, an array of shape (N,); see `as_graph`."""
        return column_of(self.graph_.names)

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        attributes: Any = None,
        text: Sequence[str] = (),
        encode: Sequence[str] = (),
        start: Array | None = None,
        on_progress: Progress | bool = False,
    ) -> Self:
        """Embed a graph.

        Parameters
        ----------
        X : Graph or input of `as_graph`
            A square SciPy or NumPy matrix, a graph of NetworkX, igraph or PyTorch Geometric, or a data frame
            of edges; of at least two nodes, and one possible step.
        y : None
            Ignored; there for scikit-learn's conventions.
        attributes : optional
            Attributes of the nodes, as `as_graph` takes them.
        text : sequence of str
            Names of attributes whose strings are compared by words.
        encode : sequence of str
            Names of attributes whose texts become vectors; see `as_graph`.
        start : float64 array of shape (N, d + 1), optional
            Points to start from, such as those of an earlier fit; close to the origin if not given.
            ``training_["start"]`` is their digest; a model published from this fit cannot be verified.
        on_progress : callable or bool
            Called with the stages "coarse", on large graphs, "walks" and "train"; True draws bars.

        Returns
        -------
        HEAT
            Itself, fitted.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of range, needs directions or types that the graph lacks, the hierarchy has
            no order or is too large, `X` or `attributes` are invalid, or `start` is not N points on the
            hyperboloid.
        DivergedError
            If coordinates become NaN, as with a very small `sigma`; also a ConfigError and ValueError.
        ConfigError
            If `scratch` is required but missing, not writable, or in use by another run of this training.
        ConnectionFailed
            If the cluster's scheduler does not answer or was lost.
        NothingToLearnError
            If the graph offers no pair to learn from; also a ValueError.
        """
        self.check_parameters()
        graph = as_graph(X, attributes, text=text, encode=encode)
        fitted = fit_points(self, graph, start, as_progress(on_progress))
        self.embedding_, self.loss_curve_, self.n_pairs_, self.seed_, self.training_ = fitted
        return self._of(graph)

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator and its graph to a file, without pickle.

        Parameters
        ----------
        path : str or Path
            The file, such as "papers.heat"; an existing one is replaced.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        TypeError
            If node names are not numbers, strings or tuples of these.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        ::

            model.save("papers.heat")
            HEAT.load("papers.heat").kneighbors(["p1"])
        """
        check_is_fitted(self, "embedding_")
        arrays, facts = self.graph_.packed()
        given = self.get_params()
        parameters = {name: given[name] for name in given if name not in RUNTIME_PARAMETERS}
        parameters["random_state"] = None if self.random_state is None else self.seed_
        score = vars(self).get("link_score_")
        held = {
            "parameters": parameters,
            "score": None if score is None else score.to_dict(),
            "graph": facts,
            **{name: vars(self).get(name) for name in _FACTS},
        }
        file = BytesIO()
        text = json.dumps(held, default=np.generic.item)
        own: dict[str, Any] = {name: vars(self)[name] for name in _ARRAYS if name in vars(self)}
        own |= arrays
        np.savez_compressed(file, **own, format=np.array(_FORMAT), facts=np.array(text))
        write_output(Path(path), file.getvalue(), "model file")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the estimator that `save` wrote to a file; it gives the same answers.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ConfigError
            If the file cannot be read, or `save` did not write it.
        """
        try:
            with Path(path).open("rb") as file:
                arrays = dict(np.load(file, allow_pickle=False))
            if str(arrays.pop("format")) != _FORMAT:
                raise ValueError("another kind of file")
            held = json.loads(str(arrays.pop("facts")))
            graph = Graph.unpacked(arrays, held["graph"])
            model = cls.from_points(graph, arrays["embedding_"], **held["parameters"])
            for name, value in ({name: held[name] for name in _FACTS} | arrays).items():
                if name in (*_FACTS, *_ARRAYS) and value is not None:
                    setattr(model, name, value)
            if held["score"] is not None:
                model.link_score_ = LinkScore.from_dict(held["score"])
        except OSError as error:
            raise ConfigError(f"model file {path}: cannot be read: {error.strerror or error}") from error
        except (AttributeError, BadZipFile, EOFError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"model file {path}: is damaged, or not written by HEAT.save") from error
        return model

    @classmethod
    def from_points(cls, graph: Any, points: Array, **parameters: Any) -> Self:
        """Return an estimator with given points, as if it had been fitted.

        Parameters
        ----------
        graph : Graph, or what `as_graph` takes
            What was embedded.
        points : float64 array of shape (N, d + 1)
            Points of the hyperboloid, time coordinate last.
        **parameters
            Parameters of HEAT; `points` gives `n_components`.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of range, or `points` are not N points on the hyperboloid.
        """
        own, points = as_graph(graph), np.array(points, dtype=np.float64)  # a copy: the caller's may change
        columns_of(points, own.n_nodes)
        model = cls(**{**parameters, "n_components": points.shape[1] - 1})
        checked_schedule(model)
        model.embedding_, model.seed_ = points, draw_seed(model.random_state)
        return model._of(own)

    def _of(self, graph: Graph) -> Self:
        self.graph_ = graph
        self.n_features_in_ = graph.n_nodes  # as of any matrix with a row and a column for each node
        for name in ("link_score_", "nodes_", *_NOT_SAVED):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self

    def fit_transform(self, X: Any, y: None = None, **parameters: Any) -> Any:
        """Embed a graph and return its points, as `transform` would; parameters are those of `fit`."""
        return self._output(self.fit(X, **parameters).embedding_, self.graph_.names)

    def transform(self, X: Any, *, attributes: Any = None) -> Any:
        """Return points for the nodes of a graph; some may be new.

        Nodes that were embedded keep their points bit for bit. Nodes with new names are placed among them by
        a separate training, as in `heat refresh`.

        Parameters
        ----------
        X, attributes
            As for `fit`; named attributes are encoded as in the embedded graph.

        Returns
        -------
        float64 array of shape (M, d + 1), or a data frame
            Points of the hyperboloid, rows as in `X`; a data frame if `set_output` asked for one.

        Raises
        ------
        TypeError, ValueError
            As for `fit`; also if no node of `X` was embedded, or its attributes differ.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self, "embedding_")
        graph = as_graph(X, attributes, recipe=self.graph_.provenance.attribute_recipe or None)
        row_of = self._row_of()
        rows = np.array([row_of.get(name, -1) for name in graph.names], dtype=np.int64)
        new = rows < 0
        points = self.embedding_[rows]
        if new.any():
            if new.all():
                raise ValueError("no node of the graph was embedded: are nodes named as in `fit`?")
            if graph.n_attributes != self.graph_.n_attributes:
                counts = plural(graph.n_attributes, "attribute")
                raise ValueError(f"the graph has {counts}, the embedded one {self.graph_.n_attributes}")
            placed = clone(self).set_params(random_state=self.seed_)
            points = fit_local(placed, graph, points, new).embedding_
        return self._output(points, graph.names)

    def kneighbors(self, nodes: Any = None, n_neighbors: int = 10, return_distance: bool = True) -> Any:
        """Return the exact nearest nodes of some nodes or points, nearest first.

        Parameters
        ----------
        nodes : iterable, or float64 array of shape (m, d + 1), or data frame, optional
            Node names, by default all in the order of `nodes_`; a node is not its own neighbour. Or points on
            the hyperboloid, as from `transform`; the nearest node may then coincide.
        n_neighbors : int
            Neighbours of each; at most all other nodes.
        return_distance : bool
            Whether distances are returned too.

        Returns
        -------
        distances : float64 array of shape (m, n_neighbors)
            Hyperbolic distances; left out unless `return_distance`.
        neighbours : array of shape (m, n_neighbors)
            Names of the neighbours, or row numbers, as in scikit-learn, if the graph has no names.

        Raises
        ------
        TypeError, ValueError
            If `n_neighbors` is below 1, a node was not embedded, or points are not on the hyperboloid.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self, "embedding_")
        check_integer("n_neighbors", n_neighbors, minimum=1)
        asked: dict[str, Any] = {}
        if len(getattr(nodes, "shape", ())) == 2:
            asked["points"] = self._checked(np.asarray(nodes, dtype=np.float64))
        elif nodes is not None:
            asked["rows"] = self._rows(nodes)
        found = nearest_neighbours(self.embedding_, n_neighbors, **asked, n_threads=self.n_threads)
        neighbours = self.nodes_[found.partner]
        return (found.distance, neighbours) if return_distance else neighbours

    def distance(self, a: Any, b: Any) -> Any:
        """Return the hyperbolic distance between two nodes, or for many pairs.

        Parameters
        ----------
        a, b : object, or list or array of objects
            Node names. A single name is paired with all others.

        Returns
        -------
        float, or float64 array of shape (m,)

        Raises
        ------
        ValueError
            If a node was not embedded, or `a` and `b` are of different lengths.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, random_state=0).fit(nx.path_graph(20))
        >>> model.distance(3, 4) < model.distance(3, 15)
        True
        >>> model.distance(3, [4, 15]).shape
        (2,)
        """
        check_is_fitted(self, "embedding_")
        rows = [self._rows([end] if self._is_one(end) else end) for end in (a, b)]
        if rows[0].size != rows[1].size and not (self._is_one(a) or self._is_one(b)):
            ends = " and ".join(plural(each.size, "node") for each in rows)
            raise ValueError(f"a and b are {ends}: give equally many, or one for a or b")
        apart = distance(*(self.embedding_[each] for each in rows))
        return float(apart[0]) if self._is_one(a) and self._is_one(b) else apart

    def clusters(self, levels: Sequence[int] | None = None, *, previous: Clusters | None = None) -> Clusters:
        """Group the nodes on several levels: few large groups that consist of smaller ones.

        Nodes are moved towards their nearest nodes and their graph neighbours, and then grouped by direction.
        A group is named by its most central node.

        Parameters
        ----------
        levels : sequence of int, optional
            How many clusters each level has, ascending; up to ten and sqrt(N) if not given, with a level
            between them in a graph of more than 10,000 nodes.
        previous : Clusters, optional
            Clusters of an earlier version of the graph. Nodes keep their cluster unless they have clearly
            moved, new nodes join one, and clusters keep their numbers.

        Returns
        -------
        Clusters
            The same for any number of threads.

        Raises
        ------
        TypeError, ValueError
            If `levels` do not ascend or are given with `previous`, or `previous` shares no node with the
            graph.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, random_state=0).fit(nx.les_miserables_graph())
        >>> model.clusters(levels=[2, 6])
        Clusters(77 nodes in 2 and 6 clusters)
        """
        check_is_fitted(self, "embedding_")
        return cluster_nodes(
            self.embedding_,
            self.graph_,
            levels=levels,
            previous=previous,
            seed=self.seed_,
            n_threads=self.n_threads,
        )

    def predict_links(
        self,
        k: int | None = 10,
        *,
        score: str = "link",
        max_links: int | None = None,
        patterns: Sequence[str | Sequence[str]] = (),
        min_degree: int = 0,
        max_degree: int | None = None,
        min_probability: float | None = None,
        rules: bool = True,
        on_progress: Progress | bool = False,
    ) -> PredictedLinks:
        """Return the likeliest missing links of each pattern.

        Parameters
        ----------
        k : int, optional
            Links per node, split evenly among its label's patterns. None sets no limit per node;
            `max_links` must then be given.
        score : {"link", "distance"}
            Rank by `link_score_`, which also gives probabilities, or by distance alone. If there are too few
            edges to fit a score, distance is used, with a warning.
        max_links : int, optional
            Maximum links per pattern; by default its number of relationships.
        patterns : sequence of str or of (source label, type, target label), optional
            What to predict, such as ``"User-RATED->Movie"``; all patterns of the graph if not given, except
            those with fewer than 10 relationships and less than a tenth of all.
        min_degree : int, optional
            Leave out nodes with fewer neighbours.
        max_degree : int, optional
            Leave out nodes with more neighbours.
        min_probability : float, optional
            Leave out links that are less likely, [0, 1]; 0.05 by default, or no minimum by distance.
        rules : bool
            Drop links that break learned rules, such as a second director of a film.
        on_progress : callable or bool
            Called with ("<pattern>: links", nodes done, total nodes); True draws bars.

        Returns
        -------
        PredictedLinks
            The same bits for any number of threads.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of range, a pattern is not in the graph, or `min_probability` is set with
            score "distance".
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(nx.les_miserables_graph())
        >>> links = model.predict_links(k=3)
        >>> list(links.to_frame("pandas"))
        ['source', 'target', 'distance', 'probability', 'rank']
        """
        check_is_fitted(self, "embedding_")
        check_choice("score", score, _SCORES)
        if score == "distance" and min_probability:
            raise ValueError("links ranked by distance have no probability: leave `min_probability` out")
        progress = as_progress(on_progress)
        fitted = self._score_or_none(progress) if score == "link" else None
        return predict_links(
            self,
            self.graph_,
            k,
            max_links=max_links,
            patterns=patterns,
            min_degree=min_degree,
            max_degree=max_degree,
            min_probability=min_probability,
            rules=rules,
            score=fitted,
            n_threads=self.n_threads,
            on_progress=progress,
        )

    def score_pairs(
        self,
        pairs: Any,
        *,
        pattern: str | Sequence[str] | None = None,
        return_log_odds: bool = False,
    ) -> Any:
        """Return how likely links between given nodes are.

        Parameters
        ----------
        pairs : iterable of (source, target), or array or data frame of shape (m, 2)
            Node names. A link that exists is among the evidence for and against it; `explain` leaves it out.
        pattern : str or (source label, type, target label), optional
            Pattern of the links, such as ``"User-RATED->Movie"`` or ``"*-RATED->*"``. By default the
            likeliest of each pair.
        return_log_odds : bool
            Whether log odds are returned too: they also rank pairs of the same probability.

        Returns
        -------
        probability : float64 array of shape (m,)
            NaN where no pattern of the graph leads from the source's labels to the target's, and for a node
            with itself. Where each node has at most one link of a type, all its pairs are scored, as they
            compete (see `recommend`).
        log_odds : float64 array of shape (m,)
            Left out unless `return_log_odds`.

        Raises
        ------
        ValueError
            If a node was not embedded, or the graph has no such pattern.
        CalibrationError
            If the graph has too few edges to fit `link_score_`; also a ValueError.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(nx.les_miserables_graph())
        >>> likely, unlikely = model.score_pairs([("Brujon", "Joly"), ("Scaufflaire", "Joly")])
        >>> bool(likely > unlikely)
        True
        """
        check_is_fitted(self, "embedding_")
        named = np.asarray(pairs, dtype=object) if hasattr(pairs, "shape") else None
        ends = list(pairs if named is None else named)
        if any(isinstance(each, str) or not hasattr(each, "__len__") or len(each) != 2 for each in ends):
            raise ValueError("pairs must be a list of pairs of names: [(source, target), ...]")
        rows = np.column_stack([self._rows([each[end] for each in ends]) for end in (0, 1)])
        patterns = self._patterns(pattern)
        found = probabilities(self.graph_, self._fitted_scorers(), self._rules(patterns), patterns, rows)
        return found[:2] if return_log_odds else found[0]

    def recommend(
        self,
        node: Any,
        k: int = 10,
        *,
        patterns: Sequence[str | Sequence[str]] = (),
        reverse: bool = False,
        rules: bool = True,
        min_degree: int = 0,
    ) -> PredictedLinks:
        """Return the likeliest missing links of one node.

        Parameters
        ----------
        node : object
            Its name.
        k : int
            How many of each pattern, 1 or more.
        patterns : sequence of str or of (source label, type, target label), optional
            What to predict, such as ``"User-RATED->Movie"``; all that the node's labels allow if not given.
        reverse : bool
            Whether the node is the target: who would link to it?
        rules : bool
            Leave out links that break learned rules, such as a second director of a film. A pattern is also
            left out if the node has all its links, unless `patterns` names it or it is the only one.
        min_degree : int
            Leave out nodes with fewer neighbours.

        Returns
        -------
        PredictedLinks
            The likeliest first. If the graph has too few edges to fit `link_score_`, the nearest first, and a
            warning says so.

        Raises
        ------
        TypeError, ValueError
            If `k` is below 1 or `min_degree` below 0, the node was not embedded, or no pattern starts (or
            ends) at its labels.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(nx.les_miserables_graph())
        >>> len(model.recommend("Javert", k=3).to_frame("pandas"))
        3
        """
        check_is_fitted(self, "embedding_")
        (row,) = self._rows([node]).tolist()
        chosen = self._patterns(*patterns)
        allowed = patterns_at(self.graph_, chosen, row, reverse=reverse)
        if not allowed:
            role, other = ("target", "False") if reverse else ("source", "True")
            raise ValueError(f"{node!r} is not the {role} of any pattern: try reverse={other}")
        scorers = None if self._score_or_none(as_progress(False)) is None else self._fitted_scorers()
        learned = self._rules(allowed) if rules else None
        if learned is not None and not patterns:
            full = learned.full_at(self.graph_, row, Rule.PER_TARGET if reverse else Rule.PER_SOURCE)
            allowed = tuple(each for each in allowed if each not in full) or allowed
        found = likeliest_partners(
            self.embedding_,
            self.graph_,
            allowed,
            row,
            k,
            reverse=reverse,
            scorers=scorers,
            rules=learned,
            min_degree=min_degree,
        )
        return _links_of(found, row, self.graph_, None if scorers is None else self.link_score_)

    def explain(
        self, source: Any, target: Any, *, pattern: str | Sequence[str] | None = None
    ) -> LinkExplanation:
        """Explain the probability of one link: what each feature adds, and what the two nodes share.

        Parameters
        ----------
        source, target : object
            Name of the node. If the link exists, it is explained as if it did not.
        pattern : str or (source label, type, target label), optional
            Pattern of the link, such as ``"User-RATED->Movie"``; * is any name. By default the likeliest that
            the labels allow; the others are `alternatives`.

        Returns
        -------
        LinkExplanation

        Raises
        ------
        ValueError
            If a node was not embedded, both are the same, or no pattern of the graph joins their labels.
        CalibrationError
            If the graph has too few edges to fit `link_score_`; also a ValueError.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(nx.les_miserables_graph())
        >>> why = model.explain("Brujon", "Joly")
        >>> bool(np.isclose(why.to_frame("pandas")["log_odds"].sum(), why.log_odds))
        True
        """
        check_is_fitted(self, "embedding_")
        rows = self._rows([source, target])
        pair = (int(rows[0]), int(rows[1]))
        if pair[0] == pair[1]:
            raise ValueError(f"{source!r} is both source and target: a link joins two nodes")
        patterns = self._patterns(pattern)
        if patterns == (None,):  # as in `predict_links`
            pair = min(pair), max(pair)
        fitted, score, names = self._fitted_scorers(), self.link_score_, self.graph_.names

        def scorers_of(graph: Graph) -> Scorers:
            return fitted if graph is self.graph_ else score.scorers(self.embedding_, graph)

        found = explain_likeliest(self.embedding_, self.graph_, patterns, pair, scorers_of, names)
        if found is None:
            raise ValueError(
                f"no pattern of the graph leads from {source!r} to {target!r}: try the reverse order"
            )
        return found

    def classify(
        self,
        values: Any,
        *,
        kind: Literal["class", "number"] | None = None,
        label: str | None = None,
        on_progress: Progress | bool = False,
    ) -> PredictedClasses | PredictedNumbers:
        """Predict the class, or the number, of the nodes that have none.

        Regressions on coordinates, attributes, neighbours' attributes and relationships are pooled with the
        neighbours' values, by how well they predict unseen nodes.

        Parameters
        ----------
        values : mapping of names to values, Series, or sequence of N values
            Value of each node: a text, a number or a boolean; None or NaN where unknown. A sequence is in the
            order of `nodes_`. It must not be among the attributes that the model was fitted with.
        kind : {"class", "number"}, optional
            What is predicted: one of the known values, or any number in their range. By default, a number
            if the known values are more than 20 different numbers, otherwise a class.
        label : str, optional
            Predict nodes of this label; by default those with the same labels as any node with a value.
        on_progress : callable or bool
            Called with ("classify", inputs done, total); True draws bars.

        Returns
        -------
        PredictedClasses or PredictedNumbers
            The same bits for any number of threads.

        Raises
        ------
        ClassificationError
            If fewer than 20 nodes have a value, or the values cannot be learned; also a ValueError.
        ValueError
            If a node was not embedded.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> graph = nx.karate_club_graph()
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(graph)
        >>> club = {node: graph.nodes[node]["club"] for node in range(30)}
        >>> len(model.classify(club))
        4
        """
        check_is_fitted(self, "embedding_")
        by_row = self._by_row(values)
        seed, progress = int(getattr(self, "seed_", 0)), as_progress(on_progress)
        return predict_property(
            self.graph_, self.embedding_, by_row, kind=kind, label=label, seed=seed, on_progress=progress
        )

    def duplicates(
        self,
        names: Sequence[Any] | None = None,
        properties: Mapping[str, Sequence[Any]] | None = None,
        *,
        label: str | None = None,
        unique: Sequence[str] = (),
        k: int = 100,
        min_probability: float = 0.0,
    ) -> Duplicates:
        """Return the pairs of nodes that are most likely the same thing.

        Compares names by letters, by words in any order and as acronyms; then neighbours, distance in the
        embedding, vectors, and values of other properties. If each node has one relationship of a type, such
        as a city to its country, different targets count against a pair.

        Parameters
        ----------
        names : sequence of str, optional
            Name of each node, None where it has none; those of `nodes_` if not given.
        properties : mapping of str to sequence, optional
            Values of other properties, one or a list for each node, None where unknown.
        label : str, optional
            Compare nodes with this label only; by default, nodes with the same labels.
        unique : sequence of str, optional
            Properties with one value per thing, such as a birthday (unlike email addresses): pairs that
            differ in one are left out.
        k : int
            How many pairs, 1 or more.
        min_probability : float
            Leave out pairs that are less likely, [0, 1].

        Returns
        -------
        Duplicates
            The likeliest first, without pairs that a relationship joins. The same bits for any number of
            threads.

        Raises
        ------
        ValueError
            If a parameter is out of range, a property lacks one value per node, there is no such label or
            property, or there are fewer than two nodes to compare.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        No pair is labelled, so probabilities assume how similar the names of duplicates usually are; how many
        share neighbours is learned. Probabilities are too high for different things with nearly the same
        name, such as two releases of a library.

        References
        ----------
        Fellegi and Sunter, "A theory for record linkage", JASA 64 (1969).

        Examples
        --------
        >>> import networkx as nx
        >>> from heat_neo4j import HEAT
        >>> graph = nx.les_miserables_graph()
        >>> graph.add_edges_from([("Jean Valjaen", each) for each in list(graph["Valjean"])[::2]])
        >>> model = HEAT(n_components=2, walks_per_node=2, random_state=0).fit(graph)
        >>> names = ["Jean Valjean" if name == "Valjean" else name for name in model.nodes_]
        >>> model.duplicates(names, k=1).to_frame("pandas")["second"].item()
        'Jean Valjaen'
        """
        check_is_fitted(self, "embedding_")
        return find_duplicates(
            self.embedding_,
            self.graph_,
            self.graph_.names if names is None else names,
            properties,
            label=label,
            unique=unique,
            k=k,
            min_probability=min_probability,
            n_threads=self.n_threads,
        )

    def score(self, X: Any = None, y: None = None) -> float:
        """Return the AUROC of distances: how well they separate edges of a graph from other pairs.

        Parameters
        ----------
        X : optional
            A graph of embedded nodes, such as held-out edges, in any form that `fit` takes; by default the
            embedded graph. Edges of other nodes are left out, with a warning.
        y : None
            Ignored.

        Returns
        -------
        float
            In [0, 1], .5 at chance, over at most a million edges and as many pairs that are edges of neither
            graph, drawn by `seed_`.

        Raises
        ------
        TypeError, ValueError
            If `X` is not a graph or has no edge between embedded nodes; or if all pairs are edges.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self, "embedding_")
        graph, n = self.graph_ if X is None else as_graph(X), len(self.nodes_)
        of_seed = np.random.SeedSequence(self.seed_).spawn(2)
        edges = _sorted_pairs(self._embedded_edges(graph), n)
        if not len(edges):
            raise ValueError("the graph has no edge to compare with others")
        known = np.column_stack((self.graph_.edges.row, self.graph_.edges.col)).astype(np.int64)
        neither = _sorted_pairs(np.concatenate((edges, known)), n)
        if len(edges) > _MOST_PAIRS:
            edges = edges[np.random.default_rng(of_seed[0]).choice(len(edges), _MOST_PAIRS, replace=False)]
        others = draw_non_edges(neither, n, len(edges), of_seed[1])
        return auroc(-pair_distances(self.embedding_, edges), -pair_distances(self.embedding_, others))

    def to_frame(self, coordinates: str = "poincare", backend: str | None = None) -> Any:
        """Return the embedding as a data frame, a row for each node.

        Parameters
        ----------
        coordinates : {"poincare", "klein", "hyperboloid"}
            Coordinates in columns "heat0", "heat1", ...: of the Poincare or Klein ball, or those of
            `embedding_`.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first installed.

        Returns
        -------
        data frame
            Also "radius", the hyperbolic distance from the centre, and "node", the node names, which are the
            index in pandas.

        Raises
        ------
        ValueError
            If `coordinates` is unknown.
        ConfigError
            If the library, or every one, is missing.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        """
        check_is_fitted(self, "embedding_")
        check_choice("coordinates", coordinates, COORDINATES)
        values = to_coordinates(self.embedding_, coordinates)
        columns = {"node": self.nodes_, **_columns(values), "radius": radius(self.embedding_)}
        return make_frame(columns, backend, index="node")

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return, as in scikit-learn.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a data frame (in pandas indexed by node name). None changes nothing; others raise
            ValueError.

        Returns
        -------
        HEAT
            Itself.
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"transform must be default, pandas or polars, got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # by which `clone` keeps it
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: "heat0" to "heat<d>"."""
        check_is_fitted(self, "embedding_")
        return np.array(list(_columns(self.embedding_)), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = []
        tags.non_deterministic = self.random_state is None
        return tags

    def _output(self, points: Array, names: Sequence[Any]) -> Any:
        ours = vars(self).get("_sklearn_output_config", {}).get("transform")
        wanted = ours or sklearn.get_config()["transform_output"]
        if wanted == "default":
            return points
        if wanted == "pandas":
            return make_frame({"node": column_of(names), **_columns(points)}, wanted, index="node")
        return make_frame(_columns(points), wanted)

    def _embedded_edges(self, graph: Graph) -> Rows:
        """Return the edges of `graph` whose ends were embedded, as pairs of rows; warn of the others."""
        row_of = self._row_of()
        rows = np.array([row_of.get(name, -1) for name in graph.names], dtype=np.int64)
        edges = rows[np.column_stack((graph.edges.row, graph.edges.col))]
        is_known = (edges >= 0).all(axis=1)
        advice = "evaluate_links holds out edges so that every node is embedded"
        if len(edges) and not is_known.any():
            raise ValueError(f"no edge of the graph joins two nodes that were embedded: {advice}")
        if not is_known.all():
            left_out = f"{len(edges) - int(is_known.sum()):,} of {plural(len(edges), 'edge')}"
            what = f"left out of the score: {left_out} with a node that was not embedded"
            warnings.warn(f"{what}: {advice}", stacklevel=3)
        return edges[is_known]

    def _score_or_none(self, on_progress: Progress) -> LinkScore | None:
        """Return the link score, fitted if need be; None, and a warning, if there are too few edges."""
        try:
            return self._fitted_score(on_progress)
        except CalibrationError as error:
            warnings.warn(f"{error}; the nearest come first", stacklevel=3)
            return None

    def _fitted_score(self, on_progress: Progress) -> LinkScore:
        if not hasattr(self, "link_score_"):
            self.link_score_ = fit_link_score(self, self.graph_, on_progress=on_progress)
        return self.link_score_

    def _fitted_scorers(self) -> Scorers:
        """Return the scorers of the link score; a pattern's features are cached."""
        if "_scorers" not in vars(self):
            score = self._fitted_score(as_progress(False))
            self._scorers: Scorers = cache(score.scorers(self.embedding_, self.graph_))
        return self._scorers

    def _rules(self, patterns: Sequence[Pattern | None]) -> SchemaRules:
        """Return the rules of some patterns; they are cached."""
        if "_learned" not in vars(self):
            self._learned = cache(partial(learn_schema_rules, self.graph_))
        return self._learned(tuple(patterns))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in _NOT_SAVED}

    def _patterns(self, *specs: str | Sequence[str] | None) -> Sequence[Pattern | None]:
        """Return the patterns that `specs` name, except None; all common ones if there is none."""
        named = [each for each in specs if each is not None]
        if self.graph_.relationships is None:
            if named:
                raise ValueError("patterns need a graph with typed relationships")
            return (None,)
        return patterns_of(self.graph_, named)

    def _row_of(self) -> dict[Any, int]:
        return {name: row for row, name in enumerate(self.graph_.names)}

    def _is_one(self, nodes: Any) -> bool:
        """Return whether `nodes` is the name of one node, not several names; a tuple may be either."""
        is_name = isinstance(nodes, tuple) and nodes in self._row_of()
        return is_name or isinstance(nodes, str) or not isinstance(nodes, Iterable)

    def _checked(self, points: Array) -> Array:
        """Return `points` after checking their dimension."""
        if points.shape[1] != self.embedding_.shape[1]:
            raise ValueError(f"points must have shape (m, {self.embedding_.shape[1]}), got {points.shape}")
        check_points(points)
        return points

    def _by_row(self, values: Any) -> list[Any]:
        """Return values by row that are in this order or named; None where they are unknown."""
        if not hasattr(values, "items"):
            return list(map(plain_name, values))
        named = {name: value for name, each in values.items() if (value := plain_name(each)) is not None}
        found: list[Any] = [None] * len(self.embedding_)
        for row, value in zip(self._rows(named).tolist(), named.values(), strict=True):
            found[row] = value
        return found

    def _rows(self, names: Iterable[Any]) -> Rows:
        if isinstance(names, str):
            raise TypeError(f"nodes must be a list of names, got {names!r}")
        row_of = self._row_of()
        rows = []
        for name in names:
            if name not in row_of:
                texts = [each for each in row_of if isinstance(each, str)]
                hint = did_you_mean(name, texts) if isinstance(name, str) else ""
                for alike in row_of:  # a number as text, or the reverse
                    if str(alike) == str(name):
                        hint = f": did you mean {alike!r}?"
                raise ValueError(f"no embedded node is named {name!r}{hint}")
            rows.append(row_of[name])
        return np.array(rows, dtype=np.int64)


def _columns(points: Array) -> dict[str, Array]:
    return {f"heat{place}": values for place, values in enumerate(points.T)}


def _sorted_pairs(pairs: Rows, n: int) -> Rows:
    """Return distinct pairs (u, v), u < v, sorted."""
    codes = np.sort(np.sort(pairs, axis=1) @ (n, 1))
    codes = codes[np.diff(codes, prepend=-1) != 0]
    return np.column_stack(np.divmod(codes, n))


def _links_of(
    found: Sequence[Recommended], row: int, graph: Graph, score: LinkScore | None
) -> PredictedLinks:
    """Return recommendations of a node as links, the likeliest first."""
    partner = np.concatenate([each.partner for each in found])
    distance = np.concatenate([each.distance for each in found])
    place = np.repeat(np.arange(len(found)), [len(each.partner) for each in found])
    chances = [each.probability for each in found if each.probability is not None]
    probability = np.concatenate(chances) if chances else None
    order = np.argsort(distance if probability is None else -probability, kind="stable")
    ends = [np.full(len(order), row), partner[order]]
    source, target = ends[::-1] if found[0].reverse else ends
    patterns = tuple(each.pattern for each in found if each.pattern is not None)
    return PredictedLinks(
        source=source,
        target=target,
        distance=distance[order],
        probability=None if probability is None else probability[order],
        patterns=patterns,
        pattern=place[order] if patterns else None,
        names=graph.names,
        score=score,
    )
