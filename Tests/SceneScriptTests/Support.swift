@testable import SceneScript
import Testing
