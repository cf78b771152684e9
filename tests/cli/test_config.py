"""heat.toml: what is accepted, and what each mistake is told."""

import pytest

from heat_neo4j.cli.config import SECTIONS, read_config
from heat_neo4j.errors import ConfigError


def write(tmp_path, text):
    path = tmp_path / "heat.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_section_is_read_to_dotted_keys(tmp_path):
    path = write(
        tmp_path,
        """
        [connection]
        uri = "neo4j://localhost:7687"
        [projection]
        labels = ["Paper", "a `b` \\"c\\""]
        default_weight = 2
        [heat]
        alpha = 0.3
        random_state = 7
        [links]
        enabled = false
        """,
    )
    assert read_config(path) == {
        "connection.uri": "neo4j://localhost:7687",
        "projection.labels": ["Paper", 'a `b` "c"'],
        "projection.default_weight": 2,
        "heat.alpha": 0.3,
        "heat.random_state": 7,
        "links.enabled": False,
    }


def test_the_file_of_the_working_directory_is_read_if_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_config() == {}
    write(tmp_path, "[heat]\nalpha = 0.5\n")
    assert read_config() == {"heat.alpha": 0.5}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[heat", "is not TOML: Expected ']' at the end of a table declaration (at end of document)"),
        ("[heet]\n", "unknown section [heet]; did you mean 'heat'?"),
        (
            "[zzz]\n",
            "unknown section [zzz]; known: connection, projection, heat, refresh, serve, log, "
            "limits, write, links",
        ),
        ("[classify]\n", "unknown section [classify]; options of `heat classify` cannot be set here"),
        ("heat = 3\n", "[heat] must be a section, got 3"),
        ("[heat]\nalfa = 0.2\n", "unknown key 'alfa' in [heat]; did you mean 'alpha'?"),
        ("[heat]\nalpha = '0.2'\n", "[heat] alpha must be a number or \"auto\", got '0.2'"),
        ("[heat]\nalpha = true\n", '[heat] alpha must be a number or "auto", got True'),
        ("[heat]\nn_components = 2.0\n", "[heat] n_components must be a whole number, got 2.0"),
        ("[projection]\nlabels = 'Paper'\n", "[projection] labels must be a list of texts, got 'Paper'"),
        ("[projection]\nlabels = ['A', 1]\n", "[projection] labels must be a list of texts, got ['A', 1]"),
        (
            "[projection]\nkey = ['id']\n",
            '[projection] key must be text or a table of texts, such as "id" or { Paper = "id" }, got '
            "['id']",
        ),
        (
            "[projection]\nkey = {A = 1}\n",
            '[projection] key must be text or a table of texts, such as "id" or { Paper = "id" }, got '
            "{'A': 1}",
        ),
        ("[links]\nenabled = 1\n", "[links] enabled must be true or false, got 1"),
    ],
)
def test_each_mistake_names_the_file_and_the_entry(tmp_path, text, complaint):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value) == f"{path}: {complaint}"


def test_a_password_is_refused_and_not_repeated(tmp_path):
    path = write(tmp_path, "[connection]\npassword = 'hunter2'\n")
    with pytest.raises(ConfigError, match="set NEO4J_PASSWORD") as caught:
        read_config(path)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
    binary = tmp_path / "heat.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_config(binary)


def test_the_kinds_are_those_that_are_checked():
    kinds = {kind for section in SECTIONS.values() for kind in section.values()}
    plain = {kind.removesuffix(' or "auto"') for kind in kinds}
    tables = {"a table of lists of texts", "a table of numbers", "text or a table of texts"}
    assert plain == {"text", "a list of texts", "a number", "a whole number", "true or false"} | tables


def test_a_wrong_table_gets_an_example(tmp_path):
    file = tmp_path / "heat.toml"
    file.write_text('[projection]\nlabel_attributes = ["Paper=year"]\n')
    with pytest.raises(ConfigError, match=r'lists of texts, such as { Paper = \["year", "pages"\] }, got'):
        read_config(file)


def test_auto_is_a_value_where_it_may_be(tmp_path):
    file = tmp_path / "heat.toml"
    file.write_text('[heat]\nalpha = "auto"\nsigma = 1.5\n')
    values = {"heat.alpha": "auto", "heat.sigma": 1.5}
    assert read_config(file) == values
