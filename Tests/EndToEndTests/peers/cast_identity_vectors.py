"""Answers to a device-authentication challenge, one JSON object a line, made with the `cryptography` package and no code
of ours: what a sender must make of each is in "expect"."""
import datetime, json
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc)
NONCE = bytes(range(16))
DER = serialization.Encoding.DER


def rsa_key(bits=2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


ROOT, MIDDLE, DEVICE, TLS = rsa_key(), rsa_key(), rsa_key(), rsa_key()


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, key, issuer, signer, start=-10, end=1000, ca=None, usage=(), serial=None, more=(), digest=None):
    builder = (
        x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number() >> 100)
        .not_valid_before(NOW + start * DAY).not_valid_after(NOW + end * DAY))
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca is not False, path_length=None if ca in (True, False) else ca[0]), True)
    if usage is not None:
        kinds = ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
                 "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"]
        builder = builder.add_extension(x509.KeyUsage(**{kind: kind in usage for kind in kinds}), True)
    for extension, critical in more:
        builder = builder.add_extension(extension, critical)
    return builder.sign(signer, digest or hashes.SHA256())


SIGNS = ("key_cert_sign", "crl_sign")
root = certificate("Root", ROOT, "Root", ROOT, ca=True, usage=SIGNS)
middle = certificate("Middle", MIDDLE, "Root", ROOT, ca=True, usage=SIGNS)
leaf_usage = ("digital_signature",)


def leaf(issuer="Root", signer=ROOT, key=DEVICE, **more):
    return certificate("Device", key, issuer, signer, **{"ca": False, "usage": leaf_usage, **more})


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def der(value):
    return value.public_bytes(DER)


def spki(value):
    digest = hashes.Hash(hashes.SHA256())
    digest.update(value.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo))
    return digest.finalize()


def tls(start=-1, end=2):
    return certificate("TLS", TLS, "TLS", TLS, start=start, end=end, usage=None)


def sign(key, data, digest, pss):
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(digest))
    scheme = padding.PSS(padding.MGF1(digest), digest.digest_size) if pss else padding.PKCS1v15()
    return key.sign(data, scheme, digest)


def seconds(days):
    return int((NOW + days * DAY).timestamp())


def crl(keys=(), serials=(), start=-1, end=1, signer=None, signer_key=MIDDLE, spoil=False, version=0):
    content = field(1, version) + field(2, seconds(start)) + field(3, seconds(end))
    content += b"".join(field(4, spki(key)) for key in keys)
    for first, last in serials:
        content += field(5, field(1, spki(root)) + field(2, first) + field(3, last))
    signature = signer_key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    if spoil:
        signature = bytes([signature[0] ^ 1]) + signature[1:]
    signer = signer or certificate("CRL", signer_key, "Root", ROOT, ca=False, usage=leaf_usage)
    return field(1, field(1, content) + field(2, der(signer)) + field(3, signature))


def case(label, expect="holds", certificate=None, others=(), key=DEVICE, server=None, nonce=NONCE, signed=None,
         digest=hashes.SHA256(), pss=False, list=b"", policy="full", revocation="unknown", strict=False):
    certificate, server = certificate or leaf(), server or tls()
    data = nonce + (signed or der(server))
    answer = field(1, sign(key, data, digest, pss)) + field(2, der(certificate))
    answer += b"".join(field(3, der(other)) for other in others)
    answer += field(4, 2 if pss else 1) + field(5, nonce) + field(6, 1 if isinstance(digest, hashes.SHA256) else 0)
    if list:
        answer += field(7, list)
    print(json.dumps({
        "name": label, "expect": expect, "payload": field(2, answer).hex(), "nonce": NONCE.hex(),
        "tls": der(server).hex(), "roots": [der(root).hex()], "now": NOW.timestamp(), "policy": policy,
        "revocation": revocation, "fingerprint": spki(certificate).hex(), "strict": strict}))


audio = (x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.5.2"), None)]), False)
other = (x509.CertificatePolicies([x509.PolicyInformation(x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.5.1"), None)]), False)
unknown = (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00"), True)
stranger = rsa_key()
short, curve = rsa_key(1024), ec.generate_private_key(ec.SECP256R1())
case("valid")
case("sha1", digest=hashes.SHA1())
case("sha1 where sha256 is required", "digestTooWeak", digest=hashes.SHA1(), strict=True)
case("pss", pss=True)
case("intermediate", certificate=leaf("Middle", MIDDLE), others=[middle])
case("intermediates that are not needed", others=[middle, middle])
case("audio only in the device's certificate", certificate=leaf(more=[audio]), policy="audioOnly")
case("audio only in the intermediate", certificate=leaf("Middle", MIDDLE),
     others=[certificate("Middle", MIDDLE, "Root", ROOT, ca=True, usage=SIGNS, more=[audio])], policy="audioOnly")
case("another policy", certificate=leaf(more=[other]))
case("other nonce", "wrongNonce", nonce=bytes(16))
case("no nonce", "wrongNonce", nonce=b"")
case("signature over another certificate", "wrongSignature", signed=der(tls(end=1)))
case("signature by another key", "wrongSignature", key=stranger)
case("device expired", "certificateExpired", certificate=leaf(end=-1))
case("device not yet valid", "certificateNotYetValid", certificate=leaf(start=1))
case("self-signed", "selfSigned", certificate=leaf("Device", DEVICE))
case("untrusted", "untrusted", certificate=leaf("Stranger", stranger))
case("untrusted root sent along", "untrusted", certificate=leaf("Stranger", stranger),
     others=[certificate("Stranger", stranger, "Stranger", stranger, ca=True, usage=SIGNS)])
case("root's name with another key", "chainBroken", certificate=leaf("Root", stranger))
case("intermediate missing", "untrusted", certificate=leaf("Middle", MIDDLE))
case("intermediate expired", "certificateExpired", certificate=leaf("Middle", MIDDLE),
     others=[certificate("Middle", MIDDLE, "Root", ROOT, ca=True, usage=SIGNS, end=-1)])
case("intermediate no authority", "notAnAuthority", certificate=leaf("Middle", MIDDLE),
     others=[certificate("Middle", MIDDLE, "Root", ROOT, ca=False, usage=leaf_usage)])
case("intermediate without the usage", "notAnAuthority", certificate=leaf("Middle", MIDDLE),
     others=[certificate("Middle", MIDDLE, "Root", ROOT, ca=True, usage=leaf_usage)])
second = rsa_key()
case("path too long", "chainTooLong", certificate=leaf("Second", second), others=[
    certificate("Second", second, "Middle", MIDDLE, ca=True, usage=SIGNS),
    certificate("Middle", MIDDLE, "Root", ROOT, ca=(0,), usage=SIGNS)])
case("critical extension", "chainBroken", certificate=leaf(more=[unknown]))
case("other usage", "notForSigning", certificate=leaf(usage=("key_encipherment",)))
case("no usage", "notForSigning", certificate=leaf(usage=None))
case("short key", "keyTooShort", certificate=leaf(key=short), key=short)
case("elliptic key", "notRSA", certificate=leaf(key=curve), key=curve)
case("tls expired", "tlsCertificateExpired", server=tls(start=-3, end=-1))
case("tls not yet valid", "tlsCertificateNotYetValid", server=tls(start=1))
case("tls at four days", server=tls(end=4))
case("tls beyond four days", "tlsCertificateValidTooLong", server=tls(end=5))
case("too many certificates", "tooManyCertificates", others=[middle] * 9)
case("not on the list", list=crl(keys=[middle]), revocation="notRevoked")
case("key on the list", "revoked", list=crl(keys=[leaf()]), revocation="revoked")
case("serial on the list", "revoked", certificate=leaf(serial=77), list=crl(serials=[(70, 80)]), revocation="revoked")
case("serial beside the list", certificate=leaf(serial=81), list=crl(serials=[(70, 80)]), revocation="notRevoked")
case("root on the list", "revoked", list=crl(keys=[root]), revocation="revoked")
case("list out of date", list=crl(keys=[leaf()], end=-0.5), revocation="unverified")
case("list of tomorrow", list=crl(keys=[leaf()], start=0.5), revocation="unverified")
case("list with a wrong signature", list=crl(keys=[leaf()], spoil=True), revocation="unverified")
case("list by a stranger", list=crl(
    keys=[leaf()], signer_key=stranger,
    signer=certificate("Stranger", stranger, "Stranger", stranger, ca=True, usage=SIGNS)), revocation="unverified")
case("list of another version", list=crl(keys=[leaf()], version=1), revocation="unverified")
case("list with a range the wrong way round", list=crl(serials=[(80, 70)]), revocation="unverified")
case("list that is none", list=b"\xff\xff", revocation="unverified")
