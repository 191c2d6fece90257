import Compute
import Foundation

/// A candidate of a labeled query: what its confidence is computed from, and whether the query shows it.
package struct MatchObservation: Sendable, Codable {
    /// Whether the query shows the entity.
    package var isRight: Bool
    /// The minimum distance over the query's crops.
    package var distance: Double
    /// The mean distance of the neighbors that score normalization averages.
    package var neighborDistance: Double
    /// Nil if local features did not judge the entity.
    package var evidence: MatchEvidence?
    /// Whether the query's local features were compared at all.
    package var isCompared: Bool
    /// Whether the targets were left out of the search.
    package var isWithoutTargets = false
    /// Names the query.
    package var query = ""
    /// Names what the query shows; cross-validation keeps all queries of an object together.
    package var object = ""
    /// The group of the query, or its kind.
    package var kind = ""
    /// The id of the candidate.
    package var entity = ""

    package init(isRight: Bool, distance: Double, neighborDistance: Double, evidence: MatchEvidence?, isCompared: Bool)
    {
        (self.isRight, self.distance, self.neighborDistance) = (isRight, distance, neighborDistance)
        (self.evidence, self.isCompared) = (evidence, isCompared)
    }

    /// A search, whose candidates are ranked against each other.
    package struct Search: Hashable {
        let query: String
        let isCompared: Bool
        let isWithoutTargets: Bool
    }

    /// The search that found the candidate.
    package var search: Search {
        Search(query: query, isCompared: isCompared, isWithoutTargets: isWithoutTargets)
    }
}

/// The coefficients of the confidence and of score normalization, fitted together.
package struct ConfidenceFit: Sendable {
    /// The coefficients of the confidence.
    package var coefficients: ConfidenceCoefficients
    /// The match threshold of a query with neighbors at the distance `typicalDistance`.
    package var matchThreshold: Double
    /// The change of the threshold per unit of the neighbors' mean distance.
    package var weight: Double
    /// The mean of the neighbors' distances over the queries.
    package var typicalDistance: Double

    /// More inliers carry little further evidence.
    private static let mostInliers = 25.0

    /// Fits logistic regressions by Newton's method, with a small ridge: one for prints alone, one for entities
    /// with an outline, one for those that were compared and have none, and one for the others. An observation of a
    /// search with *n* of them has the weight 1/√n.
    ///
    /// Without any search that compared local features, the coefficients for these are those of
    /// ``ConfidenceCoefficients/general``.
    ///
    /// - Returns: nil unless there are right and wrong observations of each kind.
    /// - Complexity: O(observations).
    package init?(_ observations: [MatchObservation]) {
        let alone = observations.filter { !$0.isCompared }
        let judged = observations.filter { $0.evidence?.isVerified == true }
        let resembling = observations.filter { $0.evidence?.isVerified == false }
        let others = observations.filter { $0.isCompared && $0.evidence == nil }
        let isCompared = alone.count < observations.count
        for kind in isCompared ? [alone, judged, others] : [alone] where Set(kind.map(\.isRight)).count < 2 {
            return nil
        }
        let typical = alone.reduce(0) { $0 + $1.neighborDistance } / Double(alone.count)
        let counts = Dictionary(observations.map { ($0.search, 1.0) }, uniquingKeysWith: +)
        func weights(_ observations: [MatchObservation]) -> [Double] {
            observations.map { 1 / (counts[$0.search] ?? 1).squareRoot() }
        }
        // log odds = bias + a · distance + b · neighborDistance
        let prints = LogisticRegression(
            alone.map { [$0.distance, $0.neighborDistance] }, alone.map(\.isRight), weights(alone),
            signs: [-1, 1])
        let slope = max(-prints.weights[0], 0.001)
        (typicalDistance, weight) = (typical, min(prints.weights[1] / slope, 2))
        matchThreshold = min(max((prints.bias + prints.weights[1] * typical) / slope, 0), 2)
        guard isCompared else {
            coefficients = ConfidenceCoefficients.general.with(perDistance: min(slope, 1_000))
            return
        }
        let (base, perNeighbor) = (matchThreshold, weight)
        func within(_ observation: MatchObservation) -> Double {
            Self.threshold(base, perNeighbor, observation.neighborDistance - typical) - observation.distance
        }
        let unverified = LogisticRegression(
            others.map { [within($0)] }, others.map(\.isRight), weights(others),
            signs: [1])
        let unverifiedSlope = max(unverified.weights[0], 0.001)
        func fit(_ observations: [MatchObservation], signs: [Double]) -> LogisticRegression {
            LogisticRegression(
                observations.map {
                    $0.evidence?.features(mostInliers: Self.mostInliers, withinThreshold: within($0)) ?? []
                }, observations.map(\.isRight), weights(observations), signs: signs)
        }
        let verified = fit(judged, signs: [1, 1, 1, -1, 1, 1, 1, 1, 1])
        let perFeature = verified.weights
        let margin = min(max(-unverified.bias / unverifiedSlope, -2), 2)
        // Where dense descriptors decide nothing, such as without any, an entity is one that was not compared.
        var (bias, perResembling) = (-unverifiedSlope * margin, [0, 0, unverifiedSlope])
        if Set(resembling.map(\.isRight)).count == 2 {
            let found = fit(resembling, signs: [1, 1, 1])
            (bias, perResembling) = (found.bias, found.weights)
        }
        coefficients = ConfidenceCoefficients(
            verifiedBias: verified.bias, perLogInlier: perFeature[0], perInlier: perFeature[1],
            mostInliers: Self.mostInliers, perShare: perFeature[2], perLogMatch: perFeature[3],
            perInlierLead: perFeature[4], perLikeness: perFeature[5], perDenseMatch: perFeature[6],
            perDenseLead: perFeature[7], perVerifiedDistance: perFeature[8], resemblingBias: bias,
            perResemblingMatch: perResembling[0], perResemblingLead: perResembling[1],
            perResemblingDistance: perResembling[2], perDistance: slope, perUnverifiedDistance: unverifiedSlope,
            unverifiedMargin: margin)
    }

    private static func threshold(_ base: Double, _ weight: Double, _ difference: Double) -> Double {
        min(max(base + weight * difference, 0), 2)
    }

    /// The probability of an observation, 0...1.
    package func probability(_ observation: MatchObservation) -> Double {
        let threshold = Self.threshold(matchThreshold, weight, observation.neighborDistance - typicalDistance)
        let odds =
            if let evidence = observation.evidence {
                coefficients.logOdds(evidence, distance: observation.distance, threshold: threshold)
            } else if observation.isCompared {
                coefficients.perUnverifiedDistance
                    * (threshold - observation.distance - coefficients.unverifiedMargin)
            } else {
                coefficients.perDistance * (threshold - observation.distance)
            }
        return 1 / (1 + exp(-odds))
    }

    /// The probabilities of observations by fits to the others: five parts, all queries of an object in one.
    ///
    /// - Returns: nil if a part cannot be fitted.
    package static func crossValidated(_ observations: [MatchObservation]) -> [Double]? {
        let objects = Dictionary(
            Set(observations.map(\.object)).sorted().enumerated().map { ($1, $0 % 5) },
            uniquingKeysWith: { first, _ in first })
        return crossValidated(observations, parts: observations.map { objects[$0.object] ?? 0 })
    }

    /// The probabilities of observations by fits to those of all other kinds: what is to be expected of a kind that
    /// nobody has seen.
    ///
    /// - Returns: nil if a part cannot be fitted.
    package static func leavingKindsOut(_ observations: [MatchObservation]) -> [Double]? {
        crossValidated(observations, parts: observations.map(\.kind))
    }

    private static func crossValidated(
        _ observations: [MatchObservation], parts: [some Hashable & Sendable]
    ) -> [Double]? {
        var held = [Double](repeating: 0, count: observations.count)
        for part in Set(parts) {
            let others = zip(observations, parts).filter { $1 != part }.map(\.0)
            guard let fit = ConfidenceFit(others) else { return nil }
            for index in observations.indices where parts[index] == part {
                held[index] = fit.probability(observations[index])
            }
        }
        return held
    }
}

/// A logistic regression with a ridge of one per standardized feature, and features whose weights have a sign.
private struct LogisticRegression {
    let bias: Double
    let weights: [Double]

    private static let ridge = 1.0
    private static let mostSteps = 50

    init(_ features: [[Double]], _ labels: [Bool], _ shares: [Double], signs: [Double]) {
        let (count, dimension) = (Double(features.count), signs.count)
        let means = (0..<dimension).map { index in features.reduce(0) { $0 + $1[index] } / count }
        let deviations = (0..<dimension).map { index in
            (features.reduce(0) { $0 + ($1[index] - means[index]) * ($1[index] - means[index]) } / count)
                .squareRoot() + 1e-9
        }
        // A feature whose weight would have the other sign is left out.
        var used = Array(0..<dimension)
        var solution = [Double](repeating: 0, count: dimension + 1)
        while true {
            let rows = features.map { row in [1] + used.map { (row[$0] - means[$0]) / deviations[$0] } }
            let fitted = Self.newton(rows, labels, shares)
            let wrong = used.indices.filter { fitted[$0 + 1] * signs[used[$0]] < 0 }
            if wrong.isEmpty {
                solution =
                    [fitted[0]]
                    + (0..<dimension).map { index in
                        used.firstIndex(of: index).map { fitted[$0 + 1] } ?? 0
                    }
                break
            }
            used = used.indices.filter { !wrong.contains($0) }.map { used[$0] }
        }
        let weights = (0..<dimension).map { solution[$0 + 1] / deviations[$0] }
        self.weights = weights
        bias = (0..<dimension).reduce(solution[0]) { $0 - weights[$1] * means[$1] }
    }

    private static func newton(_ rows: [[Double]], _ labels: [Bool], _ shares: [Double]) -> [Double] {
        let size = rows.first?.count ?? 1
        var weights = [Double](repeating: 0, count: size)
        for _ in 0..<mostSteps {
            var gradient = weights.enumerated().map { $0 == 0 ? 0 : -ridge * $1 }
            var hessian = [Double](repeating: 0, count: size * size)
            for i in 0..<size { hessian[i * size + i] = i == 0 ? 1e-6 : ridge }
            for ((row, label), share) in zip(zip(rows, labels), shares) {
                let p = 1 / (1 + exp(-zip(row, weights).reduce(0) { $0 + $1.0 * $1.1 }))
                let (error, variance) = (share * ((label ? 1 : 0) - p), share * p * (1 - p))
                for i in 0..<size {
                    gradient[i] += error * row[i]
                    for j in 0..<size { hessian[i * size + j] += variance * row[i] * row[j] }
                }
            }
            guard let step = solution(of: hessian, gradient) else { break }
            for index in 0..<size { weights[index] += step[index] }
            if step.allSatisfy({ abs($0) < 1e-9 }) { break }
        }
        return weights
    }
}
