"""Training by buckets in plain Python: pairs counted, positions dealt out, negatives drawn one by one."""

import numpy as np

from tests.support import naive


def positions(pairs, nodes, most, most_times, key):
    """Return (source, [(context, times), ...]) in the order of training; `nodes` are the bucket's, by row."""
    row = {node: i for i, node in enumerate(nodes)}
    ordered = []
    for source in nodes:
        contexts = []
        for context in sorted((v for u, v in pairs if u == source), key=row.get):
            left = pairs[source, context]
            while left > 0:
                contexts.append((context, min(left, most_times)))
                left -= most_times
        shares = -(-len(contexts) // most)
        for share in range(shares):
            at = ((naive.mix(naive.Stream(key, len(ordered)).state) >> 32) * (len(ordered) + 1)) >> 32
            ordered.append(None)
            ordered[-1] = ordered[at]
            ordered[at] = source, contexts[share::shares]
    return ordered


def negatives(at, count, rows, table, avoided, node, key, tries=200):
    """Draw negatives of position `at`, of a source that is `node`, among some (part, node) rows."""
    stream, drawn, failed = naive.Stream(key, at), [], 0
    while len(drawn) < count:
        row = rows[stream.slot(table)]
        if row[1] != node and (row[1] not in avoided or failed == tries):
            drawn.append(row)
            failed = 0
        else:
            failed = min(failed + 1, tries)
    return drawn


def train_bucket(points, ordered, local, draw, per_batch, sigma, rate, last_rate):
    """Train the positions of a bucket batch by batch; return the points, the loss and the damped steps.

    `local` has the row of `points` of each node.
    """
    frozen = np.zeros(len(points), dtype=bool)
    n_batches = -(-len(ordered) // per_batch)
    loss, damped = 0.0, 0
    for batch in range(n_batches):
        segments = []
        for at in range(batch * per_batch, min((batch + 1) * per_batch, len(ordered))):
            source, contexts = ordered[at]
            drawn = draw(source, contexts, at)
            if drawn is not None:
                segments += [
                    (local[source], [local[context], *drawn])
                    for context, times in contexts
                    for _ in range(times)
                ]
        step = rate + (last_rate - rate) * batch / n_batches
        points, batch_loss, batch_damped = naive.train_batch(points, segments, sigma, step, frozen)
        loss += batch_loss
        damped += batch_damped
    return points, loss, damped
