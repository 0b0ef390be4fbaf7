#!/usr/bin/env python3
"""A TLS server that greets every client like a mail server would, and knows nothing of Cast.

Prints {"event": "listening", "port": …} and ends when its standard input does (--until-eof).
"""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading


def serve(listener, context):
    while True:
        connection, _ = listener.accept()
        try:
            with context.wrap_socket(connection, server_side=True) as stream:
                stream.sendall(b"220 mail.example ready for business, as long as you like to wait\r\n")
                while stream.recv(4096):
                    stream.sendall(b"500 what was that?\r\n")
        except OSError:
            pass


with tempfile.TemporaryDirectory() as folder:
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=mail.example",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
listener = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"event": "listening", "port": listener.getsockname()[1]}), flush=True)
threading.Thread(target=serve, args=(listener, context), daemon=True).start()
sys.stdin.read()
