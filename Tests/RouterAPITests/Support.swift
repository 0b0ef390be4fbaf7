@testable import RouterAPI
import Testing
