# A service of somebody else: the Python examples of /docs/verify, behind HTTP. It answers `GET /{company}`.
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt

page = Path(sys.argv[1]).read_text()
base_url = os.environ["BASE_URL"]


def example(name, end):
    """The code of an example without the trial at its end."""
    code = re.search(rf"```py {name}\n(.*?)```", page, re.S).group(1)
    code, trial, _ = code.rpartition(f"\n{end}")
    assert trial, f"{name} has no line that begins with {end}"
    return code.replace("{issuer}", base_url).replace("{base_url}", base_url)


of_page = {"__name__": "examples"}
exec(example("verify.py", "print("), of_page)
exec(example("revocations.py", "poll()"), of_page)
threading.Thread(target=of_page["keep_polling"], daemon=True).start()


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        if self.path == "/readyz":
            return 200 if time.monotonic() < of_page["copy"]["good_until"] else 503
        token = self.headers["Authorization"].removeprefix("Bearer ")
        try:
            claims = of_page["verify"](token, "analytics:read")
            of_page["require_live"](jwt.get_unverified_header(token)["kid"], claims)
        except (RuntimeError, jwt.PyJWKClientError):  # the keys cannot be had, or not this one
            return 503
        except jwt.PyJWTError:
            return 401
        return 200 if claims["vendor_id"] == self.path[1:] else 403

    def do_GET(self):
        self.send_response(self.answer())
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Service).serve_forever()
