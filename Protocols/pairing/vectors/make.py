#!/usr/bin/env python3
"""Derives the vectors of this folder with srptools (SRP) and cryptography (everything else); none of our code is used.

    .build/peers/bin/python3 Protocols/pairing/vectors/make.py > Protocols/pairing/vectors/vectors.json

All secrets come from SHA-512 of a label, so that a second run gives the same bytes. Where a number has to be short, labels
are counted up until it is; that takes a minute or two.
"""
import hashlib
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from srptools import SRPClientSession, SRPContext, SRPServerSession, constants


def secret(label, count=32):
    return hashlib.sha512(label.encode()).digest()[:count]


def minimal(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


# ---- SRP

class LegacyContext(SRPContext):
    """Its key is two hashes long."""

    def get_common_session_key(self, premaster_secret):
        return b"".join(
            self.hash(premaster_secret, bytes([0, 0, 0, number]), as_bytes=True) for number in (0, 1))


def context(group, user, password):
    if group == "homeKit":
        return SRPContext(user, password, prime=constants.PRIME_3072, generator=constants.PRIME_3072_GEN,
                          hash_func=hashlib.sha512)
    return LegacyContext(user, password, prime=constants.PRIME_2048.strip(), generator=constants.PRIME_2048_GEN)


class Exchange:
    def __init__(self, group, user, password, salt, a, b):
        self.group, self.user, self.password, self.salt, self.a, self.b = group, user, password, salt, a, b
        self.context = context(group, user, password)
        self.verifier = self.context.get_common_password_verifier(self.context.get_common_password_hash(salt))

    def numbers(self):
        """A, B and S as numbers."""
        c = self.context
        a, b = (int.from_bytes(x, "big") for x in (self.a, self.b))
        big_a = c.get_client_public(a)
        big_b = c.get_server_public(self.verifier, b)
        return big_a, big_b, c.get_server_premaster_secret(
            self.verifier, b, big_a, c.get_common_secret(big_b, big_a))

    def run(self):
        """Both sides, by srptools, which must agree."""
        c = self.context
        self.A, self.B, self.S = (minimal(n) for n in self.numbers())
        client = SRPClientSession(c, self.a.hex())
        key, proof, proof_hash = client.process(self.B.hex(), self.salt.hex())
        server = SRPServerSession(c, "%x" % self.verifier, self.b.hex())
        assert server.process(self.A.hex(), self.salt.hex()) == (key, proof, proof_hash)
        assert server.verify_proof(proof)
        self.K, self.M1, self.M2 = (bytes.fromhex(x.decode()) for x in (key, proof, proof_hash))
        return self

    def vector(self, name):
        fields = dict(name=name, group=self.group, user=self.user, password=self.password)
        for key in ("salt", "a", "b", "A", "B", "S", "K", "M1", "M2"):
            fields[key] = getattr(self, key).hex()
        return fields


def find(group, user, short=None, salt=None):
    """An exchange in which the number `short` has a leading zero, and the others have none."""
    length = 384 if group == "homeKit" else 256
    password = "3939" if group == "homeKit" else "0123"
    salt = salt or secret(f"{group} salt", 16)
    count = 0
    while True:
        exchange = Exchange(group, user, password, salt, secret(f"{group} {short} a {count if short != 'B' else 0}"),
                            secret(f"{group} {short} b {count if short == 'B' else 0}"))
        count += 1
        lengths = {name: len(minimal(n)) for name, n in zip("ABS", exchange.numbers())}
        if all(lengths[name] == (length - 1 if name == short else length) for name in "ABS"):
            return exchange.run()


# ---- primitives of HomeKit pairing

def hkdf(key, salt, info):
    return HKDF(algorithm=hashes.SHA512(), length=32, salt=salt.encode(), info=info.encode()).derive(key)


def sealed(key, name, plaintext):
    return ChaCha20Poly1305(key).encrypt(b"\0\0\0\0" + name.encode(), plaintext, None)


def raw(key):
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def tlv(*items):
    result = b""
    for tag, value in items:
        first = True
        while first or value:
            part, value, first = value[:255], value[255:], False
            result += bytes([tag, len(part)]) + part
    return result


METHOD, IDENTIFIER, SALT, PUBLIC_KEY, PROOF, ENCRYPTED, STATE, SIGNATURE, FLAGS = 0, 1, 2, 3, 4, 5, 6, 10, 19
CONTROLLER = "5D7F7A4C-1B0E-4A77-9C33-0A1B2C3D4E5F"
ACCESSORY = "AA:BB:CC:DD:EE:FF"


def setup(exchange):
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller seed", "accessory seed"))
    key = hkdf(exchange.K, "Pair-Setup-Encrypt-Salt", "Pair-Setup-Encrypt-Info")

    def identity(side, name, signing):
        x = hkdf(exchange.K, f"Pair-Setup-{side}-Sign-Salt", f"Pair-Setup-{side}-Sign-Info")
        return tlv((IDENTIFIER, name.encode()), (PUBLIC_KEY, raw(signing)),
                   (SIGNATURE, signing.sign(x + name.encode() + raw(signing))))

    return dict(
        controller=CONTROLLER, controllerSeed=secret("controller seed").hex(), accessory=ACCESSORY,
        accessoryKey=raw(theirs).hex(), pin=exchange.password, a=exchange.a.hex(), secret=exchange.K.hex(),
        m1=tlv((STATE, b"\1"), (METHOD, b"\0")).hex(),
        m2=tlv((STATE, b"\2"), (SALT, exchange.salt), (PUBLIC_KEY, exchange.B)).hex(),
        m3=tlv((STATE, b"\3"), (PUBLIC_KEY, exchange.A), (PROOF, exchange.M1)).hex(),
        m4=tlv((STATE, b"\4"), (PROOF, exchange.M2)).hex(),
        m5=tlv((STATE, b"\5"), (ENCRYPTED, sealed(key, "PS-Msg05", identity("Controller", CONTROLLER, ours)))).hex(),
        m6=tlv((STATE, b"\6"), (ENCRYPTED, sealed(key, "PS-Msg06", identity("Accessory", ACCESSORY, theirs)))).hex(),
    )


def transient(exchange):
    return dict(
        a=exchange.a.hex(), secret=exchange.K.hex(),
        m1=tlv((STATE, b"\1"), (METHOD, b"\0"), (FLAGS, b"\x10")).hex(),
        m2=tlv((STATE, b"\2"), (SALT, exchange.salt), (PUBLIC_KEY, exchange.B)).hex(),
        m3=tlv((STATE, b"\3"), (PUBLIC_KEY, exchange.A), (PROOF, exchange.M1)).hex(),
        m4=tlv((STATE, b"\4"), (PROOF, exchange.M2)).hex(),
    )


def verify():
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller seed", "accessory seed"))
    our_exchange, their_exchange = (
        X25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller exchange", "accessory exchange"))
    shared = our_exchange.exchange(X25519PublicKey.from_public_bytes(raw(their_exchange)))
    key = hkdf(shared, "Pair-Verify-Encrypt-Salt", "Pair-Verify-Encrypt-Info")
    a, b = raw(our_exchange), raw(their_exchange)
    m2 = tlv((IDENTIFIER, ACCESSORY.encode()), (SIGNATURE, theirs.sign(b + ACCESSORY.encode() + a)))
    m3 = tlv((IDENTIFIER, CONTROLLER.encode()), (SIGNATURE, ours.sign(a + CONTROLLER.encode() + b)))
    return dict(
        controller=CONTROLLER, controllerSeed=secret("controller seed").hex(), accessory=ACCESSORY,
        accessoryKey=raw(theirs).hex(), exchangeSecret=secret("controller exchange").hex(), secret=shared.hex(),
        m1=tlv((STATE, b"\1"), (PUBLIC_KEY, a)).hex(),
        m2=tlv((STATE, b"\2"), (PUBLIC_KEY, b), (ENCRYPTED, sealed(key, "PV-Msg02", m2))).hex(),
        m3=tlv((STATE, b"\3"), (ENCRYPTED, sealed(key, "PV-Msg03", m3))).hex(),
        m4=tlv((STATE, b"\4")).hex(),
    )


def channel(shared, salt, write, read):
    """Keys as the controller has them, and two frames that it writes: one full, one short."""
    key, other = hkdf(shared, salt, write), hkdf(shared, salt, read)
    plain = bytes(i % 251 for i in range(1124))
    frames = b""
    for number, part in enumerate((plain[:1024], plain[1024:])):
        header = len(part).to_bytes(2, "little")
        frames += header + ChaCha20Poly1305(key).encrypt(b"\0\0\0\0" + number.to_bytes(8, "little"), part, header)
    return dict(secret=shared.hex(), controllerWrites=key.hex(), accessoryWrites=other.hex(), plain=plain.hex(),
                frames=frames.hex())


# ---- the legacy pairing

def derived(label, key):
    return hashlib.sha512(label.encode() + key).digest()[:16]


def legacy_setup(exchange):
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller seed", "accessory seed"))
    vector = int.from_bytes(derived("Pair-Setup-AES-IV", exchange.K), "big")

    def gcm(plaintext, step):
        iv = vector.to_bytes(16, "big")
        iv = iv[:15] + bytes([(iv[15] + step) % 256])
        encryptor = Cipher(algorithms.AES(derived("Pair-Setup-AES-Key", exchange.K)), modes.GCM(iv)).encryptor()
        ciphertext = encryptor.update(plaintext) + encryptor.finalize()
        return dict(epk=ciphertext.hex(), authTag=encryptor.tag.hex())

    return dict(
        user=exchange.user, pin=exchange.password, controllerSeed=secret("controller seed").hex(),
        accessoryKey=raw(theirs).hex(), a=exchange.a.hex(), salt=exchange.salt.hex(), B=exchange.B.hex(),
        A=exchange.A.hex(), M1=exchange.M1.hex(), M2=exchange.M2.hex(), controllerKey=gcm(raw(ours), 1),
        accessoryKeySealed=gcm(raw(theirs), 2), lastByteOfVector=derived("Pair-Setup-AES-IV", exchange.K)[15])


def legacy_setup_wrapping():
    """The vector's last byte is 255: the step has to wrap, not to carry."""
    count = 0
    while True:
        exchange = Exchange("legacy", "0123456789ABCDEF", "0123", secret("legacy salt", 16),
                            secret(f"legacy wrapping a {count}"), secret("legacy wrapping b"))
        S = exchange.numbers()[2]
        key = exchange.context.get_common_session_key(S)
        if derived("Pair-Setup-AES-IV", key)[15] == 255:
            return legacy_setup(exchange.run())
        count += 1


def legacy_verify():
    ours, theirs = (Ed25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller seed", "accessory seed"))
    our_exchange, their_exchange = (
        X25519PrivateKey.from_private_bytes(secret(x)) for x in ("controller exchange", "accessory exchange"))
    a, b = raw(our_exchange), raw(their_exchange)
    shared = our_exchange.exchange(X25519PublicKey.from_public_bytes(b))
    encryptor = Cipher(algorithms.AES(derived("Pair-Verify-AES-Key", shared)),
                       modes.CTR(derived("Pair-Verify-AES-IV", shared))).encryptor()
    theirs_sealed = encryptor.update(theirs.sign(b + a))
    ours_sealed = encryptor.update(ours.sign(a + b))
    return dict(
        controllerSeed=secret("controller seed").hex(), accessoryKey=raw(theirs).hex(),
        exchangeSecret=secret("controller exchange").hex(), secret=shared.hex(),
        request1=(b"\1\0\0\0" + a + raw(ours)).hex(), answer1=(b + theirs_sealed).hex(),
        request2=(b"\0\0\0\0" + ours_sealed).hex())


def main():
    user = "Pair-Setup"
    # srptools drops the leading zeros of H(user); nobody else does, so none here has any.
    legacy_user = "0123456789ABCDEF"
    assert hashlib.sha1(legacy_user.encode()).digest()[0] != 0 and hashlib.sha512(user.encode()).digest()[0] != 0
    plain = find("homeKit", user)
    legacy = find("legacy", legacy_user)
    zero_salt = b"\0" + secret("salt that begins with zero", 15)
    srp = [plain.vector("plain")]
    srp += [find("homeKit", user, short=name).vector(f"short {name}") for name in "ABS"]
    srp.append(find("homeKit", user, salt=zero_salt).vector("salt beginning with zero"))
    srp.append(legacy.vector("plain"))
    srp += [find("legacy", legacy_user, short=name).vector(f"short {name}") for name in "ABS"]
    print(json.dumps(dict(
        srp=srp, setup=setup(plain), transient=transient(plain), verify=verify(),
        channels=dict(
            control=channel(secret("verify secret"), "Control-Salt", "Control-Write-Encryption-Key",
                            "Control-Read-Encryption-Key"),
            events=channel(secret("verify secret"), "Events-Salt", "Events-Read-Encryption-Key",
                           "Events-Write-Encryption-Key"),
            dataStream=channel(secret("transient secret", 64), "DataStream-Salt12345678901234567890",
                               "DataStream-Output-Encryption-Key", "DataStream-Input-Encryption-Key")),
        legacySetup=legacy_setup(legacy), legacySetupWrapping=legacy_setup_wrapping(), legacyVerify=legacy_verify(),
    ), indent=1))


main()
