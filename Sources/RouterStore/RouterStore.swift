// RouterStore
