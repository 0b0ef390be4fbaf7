#!/usr/bin/env python3
"""Derives the vectors of this folder from first principles, by Python's standard library and openssl(1) only.

    python3 derive.py            prints vectors.json
Digest: RFC 2069 (MD5, without qop). AES: AES-128-CBC over whole blocks, the tail in the clear. RSA has no
vector, for OAEP is random: the tests make a key pair and decrypt with OpenSSL what we encrypted.
"""
import hashlib, json, subprocess


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


def main():
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
    ), indent=1))


main()
