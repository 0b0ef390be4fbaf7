import RouteBackend
import RouteModel
import Testing

@Suite("Device URIs")
struct DeviceURITests {
    @Test(
        "what a person writes",
        arguments: [
            ("cast://192.168.1.21", "cast", "192.168.1.21", nil, [:]),
            ("cast://tv.local:8010", "cast", "tv.local", 8010, [:]),
            (
                "RAOP://10.0.0.2:5000?name=K%C3%BCche&ET=1&md=0,1", "raop", "10.0.0.2", 5000,
                ["name": "Küche", "et": "1", "md": "0,1"]
            ),
            ("airplay://[fe80::1]:7000/", "airplay", "fe80::1", 7000, [:]),
            ("raop://10.0.0.2?flag", "raop", "10.0.0.2", nil, ["flag": ""]),
            ("raop://10.0.0.2?name=a&name=b", "raop", "10.0.0.2", nil, ["name": "b"]),
        ] as [(String, String, String, Int?, [String: String])])
    func good(text: String, scheme: String, host: String, port: Int?, query: [String: String]) throws {
        let uri = try DeviceURI(text)
        #expect(uri.scheme == scheme)
        #expect(uri.host == host)
        #expect(uri.port == port)
        #expect(uri.query == query)
        #expect(uri.text == text)
    }

    @Test(
        "what is wrong is told with an example",
        arguments: [
            "", "kitchen", "192.168.1.20", "raop:", "raop://", "raop://:5000", "raop://host:0", "raop://host:65536",
            "raop://host:port", "cast://host/path", "cast://ho st", "://host", "raop:host",
        ])
    func bad(text: String) throws {
        let error = try #require(throws: RouterError.self) { try DeviceURI(text) }
        #expect(error.code == .configuration)
        #expect(error.hint?.isEmpty == false)
    }

    @Test(
        "what may hold a secret isn't repeated when something else is wrong",
        arguments: ["raop://?password=s3cret", "raop://user:s3?cret@host", "cast://host/path?pin=s3cret"])
    func wrongWithSecret(text: String) throws {
        let error = try #require(throws: RouterError.self) { try DeviceURI(text) }
        #expect(error.code == .configuration)
        #expect(!"\(error)".contains("s3"))
    }

    @Test(
        "a secret is refused, and neither it nor the URI around it is repeated",
        arguments: [
            "raop://:s3cret@10.0.0.2", "raop://user:s3cret@10.0.0.2", "raop://10.0.0.2?password=s3cret",
            "raop://10.0.0.2?PASSWORD=s3cret", "airplay://10.0.0.2?name=a&Pin=s3cret", "raop://s3cret@10.0.0.2",
            "raop://user:s3cret@", "raop://us er:s3cret@host", "user:s3cret@host",
        ])
    func secrets(text: String) throws {
        let error = try #require(throws: RouterError.self) { try DeviceURI(text) }
        #expect(error.code == .configuration)
        #expect(!"\(error) \(error.causes) \(error.candidates)".contains("s3cret"))
        #expect(error.hint?.contains("ROUTER_PASSWORD") == true)
    }
}
