"""A hub for tests of `loom pull`: the paths and headers of Hugging Face's, over TLS on this computer, with faults.

Large files are redirected to a second server under another name (127.0.0.1 beside localhost), as the hub's are.
"""
import hashlib
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

COMMITS = {"main": "a" * 40, "v2": "b" * 40}


def make_certificates(folder):
    """Returns (authority, certificate, key): files of an authority and of a server that it signed."""
    folder = Path(folder)

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Loom test authority",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")
    return folder / "ca.pem", folder / "server.pem", folder / "server.key"


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Repository:
    """The files of a model. Those named in `large` are stored as the hub stores large files: by SHA-256, elsewhere."""

    def __init__(self, files, large=()):
        self.files, self.large = dict(files), set(large)

    def etag(self, path):
        data = self.files[path]
        return hashlib.sha256(data).hexdigest() if path in self.large else git_hash(data)

    def listing(self, commit):
        siblings = []
        for path, data in self.files.items():
            entry = {"rfilename": path, "size": len(data), "blobId": git_hash(data)}
            if path in self.large:
                entry["lfs"] = {"sha256": self.etag(path), "size": len(data), "pointerSize": 130}
            siblings.append(entry)
        return {"id": "x", "modelId": "x", "sha": commit, "private": False, "downloads": 0, "tags": [], "siblings": siblings}

    def tree(self):
        out = []
        for path, data in self.files.items():
            entry = {"type": "file", "path": path, "size": len(data), "oid": git_hash(data)}
            if path in self.large:
                entry["lfs"] = {"oid": self.etag(path), "size": len(data), "pointerSize": 130}
            out.append(entry)
        return out


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients that are killed


class Hub:
    """Both servers. Requests are kept in `log` as (server, method, path, headers)."""

    def __init__(self, certificates):
        self.repositories, self.log, self.lock = {}, [], threading.Lock()
        self.listing = None  # text in place of every list of files
        self.token = None  # the token that every request to the hub has to bring
        self.status = []  # answers of the next requests to the hub: (status, headers)
        self.pieces = 0.0  # seconds between two pieces of a body
        self.bodies = []  # functions of the next bodies of large files: (data, first) -> (data, length that is announced)
        self.ranges = True
        self.sent = 0  # bytes of large files
        self.redirect_to = None  # in place of the second server
        self.headers = {}  # in place of those of an answer with a file's head
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates[1], certificates[2])
        self.servers = []
        for kind in (HubHandler, StoreHandler):
            server = Server(("127.0.0.1", 0), type("Handler", (kind,), {"hub": self}))
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self.servers.append(server)
        self.url = f"https://localhost:{self.servers[0].server_port}"
        self.store = f"https://127.0.0.1:{self.servers[1].server_port}"

    def reset(self):
        self.log.clear()
        self.listing = self.token = self.redirect_to = None
        self.status, self.bodies, self.headers = [], [], {}
        self.pieces, self.ranges, self.sent = 0.0, True, 0

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def requests(self, server=None, method=None):
        with self.lock:
            return [entry for entry in self.log if server in (None, entry[0]) and method in (None, entry[1])]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None
    server_name = ""

    def setup(self):
        self.request.settimeout(30)
        super().setup()

    def log_message(self, *_):
        pass

    def keep(self):
        with self.hub.lock:
            self.hub.log.append((self.server_name, self.command, self.path, dict(self.headers)))

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        headers = {"Content-Length": len(body), **dict(headers)}
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.send(body)

    def send(self, body):
        for at in range(0, len(body), 1 << 15):
            self.wfile.write(body[at:at + (1 << 15)])
            if self.hub.pieces:
                time.sleep(self.hub.pieces)

    def do_HEAD(self):
        self.do_GET()


class HubHandler(Handler):
    server_name = "hub"

    def do_GET(self):
        hub = self.hub
        self.keep()
        with hub.lock:
            status = hub.status.pop(0) if hub.status else None
        if status:
            return self.answer(status[0], status[1], b"{}")
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            return self.answer(401, {"X-Error-Message": "Invalid username or password."})
        parts = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
        parts = [urllib.parse.unquote(part) for part in parts]
        if parts[:2] == ["api", "models"] and len(parts) in (4, 6, 7):
            return self.list("/".join(parts[2:4]), parts[4] if len(parts) > 4 else "revision", "/".join(parts[5:]) or "main")
        if len(parts) > 4 and parts[2] == "resolve":
            return self.resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        return self.answer(404, {"X-Error-Code": "EntryNotFound"})

    def commit_of(self, revision):
        return COMMITS.get(revision) or (revision if revision in COMMITS.values() else None)

    def list(self, model, what, revision):
        repository, commit = self.hub.repositories.get(model), self.commit_of(revision)
        if repository is None:
            return self.answer(404 if self.headers.get("Authorization") else 401, {"X-Error-Code": "RepoNotFound"})
        if commit is None:
            return self.answer(404, {"X-Error-Code": "RevisionNotFound"})
        value = repository.tree() if what == "tree" else repository.listing(commit)
        body = (self.hub.listing or json.dumps(value)).encode()
        return self.answer(200, {"Content-Type": "application/json"}, body)

    def resolve(self, model, revision, path):
        repository, commit = self.hub.repositories.get(model), self.commit_of(revision)
        if repository is None or commit is None or path not in repository.files:
            return self.answer(404, {"X-Error-Code": "EntryNotFound"})
        data, etag = repository.files[path], f'"{repository.etag(path)}"'
        if path not in repository.large:
            headers = {"ETag": etag, "X-Repo-Commit": commit, **self.hub.headers}
            if self.command == "HEAD":
                headers = {"Content-Length": len(data), **headers}
            return self.answer(200, headers, data if self.command == "GET" else b"")
        location = self.hub.redirect_to or self.hub.store
        headers = {"Location": f"{location}/{model}/{urllib.parse.quote(path)}?Signature=x", "X-Repo-Commit": commit,
                   "X-Linked-Size": len(data), "X-Linked-ETag": etag, **self.hub.headers}
        return self.answer(302, headers)


class StoreHandler(Handler):
    """Has the bytes of large files, with an ETag of its own, as a store has."""

    server_name = "store"

    def do_GET(self):
        hub = self.hub
        self.keep()
        parts = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).strip("/").split("/")
        data = hub.repositories["/".join(parts[:2])].files["/".join(parts[2:])]
        first, last, status = 0, len(data) - 1, 200
        headers = {"ETag": '"of-the-store"', "Accept-Ranges": "bytes"}
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and hub.ranges:
            begin, _, end = wanted[6:].partition("-")
            first, last, status = int(begin), min(int(end or last), last), 206
            if first >= len(data):
                return self.answer(416, {"Content-Range": f"bytes */{len(data)}"})
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        body = data[first:last + 1]
        length = len(body)
        with hub.lock:
            change = hub.bodies.pop(0) if hub.bodies else None
        if change:
            body, length = change(body, first)
        if self.command == "GET":
            with hub.lock:
                hub.sent += len(body)
        self.answer(status, {**headers, "Content-Length": length}, body)
        if length != len(body):
            self.close_connection = True


def environment(folder, hub, authority, **more):
    """Variables under which the program sees a cache, the hub and its authority, and no proxy."""
    drop = ("PROXY", "HF_", "HUGGING", "SSL_CERT", "LOOM_CURL", "XDG_CACHE")
    kept = {name: value for name, value in os.environ.items() if not any(part in name.upper() for part in drop)}
    return {**kept, "HOME": str(folder), "HF_HOME": str(Path(folder, "hf")), "HF_ENDPOINT": hub.url, "SSL_CERT_FILE": str(authority),
            **more}
