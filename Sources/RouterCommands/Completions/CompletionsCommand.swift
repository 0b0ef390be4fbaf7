import ArgumentParser

struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print the completion script of a shell.",
        discussion: """
              bash:  router completions bash > ~/.local/share/bash-completion/completions/router
              zsh:   router completions zsh > "${fpath[1]}/_router"
              fish:  router completions fish > ~/.config/fish/completions/router.fish
            """)

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        var script: String {
            switch self {
            case .bash: RouterCommand.completionScript(for: .bash)
            case .zsh: RouterCommand.completionScript(for: .zsh)
            case .fish: RouterCommand.completionScript(for: .fish)
            }
        }
    }

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    func run() { Console().out(shell.script) }
}
