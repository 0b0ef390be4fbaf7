// CastBackend
