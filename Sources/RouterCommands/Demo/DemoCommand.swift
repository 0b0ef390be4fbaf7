import ArgumentParser
import Foundation
import RouteModel
import RouterDaemon
import SimulatedReceivers

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play to a simulated house and prove that sound came out.",
        discussion: """
            Starts a house of four rooms in this process: an AirPlay 1 speaker, an AirPlay 2 one, a Google Cast one, and a \
            device that is both AirPlay 1 and Cast. Plays a small album of two tones to all of them over the real \
            protocols, and then listens to what each recorded. Needs ffmpeg and no network. Exits 0 only when every room heard everything.

              router demo
              Tests/lab.sh -- router demo --mdns    in a network of its own
            """)

    @OptionGroup var options: GlobalOptions

    @Flag(name: .long, help: "Announce the house by mDNS, and find it by mDNS, as real receivers are.")
    var mdns = false

    func run() async throws {
        try await reporting(options) {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("router-demo-\(UUID().uuidString)", isDirectory: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let heard = folder.appendingPathComponent("heard", isDirectory: true)
            try FileManager.default.createDirectory(at: heard, withIntermediateDirectories: true)
            let album = DemoAlbum(folder: folder.appendingPathComponent("Two Tones", isDirectory: true))
            try album.make()

            let isLab = ProcessInfo.processInfo.environment["ROUTER_LAB"] == "1"
            var plan = try DemoHouse.plan(recordingTo: heard, eachAtItsAddress: mdns && isLab)
            plan.announces = mdns
            let house = SimulatedHouse(plan, logger: try options.logger())
            do {
                try await house.start()
            } catch let error as SimulatedReceiverError {
                throw RouterError(.unavailable, "a simulated receiver could not start: \(error)")
            }
            let receivers = await house.receivers
            let played: Result<(status: Int32, chosen: RouteFamily?), any Error>
            do {
                played = .success(try await play(album, to: receivers))
            } catch {
                played = .failure(error)
            }
            await house.stop()
            let (status, chosen) = try played.get()
            guard status == 0 else { return status }
            return try listen(to: receivers, album, chosen: chosen) ? 0 : 1
        }
    }

    /// The exit status, and by what the device that is both was played.
    private func play(
        _ album: DemoAlbum, to receivers: [SimulatedHouse.Receiver]
    ) async throws -> (status: Int32, chosen: RouteFamily?) {
        let console = options.console
        var setup = try options.setup(discovers: mdns)
        setup.configuration = RouterConfiguration()
        setup.configuration.mediaPort = 0
        setup.storePath = nil
        setup.deviceURIs = mdns ? [] : receivers.map(\.uri)
        return try await InProcessRouter.run(setup) { control in
            console.out(console.styled(mdns ? "A simulated house, found by mDNS:" : "A simulated house:", .bold))
            let routes = try await control.routes(settle: true).routes
            for room in DemoHouse.rooms {
                let found = routes.filter { $0.name == room }
                guard found.count == 1 else {
                    throw RouterError(.routeNotFound, "\(room) is there \(found.count) times, and should be once")
                }
                let endpoints = found[0].endpoints.map { "\($0.protocol.displayName) at \($0.address)" }
                console.out("  \(Self.column(room)) \(endpoints.joined(separator: " and "))")
            }
            let request = PlayRequest(what: [album.folder.path], rooms: DemoHouse.rooms)
            let both = PlayRequest(what: [album.folder.path], rooms: [DemoHouse.both])
            let choice = try await control.explain(both).first
            if let choice { explain(choice) }
            let rooms = DemoHouse.rooms.map { $0.contains(" ") ? "-r '\($0)'" : "-r \($0)" }
            console.out(
                console.styled("$ router play '\(album.folder.lastPathComponent)' ", .bold)
                    + rooms.joined(separator: " "))
            let status = try await PlaySession(options: options, detach: false, control: control).run(request)
            return (status, choice?.chosen?.endpoint.protocol.family)
        }
    }

    private func explain(_ choice: RouteChoice) {
        guard let chosen = choice.chosen else { return }
        let console = options.console
        console.out(
            "\(choice.name) is one device that speaks both, and is played to by \(chosen.endpoint.protocol.displayName):"
        )
        for reason in chosen.reasons { console.out("  \(Console.clean(reason))") }
        if !chosen.losses.isEmpty { console.out("  gives up: \(chosen.losses.joined(separator: ", "))") }
        for other in choice.candidates where other.endpoint.id != chosen.endpoint.id {
            console.out("  not \(other.endpoint.protocol.displayName): \(other.reasons.joined(separator: "; "))")
        }
    }

    /// Listens to each recording; true when every room heard every tone for nearly all of its length, and the device that
    /// is both by the chosen protocol alone.
    private func listen(
        to receivers: [SimulatedHouse.Receiver], _ album: DemoAlbum, chosen: RouteFamily?
    ) throws -> Bool {
        let console = options.console
        var complete = true
        console.out(console.styled("What the receivers recorded:", .bold))
        for room in DemoHouse.rooms {
            for receiver in receivers where receiver.name == room {
                guard let recording = receiver.recording else { continue }
                let check = try ToneCheck(wav: recording, tones: DemoAlbum.tones)
                let isSilent = room == DemoHouse.both && receiver.family != chosen
                let isRight: Bool
                let story: String
                if isSilent {
                    isRight = check.seconds.isEmpty
                    story = isRight ? "heard nothing, as it should" : "heard what it should not have"
                } else {
                    isRight = DemoAlbum.tones.allSatisfy { (check.seconds[$0] ?? 0) >= DemoAlbum.trackSeconds - 0.3 }
                    story =
                        "heard "
                        + DemoAlbum.tones.map { String(format: "%d Hz for %.1f s", $0, check.seconds[$0] ?? 0) }
                        .joined(separator: ", then ")
                }
                complete = complete && isRight
                let mark = isRight ? console.styled("✓", .green) : console.styled("✗", .red)
                console.out("  \(mark) \(Self.column(room)) \(Self.column(receiver.proto.displayName)) \(story)")
            }
        }
        console.out(complete ? "Sound really came out, in all four rooms." : "Something is missing.")
        return complete
    }

    private static func column(_ text: String) -> String {
        text.padding(toLength: max(16, text.count), withPad: " ", startingAt: 0)
    }
}
