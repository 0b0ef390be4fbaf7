/// What a device says of itself in `receiver.discovery`, when asked (`Protocols/cast`, “Discovery and setup”).
public struct CastDeviceInformation: Sendable, Hashable {
    public var deviceID: String?
    public var friendlyName: String?
    public var model: String?
    /// As in the service record (`ca`).
    public var capabilities: Int?
    /// Whether the device shows notifications with controls to everybody in the network.
    public var controlNotifications: Int?
    public var receiverMetricsID: String?
    public var iconURL: String?

    public init(json: CastJSON) {
        deviceID = json["deviceId"].string
        friendlyName = json["friendlyName"].string
        model = json["deviceModel"].string
        capabilities = json["deviceCapabilities"].int
        controlNotifications = json["controlNotifications"].int
        receiverMetricsID = json["receiverMetricsId"].string
        iconURL = json["deviceIconUrl"].string
    }
}

/// What a device says of itself in `setup`, when asked (`Protocols/cast`, “Discovery and setup”).
public struct CastEurekaInformation: Sendable, Hashable {
    /// 200 where it was answered.
    public var responseCode: Int?
    public var responseText: String?
    public var name: String?
    public var manufacturer: String?
    public var productName: String?
    /// A UUID.
    public var udn: String?
    /// All of `data`, for what has no field here.
    public var data: CastJSON

    public init(json: CastJSON) {
        data = json["data"]
        responseCode = json["response_code"].int
        responseText = json["response_string"].string
        name = data["name"].string
        let device = data["device_info"]
        manufacturer = device["manufacturer"].string
        productName = device["product_name"].string
        udn = device["ssdp_udn"].string
    }

    /// Whether the device answered at all. A code that is missing counts as yes.
    public var isAnswer: Bool { responseCode.map { (200..<300).contains($0) } ?? true }
}
