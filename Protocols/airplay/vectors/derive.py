#!/usr/bin/env python3
"""Derives the vectors of this folder from first principles, by Python's standard library and openssl(1) only.

    python3 derive.py            prints vectors.json
Digest: RFC 2069 (MD5, without qop). AES: AES-128-CBC over whole blocks, the tail in the clear. RSA has no
vector, for OAEP is random: the tests make a key pair and decrypt with OpenSSL what we encrypted. Property lists: Python's
plistlib. Audio of AirPlay 2: ChaCha20-Poly1305 as RFC 8439 writes it down, checked against that RFC's own example.
"""
import datetime, hashlib, json, plistlib, struct, subprocess


def md5(text, upper):
    digest = hashlib.md5(text.encode()).hexdigest()
    return digest.upper() if upper else digest


def digest(user, realm, password, nonce, method, uri, upper):
    return md5(":".join([md5(f"{user}:{realm}:{password}", upper), nonce, md5(f"{method}:{uri}", upper)]), upper)


def aes(key, iv, data):
    whole = len(data) & ~15
    out = subprocess.run(
        ["openssl", "enc", "-aes-128-cbc", "-nopad", "-K", key.hex(), "-iv", iv.hex()],
        input=data[:whole], stdout=subprocess.PIPE, check=True).stdout
    return out + data[whole:]


def chacha_block(key, counter, nonce):
    start = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, *struct.unpack("<8I", key), counter,
             *struct.unpack("<3I", nonce)]
    words = list(start)

    def turn(value, bits):
        return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF

    def quarter(a, b, c, d):
        for x, y, z, bits in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]:
            words[x] = (words[x] + words[y]) & 0xFFFFFFFF
            words[z] = turn(words[z] ^ words[x], bits)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return struct.pack("<16I", *[(a + b) & 0xFFFFFFFF for a, b in zip(words, start)])


def chacha_poly(key, nonce, aad, plain):
    stream = b"".join(chacha_block(key, 1 + i, nonce) for i in range(len(plain) // 64 + 1))
    cipher = bytes(a ^ b for a, b in zip(plain, stream))
    one_time = chacha_block(key, 0, nonce)[:32]
    r = int.from_bytes(one_time[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    s = int.from_bytes(one_time[16:], "little")

    def padded(data):
        return data + bytes(-len(data) % 16)

    sum = 0
    message = padded(aad) + padded(cipher) + struct.pack("<QQ", len(aad), len(cipher))
    for i in range(0, len(message), 16):
        sum = (sum + int.from_bytes(message[i:i + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
    return cipher + ((sum + s) & ((1 << 128) - 1)).to_bytes(16, "little")


def check_chacha():
    """RFC 8439, 2.8.2."""
    text = (b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
            b"sunscreen would be it.")
    sealed = chacha_poly(bytes(range(0x80, 0xa0)), bytes.fromhex("070000004041424344454647"),
                         bytes.fromhex("50515253c0c1c2c3c4c5c6c7"), text)
    assert sealed[-16:].hex() == "1ae10b594f09e26a7e902ecbd0600691"


def audio(header, number, plain):
    key = bytes(range(32))
    nonce = struct.pack("<Q", number)
    return dict(key=key.hex(), header=header.hex(), number=number, plain=plain.hex(),
                packet=(header + chacha_poly(key, bytes(4) + nonce, header[4:12], plain) + nonce).hex())


LISTS = dict(
    types={"bool": True, "no": False, "real": -14.5, "data": bytes(range(20)), "date": datetime.datetime(2026, 11, 21),
           "text": "caf\u00e9 \U0001f3b5", "array": [1, "x", []], "nothing": {}},
    numbers=[0, 255, 256, 65535, 65536, 4294967295, 4294967296, 9223372036854775807, -1, -9223372036854775808],
    setup={"streams": [{"type": 96, "ct": 2, "audioFormat": 262144, "spf": 352, "shk": bytes(range(32)),
                        "controlPort": 6001, "isMedia": True}]},
    many=[f"item {i}" for i in range(300)],
)


def main():
    check_chacha()
    key, iv = bytes(range(16)), bytes(range(100, 116))
    cases = []
    for user, upper in [("", False), ("iTunes", True)]:
        for method, uri in [("ANNOUNCE", "rtsp://192.168.1.2/3413821438"), ("OPTIONS", "*")]:
            nonce = "c633aaf8b83127633cbe83fac1d20d87"
            cases.append(dict(user=user, realm="raop", password="open sesame", nonce=nonce, method=method, uri=uri,
                              uppercase=upper, response=digest(user, "raop", "open sesame", nonce, method, uri, upper)))
    lengths = [0, 1, 15, 16, 17, 32, 40]
    print(json.dumps(dict(
        digest=cases,
        aes=dict(key=key.hex(), iv=iv.hex(), cases=[
            dict(plain=bytes(i % 251 for i in range(n)).hex(),
                 cipher=aes(key, iv, bytes(i % 251 for i in range(n))).hex() if n >= 16
                 else bytes(i % 251 for i in range(n)).hex()) for n in lengths]),
        audio=[audio(bytes.fromhex("80e0123456789abc00000000"), 0x1234, bytes(range(40))),
               audio(bytes.fromhex("8060ffff0000000100000007"), 0x5ffff, bytes(i % 251 for i in range(1408))),
               audio(bytes.fromhex("80ffffff0000040016000000"), 0, b"")],
        lists={name: plistlib.dumps(value, fmt=plistlib.FMT_BINARY).hex() for name, value in LISTS.items()},
    ), indent=1))


main()
