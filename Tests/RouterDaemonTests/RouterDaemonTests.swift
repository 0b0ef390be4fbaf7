// RouterDaemon
