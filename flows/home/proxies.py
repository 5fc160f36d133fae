"""The environment's proxy variables: what runs on this machine is never asked through a proxy, whatever the variables hold.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are read, in capitals or not, by all that speaks HTTP here: by requests (Wikidata,
language models), by the clients of Prefect (httpx, websockets) and of the hub of models, and by the processes that these start.
So the variables themselves are put in order, once, before anything is asked.
"""

import os

from rich.markup import escape

from polyonym.flows.home.progress import console
from polyonym.ingest.store.database import without_password

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def spare_loopback() -> None:
    """Add this machine's own addresses to NO_PROXY, and leave out what httpx cannot read: it would make no client at all,
    not even one that needs no proxy. A proxy that is left out is named on standard error. A second call changes nothing."""
    given = {name: os.environ.pop(name) for name in list(os.environ) if name.lower() in (*_PROXIES, "no_proxy")}
    if not given:
        return
    _exempt(given.get("no_proxy") or given.get("NO_PROXY") or "")
    for name, address in given.items():
        if name.lower() in _PROXIES and address.strip() and not _accepted(name, _with_version(address.strip())):
            console.print(
                f"[yellow]{name} is left out[/yellow]: {escape(without_password(address))} is no address of a proxy. "
                "Write http://host:port or socks5://host:port.",
                soft_wrap=True,
            )


def _exempt(no_proxy: str) -> None:
    hosts = [entry.strip().strip("[]") for entry in no_proxy.split(",")]
    readable = [host for host in hosts if host and _accepted("no_proxy", host)]
    exempt = "*" if "*" in readable else ",".join(dict.fromkeys((*readable, *_LOOPBACK)))  # in a list the star means nothing to requests
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = exempt


def _with_version(address: str) -> str:
    """An address of a proxy with the version of SOCKS that desktops mean when they write none."""
    return address.replace("socks://", "socks5://", 1) if address.startswith("socks://") else address


def _accepted(name: str, value: str) -> bool:
    """Set a variable; unless httpx can make a client with it, take it back."""
    import httpx

    os.environ[name] = value
    try:
        httpx.Client(verify=False).close()  # it asks nothing; certificates take time to load
    except Exception:  # whichever: of its own for an address, of Python's for a number, an import error for SOCKS
        del os.environ[name]
        return False
    return True
