import Foundation
import HTTPTypes
import NIOCore
import RouteModel
import RouterAPI

/// An answer that is whole before it is sent.
struct APIAnswer: Sendable {
    var status: Int
    var fields = HTTPFields()
    var body = ByteBuffer()

    /// Throws `EncodingError`.
    static func json(_ value: any Encodable, status: Int = 200) throws -> APIAnswer {
        var answer = APIAnswer(status: status)
        answer.body = ByteBuffer(bytes: try APIJSON.encode(value))
        answer.fields[.contentType] = "application/json"
        return answer
    }

    static let empty = APIAnswer(status: 204)

    static func text(_ text: String, _ contentType: String) -> APIAnswer {
        var answer = APIAnswer(status: 200)
        answer.body = ByteBuffer(string: text)
        answer.fields[.contentType] = contentType
        return answer
    }

    /// An error in its own form.
    init(_ problem: Problem) {
        status = problem.status
        body = ByteBuffer(bytes: (try? APIJSON.encode(problem)) ?? Data("{}".utf8))
        fields[.contentType] = "application/problem+json"
        if problem.status == 401 { fields[.wwwAuthenticate] = "Bearer" }
    }

    init(status: Int) { self.status = status }

    /// As it is sent: no page may frame, keep or guess the type of what is private.
    var head: HTTPResponse {
        var fields = fields
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        if status != 204 { fields[.contentLength] = String(body.readableBytes) }
        return HTTPResponse(status: .init(code: status), headerFields: fields)
    }
}
