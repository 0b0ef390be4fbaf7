import Glibc
import RouterCommands

@main
enum Router {
    static func main() async {
        shareOneHeap()
        await RouterProgram.run()
    }

    /// glibc gives each thread that allocates a heap of its own, which grows by a page and a system call at a time: a
    /// third of what it takes to read a queue of a hundred thousand items. Threads here hand on most of what they make.
    private static func shareOneHeap() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_TOP_PAD, 1 << 20)
    }
}
