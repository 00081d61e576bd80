"""Operations of the worker, run in this process: the settings and the colour that a job brings are obeyed."""

from collections.abc import Iterator

import cv2
import numpy as np
import pytest

from lumaflow.formats import Color, Matrix
from lumaflow.frame import Frame
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.errors import FeatureOffError, UnknownSourceError
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.media_type import MediaType
from lumaflow_service.ipc.messages import Job, Op, View
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import socket_pair
from lumaflow_service.media.codec import display_pixels, encode_jpeg
from lumaflow_service.worker.lanes import Lanes
from lumaflow_service.worker.operations import JobResult, Operations
from lumaflow_service.worker.source_queue import QueuedJob
from lumaflow_service.worker.worker import Worker, WorkerLimits

ANSWER_QUALITY, VIEW_QUALITY = 35, 70
WIDTH, HEIGHT = 32, 16
OPTIONS = SourceOptions(mode="identity").model_dump(mode="json")
LIMITS = WorkerLimits("cpu", 1, 1 << 16, 1 << 12, ANSWER_QUALITY, VIEW_QUALITY, 4, 60.0, 1 << 30)


@pytest.fixture
def memory() -> Iterator[SlotMemory]:
    memory = SlotMemory.create(1, 1 << 16)
    yield memory
    memory.close()


@pytest.fixture
def lanes() -> Lanes:
    return Lanes("cpu", 4, 60.0)


@pytest.fixture
def operations(memory: SlotMemory, lanes: Lanes) -> Operations:
    return Operations(memory, lanes, ANSWER_QUALITY, VIEW_QUALITY)


def frame_of(rng: np.random.Generator, pixel_format: str, matrix: Matrix = Matrix.UNSPECIFIED) -> Frame:
    """A frame of noise, whose encodings of two qualities differ."""
    geometry = GeometryJson(WIDTH, HEIGHT, pixel_format, matrix=matrix)
    data = rng.integers(0, 255, geometry.geometry.frame_bytes, np.uint8)
    frame = Frame.from_buffer(data, geometry.geometry)
    frame.pixels.setflags(write=False)
    return Frame(frame.pixels, frame.pixel_format, chroma=frame.chroma, color=geometry.color)


def enhance(operations: Operations, frame: Frame, answer: MediaType = MediaType.RAW) -> JobResult:
    """Enhance one frame of the source `gate`; its views can be requested afterwards."""
    job = Job(0, Op.FRAME, "gate", slot=0, options=OPTIONS, answer=answer, sequence=7)
    result = operations.run(QueuedJob(job, frame))
    result.copy_frames()
    return result


def encoded(result: JobResult) -> bytes:
    """The response of a job."""
    assert result.encode is not None
    return result.encode()


# quality ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pixel_format", ["gray8", "bgr24"])
def test_a_jpeg_response_has_the_quality_of_the_settings(
    operations: Operations, rng: np.random.Generator, pixel_format: str
) -> None:
    frame = frame_of(rng, pixel_format)
    found = encoded(enhance(operations, frame, MediaType.JPEG))
    assert found == encode_jpeg(display_pixels(frame), ANSWER_QUALITY)
    assert found != encode_jpeg(display_pixels(frame), VIEW_QUALITY)


@pytest.mark.parametrize("view", [View.ENHANCED, View.RAW, View.THUMBNAIL])
@pytest.mark.parametrize("pixel_format", ["gray8", "bgr24"])
def test_a_snapshot_has_the_quality_of_views(
    operations: Operations, rng: np.random.Generator, pixel_format: str, view: View
) -> None:
    frame = frame_of(rng, pixel_format)
    enhance(operations, frame)
    found = encoded(operations.run(QueuedJob(Job(0, Op.SNAPSHOT, "gate", slot=0, view=view))))
    assert found == encode_jpeg(display_pixels(frame), VIEW_QUALITY)


def test_a_view_of_yuv_planes_has_the_quality_of_views(
    operations: Operations, rng: np.random.Generator
) -> None:
    frame = frame_of(rng, "i420")
    enhance(operations, frame)
    found = encoded(operations.run(QueuedJob(Job(0, Op.SNAPSHOT, "gate", slot=0))))
    tables = found.split(b"\xff\xdb")[1:]
    reference = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8), [cv2.IMWRITE_JPEG_QUALITY, VIEW_QUALITY])
    expected = reference[1].tobytes().split(b"\xff\xdb")[1:]
    assert tables[0][:67] == expected[0][:67]


def test_the_worker_keeps_the_two_qualities_apart(rng: np.random.Generator) -> None:
    ours, theirs = socket_pair()
    memory = SlotMemory.create(1, 1 << 16)
    with ours, theirs:
        worker = Worker(theirs, memory, LIMITS, "cpu")
        frame = frame_of(rng, "gray8")
        found = encoded(enhance(worker._ops, frame, MediaType.JPEG))
        assert found == encode_jpeg(display_pixels(frame), ANSWER_QUALITY)
    memory.close()


# colour -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("range_", ["full", "limited"])
@pytest.mark.parametrize("matrix", [Matrix.BT601, Matrix.BT709, Matrix.BT2020])
def test_matrix_and_range_of_a_raw_frame_reach_its_samples(matrix: Matrix, range_: str) -> None:
    geometry = GeometryJson(4, 2, "i420", range_, matrix=matrix)
    ours, theirs = socket_pair()
    memory = SlotMemory.create(1, 1 << 12)
    with ours, theirs:
        worker = Worker(theirs, memory, LIMITS, "cpu")
        memory.buffer(0, "frame", 12)[:] = bytes(range(12))
        frame = worker._raw_frame(Job(0, Op.FRAME, slot=0, length=12, geometry=geometry, corrupt=True))
        assert frame.color == Color(geometry.geometry.range, matrix)
        assert frame.geometry.range == range_
        assert frame.corrupt
        assert np.concatenate([plane.ravel() for plane in frame.planes]).tolist() == list(range(12))
        del frame
    memory.close()


@pytest.mark.parametrize("matrix", [Matrix.BT601, Matrix.BT709, Matrix.BT2020])
def test_the_matrix_of_a_frame_is_that_of_its_reply_and_its_views(
    operations: Operations, lanes: Lanes, rng: np.random.Generator, matrix: Matrix
) -> None:
    result = enhance(operations, frame_of(rng, "nv12", matrix))
    assert (result.fields["geometry"].matrix, result.fields["output"].matrix) == (matrix, matrix)
    lane = lanes.get("gate")
    assert (lane.raw.color.matrix, lane.enhanced.color.matrix) == (matrix, matrix)


def test_another_matrix_gives_other_colours_in_the_jpeg(
    operations: Operations, rng: np.random.Generator
) -> None:
    data = {
        matrix: encoded(
            enhance(operations, frame_of(np.random.default_rng(5), "i420", matrix), MediaType.JPEG)
        )
        for matrix in (Matrix.BT601, Matrix.BT709, Matrix.BT2020)
    }
    assert len(set(data.values())) == 3


# results ------------------------------------------------------------------------------------------


def test_the_reply_has_the_number_of_the_frame_and_its_stages(
    operations: Operations, rng: np.random.Generator
) -> None:
    fields = enhance(operations, frame_of(rng, "gray8")).fields
    assert (fields["sequence"], fields["device"], fields["lut"]) == (7, "cpu", "identity")
    assert fields["output_text"] == f"{WIDTH}x{HEIGHT} gray8"
    assert fields["frame_seconds"] >= sum(fields["stage_seconds"].values()) > 0


def test_a_raw_response_is_the_enhanced_buffer(
    memory: SlotMemory, operations: Operations, rng: np.random.Generator
) -> None:
    frame = frame_of(rng, "gray8")
    result = enhance(operations, frame)
    assert (result.buffer, result.length, result.encode) == ("enhanced", WIDTH * HEIGHT, None)
    assert bytes(memory.buffer(0, "enhanced", WIDTH * HEIGHT)) == frame.pixels.tobytes()


def test_views_show_the_frame_as_it_was_when_the_slot_is_used_again(
    memory: SlotMemory, operations: Operations, rng: np.random.Generator
) -> None:
    frame = frame_of(rng, "gray8")
    enhance(operations, frame)
    for name in ("frame", "enhanced"):
        memory.buffer(0, name, WIDTH * HEIGHT)[:] = bytes(WIDTH * HEIGHT)
    found = encoded(operations.run(QueuedJob(Job(0, Op.SNAPSHOT, "gate", slot=0))))
    assert found == encode_jpeg(display_pixels(frame), VIEW_QUALITY)


@pytest.mark.parametrize("op", [Op.HOG, Op.LBP, Op.HEATMAP])
def test_an_overlay_that_is_not_extracted_names_the_feature(
    operations: Operations, rng: np.random.Generator, op: Op
) -> None:
    enhance(operations, frame_of(rng, "gray8"))
    with pytest.raises(FeatureOffError, match=f"'gate' does not extract {op}; add it to the features"):
        operations.run(QueuedJob(Job(0, op, "gate", slot=0)))


@pytest.mark.parametrize("op", [Op.SNAPSHOT, Op.FEATURES, Op.HISTOGRAM, Op.HOG])
def test_a_forgotten_source_has_no_frame(operations: Operations, rng: np.random.Generator, op: Op) -> None:
    enhance(operations, frame_of(rng, "gray8"))
    operations.run(QueuedJob(Job(0, Op.FORGET, "gate")))
    with pytest.raises(UnknownSourceError, match="'gate' has no recent frame"):
        operations.run(QueuedJob(Job(0, op, "gate", slot=0)))
