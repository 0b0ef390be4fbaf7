import RouteModel

/// How a source is named to ffmpeg and ffprobe, so that neither its name nor its content reaches further than it may.
enum InputArguments {
    /// The `-i` of a source with the options that go before it.
    ///
    /// A file is always `file:` and its absolute path, so that a name like `-y.mp3` or `concat:a` is only a name, and a
    /// playlist inside it can reach no network. Throws `mediaNotFound`, `mediaForbidden` or `mediaUnsupported` for what
    /// is no regular file, before a process is spent on it: a named pipe would hang.
    static func of(_ source: MediaSource) throws -> [String] {
        switch source {
        case .file(let path):
            try FileFacts.check(path)
            return ["-protocol_whitelist", "file,pipe,crypto", "-i", "file:\(path)"]
        case .url(let text):
            guard isWeb(text) else {
                throw RouterError(
                    .mediaUnsupported, "“\(source.label)” is not an http or https address",
                    hint: "Give an address that begins with http:// or https://", scope: .item)
            }
            return [
                // Microseconds without a byte, then it is given up.
                "-rw_timeout", "15000000", "-reconnect", "1", "-reconnect_delay_max", "5",
                "-protocol_whitelist", "http,https,tcp,tls,crypto,httpproxy", "-i", text,
            ]
        case .live(let input):
            throw RouterError(
                .mediaUnsupported, "“\(input.label)” is live input, which is heard as it comes and not looked into",
                hint: "Play it to a room", scope: .item)
        }
    }

    static func isWeb(_ text: String) -> Bool {
        let start = text.prefix(8).lowercased()
        return start.hasPrefix("http://") || start == "https://"
    }
}
