import HTTPTypes
import NIOCore
import NIOHTTPTypes
import RouteModel
import RouterAPI

/// Gives the answer to what is no HTTP the body that every error of the API has: the server's own has none.
final class ParserRefusalHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Each 400 of our own has a body.
        guard case .head(let head) = unwrapOutboundIn(data), head.status.code == 400,
            head.headerFields[.contentLength] == "0"
        else {
            context.write(data, promise: promise)
            return
        }
        var answer = APIAnswer(
            Problem(
                RequestGuard.error(
                    .requestInvalid, "this is no HTTP request, or its head is too large",
                    "Send HTTP/1.1 with a head of less than 64 KiB")))
        answer.fields[.connection] = "close"
        context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
        context.write(wrapOutboundOut(.body(answer.body)), promise: promise)
    }
}
