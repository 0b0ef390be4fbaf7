#!/usr/bin/env python3
"""Numbers of SRP as pairing uses it, made by srptools: what a receiver's side must come to.

Prints JSON (kept in pairing_vectors.json): for each group, HomeKit's and the older one's, an ordinary exchange and three
in which one number happens to be a byte shorter than the prime: the sender's key A, the receiver's key B, the shared
secret S. NUMBERS says which seed that happens with, as one in 256 does; `--search` finds them again, in a minute.

Needs srptools 1.0.1.
"""

import binascii
import hashlib
import itertools
import json
import sys

from srptools import SRPClientSession, SRPContext, SRPServerSession, constants


class LegacyContext(SRPContext):
    """The session key of the older pairing is made of two digests."""

    def get_common_session_key(self, premaster_secret):
        return b"".join(
            self.hash(premaster_secret, index.to_bytes(4, "big"), as_bytes=True) for index in range(2)
        )


class Group:
    def __init__(self, name, context, user, password, prime, generator, hash_func):
        self.name, self.user, self.password = name, user, password
        self.prime, self.generator = int(prime, 16), int(generator, 16)
        self.length = (self.prime.bit_length() + 7) // 8
        self.context = context(user, password, prime=prime, generator=generator, hash_func=hash_func)
        self.salt = self.seed("salt", 0)[:16]
        self.verifier = self.context.get_common_password_verifier(
            self.context.get_common_password_hash(self.salt))

    def seed(self, what, number):
        return hashlib.sha256(f"router pairing vector {self.name} {what} {number}".encode()).digest()

    def is_short(self, number):
        return number < 1 << (8 * (self.length - 1))

    def client_key(self, a):
        return pow(self.generator, int.from_bytes(a, "big"), self.prime)

    def server_key(self, b):
        return self.context.get_server_public(self.verifier, int.from_bytes(b, "big"))

    def secret(self, a, b):
        A = self.client_key(a)
        u = self.context.get_common_secret(self.server_key(b), A)
        return self.context.get_server_premaster_secret(self.verifier, int.from_bytes(b, "big"), A, u)

    def exchange(self, name, a, b):
        """One exchange, with the receiver's side by srptools as well: both must agree."""
        salt = self.salt.hex()
        server = SRPServerSession(self.context, "%x" % self.verifier, private=b.hex())
        client = SRPClientSession(self.context, private=a.hex())
        client.process(server.public, salt)
        server.process(client.public, salt)
        assert client.key == server.key and client.key_proof == server.key_proof
        return {
            "name": f"{self.name}-{name}",
            "group": self.name,
            "user": self.user,
            "password": self.password,
            "salt": salt,
            "serverExponent": b.hex(),
            "clientKey": client.public,
            "serverKey": server.public,
            "sessionKey": client.key.decode(),
            "clientProof": client.key_proof.decode(),
            "serverProof": client.key_proof_hash.decode(),
        }


GROUPS = [
    Group("homeKit", SRPContext, "Pair-Setup", "3939", constants.PRIME_3072.strip(), constants.PRIME_3072_GEN,
          hashlib.sha512),
    Group("legacy", LegacyContext, "366B4165DD64AD3A", "1234", constants.PRIME_2048.strip(),
          constants.PRIME_2048_GEN, hashlib.sha1),
]

NUMBERS = {"homeKit": {"a": 200, "b": 1035, "s": 283}, "legacy": {"a": 36, "b": 285, "s": 131}}


def vectors():
    for group in GROUPS:
        a, b = group.seed("a", 0), group.seed("b", 0)
        tests = {
            "a": lambda number: group.is_short(group.client_key(group.seed("a", number))),
            "b": lambda number: group.is_short(group.server_key(group.seed("b", number))),
            "s": lambda number: group.is_short(group.secret(a, group.seed("s", number))),
        }
        if "--search" in sys.argv:
            numbers = {what: next(filter(test, itertools.count())) for what, test in tests.items()}
            print(group.name, numbers, file=sys.stderr)
        else:
            numbers = NUMBERS[group.name]
        assert all(test(numbers[what]) for what, test in tests.items())
        yield group.exchange("ordinary", a, b)
        yield group.exchange("short-client-key", group.seed("a", numbers["a"]), b)
        yield group.exchange("short-server-key", a, group.seed("b", numbers["b"]))
        yield group.exchange("short-secret", a, group.seed("s", numbers["s"]))


print(json.dumps(list(vectors()), indent=1))
