"""The page's server. It answers this machine only, and only whoever knows the token of its address.

Other pages of the browser cannot read it: their requests do not have the token, a name that resolves to this machine has another Host header, and the
page itself loads nothing and may not be framed.
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

#: Only reached from this machine.
ADDRESS = "127.0.0.1"
#: Seconds after which an unchanged state is sent again, so that a page that is gone is noticed.
QUIET = 10.0
#: Seconds that a page may take to read what it was sent.
PATIENCE = 5.0
#: Pages that may be open at a time.
MOST = 16
#: Seconds that afflux waits at the end until open pages have been told.
FAREWELL = 1.0


@cache
def _content() -> tuple[bytes, str]:
    """The page, and the policy that allows its own style and script and nothing else."""
    html = (files(__package__) / "page.html").read_text(encoding="utf-8")

    def hashes(tag: str) -> str:
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in found)

    rules = ("default-src 'none'", f"style-src {hashes('style')}", f"script-src {hashes('script')}", "connect-src 'self'", "img-src data:", "base-uri 'none'")
    return html.encode(), "; ".join((*rules, "form-action 'none'", "frame-ancestors 'none'"))


class Page:
    """Serves a page while it is entered. `publish` replaces its state; open pages are told, also of the end, and whether that is an error."""

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
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="afflux-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        with self._changed:
            self._over, self._failed = True, problem[0] is not None
            self._changed.notify_all()
            # Open pages are told of the end.
            self._changed.wait_for(lambda: self._open == 0, FAREWELL)
        self._server.shutdown()
        self._server.server_close()

    def enter(self) -> bool:
        """One more page is open; `False` if it may not."""
        with self._changed:
            allowed = self._open < MOST and not self._over
            self._open += allowed
            return allowed

    def leave(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def wait(self, known: int) -> tuple[int, bool, bytes]:
        """Number, whether the run is over, and state: as soon as the number is another one than `known`."""
        with self._changed:
            self._changed.wait_for(lambda: self._number != known or self._over, QUIET)
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
        """A browser that goes away is no error."""


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
        """Server-sent events: each new state, and `end` with the run's."""
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

    def _begin(self, kind: str, policy: str, length: int | None = None, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Security-Policy": policy, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        headers |= {"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"}
        for name, value in headers.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: standard error belongs to the run."""
