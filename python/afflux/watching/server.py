"""Serves the page. The server answers only this machine, and only requests that know the token of
its address.

Other pages of the browser cannot read it: their requests lack the token, a host name that resolves
to this machine has another Host header, and the page itself loads nothing and may not be framed.
"""

import base64
import hashlib
import json
import re
import secrets
import threading
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Self

#: Address that can be reached only from this machine.
ADDRESS = "127.0.0.1"
#: Time in seconds after which an unchanged state is sent again, so that a closed page is noticed.
RESEND_AFTER = 10.0
#: Time in seconds that a page may take to read what it was sent.
PATIENCE = 5.0
#: Most pages that may be open at a time.
MOST = 16
#: Time in seconds that afflux waits at its end until open pages are informed.
FAREWELL = 1.0


@cache
def _content() -> tuple[bytes, str]:
    """Returns the page, and the content security policy that allows only its own style and
    script."""
    html = (files(__package__) / "page.html").read_text(encoding="utf-8")

    def hashes(tag: str) -> str:
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        return " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in found
        )

    rules = (
        "default-src 'none'",
        f"style-src {hashes('style')}",
        f"script-src {hashes('script')}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
    )
    return html.encode(), "; ".join((*rules, "form-action 'none'", "frame-ancestors 'none'"))


class Page:
    """Serves a page inside a `with` block. `publish` replaces the page's state and informs open
    pages. They are also informed of the end, and whether it is an error."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._state: bytes = b"{}"
        self._number = 0
        self._over = False
        self._failed = False
        self._token = secrets.token_urlsafe(24)
        self._open = 0
        self._server = _Server((ADDRESS, 0), self)
        self.url = f"http://{ADDRESS}:{self._server.server_port}/{self._token}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="afflux-watch", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        with self._changed:
            self._over, self._failed = True, problem[0] is not None
            self._changed.notify_all()
            # Open pages are informed of the end.
            self._changed.wait_for(lambda: self._open == 0, FAREWELL)
        self._server.shutdown()
        self._server.server_close()

    def enter(self) -> bool:
        """Counts another open page. Returns `False` if too many are open, or the run is over."""
        with self._changed:
            allowed = self._open < MOST and not self._over
            self._open += allowed
            return allowed

    def leave(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait(self, known: int) -> tuple[int, bool, bytes]:
        """Waits until the number of the state differs from `known` (at most `RESEND_AFTER` seconds) or
        the run is over. Returns the number, whether the run is over, and the state."""
        with self._changed:
            self._changed.wait_for(lambda: self._number != known or self._over, RESEND_AFTER)
            return self._number, self._over, self._state

    @property
    def failed(self) -> bool:
        return self._failed

    def allows(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())

    def publish(self, state: dict[str, Any]) -> None:
        text = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()
        with self._changed:
            self._state = text
            self._number += 1
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    # A page that does not read what it is sent must not keep afflux from ending.
    daemon_threads = True

    def __init__(self, address: tuple[str, int], page: Page) -> None:
        super().__init__(address, _Handler)
        self.page = page

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores errors: a browser that closes its connection is not an error."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE
    server_version = "afflux"
    sys_version = ""

    def do_GET(self) -> None:
        page = self.server.page
        hosts = {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}
        if self.headers.get("Host") not in hosts:
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        token, _, rest = self.path.removeprefix("/").partition("/")
        if not page.allows(token):
            return self._refuse(HTTPStatus.NOT_FOUND)
        if rest == "":
            content, policy = _content()
            self._begin("text/html; charset=utf-8", policy, len(content))
            self.wfile.write(content)
        elif rest == "events":
            if not page.enter():
                return self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            try:
                self._events(page)
            finally:
                page.leave()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)
        return None

    def _events(self, page: Page) -> None:
        """Sends each new state as a server-sent event, and `end` when the run ends."""
        self._begin("text/event-stream", "default-src 'none'")
        sent, over = -1, False
        while not over:
            sent, over, state = page.wait(sent)
            self.wfile.write(b"data: " + state + b"\n\n")
        self.wfile.write(f"event: end\ndata: {json.dumps({'failed': page.failed})}\n\n".encode())

    def _refuse(self, status: HTTPStatus) -> None:
        content = f"{status.value} {status.phrase}\n".encode()
        self._begin("text/plain; charset=utf-8", "default-src 'none'", len(content), status)
        self.wfile.write(content)

    def _begin(
        self, kind: str, policy: str, length: int | None = None, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        headers |= {
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: standard error belongs to the run."""
