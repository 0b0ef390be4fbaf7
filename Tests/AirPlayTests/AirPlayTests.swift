// AirPlay
