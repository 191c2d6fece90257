import ArgumentParser
import CommandProcess

extension FilePath: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }

    public var defaultValueDescription: String { text }
}
