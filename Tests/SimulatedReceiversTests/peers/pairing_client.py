#!/usr/bin/env python3
"""A controller that pairs with a receiver, made of srptools and cryptography: for what pyatv does not do.

    pairing_client.py PORT http|rtsp SCENARIO [ARGUMENT…]

Prints one JSON object: what every step was answered with. Needs srptools 1.0.1 and cryptography.
"""

import hashlib
import json
import os
import plistlib
import socket
import sys
import uuid

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from srptools import SRPClientSession, SRPContext, constants

METHOD, IDENTIFIER, SALT, KEY, PROOF, SEALED, STATE, ERROR, DELAY = range(9)
SIGNATURE, PERMISSIONS, FLAGS, SEPARATOR = 10, 11, 19, 255


def tlv(*items):
    out = b""
    for tag, value in items:
        while True:
            part, value = value[:255], value[255:]
            out += bytes([tag, len(part)]) + part
            if not value:
                break
    return out


def items(data):
    """In order; a value after a full one of the same type goes on with it."""
    result, position, full = [], 0, False
    while position < len(data):
        tag, length = data[position], data[position + 1]
        value = data[position + 2:position + 2 + length]
        assert len(value) == length, "truncated"
        if full and result[-1][0] == tag:
            result[-1] = (tag, result[-1][1] + value)
        else:
            result.append((tag, value))
        full = length == 255
        position += 2 + length
    return result


def hkdf(secret, salt, info):
    return HKDF(hashes.SHA512(), 32, salt.encode(), info.encode()).derive(secret)


def seal(key, nonce, data, more=None):
    return ChaCha20Poly1305(key).encrypt(nonce.rjust(12, b"\0"), data, more)


def unseal(key, nonce, data, more=None):
    return ChaCha20Poly1305(key).decrypt(nonce.rjust(12, b"\0"), data, more)


class Connection:
    def __init__(self, port, spelling):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.spelling, self.sequence, self.buffer = spelling, 0, b""
        self.keys, self.counters, self.plain = None, [0, 0], b""

    def encrypt(self, secret):
        self.keys = (
            hkdf(secret, "Control-Salt", "Control-Write-Encryption-Key"),
            hkdf(secret, "Control-Salt", "Control-Read-Encryption-Key"),
        )

    def nonce(self, direction):
        self.counters[direction] += 1
        return (self.counters[direction] - 1).to_bytes(8, "little")

    def send(self, data):
        if self.keys:
            out = b""
            for start in range(0, len(data), 1024):
                part = data[start:start + 1024]
                length = len(part).to_bytes(2, "little")
                out += length + seal(self.keys[0], self.nonce(0), part, length)
            data = out
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data
        if not self.keys:
            self.plain, self.buffer = self.plain + self.buffer, b""
            return
        while len(self.buffer) >= 2:
            length = int.from_bytes(self.buffer[:2], "little")
            if len(self.buffer) < length + 18:
                break
            self.plain += unseal(self.keys[1], self.nonce(1), self.buffer[2:length + 18], self.buffer[:2])
            self.buffer = self.buffer[length + 18:]

    def ask(self, path, body=b"", headers=None, method="POST"):
        """Status and body; 0 where the connection ends instead."""
        self.sequence += 1
        version = "RTSP/1.0" if self.spelling == "rtsp" else "HTTP/1.1"
        lines = [f"{method} {path} {version}"] + [f"{name}: {value}" for name, value in (headers or {}).items()]
        if self.spelling == "rtsp":
            lines.append(f"CSeq: {self.sequence}")
        lines.append(f"Content-Length: {len(body)}")
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        try:
            while b"\r\n\r\n" not in self.plain:
                self.more()
            head, self.plain = self.plain.split(b"\r\n\r\n", 1)
            first, *fields = head.decode().split("\r\n")
            assert first.startswith(version), first
            fields = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
            if self.spelling == "rtsp":
                assert fields["cseq"] == str(self.sequence)
            length = int(fields["content-length"])
            while len(self.plain) < length:
                self.more()
        except (EOFError, ConnectionError):
            return 0, b""
        body, self.plain = self.plain[:length], self.plain[length:]
        return int(first.split(" ")[1]), body

    def items(self, path, *message, kit="3"):
        headers = {"Content-Type": "application/octet-stream"}
        if kit:
            headers["X-Apple-HKP"] = kit
        status, body = self.ask(path, tlv(*message), headers)
        return status, items(body)


def outcome(status, answer):
    """What went wrong, for the JSON; None where nothing did."""
    fields = dict(answer)
    if status != 200:
        return {"status": status}
    if ERROR in fields:
        failure = {"error": fields[ERROR][0], "state": fields[STATE][0]}
        if DELAY in fields:
            failure["delay"] = int.from_bytes(fields[DELAY], "little")
        return failure
    return None


class Controller:
    def __init__(self):
        self.identifier = str(uuid.uuid4()).upper().encode()
        self.signing = Ed25519PrivateKey.generate()
        self.key = self.signing.public_key().public_bytes_raw()
        self.receiver = None

    def setup(self, connection, code, transient=False, identifier=None):
        """Failure (None without) and, of transient pair-setup, the secret."""
        kit = "4" if transient else "3"
        message = [(METHOD, b"\0"), (STATE, b"\1")] + ([(FLAGS, b"\x10")] if transient else [])
        status, answer = connection.items("/pair-setup", *message, kit=kit)
        failure = outcome(status, answer)
        if failure:
            return failure, None
        offer = dict(answer)
        context = SRPContext(
            "Pair-Setup", code, prime=constants.PRIME_3072, generator=constants.PRIME_3072_GEN,
            hash_func=hashlib.sha512)
        session = SRPClientSession(context, os.urandom(32).hex())
        session.process(offer[KEY].hex(), offer[SALT].hex())
        status, answer = connection.items(
            "/pair-setup", (STATE, b"\3"), (KEY, bytes.fromhex(session.public)),
            (PROOF, bytes.fromhex(session.key_proof.decode())), kit=kit)
        failure = outcome(status, answer)
        if failure:
            return failure, None
        if dict(answer)[PROOF].hex() != session.key_proof_hash.decode():
            return {"mistake": "proof"}, None
        secret = bytes.fromhex(session.key.decode())
        if transient:
            return None, secret
        identifier = identifier or self.identifier
        seed = hkdf(secret, "Pair-Setup-Controller-Sign-Salt", "Pair-Setup-Controller-Sign-Info")
        signature = self.signing.sign(seed + identifier + self.key)
        key = hkdf(secret, "Pair-Setup-Encrypt-Salt", "Pair-Setup-Encrypt-Info")
        status, answer = connection.items(
            "/pair-setup", (STATE, b"\5"),
            (SEALED, seal(key, b"PS-Msg05", tlv((IDENTIFIER, identifier), (KEY, self.key), (SIGNATURE, signature)))))
        failure = outcome(status, answer)
        if failure:
            return failure, None
        other = dict(items(unseal(key, b"PS-Msg06", dict(answer)[SEALED])))
        seed = hkdf(secret, "Pair-Setup-Accessory-Sign-Salt", "Pair-Setup-Accessory-Sign-Info")
        try:
            Ed25519PublicKey.from_public_bytes(other[KEY]).verify(
                other[SIGNATURE], seed + other[IDENTIFIER] + other[KEY])
        except InvalidSignature:
            return {"mistake": "signature"}, None
        self.receiver = (other[IDENTIFIER], other[KEY])
        return None, None

    def verify(self, connection, receiver=None):
        """Failure; without one the connection is encrypted from here on."""
        own = X25519PrivateKey.generate()
        public = own.public_key().public_bytes_raw()
        status, answer = connection.items("/pair-verify", (STATE, b"\1"), (KEY, public))
        failure = outcome(status, answer)
        if failure:
            return failure
        offer = dict(answer)
        shared = own.exchange(X25519PublicKey.from_public_bytes(offer[KEY]))
        key = hkdf(shared, "Pair-Verify-Encrypt-Salt", "Pair-Verify-Encrypt-Info")
        other = dict(items(unseal(key, b"PV-Msg02", offer[SEALED])))
        identifier, receiver_key = receiver or self.receiver
        if other[IDENTIFIER] != identifier:
            return {"mistake": "identity"}
        try:
            Ed25519PublicKey.from_public_bytes(receiver_key).verify(
                other[SIGNATURE], offer[KEY] + identifier + public)
        except InvalidSignature:
            return {"mistake": "signature"}
        signature = self.signing.sign(public + self.identifier + offer[KEY])
        sealed = seal(key, b"PV-Msg03", tlv((IDENTIFIER, self.identifier), (SIGNATURE, signature)))
        status, answer = connection.items("/pair-verify", (STATE, b"\3"), (SEALED, sealed))
        failure = outcome(status, answer)
        if failure is None:
            connection.encrypt(shared)
        return failure

    # The older pairing

    def legacy_code(self, connection, code):
        def ask(**message):
            status, body = connection.ask(
                "/pair-setup-pin", plistlib.dumps(message, fmt=plistlib.FMT_BINARY),
                {"Content-Type": "application/x-apple-binary-plist"})
            return status, plistlib.loads(body) if status == 200 else None

        user = os.urandom(8).hex().upper()
        status, offer = ask(method="pin", user=user)
        if status != 200:
            return {"step": 1, "status": status}
        context = LegacyContext(user, code, prime=constants.PRIME_2048, generator=constants.PRIME_2048_GEN)
        session = SRPClientSession(context, os.urandom(32).hex())
        session.process(offer["pk"].hex(), offer["salt"].hex())
        status, answer = ask(
            pk=bytes.fromhex(session.public), proof=bytes.fromhex(session.key_proof.decode()))
        if status != 200:
            return {"step": 2, "status": status}
        if answer["proof"].hex() != session.key_proof_hash.decode():
            return {"step": 2, "mistake": "proof"}
        secret = bytes.fromhex(session.key.decode())
        key = hashlib.sha512(b"Pair-Setup-AES-Key" + secret).digest()[:16]
        nonce = bytearray(hashlib.sha512(b"Pair-Setup-AES-IV" + secret).digest()[:16])
        nonce[15] = (nonce[15] + 1) % 256
        sealer = Cipher(algorithms.AES(key), modes.GCM(bytes(nonce))).encryptor()
        sealed = sealer.update(self.key) + sealer.finalize()
        status, answer = ask(epk=sealed, authTag=sealer.tag)
        if status != 200:
            return {"step": 3, "status": status}
        nonce[15] = (nonce[15] + 1) % 256
        opener = Cipher(algorithms.AES(key), modes.GCM(bytes(nonce), answer["authTag"])).decryptor()
        self.receiver = (None, opener.update(answer["epk"]) + opener.finalize())
        return None

    def legacy_open(self, connection):
        status, body = connection.ask("/pair-setup", self.key, {"Content-Type": "application/octet-stream"})
        if status != 200:
            return {"status": status}
        self.receiver = (None, body)
        return None

    def legacy_verify(self, connection):
        own = X25519PrivateKey.generate()
        public = own.public_key().public_bytes_raw()
        headers = {"Content-Type": "application/octet-stream"}
        status, body = connection.ask("/pair-verify", b"\1\0\0\0" + public + self.key, headers)
        if status != 200:
            return {"step": 1, "status": status}
        other, sealed = body[:32], body[32:]
        shared = own.exchange(X25519PublicKey.from_public_bytes(other))
        key = hashlib.sha512(b"Pair-Verify-AES-Key" + shared).digest()[:16]
        start = hashlib.sha512(b"Pair-Verify-AES-IV" + shared).digest()[:16]
        stream = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()
        try:
            Ed25519PublicKey.from_public_bytes(self.receiver[1]).verify(stream.update(sealed), other + public)
        except InvalidSignature:
            return {"step": 1, "mistake": "signature"}
        signature = stream.update(self.signing.sign(public + other))
        status, _ = connection.ask("/pair-verify", b"\0\0\0\0" + signature, headers)
        return None if status == 200 else {"step": 2, "status": status}


class LegacyContext(SRPContext):
    def get_common_session_key(self, premaster_secret):
        return b"".join(
            self.hash(premaster_secret, index.to_bytes(4, "big"), as_bytes=True) for index in range(2))


def listed(answer):
    """The controllers of a list: identifier, key, whether it is an admin."""
    result, current = [], {}
    for tag, value in answer[1:] + [(SEPARATOR, b"")]:
        if tag == SEPARATOR:
            result.append([current[IDENTIFIER].decode(), current[KEY].hex(), current[PERMISSIONS][0]])
            current = {}
        else:
            current[tag] = value
    return result


class Scenarios:
    def __init__(self, port, spelling):
        self.port, self.spelling, self.log = port, spelling, []

    def connect(self):
        return Connection(self.port, self.spelling)

    def note(self, step, value):
        self.log.append([step, value])

    def info(self, connection, what="info"):
        status, body = connection.ask("/info", method="GET")
        self.note(what, [status, body.decode()])

    def code(self, code):
        """Pair-setup with a code, then pair-verify on a connection of its own."""
        controller, connection = Controller(), self.connect()
        self.note("pin-start", connection.ask("/pair-pin-start", headers={"X-Apple-HKP": "3"})[0])
        self.note("setup", controller.setup(connection, code)[0])
        other = self.connect()
        self.note("verify", controller.verify(other))
        self.info(other)
        # More than a frame in one direction and in the other.
        status, body = other.ask("/echo", b"x" * 5000)
        self.note("echo", [status, len(body)])

    def transient(self, password="3939"):
        controller, connection = Controller(), self.connect()
        self.info(connection, "info before")
        failure, secret = controller.setup(connection, password, transient=True)
        self.note("setup", failure)
        if secret:
            connection.encrypt(secret)
            self.info(connection)

    def tries(self, *codes):
        """One code after the other, each on a connection of its own."""
        for code in codes:
            self.note(code, Controller().setup(self.connect(), code)[0])

    def transient_tries(self, *codes):
        for code in codes:
            self.note(code, Controller().setup(self.connect(), code, transient=True)[0])

    def busy(self, code):
        """Somebody begins while another pairs, and again when that one is gone."""
        first, second = self.connect(), self.connect()
        self.note("first", outcome(*first.items("/pair-setup", (METHOD, b"\0"), (STATE, b"\1"))))
        self.note("second", Controller().setup(second, code)[0])
        first.socket.close()
        for _ in range(200):
            failure = Controller().setup(second, code)[0]
            if failure is None or failure.get("error") != 7:
                break
        self.note("second again", failure)

    def controllers(self, code):
        """An admin adds, lists and removes."""
        admin, guest = Controller(), Controller()
        self.note("setup", admin.setup(self.connect(), code)[0])
        plain = self.connect()
        self.note("list without verify", plain.items("/pair-list", (STATE, b"\1"), (METHOD, b"\5"))[0])
        self.note("guest before", guest.verify(self.connect(), admin.receiver))
        connection = self.connect()
        self.note("verify", admin.verify(connection))

        def add(key, permissions):
            return outcome(*connection.items(
                "/pair-add", (STATE, b"\1"), (METHOD, b"\3"), (IDENTIFIER, guest.identifier), (KEY, key),
                (PERMISSIONS, permissions)))

        self.note("add", add(guest.key, b"\0"))
        self.note("add another key", add(os.urandom(32), b"\0"))
        status, answer = connection.items("/pair-list", (STATE, b"\1"), (METHOD, b"\5"))
        names = {admin.identifier.decode(): "admin", guest.identifier.decode(): "guest"}
        keys = {admin.key.hex(): "admin", guest.key.hex(): "guest"}
        self.note("list", [[names[i], keys[k], p] for i, k, p in listed(answer)])
        other = self.connect()
        self.note("guest", guest.verify(other, admin.receiver))
        self.note("guest lists", outcome(*other.items("/pair-list", (STATE, b"\1"), (METHOD, b"\5"))))
        remove = lambda who: outcome(*connection.items(
            "/pair-remove", (STATE, b"\1"), (METHOD, b"\4"), (IDENTIFIER, who.identifier)))
        self.note("remove", remove(guest))
        self.note("remove again", remove(guest))
        self.note("guest after", guest.verify(self.connect(), admin.receiver))
        self.note("add again", add(guest.key, b"\0"))
        self.note("remove admin", remove(admin))
        self.note("admin after", admin.verify(self.connect()))
        self.note("guest without admin", guest.verify(self.connect(), admin.receiver))

    def faulty(self, code, kind):
        """Pair-setup and pair-verify against a receiver that makes a mistake."""
        controller = Controller()
        if kind == "verify":
            controller.setup(self.connect(), code)
            self.note("verify", controller.verify(self.connect()))
        else:
            self.note("setup", controller.setup(self.connect(), code)[0])

    def legacy_code(self, code, expected="right"):
        controller, connection = Controller(), self.connect()
        self.note("pin-start", connection.ask("/pair-pin-start")[0])
        self.note("setup", controller.legacy_code(connection, code))
        if expected == "right":
            other = self.connect()
            self.note("verify", controller.legacy_verify(other))
            self.info(other)
            self.note("stranger", Controller().legacy_verify(self.connect()))

    def speaker(self, code):
        """A speaker that wants the older pairing before anything else."""
        controller, connection = Controller(), self.connect()
        self.note("options before", connection.ask("*", method="OPTIONS")[0])
        self.note("pin-start", connection.ask("/pair-pin-start")[0])
        self.note("setup", controller.legacy_code(connection, code))
        self.note("options after setup", connection.ask("*", method="OPTIONS")[0])
        self.note("verify", controller.legacy_verify(connection))
        self.note("options", connection.ask("*", method="OPTIONS")[0])

    def legacy_open(self):
        controller, connection = Controller(), self.connect()
        self.note("setup", controller.legacy_open(connection))
        self.note("verify", controller.legacy_verify(connection))
        self.info(connection)
        self.note("stranger", Controller().legacy_verify(self.connect()))


if __name__ == "__main__":
    scenarios = Scenarios(int(sys.argv[1]), sys.argv[2])
    getattr(scenarios, sys.argv[3])(*sys.argv[4:])
    print(json.dumps(scenarios.log))
