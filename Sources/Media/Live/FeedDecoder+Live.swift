import RouteBackend
import RouteModel
import Subprocess

/// Live input: from when somebody listens until it ends.
extension FeedDecoder {
    /// How often it is seen whether readers wait for what does not come.
    private static let period: Int64 = 50_000_000

    /// Gives what was wrong, if anything; throws when it cannot be begun.
    func listen(to input: LiveInput, _ item: FeedItem) async throws -> RouterError? {
        let tool = input.kind == .pulse ? capture : tool
        let configuration = try tool.configuration(
            try LiveProgram.arguments(input, sampleRate: FeedBuffer.sampleRate))
        try await buffer.waitForReader()
        await events.started(item.item, await buffer.end, item.start)
        await buffer.beginLive(LivePace(isCapture: input.isCapture, sampleRate: FeedBuffer.sampleRate))
        let ended = await withTaskGroup(of: Result<(String, Bool), any Error>?.self) { group in
            group.addTask {
                await Self.result { try await run(configuration, input) }
            }
            group.addTask {
                while (try? await tool.clock.sleep(nanoseconds: Self.period)) != nil {
                    await buffer.keepUp(at: tool.clock.now())
                }
                return nil
            }
            var ended: Result<(String, Bool), any Error>?
            for await result in group {
                ended = result ?? ended
                group.cancelAll()
            }
            return ended
        }
        let bytes = await buffer.endLive()
        try Task.checkCancellation()
        guard let (text, succeeded) = try ended?.get() else { throw CancellationError() }
        if input.isCapture { return LiveProgram.captureEnded(input, text) }
        return LiveProgram.pipeEnded(input, DecoderLog(text), gave: bytes > 0, succeeded: succeeded)
    }

    private static func result<Value>(_ body: () async throws -> Value) async -> Result<Value, any Error>? {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private func run(_ configuration: Configuration, _ input: LiveInput) async throws -> (String, Bool) {
        do {
            if input.kind == .standardInput {
                let result = try await Subprocess.run(
                    configuration, input: .currentStandardInput, output: .sequence, error: .sequence
                ) { execution in
                    try await take(execution.standardOutput, execution.standardError, input)
                }
                return (result.closureResult, result.terminationStatus.isSuccess)
            }
            let result = try await Subprocess.run(
                configuration, input: .none, output: .sequence, error: .sequence
            ) { execution in
                try await take(execution.standardOutput, execution.standardError, input)
            }
            return (result.closureResult, result.terminationStatus.isSuccess)
        } catch let error as SubprocessError {
            throw MediaTool.failure(error)
        }
    }

    /// What it says on standard error, once it has ended.
    private func take(
        _ output: SubprocessOutputSequence, _ errors: SubprocessOutputSequence, _ input: LiveInput
    ) async throws -> String {
        async let diagnosis = ToolDiagnosis.read(errors)
        for try await chunk in output {
            let bytes = chunk.withUnsafeBytes { [UInt8]($0) }
            await buffer.append(live: bytes, at: tool.clock.now())
            if !input.isCapture { try await buffer.waitForRoom() }
        }
        return try await diagnosis.text
    }
}
