// CastV2
