// RouterCommands
