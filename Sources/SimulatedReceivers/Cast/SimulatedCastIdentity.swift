/// What a simulated device says of itself outside the receiver and media namespaces.
struct SimulatedCastIdentity: Sendable {
    /// A group that a device is in, and where its leader listens.
    struct GroupPlace: Sendable, Hashable {
        /// A UUID with hyphens.
        var id: String
        var name: String
        var host: String
        var port: Int
    }

    let configuration: SimulatedCastConfiguration
    /// Where the device listens now.
    var host: String
    var port: Int
    var memberOf: [GroupPlace] = []

    init(configuration: SimulatedCastConfiguration) {
        self.configuration = configuration
        host = configuration.host
        port = configuration.port
    }

    /// The device itself, where it is a group, and the groups that it is in.
    var groups: JSONValue {
        func group(_ place: GroupPlace, leader: String) -> JSONValue {
            [
                "name": .string(place.name), "uuid": .string(place.id), "elected_leader": .string(leader),
                "cast_port": .integer(place.port), "multichannel_group": false,
            ]
        }
        let own = GroupPlace(id: configuration.deviceUUID, name: configuration.name, host: host, port: port)
        return .array(
            (configuration.group == nil ? [] : [group(own, leader: "self")])
                + memberOf.map { group($0, leader: "\($0.host):\($0.port)") })
    }

    /// TXT of `_googlecast._tcp` (`Protocols/cast` section 9).
    func txtRecord(runningApp: String?) -> [String: String] {
        [
            "id": configuration.deviceID, "cd": String(configuration.deviceID.reversed()), "rm": "", "ve": "05",
            "md": configuration.model, "ic": "/setup/icon.png", "fn": configuration.name,
            "ca": String(configuration.capabilities), "st": runningApp == nil ? "0" : "1", "nf": "1",
            "rs": runningApp ?? "",
        ]
    }

    /// Answer to `GET_DEVICE_INFO` (section 8).
    func deviceInformation(requestID: Int) -> JSONValue {
        [
            "type": "GET_DEVICE_INFO", "requestId": .integer(requestID), "controlNotifications": 2,
            "deviceCapabilities": .integer(configuration.capabilities), "deviceId": .string(configuration.deviceID),
            "deviceModel": .string(configuration.model), "friendlyName": .string(configuration.name),
            "receiverMetricsId": "",
        ]
    }

    /// Answer to `eureka_info` in the setup namespace.
    func setupInformation(requestID: Int) -> JSONValue {
        [
            "type": "eureka_info", "request_id": .integer(requestID), "response_code": 200, "response_string": "OK",
            "data": [
                "name": .string(configuration.name), "version": 12,
                "device_info": [
                    "manufacturer": "Router", "product_name": .string(configuration.model),
                    "ssdp_udn": .string(configuration.deviceUUID),
                ],
                "build_info": ["cast_build_revision": "1.56.500000", "build_type": 2],
            ],
        ]
    }

    /// Body of `GET /setup/eureka_info` over HTTP.
    var eurekaInformation: JSONValue {
        [
            "name": .string(configuration.name), "version": 12, "build_version": "500000",
            "cast_build_revision": "1.56.500000", "ip_address": .string(host),
            "ssdp_udn": .string(configuration.deviceUUID), "setup_state": 60,
            "device_info": [
                "ssdp_udn": .string(configuration.deviceUUID), "model_name": .string(configuration.model),
                "manufacturer": "Router", "product_name": .string(configuration.model),
                "capabilities": [
                    "display_supported": .bool(configuration.capabilities & 1 != 0), "multizone_supported": true,
                ],
            ],
            "multizone": ["groups": groups, "dynamic_groups": []],
        ]
    }

    /// Answer to `GET_STATUS` in the multizone namespace (section 9): a device without a group.
    func multizoneStatus(requestID: Int, volume: JSONValue) -> JSONValue {
        [
            "type": "MULTIZONE_STATUS", "requestId": .integer(requestID),
            "status": [
                "isMultichannel": false, "playbackSession": [:],
                "devices": [
                    [
                        "deviceId": .string(configuration.deviceUUID), "name": .string(configuration.name),
                        "capabilities": .integer(configuration.capabilities), "volume": volume,
                    ]
                ],
            ],
        ]
    }
}
