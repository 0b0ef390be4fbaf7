// RouteBackend
