"""Trying an image: post it, get links to it before and after; they hold for some minutes."""

from functools import partial
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ValidationError

from lumaflow.errors import OptionError
from lumaflow_service.api.about import SCHEMA
from lumaflow_service.api.body import drain, received
from lumaflow_service.api.frame_result import FrameResult
from lumaflow_service.api.frames import media_of
from lumaflow_service.api.problems import problems
from lumaflow_service.api.state import State
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.config.schema import names_at
from lumaflow_service.config.source_id import PATTERN, good_id
from lumaflow_service.config.validation import format_validation_error
from lumaflow_service.control.one_shot_images import OneShotImage
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType

router = APIRouter(prefix="/v1/trials")

IMAGES = (MediaType.JPEG, MediaType.PNG)
BINARY: dict[str, Any] = {media: {"schema": {"type": "string", "format": "binary"}} for media in IMAGES}
TrialId = Annotated[str, BeforeValidator(good_id), Path(pattern=PATTERN, description="id of the result")]
KEPT = {"Cache-Control": "private, max-age=300"}


class ImageState(BaseModel):
    """A result: how it came about, and how long it is kept. Its images are at .../before and .../after."""

    id: str
    media: MediaType
    options: SourceOptions
    figures: FrameResult
    seconds_left: float

    @classmethod
    def of(cls, trial: OneShotImage, seconds_left: float) -> Self:
        """How a trial stands."""
        figures = FrameResult.of(trial.figures)
        return cls(
            id=trial.id,
            media=trial.media,
            options=trial.options,
            figures=figures,
            seconds_left=round(seconds_left, 1),
        )


@router.post(
    "",
    status_code=201,
    responses=problems(400, 408, 413, 415, 422, 429, 503, 504),
    openapi_extra={"requestBody": {"required": True, "content": BINARY}},
)
async def try_image(
    request: Request,
    response: Response,
    home: State,
    options: Annotated[str, Query(description="of a source, as JSON")] = "{}",
) -> ImageState:
    """Enhance one image that belongs to no source."""
    try:
        media, wanted = media_of(request), options_in(options)
        if media not in IMAGES:
            raise UnsupportedMediaError(f"Content-Type: {media} came; an image is {' or '.join(IMAGES)}")
        async with received(request, home.ring, None, home.settings.body_seconds) as (slot, length):
            trial = await home.trials.enhance(slot, length, media, wanted)
    except Exception:
        await drain(request)
        raise
    response.headers["Location"] = f"{request.url.path}/{trial.id}"
    return ImageState.of(trial, home.trials.seconds_left(trial))


@router.get("/{trial}", responses=problems(404, 422))
async def get_trial(home: State, trial: TrialId) -> ImageState:
    """One result."""
    found = home.trials.get(trial)
    return ImageState.of(found, home.trials.seconds_left(found))


@router.get(
    "/{trial}/before", responses={200: {"content": BINARY}, **problems(404, 422)}, response_class=Response
)
async def before(home: State, trial: TrialId) -> Response:
    """The image as it came."""
    found = home.trials.get(trial)
    return Response(found.before, headers=KEPT, media_type=found.media)


@router.get(
    "/{trial}/after", responses={200: {"content": BINARY}, **problems(404, 422)}, response_class=Response
)
async def after(home: State, trial: TrialId) -> Response:
    """The image enhanced."""
    found = home.trials.get(trial)
    return Response(found.after, headers=KEPT, media_type=found.media)


def options_in(text: str) -> SourceOptions:
    """The options in a query. Raises OptionError."""
    try:
        return SourceOptions.model_validate_json(text)
    except ValidationError as error:
        known = partial(names_at, SCHEMA)
        raise OptionError(
            "; ".join(format_validation_error(one, "options", known) for one in error.errors())
        ) from None
