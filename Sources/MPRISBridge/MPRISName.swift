/// Names on the bus (`Protocols/mpris`).
enum MPRISName {
    static let path = "/org/mpris/MediaPlayer2"
    static let root = "org.mpris.MediaPlayer2"
    static let player = "org.mpris.MediaPlayer2.Player"
}
