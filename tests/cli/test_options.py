"""Options: the same names and defaults as the Python API, and flags before environment before heat.toml."""

import dataclasses
import inspect
import re

import click
import pytest
from click.testing import CliRunner

from heat_neo4j.cli import COMMANDS, arguments, heat
from heat_neo4j.cli.config import SECTIONS
from heat_neo4j.cli.group import Option
from heat_neo4j.cli.settings import SETTINGS
from heat_neo4j.cli.values import OrAuto
from heat_neo4j.database.naming import WriteNames
from heat_neo4j.database.projection import Projection
from heat_neo4j.heat import HEAT
from heat_neo4j.pipeline.gate import Gate
from heat_neo4j.pipeline.job import SCORES, Job, Limits, LinkOptions
from tests.support.commands import parse

OF_ONE = {setting.name: setting.flag for setting in SETTINGS if setting.multiple}  # given once for each
ELSEWHERE = {"links.enabled"}  # a switch of the command line, not a parameter


def command(name):
    return heat.get_command(click.Context(heat, info_name="heat"), name)


def options_by_key(*names):
    found = {}
    for name in names:
        for parameter in command(name).params:
            if isinstance(parameter, Option) and parameter.key is not None:
                found[parameter.key] = parameter
    return found


def parsed(*given, name="embed", **environment):
    """Return what the command would be called with."""
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in environment.items():
            patch.setenv(variable, value)
        with parse(name, *given) as context:
            return context.params


def test_heat_toml_and_the_commands_have_equal_keys():
    declared = {f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys}
    assert set(options_by_key(*COMMANDS)) == declared


def test_auto_and_scores_are_those_of_the_python_api():
    assert {setting.name for setting in SETTINGS if isinstance(setting.type, OrAuto)} == {"alpha"}
    for key, parameter in options_by_key("embed").items():
        is_text = parsed_or_none(parameter, "any text") is not None
        takes_auto = key.startswith("heat.") and not is_text and parsed_or_none(parameter, "auto") == "auto"
        assert takes_auto == (key == "heat.alpha"), key
    assert tuple(options_by_key("embed")["links.score"].type.choices) == SCORES


def parsed_or_none(parameter, value):
    try:
        return parameter.type.convert(value, parameter, None)
    except click.BadParameter:
        return None


@pytest.mark.parametrize(
    ("section", "api"), [("projection", Projection), ("heat", HEAT), ("links", LinkOptions)]
)
def test_names_and_defaults_are_those_of_the_python_api(section, api):
    signature, made = inspect.signature(api).parameters, api()
    defaults = parsed()
    for key, parameter in options_by_key("embed").items():
        if key.startswith(f"{section}.") and key not in ELSEWHERE:
            name = key.split(".")[1]
            flag = OF_ONE.get(name, f"--{name.replace('_', '-')}")
            assert flag in (*parameter.opts, *parameter.secondary_opts)
            assert name in signature
            assert (defaults[parameter.name] or None) == (getattr(made, name) or None), key


def test_the_options_make_the_objects_they_describe(tmp_path):
    config = tmp_path / "heat.toml"
    config.write_text(
        "[projection]\nmax_categories = 5\n[heat]\nbatch_size = 7\nn_parts = 3\n"
        "forward = 0.3\ntype_balance = 1\n"
    )
    given = parsed(
        *("--label", "A", "--label", 'b `c` "d"', "--relationship", "R", "--weight", "w"),
        *("--text", "t", "--text", "z", "--label-attribute", "A=x=y", "--label-attribute", "B=z"),
        *("--label-attribute", "A=t", "--type-weight", "R=0.5"),
        *("--attribute", "x, y", "--aggregation", "max", "--key", "id"),
        *("--node-filter", "n.x > 1", "--relationship-filter", "r.w > 2", "--default-weight", "0.5"),
        *(
            "--n-components",
            "3",
            "--alpha",
            "0",
            "--sigma",
            "2",
            "--walks-per-node",
            "4",
            "--walk-length",
            "5",
        ),
        *("--window-size", "2", "--n-negatives", "6", "--negative-exponent", "0.6", "--learning-rate", "0.1"),
        *("--n-epochs", "2", "--no-refine", "--n-threads", "1", "--random-state", "9"),
        *("--time-limit", "90", "--memory-limit", "1.5GB"),
        *("--scratch", str(tmp_path), "--scheduler", "tcp://there:8786"),
        *("-k", "3", "--max-links", "50", "--predict", "A-R->B"),
        *("--min-degree", "1", "--max-degree", "8", "--score", "distance", "--no-rules"),
        *("--model", "papers", "--config", str(config)),
    )
    assert arguments.projection_from(given) == Projection(
        ["A", 'b `c` "d"'], ["R"], weight="w", default_weight=0.5, aggregation="max", attributes=["x, y"],
        key="id", node_filter="n.x > 1", relationship_filter="r.w > 2", max_categories=5,
        text=["t", "z"], label_attributes={"A": ["x=y", "t"], "B": ["z"]}, type_weights={"R": 0.5},
    )  # fmt: skip
    assert arguments.heat_from(given).get_params() == {
        "n_components": 3, "alpha": 0.0, "forward": 0.3, "type_balance": 1.0,
        "hierarchy": None, "sigma": 2.0,
        "walks_per_node": 4, "walk_length": 5,
        "window_size": 2, "n_negatives": 6, "negative_exponent": 0.6, "learning_rate": 0.1,
        "batch_size": 7, "n_epochs": 2, "n_parts": 3, "refine": False, "time_limit": 90.0, "n_threads": 1,
        "scratch": tmp_path, "scheduler": "tcp://there:8786", "random_state": 9,
    }  # fmt: skip
    assert given["memory_limit"] == 1.5 * 2**30
    assert arguments.links_from(given) == LinkOptions(3, 50, ["A-R->B"], 1, 8, rules=False, score="distance")
    config.write_text("[links]\nmin_probability = 0.1\nrules = false\n")
    expected = LinkOptions(min_probability=0.1, rules=False)
    assert arguments.links_from(parsed("--config", str(config))) == expected
    assert LinkOptions.from_dict(expected.to_dict()) == expected
    assert arguments.names_from(given) == WriteNames("papers")


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 2**30), ("500 mb", 500 * 2**20), ("2GiB", 2**31), ("0.5k", 512), ("4096", 4096), ("7B", 7)],
)
def test_a_size_has_a_number_and_perhaps_a_unit(text, size):
    assert parsed("--memory-limit", text)["memory_limit"] == size


@pytest.mark.parametrize("name", ["embed", "refresh", "links", "verify", "serve"])
def test_without_a_limit_a_run_may_use_the_memory_that_is_free(name, monkeypatch):
    monkeypatch.setattr("heat_neo4j._utils.memory.free_memory", lambda: 2**20)
    assert arguments.memory_limit(parsed(name=name)) == 2**20
    assert arguments.memory_limit(parsed("--memory-limit", "2MB", name=name)) == 2**21


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "4 GBs", "four"])
def test_invalid_sizes_are_refused(text):
    with pytest.raises(click.BadParameter, match="is not a size: give a number above 0 with KB"):
        parsed("--memory-limit", text)


def test_defaults_are_those_of_the_api():
    given = parsed()
    assert arguments.projection_from(given) == Projection()
    assert arguments.heat_from(given).get_params() == HEAT().get_params()
    assert arguments.links_from(given) == LinkOptions()
    assert arguments.names_from(given) == WriteNames()
    in_file = {setting.name for setting in SETTINGS if setting.section == "links"} - {"enabled"}
    assert {field.name for field in dataclasses.fields(LinkOptions)} == in_file
    assert set(arguments.HEAT_FIELDS) == set(HEAT().get_params())


def test_flags_override_environment_overrides_heat_toml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text(
        '[connection]\nuri = "bolt://file"\nusername = "file"\ndatabase = "file"\n'
        '[projection]\nlabels = ["File", "Other"]\n[heat]\nalpha = 0.4\nsigma = 3\n[links]\nk = 4\n'
    )
    given = parsed("--uri", "bolt://flag", "--alpha", "0.1", NEO4J_URI="bolt://env", NEO4J_USERNAME="env")
    assert (given["uri"], given["username"], given["database"]) == ("bolt://flag", "env", "file")
    assert (given["labels"], given["alpha"], given["sigma"], given["k"]) == (("File", "Other"), 0.1, 3.0, 4)
    assert parsed("--label", "Flag")["labels"] == ("Flag",)


def test_heat_toml_tables_are_read_and_flags_override_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text(
        '[projection]\nlabels = ["A"]\nrelationships = ["R"]\ntext = ["abstract"]\n'
        '[projection.label_attributes]\nA = ["year", "abstract"]\nB = ["country"]\n'
        "[projection.type_weights]\nR = 2\n"
    )
    expected = {"text": ["abstract"], "label_attributes": {"A": ["year", "abstract"], "B": ["country"]}}
    made = arguments.projection_from(parsed())
    assert made == Projection(["A"], ["R"], type_weights={"R": 2.0}, **expected)
    made = arguments.projection_from(parsed("--type-weight", "R=3", "--label-attribute", "B=city"))
    assert (made.type_weights, made.label_attributes) == ({"R": 3.0}, {"B": ("city",)})
    (tmp_path / "heat.toml").write_text('[projection]\ntype_weights = {R = "2"}\n')
    result = CliRunner().invoke(heat, ["embed"], prog_name="heat")
    assert result.exit_code == 2
    assert "type_weights must be a table of numbers, such as { CITES = 2.0 }, got" in result.stderr


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('key = "id"', "id"),
        ('key = "Movie=title"', {"Movie": "title"}),
        ('key = {Person = "name", Movie = "ti=tle"}', {"Movie": "ti=tle", "Person": "name"}),
        ('key = {Movie = "title", "" = "id"}', {"Movie": "title", "": "id"}),
    ],
)
def test_the_key_of_heat_toml_is_a_text_or_a_table(tmp_path, monkeypatch, text, key):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text(f"[projection]\n{text}\n")
    assert arguments.projection_from(parsed()).key == key
    assert arguments.projection_from(parsed("--key", "other")).key == "other"


def test_labels_have_keys_and_captions_of_their_own():
    given = ("--key", "Movie=title", "--key", "id", "--key", "Person=n=ame")
    assert arguments.projection_from(parsed(*given)).key == {"Movie": "title", "": "id", "Person": "n=ame"}
    captions = parsed("--caption", "Movie=title", "--caption", "id", name="explore")["caption"]
    assert arguments.key_from("--caption", captions) == {"Movie": "title", "": "id"}
    twice = [("", "title"), ("", "name")]
    with pytest.raises(click.UsageError, match="--caption: nodes of any label have both 'title' and 'name'"):
        arguments.key_from("--caption", twice)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (("--key", "=x"), "'=x' is neither PROPERTY nor LABEL=PROPERTY"),
        (("--key", "A="), "'A=' is neither PROPERTY nor LABEL=PROPERTY"),
        (("--key", "A=x", "--key", "A=y"), "--key: label 'A' has both 'x' and 'y': give LABEL=PROPERTY"),
        (("--key", " "), "' ' is neither PROPERTY nor LABEL=PROPERTY"),
        (("--label-attribute", "A"), "'A' is not a name and a value with = between them"),
        (("--label-attribute", "=x"), "'=x' is not a name and a value"),
        (("--type-weight", "R="), "'R=' is not a name and a value"),
        (("--type-weight", "R=0"), "0.0 is not in the range x>0"),
        (("--type-weight", "R=two"), "'two' is not a valid number"),
        (("--type-weight", "R=1", "--type-weight", "R=2"), "--type-weight: a type is named twice"),
        (
            ("--text", "x", "--attribute", "x"),
            "--text and --attribute both name 'x'",
        ),
        (("--label", "A", "--label", "A"), "--label has a name twice: ['A', 'A']"),
        (
            ("--weight", "w", "--aggregation", "count"),
            "aggregation 'count' ignores weights: leave out --weight",
        ),
        (("--min-degree", "3", "--max-degree", "2"), "--max-degree must be at least 3, got 2"),
        (
            ("--min-probability", "0.1", "--score", "distance"),
            "links ranked by distance have no probability: leave --min-",
        ),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_is_opened(given, complaint):
    result = CliRunner().invoke(heat, ["embed", "--uri", "bolt://127.0.0.1:1", *given], prog_name="heat")
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_configuration_file_can_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heat.toml").write_text("[heat]\nalpha = 0.4\n")
    named = tmp_path / "named.toml"
    named.write_text("[heat]\nalpha = 0.6\n[write]\nmodel = 'm'\n")
    assert parsed("--config", str(named))["alpha"] == 0.6
    assert parsed(HEAT_CONFIG=str(named))["alpha"] == 0.6
    # [write] model must not choose what `heat clear` and `heat runs` are about.
    assert parsed("--config", str(named), name="clear")["model"] is None
    assert parsed("--config", str(named), name="links")["model"] == "m"


def test_switches_can_be_set_in_heat_toml(tmp_path):
    named = tmp_path / "named.toml"
    named.write_text("[links]\nenabled = false\nrules = false\n[projection]\ndefault_weight = 2\n")
    given = parsed("--config", str(named))
    assert (given["links"], given["rules"], given["default_weight"]) == (False, False, 2.0)
    assert parsed("--config", str(named), "--links")["links"] is True


def test_a_value_out_of_range_in_heat_toml_names_its_option(tmp_path):
    named = tmp_path / "named.toml"
    named.write_text("[heat]\nalpha = 1.4\n")
    result = CliRunner().invoke(heat, ["embed", "--config", str(named)], prog_name="heat")
    assert result.exit_code == 2
    assert result.stderr == (
        "heat: Invalid value for '--alpha': 1.4 is not in the range 0<=x<=1; or give auto "
        "(see `heat embed --help`)\n"
    )


def test_links_by_distance_have_no_least_probability():
    with pytest.raises(ValueError, match="leave `min_probability` out"):
        LinkOptions(score="distance", min_probability=0.1)
    with pytest.raises(ValueError, match="score must be one of link, distance"):
        LinkOptions(score="cosine")


def test_defaults_of_a_refresh_are_those_of_the_python_api():
    with parse("refresh") as context:
        job = arguments.job_from(context.params)
    assert (job.gate, job.limits) == (Gate(), Limits())
    usual = Job(Projection(), HEAT())
    for name in ("coordinates", "index", "lease_seconds", "records"):
        assert getattr(job, name) == getattr(usual, name)


FILE_ONLY = [setting for setting in SETTINGS if setting.level == "file"]


@pytest.mark.parametrize("name", ["embed", "refresh", "serve", "estimate", "check"])
def test_help_is_short_and_help_all_is_whole(name):
    short, whole = (
        set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", CliRunner().invoke(heat, [name, flag]).output, re.M))
        for flag in ("--help", "--help-all")
    )
    assert len(short) <= 20
    assert short < whole
    assert whole == {"--help"} | {option.opts[-1] for option in command(name).params if not option.hidden}
    assert not whole & {setting.flag for setting in FILE_ONLY}


@pytest.mark.parametrize("setting", FILE_ONLY, ids=lambda setting: setting.key)
def test_an_expert_setting_is_set_in_heat_toml_only(setting):
    result = CliRunner().invoke(heat, ["serve", setting.flag, "1"], prog_name="heat")
    assert result.exit_code == 2
    assert result.stderr == (
        f"heat: No such option: {setting.flag}; set [{setting.section}] {setting.name} of heat.toml "
        "(see `heat serve --help`)\n"
    )


def test_a_value_out_of_range_of_an_expert_setting_names_its_key(tmp_path):
    config = tmp_path / "heat.toml"
    config.write_text("[refresh]\nmin_overlap = 2\n")
    result = CliRunner().invoke(heat, ["refresh", "--config", str(config)], prog_name="heat")
    assert result.exit_code == 2
    assert result.stderr.startswith("heat: Invalid value for [refresh] min_overlap of heat.toml: 2.0 is not")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[heat]\nalpha = 1.4\n", "[heat] alpha of heat.toml: 1.4 is not in the range"),
        ("[links]\nmin_degree = 3\nmax_degree = 2\n", "[links] max_degree of heat.toml must be at least 3"),
        ("[limits]\nmemory = 'much'\n", "'much' is not a size"),
    ],
)
def test_check_refuses_what_embed_would_refuse_in_heat_toml(text, complaint, tmp_path):
    config = tmp_path / "heat.toml"
    config.write_text(text)
    given = ["--uri", "bolt://127.0.0.1:1", "--config", str(config)]
    for name in ("embed", "check"):
        result = CliRunner().invoke(heat, [name, *given], prog_name="heat", env={"NEO4J_PASSWORD": "x"})
        assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
