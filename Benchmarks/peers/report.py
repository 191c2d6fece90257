#!/usr/bin/env python3
"""Writes the measured part of RESULTS.md, and of a page with pictures for each kind of machine that has results.

python report.py [--results ../results] [--output ../RESULTS.md]

The measured part of a page is the one before the line END; what follows is written by hand, and kept.
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = Path(__file__).resolve().parent
END = "<!-- Written by make bench up to here. -->"
COLORS = {
    "Lookalike int8": "#0b6e4f",
    "Lookalike int8, then float32": "#0b6e4f",
    "Lookalike float32": "#6bbf59",
    "FAISS flat float32": "#c44536",
    "onnxruntime float32": "#c44536",
    "OpenVINO float32": "#e09f3e",
    "OpenVINO bfloat16": "#7d5ba6",
    "onnxruntime int8": "#8f2d56",
    "OpenVINO int8 (NNCF)": "#2a6f97",
    "Lookalike IVF": "#6bbf59",
    "FAISS IVF, 4-bit PQ, refined": "#e09f3e",
    "FAISS IVF, SQ8": "#7d5ba6",
    "FAISS HNSW": "#2a6f97",
}


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(value, spread=True):
    text = number(value["median"])
    return f"{text} ({number(value['low'])}–{number(value['high'])})" if spread else text


def sentence(text):
    return text[:1].upper() + text[1:] + "." if text else ""


def table(contest):
    """The time of each contender, and its ratio to each of ours."""
    ours = [name for name in contest["ours"] if contest["ratios"][name] and not name.startswith("reading")]
    bounds = {name: value for name, value in contest["ours"].items() if name.startswith("reading")}
    lines = [
        "| | " + " | ".join([contest["unit"], *(f"÷ {name}" for name in ours)]) + " |",
        "| --- | ---: |" + " ---: |" * len(ours),
    ]
    for name in contest["ours"]:
        if name in bounds:
            continue
        cells = ["1" if name == mine else "" for mine in ours]
        lines.append("| " + " | ".join([f"**{name}**", f"**{time(contest['ours'][name])}**", *cells]) + " |")
    for name, value in contest["peers"].items():
        cells = [time(contest["ratios"][mine][name]) for mine in ours]
        lines.append(f"| {name} | {time(value)} | " + " | ".join(cells) + " |")
    for name, value in {**bounds, **{name: {"median": v} for name, v in contest["limits"].items()}}.items():
        cells = [f"{value['median'] / contest['ours'][mine]['median']:.2f}" for mine in ours]
        lines.append(f"| *limit: {name}* | {number(value['median'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pictures(results, folder, kind):
    sizes = results["scaling"]["bySize"]
    figure, axes = plt.subplots(figsize=(7, 4.2), dpi=130)
    for name in next(iter(sizes.values())):
        axes.plot(
            [int(s) for s in sizes],
            [v[name]["median"] for v in sizes.values()],
            "o-",
            label=name,
            color=COLORS[name],
            linewidth=2,
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="prints of 256 dimensions",
        ylabel="milliseconds",
        title="Exact search: 10 nearest, one query, one core",
    )
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(folder / f"{kind}-search.png")
    batches = results["scaling"]["byBatch"]
    threads = sorted({key.split("/")[0] for key in batches})
    figure, panels = plt.subplots(1, len(threads), figsize=(4.6 * len(threads), 4), dpi=130, sharey=True)
    for panel, count in zip(panels if len(threads) > 1 else [panels], threads):
        rows = {int(key.split("/")[1]): value for key, value in batches.items() if key.split("/")[0] == count}
        for name in next(iter(rows.values())):
            panel.plot(list(rows), [v[name] for v in rows.values()], "o-", label=name, color=COLORS[name], linewidth=2)
        panel.set(
            xscale="log",
            xlabel="images in a batch",
            title=f"{count} thread{'s' if count != '1' else ''}",
            ylim=(0, 1.05 * max(v for row in batches.values() for v in row.values())),
        )
        panel.set_xticks(list(rows), [str(b) for b in rows])
        panel.minorticks_off()
        panel.grid(True, alpha=0.3)
    (panels if len(threads) == 1 else panels[0]).set_ylabel("prints per second")
    (panels if len(threads) == 1 else panels[-1]).legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / f"{kind}-network.png")


def write(path, parts):
    """Replaces the measured part of a page."""
    _, _, kept = path.read_text().partition(END) if path.exists() else ("", "", "")
    path.write_text("\n\n".join(parts) + f"\n\n{END}\n" + kept.removeprefix("\n"))


def commits(results):
    """The commits that were measured, in the order of the contests."""
    return ", ".join(dict.fromkeys(contest["commit"] for contest in results["contests"].values()))


def machine(results):
    described, limits = results["machine"], results["limits"]
    packages = ", ".join(f"{name} {version}" for name, version in described["packages"].items())
    return (
        f"{described['processor']}; {described['cores']} cores, {described['memory']}; {described['system']};\n"
        f"{described['swift']}; Python {described['python']}; {packages}.\n\n"
        f"**Limits, one core.** Rereads a 5K buffer at {limits['read']:.0f} GB/s, partly from the cache; the rate for\n"
        f"the rows of a large catalog is given beside them. {limits['multiplyAdds']:.0f} billion float32 fused\n"
        "multiply-adds per second."
    )


def recall_picture(curves, folder, kind):
    """Queries per second against recall, a panel per number of prints."""
    sizes = sorted(curves, key=int)
    figure, panels = plt.subplots(1, len(sizes), figsize=(4.4 * len(sizes), 4.2), dpi=130, squeeze=False)
    for panel, size in zip(panels[0], sizes):
        for name, points in curves[size].items():
            recalls, rates = zip(*sorted(points))
            # The axis ends at 0.9999, where 1 stands.
            panel.plot(
                [1 - min(recall, 0.9999) for recall in recalls],
                rates,
                "o-",
                label=name,
                color=COLORS[name],
                linewidth=2,
                markersize=4,
            )
        panel.set(xscale="log", yscale="log", xlabel="recall@10", title=f"{int(size):,} prints")
        panel.invert_xaxis()
        ticks = [0.5, 0.9, 0.99, 0.999, 0.9999]
        panel.set_xticks([1 - tick for tick in ticks], [f"{tick:g}" if tick < 0.9999 else "1" for tick in ticks])
        panel.minorticks_off()
        panel.grid(True, which="major", alpha=0.3)
    panels[0][0].set_ylabel("queries per second, one core")
    panels[0][0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / f"{kind}-recall.png")


def heading(contest):
    return f"{contest['name']}, {contest['threads']} thread{'s' if contest['threads'] != 1 else ''}"


def page(kind, results, folder):
    """All contests of a kind of machine."""
    parts = [f"# Results: {kind}", "[RESULTS.md](../RESULTS.md) says how to read this page."]
    parts.append(f"**Machine.** {machine(results)}")
    for contest in results["contests"].values():
        memory = [f"{value:.0f}" for value in contest.get("memory", [])]
        remarks = [contest["agreement"]] if contest["agreement"] else []
        if memory:
            remarks.append(f"peak memory of our processes, inputs included: {', '.join(memory)} MiB")
        parts.append(
            f"## {heading(contest)}\n\n{table(contest)}\n\n{contest['rounds']} rounds at {contest['commit']}. "
            + sentence("; ".join(remarks))
        )
    if "scaling" in results:
        pictures(results, folder, kind)
        parts.append(
            f"## Scaling\n\n![Search time against catalog size]({kind}-search.png)\n\n"
            f"![Throughput against batch and threads]({kind}-network.png)"
        )
    if "byRecall" in results:
        recall_picture(results["byRecall"], folder, kind)
        remark = results.get("byRecallRemark", "")
        parts.append(
            f"## Recall and throughput\n\n![Queries per second against recall]({kind}-recall.png)"
            + (f"\n\n{remark}" if remark else "")
        )
    write(folder / f"{kind}.md", parts)


def against_fastest(contest):
    """Our fastest contender, and the fastest peer's time divided by ours; None without peers."""
    ours = {
        name: value
        for name, value in contest["ours"].items()
        if contest["ratios"].get(name) and not name.startswith("reading")
    }
    if not ours or not contest["peers"]:
        return None
    mine = min(ours, key=lambda name: ours[name]["median"])
    peer = min(contest["peers"], key=lambda name: contest["peers"][name]["median"])
    return f"**{number(contest['ratios'][mine][peer]['median'])}×** ({mine}; {peer})"


def overview(machines):
    """The fastest peer over our fastest, a row per contest and a column per kind of machine."""
    contests = {key: heading(c) for results in reversed(machines.values()) for key, c in results["contests"].items()}
    lines = ["| | " + " | ".join(machines) + " |", "| --- |" + " --- |" * len(machines)]
    for key in contests:
        cells = [
            (against_fastest(results["contests"][key]) if key in results["contests"] else None)
            for results in machines.values()
        ]
        if any(cells):
            lines.append(f"| {contests[key]} | " + " | ".join(cell or "–" for cell in cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE.parent / "results", help="folder of the results")
    parser.add_argument("--output", type=Path, default=HERE.parent / "RESULTS.md")
    options = parser.parse_args()
    machines = {path.stem: json.loads(path.read_text()) for path in sorted(options.results.glob("*.json"))}
    for kind, results in machines.items():
        page(kind, results, options.results)
    links = "\n".join(
        f"- [{kind}](results/{kind}.md): {results['machine']['processor']}; at {commits(results)}"
        for kind, results in machines.items()
    )
    parts = [
        "# Results",
        "Both sides run alternately on the same inputs. A figure is the median of all rounds, with the interquartile\n"
        "range in brackets. A ratio is theirs ÷ ours within a round: above 1, Lookalike is faster. One thread is one\n"
        "core, the same for both sides.",
        "## Machines\n\nInstruction sets differ between machines, and so do the ratios; each kind has a page with all"
        " times.\nThe commits are those that its figures were stored with. Compare within a column: columns differ in"
        " commits, too.\n\n" + links,
        "## Overview\n\nThe time of the fastest peer, divided by that of our fastest contender; both are named. The"
        " pages have all pairs.\n\n" + overview(machines),
    ]
    write(options.output, parts)


if __name__ == "__main__":
    main()
