#!/usr/bin/env python3
"""Serves one file with Range requests, for tests of what fetches; prints its port as a JSON line and ends with stdin."""

import http.server
import json
import os
import re
import sys
import threading


def main():
    path, kind = sys.argv[1], sys.argv[2]
    with open(path, "rb") as file:
        content = file.read()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_GET(self):
            if self.path != "/media":
                return self.answer(404, b"", {})
            match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if not match:
                return self.answer(200, content, {})
            first = int(match.group(1))
            last = min(int(match.group(2) or len(content)), len(content) - 1)
            if first > last:
                return self.answer(416, b"", {"Content-Range": "bytes */%d" % len(content)})
            where = "bytes %d-%d/%d" % (first, last, len(content))
            self.answer(206, content[first : last + 1], {"Content-Range": where})

        def answer(self, status, body, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"event": "listening", "port": server.server_address[1]}), flush=True)
    while os.read(sys.stdin.fileno(), 4096):
        pass


if __name__ == "__main__":
    main()
