import Testing
import VectorSearch

struct EvaluationTests {
    /// Worked out by hand: answers by distance are right, wrong (absent), right, wrong, right.
    @Test func figuresOfASmallExample() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", ranking: [("a", 0.1), ("b", 0.5)]))
        evaluation.add(.init(target: nil, ranking: [("b", 0.2)]))
        evaluation.add(.init(target: "b", ranking: [("b", 0.3)]))
        evaluation.add(.init(target: "c", ranking: [("x", 0.4), ("c", 0.6)]))
        evaluation.add(.init(target: "d", ranking: [("d", 0.5)]))
        evaluation.add(.init(target: "e", ranking: []))
        evaluation.add(.init(target: nil, ranking: []))
        #expect(evaluation.presentCount == 5 && evaluation.absentCount == 2)
        #expect(evaluation.recall(at: 1) == 0.6)
        #expect(evaluation.recall(at: 10) == 0.8)
        let expected: Double = (1.0 / 1 + 2.0 / 3 + 3.0 / 5) / 5
        #expect(abs((evaluation.microAveragePrecision ?? 0) - expected) < 1e-12)
        #expect(evaluation.recall(atPrecision: 0.95).map { [$0.recall, $0.distance] } == [0.2, 0.1])
        #expect(evaluation.recall(atPrecision: 0.6).map { [$0.recall, $0.distance] } == [0.6, 0.5])
        #expect(
            evaluation.rates(atThreshold: 0.3).recall == 0.4
                && evaluation.rates(atThreshold: 0.3).falseAcceptRate == 0.5)
    }

    @Test func eachQueryMayHaveItsOwnLimit() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", ranking: [("a", 0.6)], matchThreshold: 0.7))
        evaluation.add(.init(target: "b", ranking: [("b", 0.4)], matchThreshold: 0.3))
        evaluation.add(.init(target: nil, ranking: [("b", 0.5)], matchThreshold: 0.4))
        evaluation.add(.init(target: nil, ranking: [("b", 0.5)], matchThreshold: 0.5))
        evaluation.add(.init(target: "c", ranking: [("c", 1.9)]))
        #expect(evaluation.rates().recall == 2.0 / 3 && evaluation.rates().falseAcceptRate == 0.5)
        #expect(
            evaluation.rates(atThreshold: 0.45).recall == 1.0 / 3
                && evaluation.rates(atThreshold: 0.45).falseAcceptRate == 0)
    }

    @Test func nothingToAskGivesNothing() {
        let none = Evaluation()
        #expect(none.recall(at: 1) == nil && none.microAveragePrecision == nil && none.recall(atPrecision: 0.5) == nil)
        var absent = Evaluation()
        absent.add(.init(target: nil, ranking: [("a", 0.1)]))
        #expect(absent.recall(at: 1) == nil && absent.rates(atThreshold: 1).falseAcceptRate == 1)
    }

    @Test func aWrongAnswerAtTheSameDistanceCountsFirst() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", ranking: [("a", 0.3)]))
        evaluation.add(.init(target: nil, ranking: [("a", 0.3)]))
        #expect(evaluation.microAveragePrecision == 0.5)
    }
}
