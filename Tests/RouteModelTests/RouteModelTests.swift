// RouteModel
