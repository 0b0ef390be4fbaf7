import RouterCommands

@main
enum Router {
    static func main() async { await RouterProgram.run() }
}
