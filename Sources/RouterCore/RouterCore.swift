// RouterCore
