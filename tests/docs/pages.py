"""README.md and the pages of docs/, and a reader who runs their commands and code blocks."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heat_neo4j.cli import heat
from tests.support.documents import ROOT, Reader, all_blocks, blocks

README = "README.md"
FOLDERS = ("docs", "docs/how-to", "docs/reference")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / README, *sorted(path for each in FOLDERS for path in (ROOT / each).glob("*.md")))
}
EXECUTED = ("sh", "python", "cypher", "toml", "crontab", "csv")
COMMAND = re.compile(r"^heat (?:.*\\\n)*.*$", re.MULTILINE)


def page_blocks(page: str, language: str) -> list[str]:
    """Return the contents of all code blocks of one language on a page."""
    return blocks(PAGES[page], language)


def executable_blocks(page: str) -> set[tuple[str, str]]:
    """Return language and content of each block of a page that a reader executes."""
    return {(language, content) for language, content in all_blocks(PAGES[page]) if language in EXECUTED}


def commands_of(page: str) -> list[str]:
    """Return all ``heat`` commands in the blocks of a page."""
    return [command for block in page_blocks(page, "sh") for command in COMMAND.findall(block)]


class PageReader(Reader):
    """Somebody who follows several pages; `unread` are the blocks not executed so far."""

    def __init__(self, folder: Path, server: Any, pages: Sequence[str]) -> None:
        super().__init__(folder, server)
        self.unread = {(page, *block) for page in pages for block in executable_blocks(page)}

    def take(self, page: str, language: str) -> list[str]:
        """Return the blocks of one language on a page, which the caller executes."""
        contents = page_blocks(page, language)
        self.unread -= {(page, language, content) for content in contents}
        return contents

    def take_commands(self, page: str) -> list[str]:
        """Return the ``heat`` commands of a page, which the caller executes."""
        self.take(page, "sh")
        return commands_of(page)

    def run_commands(self, page: str) -> dict[str, str]:
        """Run all ``heat`` commands of a page; return {command: what it printed}."""
        return {" ".join(command.split()): self.run_command(command) for command in self.take_commands(page)}

    def run_command(self, command: str) -> str:
        """Run a ``heat`` command in this process, which has its imports done; return what it printed."""
        program, *arguments = shlex.split(command.replace("\\\n", " "), comments=True)
        assert (program, {"|", ">", "&&", ";"} & set(arguments)) == ("heat", set())
        with self._here():
            result = CliRunner().invoke(heat, arguments, prog_name="heat")
        assert result.exit_code == 0, f"{command}\n{result.output}"
        return result.stdout

    def run_python(self, page: str) -> list[str]:
        """Run the Python blocks of a page in this process; return what each printed."""
        return [self.run_block(block) for block in self.take(page, "python")]

    def run_block(self, block: str) -> str:
        """Run a block of Python in this process; return what it printed."""
        with self._here(), contextlib.redirect_stdout(io.StringIO()) as output:
            exec(block, {"__name__": "__main__"})
        return output.getvalue()

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        """Be in the reader's folder and environment."""
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.folder):
            for name in os.environ.keys() - self.environment.keys():
                patch.delenv(name)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            yield
