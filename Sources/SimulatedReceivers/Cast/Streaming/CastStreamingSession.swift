import CastV2
import NIOCore
import RouteBackend

/// One session from its ANSWER to its end: the socket, and a stream of sound, of pictures, or both. Belongs to the
/// actor that streams.
final class CastStreamingSession {
    /// What came of a tick.
    struct Output {
        var samples: [Int16] = []
        var lostFrames = 0
        var unsentFrames = 0
        var marks: [CastAudioPlayout.Mark] = []
        var pictures: [ShownPicture] = []
        var isSilent = false
    }

    struct ShownPicture {
        var picture: CastPicture
        var isKey: Bool
        var timestamp: Int64
        var hostNanoseconds: Int64
    }

    private struct Track {
        var machine: CastStreamMachine
        let cipher: CastFrameCipher?
        var undecodable = 0
        /// Something before the next frame was lost.
        var isAfterLoss = false
    }

    /// Pictures that wait for their time; twice what a sender may have on its way.
    private static let maximumPictures = 2 * CastFrameID.maximumUnacknowledged

    let number: Int
    let datagrams: CastStreamingDatagrams
    private let faults: CastStreamingFaults
    private var way: CastStreamingWay
    private var audio: Track?
    private var video: Track?
    private let opus: CastOpusDecoder?
    private let pictureDecoder: CastVideoDecoder?
    private var playout: CastAudioPlayout
    private var pictures: [ShownPicture] = []
    /// Where reports go: whence the last packet of ours came.
    private var sender: SocketAddress?
    private let startedAt: Int64
    /// Reports that go out later, by a fault; at most `maximumHeld`.
    private var held: [(due: Int64, report: [UInt8])] = []
    private static let maximumHeld = 256
    private(set) var malformed = 0
    private(set) var foreign = 0
    private(set) var feedbacks = 0

    init(
        number: Int, streams: [CastOfferedStream], datagrams: CastStreamingDatagrams, faults: CastStreamingFaults,
        firstFrame: Int, at now: Int64
    ) throws(CastStreamingOffer.Refusal) {
        self.number = number
        self.datagrams = datagrams
        self.faults = faults
        startedAt = now
        way = CastStreamingWay(faults)
        playout = CastAudioPlayout(framesOut: firstFrame)
        var decoders: (CastOpusDecoder?, CastVideoDecoder?)
        for stream in streams {
            let track = Track(
                machine: CastStreamMachine(
                    stream: stream, receiverSSRC: CastStreamingOffer.receiverSSRC(stream), at: now),
                cipher: stream.encryption.flatMap { CastFrameCipher(key: $0.key, mask: $0.mask) })
            switch stream.kind {
            case .audio:
                audio = track
                decoders.0 = CastOpusDecoder(channels: stream.channels)
            case .video:
                video = track
                decoders.1 = CastVideoDecoder(codec: stream.codec)
            }
        }
        (opus, pictureDecoder) = decoders
        guard (audio == nil) == (opus == nil), (video == nil) == (pictureDecoder == nil) else {
            throw .unsupported("libavcodec has no decoder for it here")
        }
    }

    var audioStatistics: CastReceptionStatistics? { audio?.machine.statistics }
    var videoStatistics: CastReceptionStatistics? { video?.machine.statistics }
    var undecodable: (audio: Int, video: Int) { (audio?.undecodable ?? 0, video?.undecodable ?? 0) }
    var playoutDelay: Int { (audio ?? video)?.machine.currentDelay ?? 0 }
    var lost: Int { way.lost }

    // MARK: In

    func receive(_ datagram: CastStreamingDatagrams.Datagram) {
        for _ in 0..<way.send(datagram) { take(datagram) }
    }

    private func take(_ datagram: CastStreamingDatagrams.Datagram) {
        let now = datagram.hostNanoseconds
        if CastRTCP.matches(datagram.bytes) {
            guard let packets = try? CastRTCP.decode(datagram.bytes) else { return malformed += 1 }
            for case .senderReport(let report) in packets {
                if audio?.machine.senderSSRC == report.ssrc {
                    audio?.machine.receive(report, at: now)
                } else if video?.machine.senderSSRC == report.ssrc {
                    video?.machine.receive(report, at: now)
                } else {
                    foreign += 1
                    continue
                }
                sender = datagram.sender
            }
        } else {
            guard let packet = try? CastRTPPacket(decoding: datagram.bytes) else { return malformed += 1 }
            if audio?.machine.senderSSRC == packet.ssrc {
                _ = audio?.machine.receive(packet, at: now)
            } else if video?.machine.senderSSRC == packet.ssrc {
                _ = video?.machine.receive(packet, at: now)
            } else {
                return foreign += 1
            }
            sender = datagram.sender
        }
        advance(at: now)
    }

    // MARK: Out

    /// What is heard and seen since the last time.
    func tick(at now: Int64) -> Output {
        for datagram in way.arrivals(at: now) { take(datagram) }
        advance(at: now)
        var output = Output()
        if let clock = audio?.machine.clock {
            let rendering = playout.render(at: now, clock)
            output.samples = rendering.samples
            output.lostFrames = rendering.lostFrames
            output.unsentFrames = rendering.unsentFrames
            output.marks = rendering.marks
        }
        let due = pictures.firstIndex { $0.hostNanoseconds > now } ?? pictures.count
        output.pictures = Array(pictures.prefix(due))
        pictures.removeFirst(due)
        let heard = [audio?.machine.lastHeard, video?.machine.lastHeard].compactMap { $0 }.max() ?? now
        output.isSilent = now - heard >= CastStreamMachine.silenceLimit
        return output
    }

    /// Takes what has become whole, and tells the sender.
    private func advance(at now: Int64) {
        while let frame = audio?.machine.nextFrame(at: now) { hear(frame) }
        while let frame = video?.machine.nextFrame(at: now) { see(frame) }
        for report in [audio?.machine.feedback(at: now), video?.machine.feedback(at: now)].compactMap({ $0 }) {
            guard !faults.isSilent else { continue }
            if now - startedAt < CastStreamingFaults.busyNanoseconds, faults.holdNanoseconds > 0 {
                guard held.count < Self.maximumHeld else { continue }
                held.append((now + faults.holdNanoseconds, CastRTCP.encode(report)))
            } else {
                send(CastRTCP.encode(report))
            }
        }
        while let first = held.first, first.due <= now { send(held.removeFirst().report) }
    }

    private func send(_ report: [UInt8]) {
        guard let sender else { return }
        feedbacks += 1
        datagrams.send(report, to: sender)
    }

    private func hear(_ frame: CastStreamMachine.Frame) {
        if frame.skipped > 0 { audio?.isAfterLoss = true }
        guard let payload = plain(frame, audio), let samples = opus?.decode(payload),
            playout.insert(
                start: frame.timestamp, samples: samples, delay: frame.delay,
                isAfterLoss: audio?.isAfterLoss ?? false)
        else {
            audio?.undecodable += 1
            audio?.isAfterLoss = true
            return
        }
        audio?.isAfterLoss = false
    }

    private func see(_ frame: CastStreamMachine.Frame) {
        guard let payload = plain(frame, video), let picture = pictureDecoder?.decode(payload),
            let captured = video?.machine.clock.captured(frame.timestamp), pictures.count < Self.maximumPictures
        else {
            video?.undecodable += 1
            return
        }
        pictures.append(
            ShownPicture(
                picture: picture, isKey: frame.isKey, timestamp: frame.timestamp,
                hostNanoseconds: captured + Int64(frame.delay) * 1_000_000))
    }

    private func plain(_ frame: CastStreamMachine.Frame, _ track: Track?) -> [UInt8]? {
        guard let cipher = track?.cipher else { return frame.payload }
        return cipher.crypt(frame.payload, frame: frame.id)
    }
}
