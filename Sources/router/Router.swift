import CPosix
import RouterCommands

@main
enum Router {
    static func main() async {
        // A third of what it takes to read a queue of a hundred thousand items is the growing of heaps.
        cposix_share_one_heap()
        await RouterProgram.run()
    }
}
