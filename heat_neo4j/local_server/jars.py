"""Install exactly the jars of a lock file."""

import hashlib
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from heat_neo4j._utils.errors import errors_as
from heat_neo4j._utils.output_file import replace_file
from heat_neo4j._utils.progress import Progress
from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.folders import NEEDS_EXTRA, hold_lock
from heat_neo4j.local_server.releases import Release

INSTALL_TIMEOUT = 1800.0  # seconds to wait for another process that is installing: 190 MB over a slow line


@dataclass(frozen=True)
class LockedJar:
    """One entry of a lock file: Maven coordinates, usually without a classifier, and a digest."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def path(self) -> Path:
        """Path in a Maven repository."""
        ending = f"-{self.classifier}" if self.classifier else ""
        folder = Path(*self.group.split("."), self.artifact, self.version)
        return folder / f"{self.artifact}-{self.version}{ending}.jar"


def read_lock(release: Release) -> list[LockedJar]:
    """Return the jars of a release, in the order of the class path."""
    text = files("heat_neo4j.local_server").joinpath("locks", release.lock_name).read_text(encoding="utf-8")
    return parse_lock(text)


def parse_lock(text: str) -> list[LockedJar]:
    """Return the jars that the text of a lock file lists, in its order."""
    return [
        LockedJar(
            group=entry["groupId"],
            artifact=entry["artifactId"],
            version=entry["version"],
            classifier=entry.get("classifier", ""),
            sha256=entry["sha256"],
        )
        for entry in tomllib.loads(text)["dependencies"]
    ]


def install_jars(release: Release, cache: Path, *, on_progress: Progress) -> list[Path]:
    """Return the class path of a release, downloading what the cache lacks; see `install`."""
    return install(read_lock(release), cache, name=f"Neo4j {release.version}", on_progress=on_progress)


def install(jars: Sequence[LockedJar], cache: Path, *, name: str, on_progress: Progress) -> list[Path]:
    """Return the files of `jars` in a folder of Maven layout, downloading what it lacks.

    Every file is compared with its SHA-256 on every call (0.2 s of CPU for a release), and before it is
    written; another one is a LocalServerError. `name` is that of the jars in stages and messages.
    """
    if _missing(jars, cache):
        with errors_as(LocalServerError, OSError, prefix=f"cannot install {name} into {cache}: "):
            cache.mkdir(parents=True, exist_ok=True)
            with hold_lock(cache / "install.lock", what=f"installing {name}", timeout=INSTALL_TIMEOUT):
                _install_missing(_missing(jars, cache), cache, f"download {name}", on_progress)
    return [cache / jar.path for jar in jars]


def _missing(jars: Sequence[LockedJar], cache: Path) -> list[LockedJar]:
    with ThreadPoolExecutor(max_workers=4) as pool:  # hashlib lets other threads run
        digests = pool.map(lambda jar: _digest(cache / jar.path), jars)
        return [jar for jar, digest in zip(jars, digests, strict=True) if digest != jar.sha256]


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _install_missing(jars: Sequence[LockedJar], cache: Path, stage: str, on_progress: Progress) -> None:
    try:
        from jgo.maven import MavenContext

        from heat_neo4j.local_server.download import download
    except ImportError as error:
        raise LocalServerError(NEEDS_EXTRA) from error
    repository = MavenContext().remote_repos["central"]
    digests = {jar.path.as_posix(): jar.sha256 for jar in jars}
    on_progress(stage, 0, len(jars))
    for done, (path, content) in enumerate(download(repository, digests), start=1):
        target = cache / path
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content, 0o644)
        on_progress(stage, done, len(jars))
