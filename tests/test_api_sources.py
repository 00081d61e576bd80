"""Sources over HTTP: create, list, change, delete."""

import httpx
import pytest

PLAIN = {"range": "full", "alignment": "lsb", "matrix": "unspecified"}
GRAY = {"width": 8, "height": 4, "format": "gray8"}


def send(client: httpx.Client, source: str, width: int = 8, height: int = 4) -> httpx.Response:
    """Post one raw gray frame."""
    return client.post(
        f"/v1/sources/{source}/frames",
        content=bytes(range(width * height)),
        params={"format": "gray8", "width": width, "height": height},
        headers={"Content-Type": "application/octet-stream"},
    )


def test_put_creates_a_source_and_replaces_it(client: httpx.Client) -> None:
    made = client.put("/v1/sources/put", json={"options": {"tiles": "4x4"}})
    assert made.status_code == 201
    assert made.json()["options"]["tiles"] == "4x4"
    again = client.put("/v1/sources/put", json={"options": {"clip_limit": 3}})
    assert again.status_code == 200
    assert (again.json()["options"]["tiles"], again.json()["options"]["clip_limit"]) == ("8x8", 3.0)


def test_new_source_has_no_result(client: httpx.Client) -> None:
    client.put("/v1/sources/new", json={})
    state = client.get("/v1/sources/new").json()
    assert (state["id"], state["state"], state["frames"]) == ("new", "idle", 0)
    assert state["geometry"] is state["sequence"] is state["lut"] is state["age_seconds"] is None
    assert state["device"] == "cpu"


def test_first_frame_creates_a_source(client: httpx.Client) -> None:
    assert client.get("/v1/sources/first").status_code == 404
    send(client, "first")
    send(client, "first")
    state = client.get("/v1/sources/first").json()
    assert (state["state"], state["frames"], state["sequence"]) == ("live", 2, 1)
    assert (state["lut"], state["lut_age"], state["queue_depth"]) == ("previous", 1, 0)
    assert (state["geometry"], state["geometry_fixed"]) == ({**GRAY, **PLAIN}, False)
    assert state["frames_per_second"] > 0
    assert 0 <= state["age_seconds"] < 60
    assert set(state["stage_seconds"]) == {"upload", "histogram", "lut", "apply", "download"}
    assert list(state["stage_latency"]) == ["upload", "histogram", "lut", "apply", "download"]
    assert all(0 < took["p50"] <= took["p99"] < 60 for took in state["stage_latency"].values())


def test_list_is_sorted_by_id(client: httpx.Client) -> None:
    for source in ("list-b", "list-a"):
        client.put(f"/v1/sources/{source}", json={})
    ids = [state["id"] for state in client.get("/v1/sources").json()["sources"]]
    assert ids == sorted(ids)
    assert {"list-a", "list-b"} <= set(ids)


def test_patch_changes_given_options_and_the_next_frame_uses_its_own_lut(client: httpx.Client) -> None:
    client.put("/v1/sources/patch", json={"options": {"tiles": "2x2", "clip_limit": 5}})
    send(client, "patch")
    changed = client.patch("/v1/sources/patch", json={"options": {"clip_limit": 1.5}}).json()
    assert (changed["options"]["tiles"], changed["options"]["clip_limit"]) == ("2x2", 1.5)
    assert [send(client, "patch").headers["X-Lumaflow-Lut"] for _ in range(2)] == ["own", "previous"]


def test_patch_without_changes_keeps_the_lut(client: httpx.Client) -> None:
    send(client, "same")
    client.patch("/v1/sources/same", json={"options": {"mode": "auto"}})
    assert send(client, "same").headers["X-Lumaflow-Lut"] == "previous"


def test_a_preset_is_put_and_patched(client: httpx.Client) -> None:
    put = client.put("/v1/sources/preset", json={"options": {"preset": "night", "strength": 0.5}}).json()
    assert [put["options"][name] for name in ("preset", "mode", "strength")] == ["night", "lowlight", 0.5]
    patched = client.patch("/v1/sources/preset", json={"options": {"preset": "off"}}).json()
    assert [patched["options"][name] for name in ("preset", "mode", "strength")] == ["off", "identity", 1.0]
    assert send(client, "preset").headers["X-Lumaflow-Lut"] == "identity"
    patched = client.patch("/v1/sources/preset", json={"options": {"mode": "clahe"}}).json()
    assert [patched["options"][name] for name in ("preset", "mode")] == [None, "clahe"]
    about = client.get("/v1/about").json()
    assert about["presets"]["night"]["mode"] == "lowlight"
    assert set(about["presets"]) == set(about["options_schema"]["$defs"]["Preset"]["enum"])


def test_a_plain_mode_has_no_tone(client: httpx.Client) -> None:
    client.put("/v1/sources/plain", json={"options": {"mode": "clahe"}})
    assert "X-Lumaflow-Tone" not in send(client, "plain").headers
    assert client.get("/v1/sources/plain").json()["tone"] is None


def test_fixed_geometry_rejects_other_frames(client: httpx.Client) -> None:
    client.put("/v1/sources/fixed", json={"geometry": GRAY})
    assert send(client, "fixed").status_code == 200
    refused = send(client, "fixed", 4, 8)
    assert refused.status_code == 409
    assert "expected a frame of 8x4 gray8, got 4x8 gray8" in refused.json()["detail"]
    assert client.get("/v1/sources/fixed").json()["geometry_fixed"]
    client.patch("/v1/sources/fixed", json={"geometry": None})
    assert send(client, "fixed", 4, 8).status_code == 200


def test_delete_removes_the_source_and_its_lut(client: httpx.Client) -> None:
    send(client, "gone")
    assert client.delete("/v1/sources/gone").status_code == 204
    assert client.get("/v1/sources/gone").status_code == 404
    assert client.get("/v1/sources/gone/snapshot.jpg").status_code == 404
    answer = send(client, "gone")
    assert (answer.headers["X-Lumaflow-Lut"], answer.headers["X-Lumaflow-Frame"]) == ("own", "0")


@pytest.mark.parametrize(
    ("method", "body", "words"),
    [
        ("PUT", {"options": {"mood": "clahe"}}, "options.mood"),
        ("PUT", {"optoins": {}}, "optoins"),
        ("PUT", {"options": {"mode": "loud"}}, "options.mode"),
        ("PUT", {"options": {"clip_limit": -1}}, "options.clip_limit"),
        ("PUT", {"options": {"tiles": "8"}}, "options.tiles"),
        ("PUT", {"options": {"features": ["smell"]}}, "options.features.0"),
        ("PUT", {"geometry": {"width": 0, "height": 1, "format": "gray8"}}, "geometry.width"),
        ("PUT", {"geometry": {"width": 1, "height": 1, "format": "cmyk"}}, "geometry.format"),
        (
            "PUT",
            {"geometry": {"width": 1, "height": 1, "format": "bgr24", "range": "limited"}},
            "expand it to full range",
        ),
        ("PUT", {"options": {"orientation": "sideways"}}, "options.orientation"),
        ("PUT", {"options": {"chroma_gain": 9}}, "options.chroma_gain"),
        ("PUT", {"options": {"preset": "day"}}, "options.preset"),
        ("PUT", {"options": {"strength": 2}}, "options.strength"),
        ("PATCH", {"options": {"target": 20}}, "options.target"),
        ("PATCH", {"options": {"smoothing": 0}}, "options.smoothing"),
        ("PUT", {"options": {"region": {"x": 0, "y": 0, "width": 0, "height": 1}}}, "options.region.width"),
        ("PATCH", {"options": {"tiles": "99x99"}}, "options.tiles"),
        ("PATCH", {"options": {"hog": True}}, "options.hog"),
        ("PUT", [1], "body: expected keys with values, got a list"),
    ],
)
def test_invalid_options_get_422_with_their_key(
    client: httpx.Client, method: str, body: object, words: str
) -> None:
    client.put("/v1/sources/strict", json={})
    answer = client.request(method, "/v1/sources/strict", json=body)
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert client.get("/v1/sources/strict").json()["options"]["mode"] == "auto"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"mode": "clahe"}', "mode: unknown key; did you mean options.mode?"),
        ('{"mod": "clahe"}', "mod: unknown key; did you mean options.mode?"),
        ('{"optoins": {}}', "optoins: unknown key; did you mean options?"),
        (
            '{"options": {"clip_limt": 2}}',
            "options.clip_limt: unknown key; did you mean clip_limit?",
        ),
        ('{"options": {"tiles": 8}}', "options.tiles: expected COLUMNSxROWS such as 8x8, got '8'"),
        ('{"options": {"clip_limit": -1}}', "options.clip_limit: expected at least 0, got -1"),
        (
            '{"options":}',
            "body: expected JSON, got an error at character 11: Expecting value; correct it there",
        ),
        ("", "body: field required"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_error_suggests_a_correction(client: httpx.Client, method: str, body: str, told: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.request(method, "/v1/sources/slip", content=body, headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (422, told)


def test_wrong_content_type_of_json_is_named(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}  # as curl sends it
    answer = client.put("/v1/sources/slip", content="{}", headers=headers)
    assert "send it with Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize("source", ["with space", "dot.dot", "x" * 65, "..%2fetc", "ünï"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_invalid_ids_are_rejected(client: httpx.Client, method: str, source: str) -> None:
    answer = client.request(method, f"/v1/sources/{source}", json={} if method == "PUT" else None)
    assert answer.status_code in (404, 405, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.status_code != 422 or "expected an id of 1 to 64 characters" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/histogram")]
)
def test_unknown_source_gets_404_that_says_what_to_do(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, f"/v1/sources/nobody{path}", json={} if method == "PATCH" else None)
    assert answer.status_code == 404
    assert "unknown source 'nobody'; send it a frame" in answer.json()["detail"]
