"""Downloads of jars over HTTPS that checks certificates as the operating system does."""

import hashlib
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import PurePosixPath
from typing import Any

import requests
import truststore
from requests.adapters import HTTPAdapter
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from heat_neo4j.errors import LocalServerError

CONNECTIONS = 8  # files downloaded at once; most are small, so the time goes into round trips
ATTEMPTS = 3
TIMEOUT = 60.0  # seconds without a byte after which a download has failed


class SystemTrust(HTTPAdapter):  # type: ignore[misc]
    """HTTPS connections, direct or by a proxy, that check certificates as the operating system does."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make the pool of direct connections."""
        super().init_poolmanager(*args, ssl_context=_system_context(), **options)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pool of connections by a proxy."""
        return super().proxy_manager_for(proxy, ssl_context=_system_context(), **options)


def _system_context() -> ssl.SSLContext:
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def trusting_session() -> requests.Session:
    """Return a session whose HTTPS connections are those of `SystemTrust`."""
    session = requests.Session()
    session.mount("https://", SystemTrust(pool_connections=CONNECTIONS, pool_maxsize=CONNECTIONS))
    return session


def download(repository: str, digests: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file, as they arrive; `digests` has the SHA-256 of each by its path.

    A file that cannot be downloaded, or has another SHA-256, is a LocalServerError.
    """
    with trusting_session() as session, ThreadPoolExecutor(max_workers=CONNECTIONS) as pool:
        downloads = {
            pool.submit(_download, session, f"{repository}/{path}", sha256): path
            for path, sha256 in digests.items()
        }
        try:
            for future in as_completed(downloads):
                yield downloads.pop(future), future.result()  # popped, so that its memory is freed
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@retry(retry=retry_if_exception_type(LocalServerError), stop=stop_after_attempt(ATTEMPTS), reraise=True)
def _download(session: requests.Session, address: str, sha256: str) -> bytes:
    name = PurePosixPath(address).name
    try:
        response = session.get(address, timeout=TIMEOUT)
        if response.status_code == requests.codes.not_found:
            raise FileNotFoundError(f"not found at {address}")
        response.raise_for_status()
    except OSError as error:  # requests' errors are OSErrors
        raise LocalServerError(
            f"cannot download {name} from Maven Central: {error}; "
            "check the network, HTTPS_PROXY (if you use a proxy) and the system's certificates"
        ) from error
    content: bytes = response.content
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise LocalServerError(
            f"{name} differs from the locked file: SHA-256 {digest}, expected {sha256}; "
            "something alters downloads in transit; the file was discarded"
        )
    return content
