// AirPlayBackend
