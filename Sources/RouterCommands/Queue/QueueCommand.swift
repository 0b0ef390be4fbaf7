import ArgumentParser

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show and change what is to come.",
        discussion: """
            An item is named by its place in the list (3), a range of places (3-5), “current”, “last”, its short id, or \
            the beginning of its title.

              router queue
              router queue add album/
              router queue next song.flac
              router queue move 5 --before 2
              router queue remove 3-5
              router queue undo
              router queue shuffle
            """,
        subcommands: [
            QueueListCommand.self, QueueAddCommand.self, QueueNextCommand.self, QueueMoveCommand.self,
            QueueRemoveCommand.self, QueueClearCommand.self, QueueJumpCommand.self, QueueShuffleCommand.self,
            QueueRepeatCommand.self, QueueUndoCommand.self, QueuePolicyCommand.self, QueueSaveCommand.self,
            QueueLoadCommand.self, QueueSavedCommand.self, QueueHistoryCommand.self,
        ],
        defaultSubcommand: QueueListCommand.self)
}
