"""What the routes of sources take as JSON."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lumaflow.errors import OptionError
from lumaflow_service.api.frame_format import FixedFormat
from lumaflow_service.config.model import CameraConfig, Delivery, Transport
from lumaflow_service.config.options import OptionsPatch, SourceOptions


class SourcePut(BaseModel):
    """A source to be made or set anew; with a geometry, no other frame is taken."""

    model_config = ConfigDict(extra="forbid")

    options: SourceOptions = SourceOptions()
    geometry: FixedFormat | None = None
    url: str | None = Field(None, min_length=1, max_length=2048, description="of a camera to be read")
    transport: Transport | None = None
    delivery: Delivery | None = None
    deinterlace: bool | None = None
    verify_tls: bool | None = None

    def camera(self) -> CameraConfig | None:
        """The camera this makes the source, None without a url. Raises OptionError."""
        if self.url is None:
            if camera_fields(self):
                raise OptionError(f"{', '.join(camera_fields(self))} came without a url; add the camera's")
            return None
        return CameraConfig(**camera_fields(self))


class SourcePatch(BaseModel):
    """What is to change; a geometry of null lets any frame in again."""

    model_config = ConfigDict(extra="forbid")

    options: OptionsPatch = OptionsPatch()
    geometry: FixedFormat | None = None
    url: str | None = Field(None, min_length=1, max_length=2048, description="of a camera to be read instead")
    transport: Transport | None = None
    delivery: Delivery | None = None
    deinterlace: bool | None = None
    verify_tls: bool | None = None

    def camera_changes(self) -> dict[str, Any]:
        """What is to change at the camera."""
        return camera_fields(self)


def camera_fields(body: BaseModel) -> dict[str, Any]:
    """The fields of a body that belong to a camera, as far as they were given."""
    return body.model_dump(
        include={"url", "transport", "delivery", "deinterlace", "verify_tls"}, exclude_none=True
    )
