import RouterCommands

@main
enum Router {
    static func main() async { await RouterCommand.main() }
}
