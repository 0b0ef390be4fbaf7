import AirPlay
import HomeKitPairing

/// The receiver's side of pairing on one connection (`Protocols/pairing/README.md`): requests in, answers out. No I/O.
///
/// It knows HomeKit pairing (a code, for one connection only, a password in place of either), pair-verify, the list of
/// controllers, and the older pairing with a code and without. What outlives a connection is in a `PairingServerBook`,
/// which the receiver keeps and hands in.
public struct PairingServer: Sendable {
    /// Who is at the other end of the connection.
    public enum Standing: Sendable, Hashable {
        case stranger
        /// Came by transient pair-setup.
        case transient
        /// Came by pair-verify, under the identifier that it paired with.
        case controller(String, isAdmin: Bool)
        /// Came by the older pair-verify, with this Ed25519 key.
        case legacy([UInt8])
    }

    /// The paths that it answers; all are asked by POST.
    public static let paths: Set<String> = [
        "/pair-pin-start", "/pair-setup", "/pair-verify", "/pair-add", "/pair-list", "/pair-remove",
        "/pair-setup-pin",
    ]

    /// Bytes of a body at most. The longest that there is has a key and a proof: half a kilobyte.
    public static let maximumBody = 8_192

    public let policy: PairingServerPolicy
    public internal(set) var standing = Standing.stranger

    let random: @Sendable (Int) -> [UInt8]
    var setup = Setup.idle
    var verify = Verify.idle
    var legacySetup = LegacySetup.idle
    var legacyVerify: LegacyVerify?

    /// - Parameter random: answers that many random bytes: salts, exponents, codes and exchange keys. A test gives its
    ///   own to have the same numbers every time.
    public init(_ policy: PairingServerPolicy, random: @escaping @Sendable (Int) -> [UInt8] = PairingCrypto.random) {
        self.policy = policy
        self.random = random
    }

    /// Answers one request.
    ///
    /// - Parameters:
    ///   - path: one of `paths`; for any other the answer is 404.
    ///   - headers: of the request: `X-Apple-HKP` tells HomeKit pairing from the older one.
    ///   - now: of the host's monotonic clock, in nanoseconds: back-off is counted by it.
    public mutating func answer(
        path: String, headers: RTSPHeaders, body: [UInt8], in book: inout PairingServerBook, at now: Int64
    ) -> PairingServerAnswer {
        guard Self.paths.contains(path) else { return .status(404) }
        guard body.count <= Self.maximumBody else { return .status(413) }
        let request = Request(path: path, kit: headers["X-Apple-HKP"], body: body, now: now)
        switch path {
        case "/pair-pin-start": return answerPinStart(request, &book)
        case "/pair-setup":
            return request.isLegacySetup ? answerLegacySetup(request, &book) : answerSetup(request, &book)
        case "/pair-verify":
            return request.isLegacyVerify ? answerLegacyVerify(request, &book) : answerVerify(request, &book)
        case "/pair-setup-pin": return answerLegacyPinSetup(request, &book)
        default: return answerControllers(request, &book)
        }
    }

    /// The status that requests other than pairing's get from here on: nil where they are let in.
    public var refusal: Int? { policy.admitsStrangers || standing != .stranger ? nil : policy.strangerStatus }

    /// The connection is gone: another may pair now.
    public mutating func end(in book: inout PairingServerBook) {
        book.release(id)
        setup = .idle
        verify = .idle
        legacySetup = .idle
        legacyVerify = nil
    }

    /// Tells one connection from another in the book.
    let id = PairingServerBook.ConnectionID()

    struct Request {
        var path: String
        /// `X-Apple-HKP`.
        var kit: String?
        var body: [UInt8]
        var now: Int64

        /// The older pair-setup is a bare key, which HomeKit's never is.
        var isLegacySetup: Bool { kit == nil && body.count == 32 }
        /// And so is the older pair-verify a word and two blocks of 32 bytes.
        var isLegacyVerify: Bool { kit == nil && body.count == 68 }
    }

    // MARK: The code

    private mutating func answerPinStart(_ request: Request, _ book: inout PairingServerBook) -> PairingServerAnswer {
        if let instead = fault(.pinStart, &book) { return instead }
        // Who is let in without a code asks for one too: pyatv does before transient pairing.
        guard request.kit != "4" else { return .status(200) }
        if request.kit == nil {
            guard case .code = policy.legacy else { return .status(policy.legacy == nil ? 404 : 200) }
        } else if let refusal = policy.setupRefusal {
            return refuse(refusal, state: 2)
        }
        var answer = PairingServerAnswer.status(200)
        if let code = showCode(legacy: request.kit == nil, &book) { answer.news.append(.showsCode(code)) }
        return finish(.pinStart, answer, &book)
    }

    /// Puts the code on the screen: the one that is there, that of the policy, or a new one. Nil where there is none.
    mutating func showCode(legacy: Bool, _ book: inout PairingServerBook) -> String? {
        let source: PairingServerPolicy.Code?
        if legacy, case .code(let code) = policy.legacy { source = code } else { source = policy.code }
        switch source {
        case nil: return nil
        case .fixed(let code): book.code = code
        case .random: if book.code == nil { book.code = freshCode() }
        }
        return book.code
    }

    /// Four digits.
    private func freshCode() -> String {
        let number = random(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } % 10_000
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    // MARK: Refusals and faults

    /// The answer of a refusal, which ends the exchange that it was in.
    func refuse(_ refusal: PairingServerPolicy.Refusal, state: UInt8) -> PairingServerAnswer {
        switch refusal {
        case .status(let status): .status(status)
        case .error(let error): .error(error, state: state)
        }
    }

    /// The fault that takes the place of this step; nil where the step is done.
    mutating func fault(_ step: PairingServerStep, _ book: inout PairingServerBook) -> PairingServerAnswer? {
        guard let fault = policy.faults[step], book.isDue(fault, at: step) else { return nil }
        let answer: PairingServerAnswer
        switch fault.kind {
        case .error(let error, let delay): answer = .error(error, state: step.state, retryAfter: delay)
        case .status(let status): answer = .status(status)
        default: return nil
        }
        book.count(fault, at: step)
        book.release(id)
        setup = .idle
        verify = .idle
        legacySetup = .idle
        legacyVerify = nil
        return answer
    }

    /// Whether this step is done with that mistake in it.
    func makes(
        _ kind: PairingServerFault.Kind, _ step: PairingServerStep, _ book: inout PairingServerBook
    ) -> Bool {
        guard let fault = policy.faults[step], fault.kind == kind, book.isDue(fault, at: step) else { return false }
        book.count(fault, at: step)
        return true
    }

    /// The answer as it goes out, with the faults that come after the step was done.
    mutating func finish(
        _ step: PairingServerStep, _ answer: PairingServerAnswer, _ book: inout PairingServerBook
    ) -> PairingServerAnswer {
        var answer = answer
        if makes(.hang, step, &book) { answer.delivery = .never }
        if makes(.close, step, &book) { answer.delivery = .hangUp }
        // Nobody who is not told can go on encrypted.
        if answer.delivery != .send, answer.secretEstablished != nil {
            answer.secretEstablished = nil
            standing = .stranger
        }
        if makes(.truncate, step, &book) { answer.body = Array(answer.body.dropLast()) }
        return answer
    }
}
