"""int8 versions of the default network for the peers, as their own tools make them."""

import nncf
import numpy as np
import openvino
from inputs import SIDE
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


def calibration_images(inputs):
    """(32, 3, SIDE, SIDE) in 0...1."""
    crops = np.fromfile(inputs.crops(), np.uint8).reshape(-1, SIDE, SIDE, 3)
    return np.ascontiguousarray(crops.transpose(0, 3, 1, 2).astype(np.float32) / 255)


class _Images(CalibrationDataReader):
    def __init__(self, images):
        self.images = iter(images)

    def get_next(self):
        image = next(self.images, None)
        return None if image is None else {"image": image[None]}


def onnxruntime_int8(inputs):
    """The path of a model quantized by onnxruntime: static ranges, int8 weights per channel."""

    def make(path):
        prepared = path.with_suffix(".prepared")
        quant_pre_process(str(inputs.onnx()), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(path),
            _Images(calibration_images(inputs)),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
        prepared.unlink()

    return inputs.made(inputs.onnx().stem + "-int8.onnx", make)


def openvino_int8(inputs):
    """The path of a model quantized by NNCF, OpenVINO's tool, after training."""

    def make(path):
        path.mkdir()
        model = openvino.Core().read_model(str(inputs.onnx()))
        images = nncf.Dataset([image[None] for image in calibration_images(inputs)])
        openvino.save_model(nncf.quantize(model, images), str(path / "model.xml"), compress_to_fp16=False)

    return inputs.made(inputs.onnx().stem + "-nncf", make) / "model.xml"
