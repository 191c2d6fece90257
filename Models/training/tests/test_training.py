"""Tests of the recipe with a tiny network, in seconds: python -m unittest discover --start-directory tests

`make smoke-training` runs them, and then the whole recipe.
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from average_weights import averaged  # noqa: E402
from calibrate import main as calibrate  # noqa: E402
from export import fixture_pixels  # noqa: E402
from fit_confidence import duplicate_groups, selected  # noqa: E402
from lookalike_training.capture import CaptureSimulator  # noqa: E402
from lookalike_training.export import as_input, export, run  # noqa: E402
from lookalike_training.initial import load_initial  # noqa: E402
from lookalike_training.loss import contrastive, corner_errors, koleo  # noqa: E402
from lookalike_training.network import Architecture, FeaturePrintNetwork, normalized  # noqa: E402
from lookalike_training.safetensors import read_safetensors, save_safetensors  # noqa: E402
from lookalike_training.smoke import generated_folder  # noqa: E402
from lookalike_training.version import VERSION  # noqa: E402
from lookalike_training.warp import quad_homography  # noqa: E402
from train import optimizer_of, update_average  # noqa: E402

# Networks so small gain nothing from more threads, and wait for them on a busy machine.
torch.set_num_threads(1)

SIZE = 32
TINY = Architecture(
    stem=(4, 4), widths=(4, 4, 6, 8, 8), blocks=(1, 1, 1, 1, 1), dimension=8, locator=4, input_size=SIZE
)


def tiny_network(seed=0):
    """A network whose batch normalization does something, and whose blocks and locator are not zero."""
    torch.manual_seed(seed)
    network = FeaturePrintNetwork(TINY).eval()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(0, 0.2)
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)
        network.locator.votes.weight.normal_(0, 0.2)
        network.locator.votes.bias.normal_(0, 0.2)
    return network


def images(count, seed=0):
    return torch.rand(count, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(seed))


class ModelFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "tiny.safetensors"

    def test_arrays_are_read_as_they_were_written(self):
        arrays = {
            "b": np.arange(6, dtype=np.float32).reshape(2, 3),
            "a": np.array([0.5, -2], np.float16),
            "c": np.array([1, 255], np.uint8),
        }
        save_safetensors(self.file, arrays, {"key": "a value"})
        metadata, read = read_safetensors(self.file)
        self.assertEqual(metadata, {"key": "a value"})
        self.assertEqual(list(read), list(arrays))
        for name, array in arrays.items():
            self.assertEqual(read[name].dtype, array.dtype)
            np.testing.assert_array_equal(read[name], array)

    def test_the_exported_graph_computes_what_the_network_does(self):
        network = tiny_network()
        export(network, self.file, "tiny", recommended_max_distance=0.9)
        metadata, arrays = read_safetensors(self.file)
        self.assertEqual(metadata["lookalike.version"], VERSION)
        self.assertEqual(metadata["lookalike.recommended_max_distance"], "0.9000")
        graph = json.loads(metadata["lookalike.graph"])
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        for pixels in [images(4), (fixture_pixels(SIZE).float() / 255).unsqueeze(0)]:
            with torch.no_grad():
                prints, votes = network(normalized(pixels))
                exported, corners = run(graph, tensors, as_input(graph, pixels))
            # Weights are stored in half precision.
            torch.testing.assert_close(exported, prints, atol=2e-3, rtol=0)
            self.assertEqual(corners.shape, (len(pixels), 8))
            self.assertTrue(votes.isfinite().all())

    def test_ranges_for_int8_are_inside_those_of_the_activations(self):
        network = tiny_network()
        graph, tensors = export(network, self.file, "tiny", images=normalized(images(8)))
        ranges = json.loads(read_safetensors(self.file)[0]["lookalike.activation_ranges"])
        self.assertEqual(
            set(ranges), {node["name"] for node in graph["nodes"] if node["op"] == "convolution" and node["relu"]}
        )
        largest = {}

        def observe(node, values):
            largest[node["name"]] = max(largest.get(node["name"], 0), values.max().item())

        with torch.no_grad():
            run(graph, tensors, normalized(images(8)), observe)
        for name, limit in ranges.items():
            self.assertGreaterEqual(limit, 0.19 * largest[name])
            self.assertLessEqual(limit, largest[name] * 1.001)

    def test_training_continues_from_a_file_with_the_same_prints(self):
        network = tiny_network()
        export(network, self.file, "tiny")
        other = FeaturePrintNetwork(TINY)
        load_initial(other, self.file, normalized(images(64)))
        with torch.no_grad():
            wanted, got = network(normalized(images(4))), other.eval()(normalized(images(4)))
        torch.testing.assert_close(got[0], wanted[0], atol=2e-3, rtol=0)
        torch.testing.assert_close(got[1], wanted[1], atol=2e-2, rtol=1e-2)

    def test_the_average_is_the_weighed_mean(self):
        other = self.folder / "other.safetensors"
        export(tiny_network(0), self.file, "tiny")
        export(tiny_network(1), other, "other")
        _, mean = averaged([(self.file, 1), (other, 3)])
        one, two = read_safetensors(self.file)[1], read_safetensors(other)[1]
        for name, value in mean.items():
            np.testing.assert_allclose(value.numpy(), 0.25 * one[name] + 0.75 * two[name], atol=2e-3)
        graph, _ = averaged([(self.file, 1)])
        self.assertNotIn("name", graph)

    def test_calibration_adds_a_background_and_keeps_the_network(self):
        export(tiny_network(), self.file, "tiny")
        before = read_safetensors(self.file)
        generated_folder(self.folder / "photos", count=12)
        arguments = sys.argv
        self.addCleanup(setattr, sys, "argv", arguments)
        sys.argv = ["calibrate.py", str(self.file), "--background", f"{self.folder}/photos=12", "--max-distance", "0.8"]
        calibrate()
        metadata, arrays = read_safetensors(self.file)
        background = json.loads(metadata["lookalike.background"])
        prints = arrays.pop(background["tensor"]).astype(np.float32)
        self.assertEqual(prints.shape, (12, TINY.dimension))
        np.testing.assert_allclose(np.linalg.norm(prints, axis=1), 1, atol=2e-3)
        self.assertEqual(metadata["lookalike.recommended_max_distance"], "0.8000")
        self.assertEqual(metadata["lookalike.graph"], before[0]["lookalike.graph"])
        self.assertEqual(list(arrays), list(before[1]))
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, before[1][name])


class Observations(unittest.TestCase):
    def test_other_editions_of_what_a_query_shows_are_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "duplicates.jsonl"
            file.write_text('{"reference": {"id": "a"}, "duplicates": [{"id": "b"}]}\n')
            groups = duplicate_groups([file])
        self.assertEqual(groups, {"a": {"a", "b"}, "b": {"a", "b"}})
        rows = [("a", "a", True), ("a", "b", False), ("a", "c", False), ("d", "b", False)]
        observations = [dict(zip(("object", "entity", "isRight"), row)) for row in rows]
        self.assertEqual(list(selected(observations, groups)), [observations[0], observations[2], observations[3]])
        objects = [{"object": str(index), "entity": "x", "isRight": False} for index in range(100)]
        self.assertTrue(10 < len(list(selected(objects, groups, 5))) < 30)


class Training(unittest.TestCase):
    def test_a_few_steps_lower_the_loss(self):
        torch.manual_seed(0)
        network = FeaturePrintNetwork(TINY).train()
        optimizer = optimizer_of(network, 5e-3)
        simulate, textures = CaptureSimulator(), images(8)
        losses = []
        for _ in range(12):
            torch.manual_seed(1)
            captures, corners = simulate(textures, torch.ones(8), textures.roll(1, 0), SIZE, 0.2)
            prints, votes = network(normalized(torch.cat([captures, textures])))
            captured, flats = prints.chunk(2)
            groups, none = torch.arange(8), torch.zeros(0, dtype=torch.long)
            contrast, _ = contrastive(captured, flats, groups, torch.zeros(0, TINY.dimension), none, 0.06)
            misplaced, _, _ = corner_errors(votes[:8], network.locator.stride, SIZE, corners)
            loss = contrast + misplaced.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.7 * losses[0])

    def test_true_corners_have_no_error_and_turned_ones_half_of_it(self):
        # One cell that votes with certainty.
        true = torch.tensor([[[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]])
        votes = torch.zeros(1, 12, 1, 1)
        votes[0, 4:, 0, 0] = ((true * SIZE - 0.5) / SIZE).flatten()
        error, _, outline = corner_errors(votes, SIZE, SIZE, true)
        self.assertLess(error.item(), 0.01)
        turned, _, outline = corner_errors(votes, SIZE, SIZE, true.roll(1, 1))
        self.assertLess(outline.item(), 0.01)
        self.assertGreater(turned.item(), 0.4)

    def test_near_prints_lower_the_entropy(self):
        none, groups = torch.zeros(0, 2), torch.arange(3)
        apart = torch.nn.functional.normalize(torch.tensor([[1.0, 0], [-1, 1], [-1, -1]]))
        near = torch.nn.functional.normalize(torch.tensor([[1.0, 0], [1, 0.1], [1, -0.1]]))
        past = torch.zeros(0, dtype=torch.long)
        self.assertLess(koleo(apart, groups, none, past), koleo(near, groups, none, past))

    def test_a_homography_takes_corners_to_the_unit_square(self):
        quads = torch.tensor([[[-0.5, -0.4], [0.6, -0.5], [0.5, 0.7], [-0.6, 0.4]]])
        mapped = torch.cat([quads, torch.ones(1, 4, 1)], 2) @ quad_homography(quads).transpose(1, 2)
        unit = torch.tensor([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        torch.testing.assert_close(mapped[0, :, :2] / mapped[0, :, 2:], unit, atol=1e-4, rtol=0)

    def test_the_average_follows_the_network(self):
        average, network = FeaturePrintNetwork(TINY), tiny_network()
        before = average.projection.weight.clone()
        update_average(average, network, 0.75)
        torch.testing.assert_close(average.projection.weight, 0.75 * before + 0.25 * network.projection.weight)


if __name__ == "__main__":
    unittest.main()
