import Testing
import VectorSearch

struct EvaluationTests {
    /// Worked out by hand: first matches by confidence are right, wrong (absent), right, wrong, right.
    @Test func figuresOfASmallExample() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a"], ranking: [("a", 0.9), ("b", 0.5)]))
        evaluation.add(.init(targets: [], ranking: [("b", 0.8)]))
        evaluation.add(.init(targets: ["b"], ranking: [("b", 0.7)]))
        evaluation.add(.init(targets: ["c"], ranking: [("x", 0.6), ("c", 0.4)]))
        evaluation.add(.init(targets: ["d"], ranking: [("d", 0.5)]))
        evaluation.add(.init(targets: ["e"], ranking: []))
        evaluation.add(.init(targets: [], ranking: []))
        #expect(evaluation.presentCount == 5 && evaluation.absentCount == 2)
        #expect(evaluation.recall(at: 1) == 0.6)
        #expect(evaluation.recall(at: 10) == 0.8)
        let expected: Double = (1.0 / 1 + 2.0 / 3 + 3.0 / 5) / 5
        #expect(abs((evaluation.microAveragePrecision ?? 0) - expected) < 1e-12)
        #expect(evaluation.recall(atPrecision: 0.95).map { [$0.recall, $0.confidence] } == [0.2, 0.9])
        #expect(evaluation.recall(atPrecision: 0.6).map { [$0.recall, $0.confidence] } == [0.6, 0.5])
    }

    @Test func theDecisionIsWhatEachQueryAccepted() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a"], ranking: [("a", 0.6)], acceptedCount: 1))
        evaluation.add(.init(targets: ["b"], ranking: [("b", 0.6)]))
        evaluation.add(.init(targets: ["c"], ranking: [("x", 0.9), ("c", 0.8)], acceptedCount: 2))
        evaluation.add(.init(targets: ["d"], ranking: []))
        evaluation.add(.init(targets: [], ranking: [("b", 0.5)], acceptedCount: 1))
        evaluation.add(.init(targets: [], ranking: [("b", 0.9)]))
        #expect(evaluation.acceptedRight == 0.25 && evaluation.acceptedWrong == 0.25)
        #expect(evaluation.falseAcceptRate == 0.5)
    }

    @Test func anyOfSeveralTargetsIsRight() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a", "b"], ranking: [("b", 0.9), ("x", 0.8), ("a", 0.7)]))
        evaluation.add(
            .init(targets: ["c", "d", "e", "f"], ranking: [("x", 0.9), ("c", 0.8), ("d", 0.7), ("y", 0.6)]))
        #expect(evaluation.recall(at: 1) == 0.5 && evaluation.recall(at: 2) == 1)
        #expect(evaluation.targetShare == 0.5)
    }

    @Test func candidatesHaveARecallOfTheirOwn() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a"], ranking: [("x", 0.9)], candidates: ["x", "y", "a"]))
        evaluation.add(.init(targets: ["b"], ranking: [("b", 0.9)], candidates: ["b"]))
        evaluation.add(.init(targets: [], ranking: [("b", 0.9)], candidates: ["b"]))
        #expect(evaluation.candidateRecall(at: 2) == 0.5 && evaluation.candidateRecall(at: 3) == 1)
        #expect(evaluation.recall(at: 10) == 0.5)
    }

    @Test func otherConfidencesAcceptOtherShares() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a"], ranking: [("a", 0.7)]))
        evaluation.add(.init(targets: ["b"], ranking: [("x", 0.4), ("b", 0.3)]))
        for confidence in [0.9, 0.6, 0.2] { evaluation.add(.init(targets: [], ranking: [("x", confidence)])) }
        evaluation.add(.init(targets: [], ranking: []))
        #expect(evaluation.accepted(atConfidence: 0.4) == (0.5, 0.5, 0.5))
        #expect(evaluation.accepted(atConfidence: 0.5) == (0.5, 0, 0.5))
        #expect(evaluation.confidence(atFalseAcceptRate: 0.25) == 0.6.nextUp)
        #expect(evaluation.confidence(atFalseAcceptRate: 0) == 0.9.nextUp)
        #expect(evaluation.confidence(atFalseAcceptRate: 1) == 0)
        #expect(Evaluation().confidence(atFalseAcceptRate: 0) == nil)
    }

    @Test func nothingToAskGivesNothing() {
        let none = Evaluation()
        #expect(none.recall(at: 1) == nil && none.microAveragePrecision == nil && none.recall(atPrecision: 0.5) == nil)
        #expect(none.targetShare == nil && none.candidateRecall(at: 1) == nil)
        #expect(none.acceptedRight == nil && none.acceptedWrong == nil && none.falseAcceptRate == nil)
        var absent = Evaluation()
        absent.add(.init(targets: [], ranking: [("a", 0.1)], acceptedCount: 1))
        #expect(absent.recall(at: 1) == nil && absent.falseAcceptRate == 1)
    }

    @Test func aWrongAnswerOfTheSameConfidenceCountsFirst() {
        var evaluation = Evaluation()
        evaluation.add(.init(targets: ["a"], ranking: [("a", 0.3)]))
        evaluation.add(.init(targets: [], ranking: [("a", 0.3)]))
        #expect(evaluation.microAveragePrecision == 0.5)
    }
}
