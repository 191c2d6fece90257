#if Service
import Foundation
import HTTPTypes
import Logging
import Lookalike
import Metrics
import PrometheusMetrics

/// The archives of catalogs that are being read. Those who ask for the same state of a catalog at the same time read
/// the same archive, which is removed when nobody reads it any more.
actor SnapshotStore {
    /// A tar archive of a catalog.
    final class Archive: Sendable {
        let url: URL
        let size: Int
        let digest: Data
        private let work: WorkFolder

        init(url: URL, size: Int, digest: Data, work: WorkFolder) {
            (self.url, self.size, self.digest, self.work) = (url, size, digest, work)
        }
    }

    /// What a catalog is at a moment.
    struct Key: Hashable, Sendable {
        let catalog: UUID
        let revision: Int64
        let metadataRevision: Int64
    }

    private struct Entry {
        /// Nil once it is made: a task keeps its result.
        var making: Task<Archive, any Error>?
        weak var archive: Archive?
    }

    private let store: CatalogStore
    private var entries: [Key: Entry] = [:]

    /// Archives on the disk at once.
    private static let most = 4

    init(store: CatalogStore) { self.store = store }

    /// The state of a catalog now.
    nonisolated func key(of name: CatalogName) async throws -> Key {
        try await store.using(name) { served in
            let info = try await served.local.info
            return Key(catalog: served.id, revision: info.revision, metadataRevision: info.metadataRevision)
        }
    }

    /// An archive of a catalog as it is now, or with later changes.
    ///
    /// - Throws: ``Problem`` if there are too many archives, and errors of catalogs and files.
    func archive(of name: CatalogName) async throws -> Archive {
        let key = try await key(of: name)
        if let archive = entries[key]?.archive { return archive }
        if let making = entries[key]?.making { return try await making.value }
        entries = entries.filter { $0.value.making != nil || $0.value.archive != nil }
        guard entries.count < Self.most else {
            throw Problem(
                .overloaded, "\(Self.most) snapshots are being read already; try again.", headers: [.retryAfter: "10"])
        }
        let making = Task { [store] in try await Self.make(name, in: store) }
        entries[key] = Entry(making: making)
        do {
            let archive = try await making.value
            entries[key] = Entry(archive: archive)
            return archive
        } catch {
            entries[key] = nil
            throw error
        }
    }

    private static func make(_ name: CatalogName, in store: CatalogStore) async throws -> Archive {
        let work = try store.makeWorkFolder()
        let copy = work.url.appendingPathComponent("catalog")
        // A catalog that is restored meanwhile is another one.
        try await store.using(name) { served in
            try? FileManager.default.removeItem(at: copy)
            try await served.local.copy(to: copy)
        }
        return try await computing {
            let url = work.url.appendingPathComponent("snapshot.tar")
            let digest = try SnapshotArchive.write(copy, to: url)
            try FileManager.default.removeItem(at: copy)
            let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? 0
            return Archive(url: url, size: size, digest: digest, work: work)
        }
    }
}

/// Takes snapshots of all catalogs by the clock, and keeps the last ones.
struct BackupSchedule: Sendable {
    let backups: ServiceConfiguration.Backups
    let service: ServiceState

    private var folder: URL {
        backups.folder ?? service.configuration.catalogs.appendingPathComponent(".backups")
    }

    /// Runs until the task is cancelled.
    func run() async throws {
        let failures = Counter(label: "lookalike_backup_failures_total", factory: service.registry)
        failures.increment(by: 0)
        Meter(label: "lookalike_backup_interval_seconds", factory: service.registry)
            .set(backups.interval / .seconds(1))
        // The states that the last backups have.
        var done: [CatalogName: (key: SnapshotStore.Key, time: Date)] = [:]
        var meters: [CatalogName: Meter] = [:]
        func record(_ time: Date, of name: CatalogName) {
            let meter =
                meters[name]
                ?? Meter(
                    label: "lookalike_backup_timestamp_seconds", dimensions: [("catalog", name.description)],
                    factory: service.registry)
            meter.set(time.timeIntervalSince1970)
            meters[name] = meter
        }
        while true {
            let names = try? service.store.names()
            // A catalog that was removed needs no backup any more.
            for (name, meter) in meters where names?.contains(name) == false {
                meter.destroy()
                (meters[name], done[name]) = (nil, nil)
            }
            for name in names ?? [] {
                do {
                    let time = done[name]?.time ?? newest(of: name)
                    if let time, Date.now.timeIntervalSince(time) < backups.interval / .seconds(1) {
                        record(time, of: name)
                        continue
                    }
                    let key = try await service.snapshots.key(of: name)
                    if done[name]?.key == key {
                        done[name]?.time = .now
                    } else {
                        try await keep(name)
                        done[name] = (key, .now)
                    }
                    record(.now, of: name)
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    failures.increment()
                    service.logger.error("backup failed", metadata: ["catalog": "\(name)", "error": "\(error)"])
                }
            }
            try await Task.sleep(for: min(backups.interval / 4, .seconds(60)))
        }
    }

    private func folder(of name: CatalogName) -> URL { folder.appendingPathComponent(name.description) }

    private func files(of name: CatalogName) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder(of: name).path)
        return (names ?? []).filter { $0.hasSuffix(".tar") }.sorted()
    }

    private func newest(of name: CatalogName) -> Date? {
        files(of: name).last.flatMap { file in
            let path = folder(of: name).appendingPathComponent(file).path
            return try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        }
    }

    private func keep(_ name: CatalogName) async throws {
        try service.checkDisk()
        let archive = try await service.snapshots.archive(of: name)
        let (folder, time) = (folder(of: name), Date.now.formatted(.iso8601.timeSeparator(.omitted)))
        try await computing {
            let manager = FileManager.default
            try manager.createDirectory(at: folder, withIntermediateDirectories: true)
            // A file with the name of a backup is all of it. A service that was killed leaves its part.
            for name in try manager.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".part") {
                try manager.removeItem(at: folder.appendingPathComponent(name))
            }
            let part = folder.appendingPathComponent(".\(time).part")
            // Another disk has no links to this one.
            do { try manager.linkItem(at: archive.url, to: part) } catch {
                try manager.copyItem(at: archive.url, to: part)
            }
            let file = folder.appendingPathComponent("\(time).tar")
            try? manager.removeItem(at: file)
            try manager.moveItem(at: part, to: file)
            for old in files(of: name).dropLast(backups.keep) {
                try manager.removeItem(at: folder.appendingPathComponent(old))
            }
        }
    }
}
#endif
