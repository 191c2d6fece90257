import VectorSearch
import Testing

struct EvaluationTests {
    /// Worked out by hand: answers by distance are right, wrong (absent), right, wrong, right.
    @Test func figuresOfASmallExample() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", answer: [("a", 0.1), ("b", 0.5)]))
        evaluation.add(.init(target: nil, answer: [("b", 0.2)]))
        evaluation.add(.init(target: "b", answer: [("b", 0.3)]))
        evaluation.add(.init(target: "c", answer: [("x", 0.4), ("c", 0.6)]))
        evaluation.add(.init(target: "d", answer: [("d", 0.5)]))
        evaluation.add(.init(target: "e", answer: []))
        evaluation.add(.init(target: nil, answer: []))
        #expect(evaluation.presentCount == 5 && evaluation.absentCount == 2)
        #expect(evaluation.recall(at: 1) == 0.6)
        #expect(evaluation.recall(at: 10) == 0.8)
        let expected: Double = (1.0 / 1 + 2.0 / 3 + 3.0 / 5) / 5
        #expect(abs((evaluation.microAveragePrecision ?? 0) - expected) < 1e-12)
        #expect(evaluation.recall(atPrecision: 0.95).map { [$0.recall, $0.distance] } == [0.2, 0.1])
        #expect(evaluation.recall(atPrecision: 0.6).map { [$0.recall, $0.distance] } == [0.6, 0.5])
        #expect(evaluation.rates(within: 0.3).found == 0.4 && evaluation.rates(within: 0.3).falsePositives == 0.5)
    }

    @Test func eachQueryMayHaveItsOwnLimit() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", answer: [("a", 0.6)], maxDistance: 0.7))
        evaluation.add(.init(target: "b", answer: [("b", 0.4)], maxDistance: 0.3))
        evaluation.add(.init(target: nil, answer: [("b", 0.5)], maxDistance: 0.4))
        evaluation.add(.init(target: nil, answer: [("b", 0.5)], maxDistance: 0.5))
        evaluation.add(.init(target: "c", answer: [("c", 1.9)]))
        #expect(evaluation.rates().found == 2.0 / 3 && evaluation.rates().falsePositives == 0.5)
        #expect(evaluation.rates(within: 0.45).found == 1.0 / 3 && evaluation.rates(within: 0.45).falsePositives == 0)
    }

    @Test func nothingToAskGivesNothing() {
        let none = Evaluation()
        #expect(none.recall(at: 1) == nil && none.microAveragePrecision == nil && none.recall(atPrecision: 0.5) == nil)
        var absent = Evaluation()
        absent.add(.init(target: nil, answer: [("a", 0.1)]))
        #expect(absent.recall(at: 1) == nil && absent.rates(within: 1).falsePositives == 1)
    }

    @Test func aWrongAnswerAtTheSameDistanceCountsFirst() {
        var evaluation = Evaluation()
        evaluation.add(.init(target: "a", answer: [("a", 0.3)]))
        evaluation.add(.init(target: nil, answer: [("a", 0.3)]))
        #expect(evaluation.microAveragePrecision == 0.5)
    }
}
