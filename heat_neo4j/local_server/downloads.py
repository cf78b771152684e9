"""Files of Maven repositories over HTTPS, as jgo asks for them, trusting what the system trusts.

A company's proxy often has a certificate authority of its own, which the system's certificate store knows and
the list of requests does not.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import requests
import truststore
from jgo.maven import Artifact, PythonResolver
from requests.adapters import HTTPAdapter

__all__ = ["Downloader", "SystemTrust"]

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
