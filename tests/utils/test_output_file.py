"""Outputs are written whole, and over nothing but a regular file."""

import os
import re
import socket
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from heat_neo4j import plots
from heat_neo4j._utils.output_file import check_output, write_output
from heat_neo4j.cli import heat
from heat_neo4j.errors import ConfigError
from heat_neo4j.worker.loop import HealthFile
from tests.support.full_disk import full_disk

PACKAGE = Path(__file__).parents[2] / "heat_neo4j"
OUTPUTS = {
    "write": lambda path: write_output(path, b"new", "--output"),
    "check": lambda path: check_output(path, "--output"),
    "picture": lambda path: plots.save_picture(plots.plot_roc({"HEAT": ([0, 1], [0, 1])}), path),
    "health": lambda path: HealthFile(path).write(),
}


@pytest.fixture(params=["fifo", "socket", "device", "folder", "link to a fifo", "link to itself"])
def odd(request, tmp_path):
    """Something that is no regular file, under a picture's name."""
    path, kind = tmp_path / "x.png", request.param
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(path))
    elif kind == "device":
        path.symlink_to("/dev/null")  # a node of our own takes root
    elif kind == "folder":
        path.mkdir()
    elif kind == "link to a fifo":
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to("fifo")
    else:
        path.symlink_to(path.name)
    return path


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_is_no_regular_file_is_refused_and_stays(output, odd):
    before = odd.lstat()
    with pytest.raises(ConfigError, match=r"is not a regular file$|cannot be written: "):
        OUTPUTS[output](odd)
    assert (odd.lstat().st_ino, odd.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


COMMANDS = (
    *(("plot", picture, "--output") for picture in ("disk", "reliability", "degree")),
    ("evaluate", "links", "--picture"),
    ("explore", "--output"),
    ("demo", "--picture"),
    ("serve", "--every", "1h", "--health-file"),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_refuse_it_before_the_server_is_asked(arguments, odd):
    invoked = CliRunner().invoke(
        heat, [*arguments, str(odd), "--uri", "bolt://127.0.0.1:1"], env={"NEO4J_PASSWORD": "x"}
    )
    assert invoked.exit_code == 2, invoked.output
    assert invoked.stderr.count("\n") == 1
    assert "x.png" in invoked.stderr


def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    file, link = tmp_path / "folder" / "page.html", tmp_path / "page.html"
    link.symlink_to("folder/page.html")
    for content in (b"first", b"second"):
        write_output(link, content, "--output")
        assert link.is_symlink()
        assert file.read_bytes() == content
    assert [path.name for path in file.parent.iterdir()] == ["page.html"]


def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual(tmp_path):
    path, before = tmp_path / "page.html", os.umask(0o027)
    try:
        write_output(path, b"new", "--output")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_output(path, b"newer", "--output")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_what_cannot_be_written_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")

    with (
        full_disk(3),
        pytest.raises(ConfigError, match=r"^--output .*page\.html: cannot be written: File too large"),
    ):
        write_output(path, b"newer", "--output")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "none/x.html"])
def test_a_name_that_no_file_can_have_is_one_line(name, tmp_path):
    for output in ("write", "check"):
        with pytest.raises(ConfigError, match=r"cannot be written|there is no folder"):
            OUTPUTS[output](tmp_path / name)


RENAMING = r"\b(os\.(replace|rename)|shutil\.move|tempfile\.NamedTemporaryFile)\b"


def test_no_other_module_writes_over_a_file_by_renaming():
    by = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(RENAMING, path.read_text(encoding="utf-8"))
    }
    assert by == {"_utils/output_file.py"}
