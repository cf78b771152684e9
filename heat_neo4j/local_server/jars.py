"""Install the jars of a lock file: exactly those, from Maven Central by jgo, trusting what the system trusts.

``python -m heat_neo4j.local_server.jars 5.26`` writes the lock file of a release anew.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import sys
import tempfile
import tomllib
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import requests
import truststore
from jgo.maven import Artifact, PythonResolver
from requests.adapters import HTTPAdapter

from heat_neo4j._utils.progress import Progress
from heat_neo4j.errors import LocalServerError
from heat_neo4j.local_server.locking import held
from heat_neo4j.local_server.releases import Release, find_release

__all__ = [
    "Downloader",
    "LockedJar",
    "SystemTrust",
    "install",
    "install_jars",
    "parse_lock",
    "read_lock",
    "write_lock",
]

_CHUNK = 1 << 20  # bytes


class SystemTrust(HTTPAdapter):  # type: ignore[misc]
    """HTTPS connections that check certificates as the operating system does."""

    def __init__(self, connections: int) -> None:
        self.context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(pool_connections=connections, pool_maxsize=connections)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pool of direct connections."""
        super().init_poolmanager(*args, ssl_context=self.context, **options)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool of connections by a proxy."""
        return super().proxy_manager_for(proxy, ssl_context=self.context, **options)


class Downloader(PythonResolver):  # type: ignore[misc]
    """Fetches each artifact once from the first repository that has it; several threads may ask at a time.

    Parameters
    ----------
    connections : int
        Connections to keep open.
    """

    def __init__(self, connections: int) -> None:
        super().__init__()
        self.session = requests.Session()
        self.session.mount("https://", SystemTrust(connections))

    def download(self, artifact: Artifact) -> Path:
        """Return the file in jgo's folder.

        Raises
        ------
        FileNotFoundError
            If no repository has it.
        requests.RequestException
            If the network fails, or a repository.
        """
        component, context = artifact.component, artifact.context
        for repository in context.remote_repos.values():
            url = f"{repository}/{component.path_prefix.as_posix()}/{artifact.filename}"
            with self.session.get(url, stream=True, timeout=context.timeout) as response:
                if response.status_code == requests.codes.not_found:
                    continue
                response.raise_for_status()
                path = Path(artifact.cached_path)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    for chunk in response.iter_content(_CHUNK):
                        file.write(chunk)
                return path
        raise FileNotFoundError(f"not found in {', '.join(context.remote_repos.values())}")


DOWNLOADS = 8
"""Files fetched at once; most are small, so the time goes into round trips."""

ATTEMPTS = 3
INSTALL_TIMEOUT = 1800.0
"""Seconds to wait for another process that is installing: 190 MB over a slow line."""


@dataclass(frozen=True)
class LockedJar:
    """One entry of a lock file.

    Parameters
    ----------
    group, artifact, version, classifier : str
        Maven coordinates; the classifier is mostly empty.
    sha256 : str
        Hexadecimal digest of the file.
    """

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def path(self) -> Path:
        """Where it lies in a Maven repository, relative to its root."""
        ending = f"-{self.classifier}" if self.classifier else ""
        folder = Path(*self.group.split("."), self.artifact, self.version)
        return folder / f"{self.artifact}-{self.version}{ending}.jar"


def read_lock(release: Release) -> list[LockedJar]:
    """Return the jars of a release, in the order of the class path, from the lock file in this package."""
    text = files("heat_neo4j.local_server").joinpath("locks", release.lock_name).read_text(encoding="utf-8")
    return parse_lock(text)


def parse_lock(text: str) -> list[LockedJar]:
    """Return the jars that the text of a lock file lists, in its order."""
    return [
        LockedJar(
            entry["groupId"],
            entry["artifactId"],
            entry["version"],
            entry.get("classifier", ""),
            entry["sha256"],
        )
        for entry in tomllib.loads(text)["dependencies"]
    ]


def install_jars(release: Release, cache: Path, *, on_progress: Progress) -> list[Path]:
    """Return the class path of a release, downloading what the cache lacks; see `install`."""
    return install(read_lock(release), cache, name=f"Neo4j {release.version}", on_progress=on_progress)


def install(jars: Sequence[LockedJar], cache: Path, *, name: str, on_progress: Progress) -> list[Path]:
    """Return the files of `jars`, downloading what the cache lacks.

    Every file is compared with its SHA-256 on every call (0.2 s of CPU for a release): what runs is what
    was locked. A download is checked before it is moved into the cache, so a killed one leaves nothing that
    looks whole.

    Parameters
    ----------
    jars : sequence of LockedJar
        What to install.
    cache : Path
        Root of a folder in Maven layout, shared by all releases.
    name : str
        What the jars are, for progress and messages: ``"Neo4j 5.26.30"``.
    on_progress : Progress
        Told about each file while there is something to download; units are files.

    Returns
    -------
    list of Path
        The jars.

    Raises
    ------
    LocalServerError
        If a file cannot be had, or is not the one that was locked.
    """
    if _missing(jars, cache):
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with held(cache / "install.lock", what=f"installing {name}", timeout=INSTALL_TIMEOUT):
                _download(_missing(jars, cache), cache, f"download {name}", on_progress)
        except OSError as error:
            raise LocalServerError(f"cannot install {name} into {cache}: {error}") from error
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


def _download(jars: Sequence[LockedJar], cache: Path, stage: str, on_progress: Progress) -> None:
    """Fetch `jars` into a folder beside the cache, check them, and move them in one by one."""
    try:
        from jgo.maven import MavenContext

    except ImportError as error:
        raise LocalServerError(
            "a local server needs the extra 'local': pip install 'heat-neo4j[local]'"
        ) from error
    with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as staging:
        repository = MavenContext(resolver=Downloader(DOWNLOADS), repo_cache=Path(staging), timeout=60)
        on_progress(stage, 0, len(jars))
        with ThreadPoolExecutor(max_workers=DOWNLOADS) as pool:
            waiting = [pool.submit(_fetch, repository, jar, cache) for jar in jars]
            try:
                for done, future in enumerate(as_completed(waiting), start=1):
                    future.result()
                    on_progress(stage, done, len(jars))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def _fetch(repository: Any, jar: LockedJar, cache: Path) -> None:
    """Download one jar by jgo into its staging repository, check it, and move it into the cache."""
    component = repository.project(jar.group, jar.artifact).at_version(jar.version)
    artifact = component.artifact(jar.classifier, "jar")
    for attempt in range(1, ATTEMPTS + 1):
        artifact.cached_path.unlink(missing_ok=True)  # a part of a download that broke off
        try:
            found = artifact.resolve()
        except (OSError, RuntimeError) as error:  # requests' errors are OSErrors, jgo's RuntimeErrors
            if attempt < ATTEMPTS:
                continue
            raise LocalServerError(
                f"cannot download {artifact.filename} from Maven Central: {error}; "
                "check the network, and if there is a proxy HTTPS_PROXY and the system's certificates"
            ) from error
        digest = _digest(found)
        if digest == jar.sha256:
            target = cache / jar.path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(found, target)
            return
    raise LocalServerError(
        f"{artifact.filename} is not the file that was locked: SHA-256 {digest}, expected {jar.sha256}; "
        "something on the way alters downloads, nothing of it was kept"
    )


def write_lock(artifacts: Sequence[str], path: Path, *, provided: Collection[LockedJar] = ()) -> int:
    """Resolve `artifacts` in Maven Central and write every jar with its SHA-256 to `path`.

    Parameters
    ----------
    artifacts : sequence of str
        Maven coordinates, ``group:artifact:version``; their dependencies follow.
    path : Path
        The lock file, in jgo's own format.
    provided : collection of LockedJar
        Jars to leave out, in whatever version: those that the server a plugin runs in has already.

    Returns
    -------
    int
        The number of jars.
    """
    from jgo.env import LockFile
    from jgo.maven import MavenContext, PythonResolver

    there = {(jar.group, jar.artifact) for jar in provided}
    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(resolver=PythonResolver(), repo_cache=Path(repository), timeout=60)
        roots = [context.create_dependency(artifact) for artifact in artifacts]
        resolved, transitive = context.resolver.resolve(roots)
        needed = [entry for entry in transitive if entry.scope in {"compile", "runtime"}]
        kept = [entry for entry in [*resolved, *needed] if (entry.groupId, entry.artifactId) not in there]
        LockFile.from_resolved_dependencies(kept).save(path)
    return len(kept)


if __name__ == "__main__":
    chosen = find_release(sys.argv[1])
    target = Path(__file__).parent / "locks" / chosen.lock_name
    sys.stdout.write(f"{target}: {write_lock(chosen.artifacts, target)} jars\n")
