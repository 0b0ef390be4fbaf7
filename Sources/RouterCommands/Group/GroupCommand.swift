import ArgumentParser

struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Keep rooms under one name, and how loud each is against the others.",
        discussion: """
            A group is named wherever rooms are: --on @group:upstairs. Groups that a device itself has made, such as a \
            Cast group, are devices, and stand among them.

              router group create upstairs Bedroom Bath
              router play album/ --on @group:upstairs
              router group volume upstairs 30
              router group trim upstairs Bath 60
            """,
        subcommands: [
            GroupListCommand.self, GroupCreateCommand.self, GroupAddCommand.self, GroupRemoveCommand.self,
            GroupVolumeCommand.self, GroupTrimCommand.self, GroupDissolveCommand.self,
        ],
        defaultSubcommand: GroupListCommand.self)
}
