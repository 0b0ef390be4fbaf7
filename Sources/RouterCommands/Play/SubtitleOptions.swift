import ArgumentParser
import Foundation
import RouteModel

/// Which subtitles `play` shows, and how their file is read.
struct SubtitleOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Subtitles: a file (SRT, WebVTT, ASS), a language, or off.",
            discussion: "Without it, what is found in and beside the film is offered.", valueName: "file|lang|off"),
        completion: .file(extensions: ["srt", "vtt", "ass", "ssa"]))
    var subtitles: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Show subtitles later by 1.5s, or earlier by -300ms.", valueName: "time"))
    var subtitleOffset: String?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Stretch subtitle times, 0.5 to 2: 1.0427 from PAL.", valueName: "factor"))
    var subtitleScale: Double?

    @Option(
        name: .long,
        help: ArgumentHelp("The file's encoding where guessing fails: windows-1250.", valueName: "name"))
    var subtitleEncoding: String?

    func check() throws {
        if let subtitleOffset, Self.offset(subtitleOffset) == nil {
            throw ValidationError("“\(subtitleOffset)” is no offset. Write 1.5s or -300ms, an hour at most.")
        }
        if let subtitleScale, !(0.5...2).contains(subtitleScale) {
            throw ValidationError("The subtitles' scale is a number from 0.5 to 2, not \(subtitleScale).")
        }
    }

    /// Nil where nothing was asked for.
    func request(workingDirectory: String) throws -> SubtitleRequest? {
        guard subtitles != nil || subtitleOffset != nil || subtitleScale != nil || subtitleEncoding != nil else {
            return nil
        }
        var result =
            try subtitles.map { try SubtitleRequest($0, workingDirectory: workingDirectory) } ?? SubtitleRequest()
        // Before anything is connected: a slip of the hand must not take the screen from whoever has it.
        if case .file(let path)? = result.source, !FileManager.default.fileExists(atPath: path) {
            throw RouterError(
                .mediaNotFound, "“\(subtitles ?? path)” is not there", hint: "Check the name of the subtitle file",
                scope: .item)
        }
        result.offset = subtitleOffset.flatMap(Self.offset) ?? .zero
        result.scale = subtitleScale ?? 1
        result.encoding = subtitleEncoding
        return result
    }

    /// `1.5s`, `-300ms`; nil for anything else and for more than an hour.
    static func offset(_ text: String) -> MediaTime? {
        let (number, unit) = text.hasSuffix("ms") ? (text.dropLast(2), 0.001) : (text.dropLast(), 1.0)
        guard text.hasSuffix("s"), !number.isEmpty,
            number.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.".contains($0)) }),
            let value = Double(number), abs(value * unit) <= SubtitleRequest.maximumOffset.seconds
        else { return nil }
        return MediaTime(seconds: value * unit)
    }
}
