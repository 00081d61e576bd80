"""One-shot images: POST an image, receive links to it before and after; they expire after minutes.

The route keeps its first name, /v1/trials.
"""

from functools import partial
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ValidationError

from lumaflow.errors import OptionError
from lumaflow_service.api.about import OPTIONS_SCHEMA
from lumaflow_service.api.body import drain, receive_body
from lumaflow_service.api.frames import media_of
from lumaflow_service.api.problems import openapi_problems
from lumaflow_service.api.responses import FrameResult
from lumaflow_service.api.state import State
from lumaflow_service.config.options import SourceOptions
from lumaflow_service.config.schema import keys_at
from lumaflow_service.config.source_id import PATTERN, check_id
from lumaflow_service.config.validation import format_validation_errors
from lumaflow_service.control.one_shot_images import OneShotImage
from lumaflow_service.errors import UnsupportedMediaError
from lumaflow_service.ipc.media_type import MediaType

router = APIRouter(prefix="/v1/trials")

IMAGE_MEDIA = (MediaType.JPEG, MediaType.PNG)
BINARY: dict[str, Any] = {media: {"schema": {"type": "string", "format": "binary"}} for media in IMAGE_MEDIA}
ImageId = Annotated[str, BeforeValidator(check_id), Path(pattern=PATTERN, description="id of the image")]
CACHE_HEADERS = {"Cache-Control": "private, max-age=300"}


class ImageState(BaseModel):
    """An enhanced image: its options, its result, and its lifetime. It is at .../before and .../after."""

    id: str
    media: MediaType
    options: SourceOptions
    figures: FrameResult
    seconds_left: float

    @classmethod
    def from_image(cls, image: OneShotImage, seconds_left: float) -> Self:
        """The current state of an image."""
        return cls(
            id=image.id,
            media=image.media,
            options=image.options,
            figures=FrameResult.from_reply(image.reply),
            seconds_left=round(seconds_left, 1),
        )


@router.post(
    "",
    status_code=201,
    responses=openapi_problems(400, 408, 413, 415, 422, 429, 503, 504),
    openapi_extra={"requestBody": {"required": True, "content": BINARY}},
)
async def post_image(
    request: Request,
    response: Response,
    state: State,
    options: Annotated[str, Query(description="of a source, as JSON")] = "{}",
) -> ImageState:
    """Enhance one image that belongs to no source."""
    try:
        media, parsed = media_of(request), state.sources.options_with(parse_options(options))
        if media not in IMAGE_MEDIA:
            raise UnsupportedMediaError(
                f"expected Content-Type: {' or '.join(IMAGE_MEDIA)}, got {media}; send an image"
            )
        async with receive_body(request, state.ring, None, state.settings.body_seconds) as (slot, length):
            image = await state.images.enhance(slot, length, media, parsed)
    except Exception:
        await drain(request)
        raise
    response.headers["Location"] = f"{request.url.path}/{image.id}"
    return ImageState.from_image(image, state.images.seconds_left(image))


@router.get("/{trial}", responses=openapi_problems(404, 422))
async def get_image(state: State, trial: ImageId) -> ImageState:
    """One enhanced image."""
    image = state.images.get(trial)
    return ImageState.from_image(image, state.images.seconds_left(image))


@router.get(
    "/{trial}/before",
    responses={200: {"content": BINARY}, **openapi_problems(404, 422)},
    response_class=Response,
)
async def get_before(state: State, trial: ImageId) -> Response:
    """The image as it was sent."""
    image = state.images.get(trial)
    return Response(image.before, headers=CACHE_HEADERS, media_type=image.media)


@router.get(
    "/{trial}/after",
    responses={200: {"content": BINARY}, **openapi_problems(404, 422)},
    response_class=Response,
)
async def get_after(state: State, trial: ImageId) -> Response:
    """The enhanced image."""
    image = state.images.get(trial)
    return Response(image.after, headers=CACHE_HEADERS, media_type=image.media)


def parse_options(text: str) -> dict[str, Any]:
    """The options that JSON in a query sets. Raises OptionError."""
    try:
        return SourceOptions.model_validate_json(text).model_dump(exclude_unset=True)
    except ValidationError as error:
        known_keys = partial(keys_at, OPTIONS_SCHEMA)
        raise OptionError(format_validation_errors(error, "options", known_keys)) from None
