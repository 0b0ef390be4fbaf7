@testable import MPRISBridge
import Testing
