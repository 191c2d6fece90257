import FeaturePrints
import Foundation
import TestSupport
import Testing

struct ConfidenceTests {
    private static let coefficients = ConfidenceCoefficients(
        verifiedBias: -5, perLogInlier: 2, perInlier: 0.5, mostInliers: 20, perShare: 3, perLogMatch: -1,
        perInlierLead: 1.5, perLikeness: 2, perDenseMatch: 0.04, perDenseLead: 0.1, perVerifiedDistance: 9,
        resemblingBias: -4, perResemblingMatch: 0.15, perResemblingLead: 0.2, perResemblingDistance: 6, perDistance: 8,
        perUnverifiedDistance: 7, unverifiedMargin: 0.25)

    @Test func logOddsAreTheDocumentedSum() {
        var evidence = MatchEvidence(inliers: 30, share: 0.4, matches: 99, denseMatches: 19)
        evidence.lead(overInliers: 9, denseMatches: 16)
        let terms: [Double] = [
            -5, 2 * log(31), 0.5 * 20, 3 * 0.4, -log(100), 1.5 * log(3.1), 0.04 * 19, 0.1 * 3, 9 * (0.8 - 0.5),
        ]
        let expected = terms.reduce(0, +)
        #expect(abs(Self.coefficients.logOdds(evidence, distance: 0.5, threshold: 0.8) - expected) < 1e-12)
        evidence.likeness = 0.9
        let alike = Self.coefficients.logOdds(evidence, distance: 0.5, threshold: 0.8)
        #expect(abs(alike - expected - 2 * 0.4) < 1e-12, "an unknown likeness is neutral")
        var resembling = MatchEvidence(inliers: 0, share: 0, matches: 0, denseMatches: 19)
        let other = -4 + 0.15 * 19 + 6 * (0.8 - 0.5)
        #expect(abs(Self.coefficients.logOdds(resembling, distance: 0.5, threshold: 0.8) - other) < 1e-12)
        resembling.lead(overInliers: 9, denseMatches: 0)
        let leading = Self.coefficients.logOdds(resembling, distance: 0.5, threshold: 0.8)
        #expect(abs(leading - other - 0.2 * 4) < 1e-12, "15 dense matches are chance")
        resembling.lead(overInliers: 9, denseMatches: 30)
        #expect(abs(Self.coefficients.logOdds(resembling, distance: 0.5, threshold: 0.8) - other) < 1e-12)
        // Inliers that agree by chance do not count against an entity.
        let chance = MatchEvidence(inliers: 1, share: 0.01, matches: 400, denseMatches: 19)
        #expect(abs(Self.coefficients.logOdds(chance, distance: 0.5, threshold: 0.8) - other) < 1e-12)
    }

    /// Labels are drawn from known coefficients; the fit has to give probabilities like theirs.
    @Test func aFitFindsTheProbabilitiesThatLabelsWereDrawnFrom() throws {
        var random = SeededGenerator(seed: 41)
        var observations: [MatchObservation] = []
        var truth: [Double] = []
        for index in 0..<12_000 {
            let neighbors = Double.random(in: 0.8...1.2, using: &random)
            let distance = Double.random(in: 0...1.4, using: &random)
            let threshold = 0.6 + 0.9 * (neighbors - 1)
            let isCompared = index % 3 > 0
            var evidence: MatchEvidence?
            if index % 3 == 1 {
                let inliers = index % 2 == 0 ? Double.random(in: 0...40, using: &random) : 0
                evidence = MatchEvidence(
                    inliers: inliers, share: .random(in: 0...0.8, using: &random),
                    matches: .random(in: 10...300, using: &random), denseMatches: .random(in: 0...60, using: &random))
                evidence?.lead(overInliers: .random(in: 0...30, using: &random), denseMatches: 20)
                evidence?.likeness = index % 5 == 0 ? nil : .random(in: 0...1, using: &random)
            }
            let odds =
                evidence.map { Self.coefficients.logOdds($0, distance: distance, threshold: threshold) }
                ?? (isCompared ? 7 * (threshold - distance - 0.25) : 8 * (threshold - distance))
            let probability = 1 / (1 + exp(-odds))
            var observation = MatchObservation(
                isRight: .random(in: 0..<1, using: &random) < probability, distance: distance,
                neighborDistance: neighbors, evidence: evidence, isCompared: isCompared)
            (observation.query, observation.object) = ("\(index)", "\(index / 7)")
            observation.kind = "\(index / 4_000)"
            observations.append(observation)
            truth.append(probability)
        }
        let fit = try #require(ConfidenceFit(observations))
        let held = try #require(ConfidenceFit.crossValidated(observations))
        let unseen = try #require(ConfidenceFit.leavingKindsOut(observations))
        func meanError(_ found: [Double]) -> Double {
            zip(found, truth).reduce(0) { $0 + abs($1.0 - $1.1) } / Double(truth.count)
        }
        #expect(meanError(observations.map(fit.probability)) < 0.02, "seed 41")
        #expect(meanError(held) < 0.025 && meanError(unseen) < 0.025, "seed 41")
        #expect(abs(fit.weight - 0.9) < 0.15 && abs(fit.coefficients.perDistance - 8) < 1, "seed 41: \(fit)")
    }

    @Test func aFitNeedsRightAndWrongOnesOfEachKind() {
        let right = MatchObservation(
            isRight: true, distance: 0.5, neighborDistance: 1, evidence: nil, isCompared: false)
        #expect(ConfidenceFit([right, right]) == nil && ConfidenceFit([]) == nil)
    }

    /// A catalog without local features has no others.
    @Test func printsAloneAreFitted() throws {
        var random = SeededGenerator(seed: 43)
        let observations = (0..<4_000).map { index in
            let distance = Double.random(in: 0...1.4, using: &random)
            let probability = 1 / (1 + exp(-12 * (0.7 - distance)))
            var observation = MatchObservation(
                isRight: .random(in: 0..<1, using: &random) < probability, distance: distance, neighborDistance: 0,
                evidence: nil, isCompared: false)
            (observation.query, observation.object) = ("\(index)", "\(index / 7)")
            return observation
        }
        let fit = try #require(ConfidenceFit(observations))
        #expect(abs(fit.matchThreshold - 0.7) < 0.02 && abs(fit.coefficients.perDistance - 12) < 1, "seed 43: \(fit)")
        #expect(fit.coefficients.verifiedBias == ConfidenceCoefficients.general.verifiedBias)
        #expect(ConfidenceFit.crossValidated(observations) != nil)
    }

    @Test func aModelFileTakesTheFit() throws {
        var builder = SafeTensorsBuilder.tiny()
        builder.add("b", [1, 0, 0, 1], shape: [2, 2])
        builder.metadata["lookalike.background"] = #"{"tensor":"b","nearest":1,"weight":0.5,"typical_distance":0.5}"#
        let model = try FeaturePrintModel(builder.data, named: "a")
        var random = SeededGenerator(seed: 42)
        let observations = (0..<300).map { index in
            MatchObservation(
                isRight: index % 2 == 0, distance: .random(in: 0...0.6, using: &random) + (index % 2 == 0 ? 0 : 0.4),
                neighborDistance: .random(in: 0.9...1.1, using: &random),
                evidence: index % 3 == 0
                    ? MatchEvidence(inliers: index % 2 == 0 ? 12 : 6, share: 0.2, matches: 90, denseMatches: 0) : nil,
                isCompared: index % 3 < 2)
        }
        let fit = try #require(ConfidenceFit(observations))
        let calibrated = try FeaturePrintModel(model.fileData(with: fit), named: "b")
        #expect(calibrated.identity == model.identity && calibrated.confidence == fit.coefficients)
        #expect(abs((calibrated.matchThreshold ?? 0) - fit.matchThreshold) < 1e-4)
        #expect(calibrated.backgroundSetCount == 2)
    }
}
