#!/usr/bin/env python3
"""Derives the vectors of Cast Streaming from the tables in ../../README.md, by Python's standard library and openssl(1)
only; it knows nothing of our code.

    python3 derive.py            prints vectors.json
"""
import json, struct, subprocess


def ctr(key, mask, frame, data):
    counter = bytearray(mask)
    for index, byte in enumerate(struct.pack(">I", frame & 0xFFFFFFFF)):
        counter[8 + index] ^= byte
    return subprocess.run(
        ["openssl", "enc", "-aes-128-ctr", "-K", key.hex(), "-iv", bytes(counter).hex()],
        input=data, stdout=subprocess.PIPE, check=True).stdout


def rtp(kind, marker, sequence, timestamp, ssrc, flags, frame, packet, last, rest):
    return struct.pack(">BBHIIBBHH", 0x80, kind | (marker << 7), sequence, timestamp, ssrc, flags, frame, packet,
                       last) + rest


def rtcp(subtype, kind, body):
    assert len(body) % 4 == 0
    return struct.pack(">BBH", 0x80 | subtype, kind, len(body) // 4) + body


def main():
    key, mask = bytes(range(16)), bytes(range(0xF0, 0x100))
    plain = bytes(i % 251 for i in range(40))
    payload = b"opus"
    head = struct.pack(">II4s", 0x2B0B0002, 0x2B0B0001, b"CAST")
    ntp = struct.pack(">II", 2208988800 + 5, 0x80000000)
    vectors = dict(
        aes=dict(key=key.hex(), mask=mask.hex(), cases=[
            dict(frame=frame, plain=plain[:n].hex(), cipher=ctr(key, mask, frame, plain[:n]).hex())
            for frame, n in [(0, 1), (0, 40), (1, 40), (0x01020304, 17), (0x1FFFFFFFF, 40), (0x100000000, 40)]]),
        rtp=dict(
            first=rtp(127, 1, 0x1234, 960, 0x2B0B0001, 0x80, 0, 0, 0, payload),
            reference=rtp(96, 0, 0xFFFF, 0xFFFFFFFF, 1, 0x40, 255, 1, 2, b"\xfe" + payload),
            delay=rtp(127, 1, 1, 2, 3, 0xC1, 7, 0, 0, b"\x07" + struct.pack(">HH", 1 << 10 | 2, 400) + payload),
            empty=rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")),
        # Read, but written in another way: an extension that is not known goes by.
        unknownExtension=rtp(127, 1, 1, 2, 3, 0xC2, 7, 0, 0, b"\x07" + struct.pack(">H3s", 2 << 10 | 3, b"abc")
                             + struct.pack(">HH", 1 << 10 | 2, 400) + payload),
        badRTP=dict(
            empty=b"", oneByte=b"\x80", shortHeader=rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")[:17],
            versionOne=b"\x40" + rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")[1:],
            padded=b"\xa0" + rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")[1:],
            extended=b"\x90" + rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")[1:],
            sources=b"\x81" + rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0, b"")[1:],
            packetBeyondLast=rtp(127, 1, 1, 2, 3, 0x80, 7, 3, 2, payload),
            lastIsAllLost=rtp(127, 1, 1, 2, 3, 0x80, 7, 0, 0xFFFF, payload),
            noReference=rtp(127, 1, 1, 2, 3, 0xC0, 7, 0, 0, b""),
            noExtension=rtp(127, 1, 1, 2, 3, 0x81, 7, 0, 0, b"\x04"),
            extensionOverrun=rtp(127, 1, 1, 2, 3, 0x81, 7, 0, 0, struct.pack(">H", 1 << 10 | 3) + b"ab"),
            sixtyThreeExtensions=rtp(127, 1, 1, 2, 3, 0xBF, 7, 0, 0, struct.pack(">H", 2 << 10)),
            delayOfThreeBytes=rtp(127, 1, 1, 2, 3, 0x81, 7, 0, 0, struct.pack(">H", 1 << 10 | 3) + b"abc")),
        rtcp=dict(
            senderReport=rtcp(0, 200, struct.pack(">I8sIII", 0x2B0B0001, ntp, 48000, 10, 2000)),
            receiverReport=rtcp(1, 201, struct.pack(">IIIIIII", 0x2B0B0002, 0x2B0B0001, 0x40000005, 0x10002, 33,
                                                    0x00058000, 0x8000))
            + rtcp(0, 207, struct.pack(">IBBH8s", 0x2B0B0002, 4, 0, 2, ntp)),
            feedback=rtcp(15, 206, head + struct.pack(">BBH", 255, 0, 400)),
            losses=rtcp(15, 206, head + struct.pack(">BBH", 9, 2, 400) + struct.pack(">BHB", 10, 3, 0x81)
                        + struct.pack(">BHB", 12, 0xFFFF, 0)),
            acknowledgements=rtcp(15, 206, head + struct.pack(">BBH", 9, 0, 400)
                                  + struct.pack(">4sBB6s", b"CST2", 7, 6, b"\x01\x00\x80\0\0\0")),
            pictureLoss=rtcp(1, 206, struct.pack(">II", 0x2B0B0002, 0x2B0B0001))),
        # Read, but of nothing that is known: an application's own, an extended report of another block.
        otherRTCP=dict(
            application=rtcp(2, 204, struct.pack(">I4s", 1, b"CAST")),
            extended=rtcp(0, 207, struct.pack(">IBBHI", 1, 7, 0, 1, 5)),
            goodbye=rtcp(1, 203, struct.pack(">I", 1))),
        badRTCP=dict(
            empty=b"", threeBytes=b"\x80\xc8\x00", versionOne=b"\x40\xc9\0\0", padded=b"\xa0\xc9\0\x01\0\0\0\x01",
            lengthOverrun=b"\x80\xc9\x00\x02\0\0\0\x01", hugeLength=b"\x80\xc9\xff\xff\0\0\0\x01",
            shortSenderReport=rtcp(0, 200, bytes(20)), noBlock=rtcp(1, 201, bytes(4)),
            thirtyOneBlocks=rtcp(31, 201, bytes(28)), shortFeedback=rtcp(15, 206, head),
            notCast=rtcp(15, 206, struct.pack(">II4sI", 1, 2, b"REMB", 0)),
            lossesOverrun=rtcp(15, 206, head + struct.pack(">BBHI", 9, 2, 400, 0)),
            acknowledgementsOverrun=rtcp(15, 206, head + struct.pack(">BBH4sBBH", 9, 0, 400, b"CST2", 1, 6, 0)),
            shortPictureLoss=rtcp(1, 206, bytes(4)), shortExtended=rtcp(0, 207, b""),
            blockOverrun=rtcp(0, 207, struct.pack(">IBBH", 1, 4, 0, 2)),
            shortReferenceTime=rtcp(0, 207, struct.pack(">IBBHI", 1, 4, 0, 1, 0)),
            secondBroken=rtcp(0, 201, bytes(4)) + b"\x80\xc9\0\x09"))
    print(json.dumps(vectors, indent=1, default=lambda data: data.hex()))


if __name__ == "__main__":
    main()
