"""A refresh follows the published settings, and tells a conflict of its own ones from a damaged node."""

import pytest

from heat_neo4j import HEAT
from heat_neo4j.database.projection import Projection
from heat_neo4j.database.runs import RunRecord
from heat_neo4j.database.trust import Trust
from heat_neo4j.errors import ConfigError, ProjectionError
from heat_neo4j.pipeline.job import Job, LinkOptions, followed

ALL = {"projection.labels", "projection.attributes", "projection.weight", "heat.alpha", "heat.scheduler",
       "heat.scratch", "heat.n_threads", "heat.sigma", "write.coordinates"}  # fmt: skip


def published(projection=None, **settings):
    job = Job(projection or Projection(["Paper"], attributes=["about"], weight="w"), HEAT(alpha=0.4))
    settings = {**job.settings(), **settings}
    return RunRecord(
        "r1", "heat", ("embedding",), "complete", projection=settings["projection"], settings=settings
    )


def follow(run, published_links=None, **job):
    wanted = Job(**{"projection": Projection(), "model": HEAT(), "follows": ALL, **job})
    return followed(wanted, run, published_links, Trust())


def test_what_is_not_given_is_as_published():
    job = follow(published())
    assert (job.projection.attributes, job.projection.weight, job.model.alpha) == (("about",), "w", 0.4)


def test_links_without_probabilities_leave_the_published_score():
    job = follow(published(), LinkOptions(), links=LinkOptions(score="distance"), follows={"links.k"})
    assert job.links == LinkOptions(score="distance")


def test_the_least_probability_is_as_published_unless_links_have_none():
    known = LinkOptions(min_probability=0.2, rules=False)
    follows = {"links.min_probability", "links.rules", "links.score"}
    assert follow(published(), known, links=LinkOptions(), follows=follows).links == known
    plain = LinkOptions(score="distance")
    job = follow(published(), known, links=plain, follows=follows - {"links.score"})
    assert job.links == LinkOptions(score="distance", rules=False)


@pytest.mark.parametrize(
    ("own", "follows", "why"),
    [
        ({"projection": Projection(text=["about"])}, {"projection.attributes"}, "both name 'about'"),
        ({"projection": Projection(aggregation="count")}, {"projection.weight"}, "ignores weights"),
        ({"links": LinkOptions(min_probability=0.5)}, {"links.score"}, "leave `min_probability` out"),
    ],
)
def test_a_conflict_of_options_never_advises_to_clear(own, follows, why):
    with pytest.raises(ConfigError, match=f"do not fit those of the published run r1.*{why}") as refused:
        follow(published(), LinkOptions(score="distance"), follows=follows, **own)
    assert "clear" not in str(refused.value)


def test_recorded_places_of_a_machine_are_never_used():
    model = {"scheduler": "tcp://127.0.0.1:1", "scratch": "/there", "n_threads": 10**6, "sigma": 2.0}
    job = follow(published(model=model))
    assert (job.model.scheduler, job.model.scratch, job.model.n_threads) == (None, None, None)
    assert job.model.sigma == 2.0


@pytest.mark.parametrize(
    "settings",
    [{"model": 3}, {"model": {"alpha": []}}, {"model": {"n_components": "auto"}}, {"model": {"none": 1}},
     {"coordinates": "x"}, {"coordinates": []}],
)  # fmt: skip
def test_a_damaged_setting_is_damage(settings):
    with pytest.raises(ProjectionError, match=r"is damaged \(settings\).*heat clear --run r1"):
        follow(published(**settings))


def test_a_filter_of_the_operator_needs_no_record():
    run = published(Projection(["Paper"], node_filter="n.recorded"))
    with pytest.raises(ConfigError, match="not run"):
        follow(run, follows={"projection.node_filter"})
    own = Projection(node_filter="n.mine")
    assert follow(run, projection=own, follows={"projection.labels"}).projection.node_filter == "n.mine"
