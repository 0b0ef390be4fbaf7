#!/usr/bin/env python3
"""A device's side of pairing, for the tests: on srptools and cryptography, with nothing of ours in it.

    pairing_server.py --until-eof [--pin 1234] [--password TEXT] [--spelling rtsp|http]
                      [--error CODE@STATE] [--retry SECONDS] [--status CODE@PATH] [--tries N] [--no-transient]

Listens on a loopback port, prints JSON lines (“listening” first) and ends when its input does. HomeKit pairing (PIN,
password, transient, verify; add, remove and list over the encrypted channel), and the legacy pairing with and without a
PIN. Its request paths are those of an AirPlay receiver. With --spelling, a start line of the other kind is answered 400.
"""
import argparse
import hashlib
import json
import os
import plistlib
import socket
import sys
import threading

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from srptools import SRPContext, SRPServerSession, constants

(METHOD, IDENTIFIER, SALT, PUBLIC_KEY, PROOF, ENCRYPTED, STATE, ERROR, RETRY, SIGNATURE, PERMISSIONS, FLAGS,
 SEPARATOR) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 19, 255)
UNKNOWN, AUTHENTICATION, MAX_TRIES, UNAVAILABLE = 1, 2, 5, 6


def say(event, **fields):
    print(json.dumps(dict(event=event, **fields)), flush=True)


class Refused(Exception):
    """An error item."""


class Status(Exception):
    """Another status than 200."""


# ---- items

def read_items(data):
    items, position, last = [], 0, None
    while position < len(data):
        tag, length = data[position], data[position + 1]
        value = data[position + 2:position + 2 + length]
        if last is not None and last[0] == tag and last[1] == 255:
            items[-1] = (tag, items[-1][1] + value)
        else:
            items.append((tag, value))
        last = (tag, length)
        position += 2 + length
    return items


def write_items(*items):
    out = bytearray()
    for tag, value in items:
        pieces = [value[i:i + 255] for i in range(0, len(value), 255)] or [b""]
        for piece in pieces:
            out += bytes((tag, len(piece))) + piece
    return bytes(out)


def hkdf(key, salt, info):
    return HKDF(algorithm=hashes.SHA512(), length=32, salt=salt.encode(), info=info.encode()).derive(key)


def raw(private):
    return private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def nonce(name):
    return b"\0\0\0\0" + name


class LegacyContext(SRPContext):
    def get_common_session_key(self, premaster_secret):
        return (self.hash(premaster_secret, b"\0\0\0\0", as_bytes=True)
                + self.hash(premaster_secret, b"\0\0\0\1", as_bytes=True))


class SRP:
    """The verifier's side of one exchange."""

    def __init__(self, legacy, user, code):
        if legacy:
            context = LegacyContext(user, code, prime=constants.PRIME_2048.strip(), generator=constants.PRIME_2048_GEN)
        else:
            context = SRPContext(user, code, prime=constants.PRIME_3072, generator=constants.PRIME_3072_GEN,
                                 hash_func=hashlib.sha512)
        self.salt = os.urandom(16)
        verifier = context.get_common_password_verifier(context.get_common_password_hash(self.salt))
        self.session = SRPServerSession(context, "%x" % verifier, os.urandom(32).hex())
        self.public = bytes.fromhex(self.session.public)

    def answer(self, public, proof):
        """M2, or None for a wrong proof."""
        key, ours, theirs = self.session.process(public.hex(), self.salt.hex())
        if ours.decode() != proof.hex():
            return None
        self.key = bytes.fromhex(key.decode())
        return bytes.fromhex(theirs.decode())


class Device:
    def __init__(self, options):
        self.options = options
        self.identifier = b"11:22:33:44:55:66"
        self.signing = Ed25519PrivateKey.generate()
        self.pairings = {}  # identifier: (key, admin)
        self.legacy_keys = set()
        self.tries = 0


class Connection:
    def __init__(self, device, sock):
        self.device, self.sock, self.options = device, sock, device.options
        self.rest = b""
        self.opener = self.sealer = None
        self.srp = self.shared = self.legacy = None
        self.who = None

    # -- bytes

    def more(self):
        data = self.sock.recv(4096)
        if not data:
            raise EOFError
        if self.opener is None:
            self.rest += data
            return
        self.sealed += data
        while len(self.sealed) >= 2:
            length = int.from_bytes(self.sealed[:2], "little")
            if len(self.sealed) < 18 + length:
                break
            key, count = self.opener
            self.rest += ChaCha20Poly1305(key).decrypt(
                nonce(count.to_bytes(8, "little")), self.sealed[2:18 + length], self.sealed[:2])
            self.opener = (key, count + 1)
            self.sealed = self.sealed[18 + length:]

    def send(self, data):
        if self.sealer is not None:
            out = b""
            while data:
                part, data = data[:1024], data[1024:]
                header = len(part).to_bytes(2, "little")
                key, count = self.sealer
                out += header + ChaCha20Poly1305(key).encrypt(nonce(count.to_bytes(8, "little")), part, header)
                self.sealer = (key, count + 1)
            data = out
        self.sock.sendall(data)

    def encrypt(self, secret):
        self.opener = (hkdf(secret, "Control-Salt", "Control-Write-Encryption-Key"), 0)
        self.sealer = (hkdf(secret, "Control-Salt", "Control-Read-Encryption-Key"), 0)
        self.sealed, self.rest = self.rest, b""

    # -- messages

    def run(self):
        try:
            while self.one():
                pass
        except (EOFError, ConnectionError):
            pass
        except InvalidTag:
            say("not authentic")
        finally:
            self.sock.close()

    def one(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        method, path, version = lines[0].split(" ")
        headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines[1:])}
        while len(self.rest) < int(headers.get("content-length", 0)):
            self.more()
        length = int(headers.get("content-length", 0))
        body, self.rest = self.rest[:length], self.rest[length:]
        say("request", path=path, version=version, hkp=headers.get("x-apple-hkp", ""),
            type=headers.get("content-type", ""), encrypted=self.opener is not None)
        self.secret = None
        status, answer = self.status(method, path, version, headers, body)
        out = f"{version} {status} {'OK' if status == 200 else 'No'}\r\n"
        if version == "RTSP/1.0" and "cseq" in headers:
            out += f"CSeq: {headers['cseq']}\r\n"
        self.send((out + f"Content-Length: {len(answer)}\r\n\r\n").encode() + answer)
        if self.secret is not None:
            self.encrypt(self.secret)
        return True

    def status(self, method, path, version, headers, body):
        wanted = {"rtsp": "RTSP/1.0", "http": "HTTP/1.1"}.get(self.options.spelling, version)
        if version != wanted or (version == "RTSP/1.0" and "cseq" not in headers):
            return 400, b""
        for entry in self.options.status:
            code, at = entry.split("@")
            if at == path:
                return int(code), b""
        try:
            handler = getattr(self, "on_" + path.strip("/").replace("-", "_"), None)
            return (404, b"") if handler is None else (200, handler(headers, body))
        except Status as status:
            return status.args[0], b""

    # -- HomeKit

    def items(self, body, handler):
        items = dict(read_items(body))
        state = items[STATE][0]
        try:
            for entry in self.options.error:
                code, at = entry.split("@")
                if int(at) == state + 1:
                    raise Refused(int(code))
            answer = handler(state, items)
        except Refused as refused:
            answer = [(ERROR, bytes([refused.args[0]]))]
            if self.options.retry:
                answer.append((RETRY, self.options.retry.to_bytes(4, "little")))
            say("refused", state=state + 1, code=refused.args[0])
        return write_items((STATE, bytes([state + 1])), *answer)

    def on_pair_pin_start(self, headers, body):
        say("pin shown", pin=self.options.pin)
        return b""

    def on_pair_setup(self, headers, body):
        if "x-apple-hkp" not in headers:
            if len(body) != 32:
                raise Status(400)
            self.device.legacy_keys.add(body)
            return raw(self.device.signing)
        return self.items(body, lambda state, items: self.setup(state, items, headers["x-apple-hkp"]))

    def setup(self, state, items, hkp):
        transient = items.get(FLAGS) == b"\x10" if state == 1 else self.transient
        if state == 1:
            self.transient = transient
            if transient and self.options.no_transient:
                raise Status(470)
            if transient != (hkp == "4"):
                raise Refused(UNKNOWN)
            if self.options.tries and self.device.tries >= self.options.tries:
                raise Refused(MAX_TRIES)
            code = self.options.password or ("3939" if transient else self.options.pin)
            self.srp = SRP(False, "Pair-Setup", code)
            return [(SALT, self.srp.salt), (PUBLIC_KEY, self.srp.public)]
        if self.srp is None:
            raise Refused(UNKNOWN)
        if state == 3:
            proof = self.srp.answer(items[PUBLIC_KEY], items[PROOF])
            if proof is None:
                self.device.tries += 1
                self.srp = None
                raise Refused(AUTHENTICATION)
            self.device.tries = 0
            if transient:
                self.secret = self.srp.key
            return [(PROOF, proof)]
        key = hkdf(self.srp.key, "Pair-Setup-Encrypt-Salt", "Pair-Setup-Encrypt-Info")
        theirs = dict(read_items(ChaCha20Poly1305(key).decrypt(nonce(b"PS-Msg05"), items[ENCRYPTED], None)))
        x = hkdf(self.srp.key, "Pair-Setup-Controller-Sign-Salt", "Pair-Setup-Controller-Sign-Info")
        self.check(theirs[PUBLIC_KEY], theirs[SIGNATURE], x + theirs[IDENTIFIER] + theirs[PUBLIC_KEY])
        self.device.pairings[theirs[IDENTIFIER]] = (theirs[PUBLIC_KEY], True)
        say("paired", controller=theirs[IDENTIFIER].decode())
        x = hkdf(self.srp.key, "Pair-Setup-Accessory-Sign-Salt", "Pair-Setup-Accessory-Sign-Info")
        name, public = self.device.identifier, raw(self.device.signing)
        ours = write_items((IDENTIFIER, name), (PUBLIC_KEY, public),
                           (SIGNATURE, self.device.signing.sign(x + name + public)))
        return [(ENCRYPTED, ChaCha20Poly1305(key).encrypt(nonce(b"PS-Msg06"), ours, None))]

    @staticmethod
    def check(key, signature, message):
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except InvalidSignature:
            raise Refused(AUTHENTICATION) from None

    def on_pair_verify(self, headers, body):
        if "x-apple-hkp" not in headers:
            return self.legacy_verify(body)
        return self.items(body, self.verify)

    def verify(self, state, items):
        if state == 1:
            self.theirs = items[PUBLIC_KEY]
            exchange = X25519PrivateKey.generate()
            self.ours = raw(exchange)
            self.shared = exchange.exchange(X25519PublicKey.from_public_bytes(self.theirs))
            self.key = hkdf(self.shared, "Pair-Verify-Encrypt-Salt", "Pair-Verify-Encrypt-Info")
            name = self.device.identifier
            inner = write_items(
                (IDENTIFIER, name), (SIGNATURE, self.device.signing.sign(self.ours + name + self.theirs)))
            return [(PUBLIC_KEY, self.ours),
                    (ENCRYPTED, ChaCha20Poly1305(self.key).encrypt(nonce(b"PV-Msg02"), inner, None))]
        inner = dict(read_items(ChaCha20Poly1305(self.key).decrypt(nonce(b"PV-Msg03"), items[ENCRYPTED], None)))
        if inner[IDENTIFIER] not in self.device.pairings:
            raise Refused(AUTHENTICATION)
        key, admin = self.device.pairings[inner[IDENTIFIER]]
        self.check(key, inner[SIGNATURE], self.theirs + inner[IDENTIFIER] + self.ours)
        self.who = inner[IDENTIFIER] if admin else None
        self.secret = self.shared
        say("verified", controller=inner[IDENTIFIER].decode())
        return []

    # -- who is paired: over the encrypted channel of an admin

    def admin(self, body, handler):
        def checked(state, items):
            if self.opener is None or self.who is None:
                raise Refused(AUTHENTICATION)
            return handler(items)
        return self.items(body, checked)

    def on_pair_add(self, headers, body):
        def add(items):
            self.device.pairings[items[IDENTIFIER]] = (items[PUBLIC_KEY], items[PERMISSIONS] == b"\1")
            return []
        return self.admin(body, add)

    def on_pair_remove(self, headers, body):
        def remove(items):
            self.device.pairings.pop(items[IDENTIFIER], None)
            return []
        return self.admin(body, remove)

    def on_pair_list(self, headers, body):
        def listed(items):
            out = []
            for name, (key, admin) in self.device.pairings.items():
                out += [(SEPARATOR, b"")] if out else []
                out += [(IDENTIFIER, name), (PUBLIC_KEY, key), (PERMISSIONS, bytes([admin]))]
            return out
        return self.admin(body, listed)

    def on_feedback(self, headers, body):
        """Long enough for several frames."""
        return bytes(i % 251 for i in range(5000)) if self.opener else b""

    # -- legacy

    @staticmethod
    def derived(label, key):
        return hashlib.sha512(label + key).digest()[:16]

    def on_pair_setup_pin(self, headers, body):
        if headers.get("content-type") != "application/x-apple-binary-plist":
            raise Status(400)
        entries = plistlib.loads(body)
        if entries.get("method") == "pin":
            self.srp = SRP(True, entries["user"], self.options.pin)
            answer = dict(pk=self.srp.public, salt=self.srp.salt)
        elif "proof" in entries:
            proof = self.srp.answer(entries["pk"], entries["proof"]) if self.srp else None
            if proof is None:
                raise Status(470)
            answer = dict(proof=proof)
        else:
            key = self.derived(b"Pair-Setup-AES-Key", self.srp.key)
            vector = bytearray(self.derived(b"Pair-Setup-AES-IV", self.srp.key))
            vector[15] = (vector[15] + 1) % 256
            opener = Cipher(algorithms.AES(key), modes.GCM(bytes(vector), entries["authTag"])).decryptor()
            public = opener.update(entries["epk"]) + opener.finalize()
            self.device.legacy_keys.add(public)
            say("paired", controller=public.hex())
            vector[15] = (vector[15] + 1) % 256
            sealer = Cipher(algorithms.AES(key), modes.GCM(bytes(vector))).encryptor()
            answer = dict(epk=sealer.update(raw(self.device.signing)) + sealer.finalize(), authTag=sealer.tag)
        return plistlib.dumps(answer, fmt=plistlib.FMT_BINARY)

    def legacy_verify(self, body):
        if body[:4] == b"\1\0\0\0" and len(body) == 68:
            self.theirs, public = body[4:36], body[36:]
            if public not in self.device.legacy_keys:
                raise Status(470)
            exchange = X25519PrivateKey.generate()
            self.ours = raw(exchange)
            shared = exchange.exchange(X25519PublicKey.from_public_bytes(self.theirs))
            self.stream = Cipher(algorithms.AES(self.derived(b"Pair-Verify-AES-Key", shared)),
                                 modes.CTR(self.derived(b"Pair-Verify-AES-IV", shared))).encryptor()
            self.legacy = public
            return self.ours + self.stream.update(self.device.signing.sign(self.ours + self.theirs))
        if body[:4] == b"\0\0\0\0" and len(body) == 68 and self.legacy:
            try:
                Ed25519PublicKey.from_public_bytes(self.legacy).verify(
                    self.stream.update(body[4:]), self.theirs + self.ours)
            except InvalidSignature:
                raise Status(403) from None
            say("verified", controller=self.legacy.hex())
            return b""
        raise Status(400)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--until-eof", action="store_true", required=True)
    parser.add_argument("--pin", default="1234")
    parser.add_argument("--password")
    parser.add_argument("--spelling", choices=["rtsp", "http"])
    parser.add_argument("--error", action="append", default=[])
    parser.add_argument("--retry", type=int)
    parser.add_argument("--status", action="append", default=[])
    parser.add_argument("--tries", type=int)
    parser.add_argument("--no-transient", action="store_true")
    device = Device(parser.parse_args())
    listener = socket.create_server(("127.0.0.1", 0))
    say("listening", port=listener.getsockname()[1])

    def accept():
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=Connection(device, sock).run, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
