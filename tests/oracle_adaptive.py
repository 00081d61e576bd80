"""The adaptive modes in plain NumPy, slowly (spec 16, 17): sequences of frames of every format.

Nothing here shares code with a lane. float32 arrays and scalars round every operation, as the specification
says; integers are int64.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oracle
from lumaflow import Mode, Output, PixelFormat
from oracle_frames import BITS, LUMA_AT, RGB, bgr, gained, luma_of, region_of, reoriented, unmapped

F = np.float32
KNOTS = 8 * np.arange(33)
LIMITED_RGB, FULL_RGB = (26149, -6419, -13320, 33050), (22987, -5636, -11698, 29049)


@dataclass
class Result:
    """Planes and figures of one frame; `display` is the 8-bit luma of its features."""

    planes: list[Any]
    bins: Any
    lut: Any
    kind: str
    display: Any
    figures: dict[str, Any] = field(default_factory=dict)


def clamp(values, low, high):
    """Values between low and high."""
    return np.minimum(np.maximum(values, low), high)


class AdaptiveOracle:
    """One source: frames in, results out."""

    def __init__(self, options):
        self.options, self.equalization = options, options.equalization
        self.first = True
        self.falls, self.filtering = 0, False
        self.history = self.haze = None

    def enhance(self, frame):
        """The enhanced frame, after all frames before it."""
        geometry, options = frame.geometry, self.options
        form = geometry.pixel_format
        self.bits, self.limited, self.format = BITS.get(form, 8), geometry.limited, form
        shift = geometry.shift
        planes = [reoriented(plane, options.orientation) for plane in frame.planes]
        if form in LUMA_AT and options.orientation in ("flip_x", "rotate180"):
            chroma = planes[0][..., 1 - LUMA_AT[form]]
            chroma[:] = chroma.reshape(len(chroma), -1, 2)[:, :, ::-1].reshape(chroma.shape)
        width = geometry.height if options.orientation.swaps_sides else geometry.width
        raw = np.minimum(
            luma_of(planes[0], form, self.equalization.color)[:, :width] >> shift, 2**self.bits - 1
        )
        colors = bgr(planes[0], form).astype(np.int64) if form in RGB else raw[..., None].astype(np.int64)
        box = region_of(raw, options.region)
        bins = np.bincount(raw[box].ravel(), minlength=2**self.bits)
        samples = self.sample(colors)
        chroma = self.chroma_of(planes, shift)
        mapping, kind = self.choose(samples[box], colors[box], chroma, box, raw.shape, frame.corrupt)
        whole = options.region is None or options.region.apply_to_whole_frame
        mapped_box = (slice(0, raw.shape[0]), slice(0, width)) if whole else box
        shown, luma8 = self.apply(samples, colors, mapping, box, mapped_box, frame.corrupt)
        out_bits = 8 if options.output is Output.DISPLAY else self.bits
        return Result(
            self.joined(planes, raw, shown, mapped_box, chroma, shift, out_bits),
            bins,
            self.curve(mapping, out_bits)[None, None],
            kind,
            self.display(luma8, raw, mapped_box),
            dict(self.figures, mapping=mapping),
        )

    # Samples

    def sample(self, levels):
        """Working samples of levels."""
        levels = np.asarray(levels, np.int64)
        if self.limited:
            low, span = 16 << (self.bits - 8), 219 << (self.bits - 8)
            return (np.clip(levels - low, 0, span) * 32640 + span // 2) // span
        return levels >> 1 if self.bits == 16 else levels << (15 - self.bits)

    def store(self, samples, bits):
        """Levels of a depth from samples."""
        if self.limited:
            low, span = 16 << (bits - 8), 219 << (bits - 8)
            return low + (np.minimum(samples, 32640) * span + 16320) // 32640
        samples = np.minimum(samples, 32767)
        if bits == 16:
            return np.where(samples == 32767, 65535, 2 * samples)
        return np.minimum((samples + ((1 << (15 - bits)) >> 1)) >> (15 - bits), 2**bits - 1)

    def chroma_of(self, planes, shift):
        """(rows, columns, 2) Cb and Cr without the alignment shift, or None."""
        form = self.format
        if form in LUMA_AT:
            pairs = planes[0][..., 1 - LUMA_AT[form]]
            return pairs.reshape(len(pairs), -1, 2).astype(np.int64)
        if form is PixelFormat.I420:
            return np.stack(planes[1:], axis=2).astype(np.int64)
        if form in (PixelFormat.NV12, PixelFormat.P010):
            return planes[1].astype(np.int64) >> shift
        return None

    # Statistics and mapping

    def choose(self, samples, colors, chroma, box, shape, corrupt):
        """The vector of the mapping in use, and its kind."""
        value = (samples >> 7).max(axis=2)
        cells = cell_counts(value)
        counts = cells.sum(axis=(0, 1))
        pixels = value.size
        mean16 = int((counts * np.arange(256)).sum()) * 16 // pixels + 128
        low16, high16 = percentile(counts, 1), percentile(counts, 199)
        white16 = max(high16, 128)
        falls = not self.first and 64 * mean16 < 63 * self.previous_mean
        self.fades = fades = falls and self.falls >= 4
        cut = self.first
        if not self.first and not corrupt:
            highest = max(white16, self.previous_white)
            shift = 3 if highest >= 2048 else 2 if highest >= 1024 else 1 if highest >= 512 else 0
            cut = not fades and block_distance(value, self.previous_value, shift) > 0.5
        self.cut = cut
        self.score(samples, colors, chroma, box, cut, corrupt, low16)
        self.figures = {"mean": mean16, "cut": cut, "haze": self.strength_of_haze}
        if corrupt and not self.first:
            return self.mapping, "previous"
        luma = oracle.luma_of(colors) if colors.shape[2] == 3 else value
        own = self.build(cells, counts, int(luma.sum(dtype=np.int64)), noise_of(value), low16, high16)
        if corrupt:
            return own, "own"
        if cut or 64 * mean16 > 65 * self.previous_mean or (2 * mean16 < self.previous_mean and not fades):
            self.mapping, self.smooth, self.reference, used, kind = own, own.astype(F), mean16, own, "own"
        else:
            used, kind = self.mapping, "previous"
            weight = F(0.5) if 64 * mean16 > 65 * self.reference else F(0.1)
            self.smooth = (F(1) - weight) * self.smooth + weight * own.astype(F)
            self.mapping = np.rint(self.smooth).astype(np.int64)
            self.reference += int(np.rint(weight * F(mean16 - self.reference)))
        self.falls = min(self.falls + 1, 4) if falls and not self.first else 0
        self.previous_mean, self.previous_white, self.previous_value = mean16, white16, value
        self.first = False
        return used, kind

    def build(self, cells, counts, luma_sum, noise, low16, high16):
        """The mapping of a frame: 16 * 16 * 33 gains and 8 numbers."""
        mode, strength = self.equalization.mode, F(self.equalization.strength)
        sigma, slope = noise
        levels, pixels = np.arange(256), int(counts.sum())
        black16, white16 = min(max(low16, 0), 128), max(high16, 128)
        black = 4 * black16 if 4 * black16 < 3 * white16 else 0
        mean_value, mean_luma = F(int((counts * levels).sum())) / F(pixels), F(luma_sum) / F(pixels)
        part = stretch = F(0)
        if mode is Mode.LOWLIGHT:
            part = strength
        if mode is Mode.AUTO:
            distance = int(np.abs(256 * np.cumsum(counts) - pixels * (levels + 1)).sum())
            gate = min(max((distance // 256 * 65536 // (256 * pixels) - 1966) * 65536 // 4588, 0), 65536)
            t = clamp((F(98) - mean_luma) / F(12), F(0), F(1))
            part = ((t * (F(2) - t)) * (F(gate) / F(65536))) * strength
            span = high16 - low16
            ramps = min(F(1920 - span) / F(800), F(span - 192) / F(256))
            stretch = ((clamp(ramps, F(0), F(1)) * (F(1) - part)) * (F(1) - self.strength_of_haze)) * strength
        if counts.max() == pixels:
            part = stretch = F(0)
        white = F(max(8 * white16 - black, 512)) / F(128)
        depth = np.maximum(128 * levels - black, 0)
        gain = F(1)
        if part > 0:
            gain = self.gain(counts, depth, white, white16, sigma, mean_value, mean_luma)
        more = clamp(F(3200) / F(max(high16 - low16, 1)), F(1), F(2))
        pivot = F(0)
        if more > 1:
            least = (F(8 * high16) * more - F(32640)) / (more - F(1))
            most = (F(max(8 * low16, 0)) * more) / (more - F(1))
            pivot = min(max(mean_luma * F(128), least), most)
        added = (more - F(1)) * stretch
        gains = np.full((16, 16, 33), F(1) + added, F)
        if part > 0 and gain > 1:
            gains = (F(1) + (local_gains(cells, depth, gain, white) - F(1)) * part) + added
        total = (F(1) + (gain - F(1)) * part) + added
        offset = (F(black) * part) * min(gain - F(1), F(1)) + (added * pivot) / (F(1) + added)
        numbers = [
            np.rint(offset),
            sigma,
            slope,
            np.rint(total * F(1024)),
            np.rint(clamp((total - F(1.5)) * F(0.4), F(0), F(1)) * F(256)),
            np.rint(part * F(1024)),
            np.rint(stretch * F(1024)),
            white16,
        ]
        return np.concatenate([np.rint(F(1024) * gains).ravel(), numbers]).astype(np.int64)

    def gain(self, counts, depth, white, white16, sigma, mean_value, mean_luma):
        """Slope of the tone curve with which the mean reaches its target."""
        target = self.equalization.target
        low, high = (86, 88) if self.equalization.mode is Mode.AUTO else (92, 126)
        if target is not None:
            low = high = target
        lit = np.where(depth >= 128 * (2 + (sigma >> 8)), counts, 0)
        levels = np.arange(256)
        inner = np.where((levels < 192) | (256 * levels < 15 * white16), lit, 0)
        if 64 * inner.sum() >= counts.sum():
            lit = inner
        elif 64 * lit.sum() < counts.sum():
            lit = counts
        pixels = int(lit.sum())
        value = depth.astype(F) / F(128)
        plain = np.rint(np.minimum(F(16) * (value * (F(245) / white)), F(4080))).astype(np.int64)
        goal = F(int((lit * plain).sum())) / F(pixels) * F(0.0625)
        ratio = clamp(mean_value / max(mean_luma, F(0.0625)), F(1), F(1.6))
        goal = min(max(goal, F(low) * ratio), F(high) * ratio)
        if target is not None:
            half = (pixels + 1) // 2
            before = np.cumsum(lit) - lit
            lit, pixels = clamp(half - before, 0, lit), half

        def mean(slope):
            levels = np.rint(F(16) * tone_curve(value, slope, white)).astype(np.int64)
            return F(int((lit * levels).sum())) / F(pixels) * F(0.0625)

        steps = [F(2.0 ** (step / 16)) for step in range(81)]
        gain, last = F(1), mean(F(1))
        if last < goal:
            gain = steps[80]
            for step in range(1, 81):
                now = mean(steps[step])
                if now >= goal:
                    share = (goal - last) / (now - last)
                    gain = steps[step - 1] + (steps[step] - steps[step - 1]) * share
                    break
                last = now
        cap = F(16)
        if sigma > 0:
            cap = min(cap, max(F(3072) / F(sigma), F(1)))
        return min(gain, cap)

    # Haze

    def score(self, samples, colors, chroma, box, cut, corrupt, low16):
        """Airlight, tiles and gains of the frame."""
        self.strength_of_haze = F(0)
        if self.equalization.mode is Mode.LOWLIGHT:
            return
        height, width = samples.shape[:2]
        step = max(1, -(-max(height, width) // 480))
        rows, columns = -(-height // step), -(-width // step)
        y, x = block_bounds(rows, step, height), block_bounds(columns, step, width)
        rgb = colors.shape[2] == 3
        matrix = LIMITED_RGB if self.limited else FULL_RGB
        planes = colors if rgb else samples >> 7
        means = np.stack([block_means(planes[..., c], y, x) for c in range(planes.shape[2])], axis=2)
        if rgb:
            luma, dark = luma_quarters(means), means.min(axis=2)
        elif chroma is None:
            luma = dark = means[..., 0]
        else:
            top, left = box[0].start or 0, box[1].start or 0
            halved = [halves(x + left), halves(y + top) if self.format not in LUMA_AT else y + top]
            levels = chroma >> (self.bits - 8)
            parts = [block_means(levels[..., c], halved[1], halved[0]) for c in range(2)]
            means = np.concatenate([means, np.stack(parts, axis=2)], axis=2)
            luma, dark = means[..., 0], least_rgb(means, matrix)
        own = self.measure_haze(means, luma, dark, rgb, (min(8, rows), min(8, columns)))
        if self.equalization.mode is Mode.AUTO:
            own["score"] = own["score"] * ramp(F(low16), F(640), F(800))
        state = self.haze
        if not corrupt and (cut or state is None):
            self.haze = state = own
        elif not corrupt:
            self.haze = state = smoothed(state, own)
        elif state is None:
            state = own
        self.strength_of_haze = F(self.equalization.strength) * state["score"]
        air = state["air"]
        least = air[0] if chroma is None and not rgb else air.min()
        if chroma is not None:
            least = F(least_rgb(np.rint(air).astype(np.int64), matrix))
        least = max(least, F(4))
        transmission = F(1) - (F(0.95) * self.strength_of_haze) * (state["dark"] / least)
        floor = F(0.25) - state["texture"] * F(0.10)
        self.air, self.haze_gains = air, F(1) / np.minimum(np.maximum(transmission, floor), F(1))

    def measure_haze(self, means, luma, dark, rgb, tiles):
        """Airlight, score, and the tiles of one frame, in quarters."""
        blocks = luma.size
        radius = min(max(max(luma.shape) // 24, 1), 20)
        lowest = window(dark, radius, np.min)
        spread = window(luma, 2, np.max) - window(luma, 2, np.min)
        textured = spread >= 32
        count, total = tile_sums(np.ones_like(luma), tiles), tile_sums(lowest, tiles)
        count_textured, total_textured = tile_sums(textured * 1, tiles), tile_sums(lowest * textured, tiles)
        texture = tile_sums(np.clip(spread - 8, 0, 24), tiles).astype(F) / (24 * count).astype(F)
        own = total.astype(F) / count.astype(F)
        near = around(50 * total_textured + total).astype(F) / around(50 * count_textured + count).astype(F)
        tile_dark = own - (F(1) - texture) * np.maximum(own - near, F(0))
        far = lowest >> 2 >= reached_level(lowest, 100)
        number = int(far.sum())
        mean = (2 * means[far].sum(axis=0) + number) // (2 * number)
        light = int(luma_quarters(mean)) if rgb else int(mean[0])
        lift = max(0, 4 * reached_level(luma, 10) - light)
        neutral = light if rgb else 512
        air = neutral + ((mean - neutral) >> 1) + (lift if rgb else 0)
        if not rgb:
            air[0] = light + lift
        score = F(0)
        if 200 * int(textured.sum()) >= blocks and light + lift > 0:
            share = F(int(lowest[textured].sum())) / (F(int(textured.sum())) * F(light + lift))
            score = ramp(share, F(0.15), F(0.30))
            if self.equalization.mode is Mode.AUTO:
                white = F(int((dark >= 1000).sum())) / F(blocks)
                bright = ramp(F(light + lift), F(680), F(760))
                score = (ramp(share, F(0.28), F(0.45)) * bright) * (F(1) - ramp(white, F(0.05), F(0.10)))
        return {"air": air.astype(F), "score": score, "dark": tile_dark, "texture": texture}

    # Pixels

    def apply(self, samples, colors, mapping, box, mapped_box, corrupt):
        """Levels of the output depth and of 8 bits, inside the mapped box."""
        black, sigma, slope, gain, saturation = (int(n) for n in mapping[-8:-3])
        x = samples[mapped_box]
        noise = max(sigma, min(max((gain - 1536) >> 4, 0), 192))
        kq = min(max((gain - 1536) // 6, 0), 256)
        filters = self.equalization.denoise and noise > 0
        spatial = filters and kq > 0
        if spatial:
            x = filter_in_space(x, min(8 * noise * kq >> 10, 1700), min(8 * slope * kq >> 10, 1000))
            spatial = min(8 * noise * kq >> 10, 1700) + min(8 * slope * kq >> 10, 1000) > 0
        on = bool(filters and not corrupt and gain > (1741 if self.filtering else 1946))
        if on:
            if self.filtering and not (self.cut or self.fades):
                x = filter_in_time(x, self.history, noise, slope, kq)
            self.history = x
        if not corrupt:
            self.filtering = on
        self.figures["denoised"] = bool(on or spatial)
        hazy = self.strength_of_haze > 0
        self.chroma_haze = np.ones(samples.shape[:2], F)
        if hazy:
            gains = self.pixel_haze_gains(samples.shape[:2], box)[mapped_box]
            x = self.remove_haze(x, gains)
            self.chroma_haze[mapped_box] = np.minimum(gains, F(2))
        x = np.maximum(x - black, 0)
        value = x.max(axis=2)
        factor = self.pixel_gains(value, mapping, samples.shape[:2], box, mapped_box)
        color = saturation_factor(value >> 7, sigma, gain, saturation)
        self.chroma_gain = np.full(samples.shape[:2], 1024)
        self.chroma_gain[mapped_box] = np.minimum((factor * color + 128) >> 8, 4096)
        if x.shape[2] == 3:
            luma = luma_quarters(x)
            x = luma[..., None] + (((x - luma[..., None]) * color[..., None] + 128) >> 8)
        product = (x * factor[..., None] + 512) >> 10
        out_bits = 8 if self.options.output is Output.DISPLAY else self.bits
        shown = self.store(product, out_bits)
        self.native = self.bits == out_bits == 16 and not self.limited and not hazy
        if self.native and not on and not spatial:
            native = np.maximum(colors[mapped_box] - 2 * black, 0)
            shown = np.minimum((native * factor[..., None] + 512) >> 10, 65535)
        return shown, self.store(product, 8)

    def pixel_gains(self, value, mapping, shape, box, mapped_box):
        """Gain of every pixel of the mapped box."""
        grid = mapping[:-8].reshape(16, 16, 33)
        (iy, wy), (ix, wx) = (
            [part[where] for part in cell_axis(size, counted)]
            for size, counted, where in zip(shape, box, mapped_box, strict=True)
        )
        rows = (grid[iy] * (256 - wy)[:, None, None] + grid[iy + 1] * wy[:, None, None] + 128) >> 8
        at = np.arange(value.shape[0])[:, None]
        knot, part = value >> 10, (value >> 3) & 127
        low = rows[at, ix, knot] * (256 - wx) + rows[at, ix + 1, knot] * wx
        high = rows[at, ix, knot + 1] * (256 - wx) + rows[at, ix + 1, knot + 1] * wx
        return ((low >> 4) * (128 - part) + (high >> 4) * part + 1024) >> 11

    def pixel_haze_gains(self, shape, box):
        """Haze gain of every pixel of the frame."""
        (top, bottom, wt, wb), (left, right, wl, wr) = (
            tile_axis(size, counted, tiles)
            for size, counted, tiles in zip(shape, box, self.haze_gains.shape, strict=True)
        )
        rows = self.haze_gains[top] * wt[:, None] + self.haze_gains[bottom] * wb[:, None]
        return rows[:, left] * wl + rows[:, right] * wr

    def remove_haze(self, x, gains):
        """Distance from the airlight times the gain."""
        air = self.air * F(32)
        if x.shape[2] == 1:
            moved = (x[..., 0].astype(F) - air[0]) * gains + air[0]
            return clamp(np.rint(moved), 0, int(self.sample(2**self.bits - 1))).astype(np.int64)[..., None]
        color = np.minimum(gains, F(2))
        light = (air[0] * F(0.114) + air[1] * F(0.587)) + air[2] * F(0.299)
        extra = (luma_quarters(x).astype(F) - light) * (gains - color)
        moved = ((x.astype(F) - air) * color[..., None] + air) + extra[..., None]
        return clamp(np.rint(moved), 0, 32640).astype(np.int64)

    def curve(self, mapping, bits):
        """(2^b,) levels: gray pixels through the mean of the gains."""
        levels = np.arange(2**self.bits)
        x = self.sample(levels)
        if self.strength_of_haze > 0:
            tiles = np.rint(self.haze_gains * F(1024)).astype(np.int64)
            gain = F(int(tiles.sum())) / F(1024 * tiles.size)
            air = self.air * F(32)
            light = air[0]
            if self.format in RGB:
                light = (air[0] * F(0.114) + air[1] * F(0.587)) + air[2] * F(0.299)
            moved = (x.astype(F) - light) * gain + light
            x = clamp(np.rint(moved), 0, int(x[-1])).astype(np.int64)
        x = np.maximum(x - mapping[-8], 0)
        knots = (mapping[:-8].reshape(256, 33).sum(axis=0) + 128) >> 8
        part = (x >> 3) & 127
        factor = (16 * knots[x >> 10] * (128 - part) + 16 * knots[(x >> 10) + 1] * part + 1024) >> 11
        if self.bits == bits == 16 and not self.limited and not self.strength_of_haze > 0:
            native = np.maximum(levels - 2 * mapping[-8], 0)
            return np.minimum((native * factor + 512) >> 10, 65535).astype(np.uint16)
        return self.store((x * factor + 512) >> 10, bits).astype(np.uint8 if bits == 8 else np.uint16)

    # Planes

    def joined(self, planes, raw, shown, mapped_box, chroma, shift, out_bits):
        """All planes of the enhanced frame."""
        form = self.format
        if form in RGB:
            out = planes[0].copy()
            out[..., :3][mapped_box] = bgr(shown, form if form is PixelFormat.RGB24 else PixelFormat.BGR24)
            return [out]
        first = unmapped(self.bits, self.limited, out_bits)[raw]
        first[mapped_box] = shown[..., 0]
        if chroma is None:
            return [first << shift if out_bits > 8 else first]
        colors = self.joined_chroma(chroma).astype(planes[-1].dtype)
        if form in LUMA_AT:
            out = planes[0].copy()
            out[:, : raw.shape[1], LUMA_AT[form]] = first
            out[..., 1 - LUMA_AT[form]] = colors.reshape(len(out), -1)
            out[..., 1 - LUMA_AT[form]] = gained(
                out[..., 1 - LUMA_AT[form]], self.options, 8, self.limited, 0
            )
            return [out]
        parts = [colors[..., 0], colors[..., 1]] if form is PixelFormat.I420 else [colors << shift]
        parts = [gained(part, self.options, self.bits, self.limited, shift) for part in parts]
        return [first << shift, *parts]

    def joined_chroma(self, chroma):
        """Chroma times the gain of its first pixel."""
        bits, neutral = self.bits, 1 << (self.bits - 1)
        rows = 1 if self.format in LUMA_AT else 2
        gain, haze = self.chroma_gain[::rows, ::2], self.chroma_haze[::rows, ::2]
        samples = (chroma - neutral) << (15 - bits)
        if self.strength_of_haze > 0:
            air = (self.air[1:] - F(512)) * F(32)
            moved = (samples.astype(F) - air) * haze[..., None] + air
            samples = clamp(np.rint(moved), -32768, 32767).astype(np.int64)
        moved = (samples * gain[..., None] + (512 << (15 - bits))) >> (25 - bits)
        return np.clip(neutral + moved, 0, 2**bits - 1)

    def display(self, luma8, raw, mapped_box):
        """(H, W) 8-bit luma for the features of gray and YUV frames."""
        if luma8.shape[2] == 3:
            return None
        shown = unmapped(self.bits, self.limited, 8)[raw]
        shown[mapped_box] = luma8[..., 0]
        return shown


# Statistics


def cell_counts(value):
    """(16, 16, 256) histograms."""
    height, width = value.shape
    cells = np.zeros((16, 16, 256), np.int64)
    for i in range(16):
        for j in range(16):
            part = value[i * height // 16 : (i + 1) * height // 16, j * width // 16 : (j + 1) * width // 16]
            cells[i, j] = np.bincount(part.ravel(), minlength=256)
    return cells


def percentile(counts, part):
    """The level in 1/16 below which part/200 of the pixels lie."""
    pixels, below = int(counts.sum()), np.cumsum(counts)
    level = int(np.argmax(200 * below >= part * pixels))
    before = int(below[level] - counts[level])
    return 16 * level - 8 + (part * pixels - 200 * before) * 16 // (200 * int(counts[level]))


def block_distance(value, before, shift):
    """Mean distance of 8 x 8 blocks."""
    height, width = value.shape
    distances = []
    for i in range(8):
        for j in range(8):
            where = (
                slice(i * height // 8, (i + 1) * height // 8),
                slice(j * width // 8, (j + 1) * width // 8),
            )
            if value[where].size:
                one, other = (
                    np.bincount(np.minimum(plane[where] >> shift, 31).ravel(), minlength=32)
                    for plane in (value, before)
                )
                common = 0.0
                for a, b in zip(one, other, strict=True):
                    common += float(np.sqrt(float(a * b)))
                distances.append(float(np.sqrt(max(0.0, 1 - common / value[where].size))))
    total = 0.0
    for distance in distances:
        total += distance
    return total / len(distances)


def noise_of(value):
    """Noise at level 0 and its rise up to 255, in 1/128 level."""
    plane = value.astype(np.int64)
    height, width = plane.shape
    energies = np.zeros((16, 256), np.int64)
    if height >= 13 and width >= 13:
        across = plane[:, :-2] - 2 * plane[:, 1:-1] + plane[:, 2:]
        laplacian = np.zeros_like(plane)
        laplacian[1:-1, 1:-1] = np.abs(across[:-2] - 2 * across[1:-1] + across[2:])
        for y in range(4, height - 8, 16):
            for x in range(4, width - 8, 16):
                energy = int(laplacian[y : y + 8, x : x + 8].sum())
                mean = int(plane[y : y + 8, x : x + 8].sum()) >> 6
                if energy > 0 and 2 <= mean < 240:
                    energies[mean >> 4, min(energy >> 4, 255)] += 1
    rows = energies.sum(axis=1)
    if rows.sum() < 8:
        return 0, 0
    split = int(np.argmax(2 * np.cumsum(rows) >= rows.sum()))
    dark, bright = slice(0, split + 1), slice(split + 1, 16)
    sigmas = [sigma_of(energies[part].sum(axis=0)) for part in (dark, bright)]
    middles = 16 * np.arange(16) + 8
    if rows[bright].sum() < 8 or sigmas[1] <= sigmas[0]:
        return min(sigmas[0], 1024), 0
    levels = [
        int((rows[part] * middles[part]).sum()) // max(int(rows[part].sum()), 1) for part in (dark, bright)
    ]
    slope = min((sigmas[1] - sigmas[0]) * 255 // max(levels[1] - levels[0], 16), 1024)
    return min(max(sigmas[0] - slope * levels[0] // 255, sigmas[0] // 2), 1024), slope


def sigma_of(counts):
    """Noise at the 20th percentile of the energies."""
    if counts.sum() < 8:
        return 0
    return (16 * int(np.argmax(5 * np.cumsum(counts) >= counts.sum())) + 8) * 29 // 64


# Mapping


def tone_curve(value, gain, white):
    """Levels through the curve of this slope."""
    slope = (gain * white) / F(255)
    x = np.minimum(value / white, F(1))
    line = F(255) * (slope * x)
    if slope <= 1:
        return line
    end, steepness = F(0.5) / slope, (slope - F(0.5)) * F(2)
    t = np.maximum(x - end, F(0)) / (F(1) - end)
    shoulder = F(0.5) + ((F(0.5) * steepness) * t) / (F(1) + (steepness - F(1)) * t)
    return np.where(x <= end, line, F(255) * shoulder)


def local_gains(cells, depth, gain, white):
    """(16, 16, 33) float32 from the local illumination."""
    counts, sums = np.zeros((16, 16, 32), np.int64), np.zeros((16, 16, 32), np.int64)
    for level, sample in enumerate(depth):
        counts[..., sample >> 10] += cells[..., level]
        sums[..., sample >> 10] += cells[..., level] * (sample >> 4)
    bins = np.log2(np.arange(32) * 8 + 15.5)
    kernel = np.rint(255 * np.exp(-((np.log2(KNOTS + 12.0)[:, None] - bins) ** 2) / 0.72)).astype(np.int64)
    near_counts = 1024 * blurred(counts) + counts.sum(axis=(0, 1))
    near_sums = 1024 * blurred(sums) + sums.sum(axis=(0, 1))
    total, count = near_sums @ kernel.T + 8 * KNOTS, near_counts @ kernel.T + 1
    light = np.maximum(total.astype(F) / count.astype(F) * F(0.125), F(0.5))
    factor = np.maximum(tone_curve(light, gain, white) / light, F(1))
    levels = KNOTS.astype(F)
    tops = np.maximum.accumulate(np.minimum(levels * factor, F(256)), axis=2)
    return np.where(KNOTS > 0, tops / np.maximum(levels, F(1)), factor)


def blurred(planes):
    """1 2 1 over the columns and rows of cells."""
    for axis in (1, 0):
        padded = np.concatenate([planes.take([0], axis), planes, planes.take([15], axis)], axis)
        planes = sum(w * padded.take(range(k, k + 16), axis) for k, w in enumerate((1, 2, 1)))
    return planes


# Haze


def block_bounds(blocks, step, size):
    """(blocks, 2) first pixel and the one after the last."""
    first = np.arange(blocks) * step
    return np.stack([first, np.minimum(first + step, size)], axis=1)


def halves(bounds):
    """Bounds of the chroma samples of these pixels."""
    return np.stack([bounds[:, 0] // 2, (bounds[:, 1] + 1) // 2], axis=1)


def block_means(plane, y, x):
    """Quarters of a level, rounded half up; `y`, `x` index `plane`."""
    total = np.zeros((plane.shape[0] + 1, plane.shape[1] + 1), np.int64)
    total[1:, 1:] = plane.astype(np.int64).cumsum(0).cumsum(1)
    top, bottom, left, right = y[:, :1], y[:, 1:], x[:, 0], x[:, 1]
    sums = total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left]
    count = (bottom - top) * (right - left)
    return (8 * sums + count) // (2 * count)


def luma_quarters(bgr_means):
    """BT.601 luma of three components of any scale."""
    return (bgr_means[..., 0] * 1868 + bgr_means[..., 1] * 9617 + bgr_means[..., 2] * 4899 + 8192) >> 14


def least_rgb(means, matrix):
    """Least of R, G and B of luma, Cb, Cr."""
    luma, cb, cr = means[..., 0], means[..., 1] - 512, means[..., 2] - 512
    red = luma + ((matrix[0] * cr + 8192) >> 14)
    green = luma + ((matrix[1] * cb + matrix[2] * cr + 8192) >> 14)
    blue = luma + ((matrix[3] * cb + 8192) >> 14)
    return np.clip(np.minimum(red, np.minimum(green, blue)), 0, 1020)


def window(plane, radius, reduce):
    """Least or greatest over (2 * radius + 1)^2, cut at the border."""
    for axis in (0, 1):
        size = plane.shape[axis]
        parts = [
            reduce(plane.take(range(max(i - radius, 0), min(i + radius + 1, size)), axis), axis=axis)
            for i in range(size)
        ]
        plane = np.stack(parts, axis=axis)
    return plane


def tile_sums(plane, tiles):
    """Sums over tiles that start at floor(i * size / tiles)."""
    edges = [np.arange(n) * size // n for n, size in zip(tiles, plane.shape, strict=True)]
    return np.add.reduceat(np.add.reduceat(plane.astype(np.int64), edges[0], axis=0), edges[1], axis=1)


def around(tiles):
    """1 2 3 2 1 over both axes, cut at the border."""
    for axis in (0, 1):
        padded = np.pad(tiles, [(2, 2) if k == axis else (0, 0) for k in (0, 1)])
        tiles = sum(
            w * padded.take(range(k, k + tiles.shape[axis]), axis) for k, w in enumerate((1, 2, 3, 2, 1))
        )
    return tiles


def reached_level(plane, part):
    """Highest whole level that 1/part of the blocks reach."""
    reached = np.bincount((plane >> 2).ravel(), minlength=256)[::-1].cumsum()[::-1]
    return int(np.flatnonzero(part * reached >= plane.size)[-1])


def ramp(value, low, high):
    """0 below low, 1 above high."""
    return min(max((value - low) / (high - low), F(0)), F(1))


def smoothed(state, own):
    """State after a frame."""
    new = {name: (F(1) - F(0.06)) * state[name] + F(0.06) * own[name] for name in state}
    new["air"] = clamp(new["air"], own["air"] - F(80), own["air"] + F(80))
    return new


# Filters and pixels


def filter_in_space(x, limit, slope):
    """Three passes; each neighbour pulls up to the limit."""
    height, width = x.shape[:2]
    for number in range(3):
        step = 1 << number
        first, rise = limit * 3**number >> 2 * number, slope * 3**number >> 2 * number
        if first + rise == 0:
            continue
        most = first + (x * rise >> 15)
        pull = np.zeros_like(x)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                rows = np.clip(np.arange(height) + dy * step, 0, height - 1)
                columns = np.clip(np.arange(width) + dx * step, 0, width - 1)
                difference = x[rows][:, columns] - x
                weight = (2 - abs(dy)) * (2 - abs(dx)) * (dy != 0 or dx != 0)
                pull += weight * clamp(difference, -most, most)
        x = x + ((pull + 8) >> 4)
    return x


def filter_in_time(x, history, noise, slope, kq):
    """Recursive filter with motion by blocks of 8 x 8 pixels."""
    height, width = x.shape[:2]
    out = np.empty_like(x)
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            where = (slice(top, top + 8), slice(left, left + 8))
            new, old = x[where], history[where]
            motion, light = abs(int((new - old).sum())) // new.size, int(new.sum()) // new.size
            sigma = noise + (light * slope >> 15)
            block_limit, limit = (3 * sigma >> 3) + 24, (sigma * (1024 - kq) >> 8) + 64
            block = min(max((motion - block_limit) * (65536 // block_limit) >> 8, 0), 256)
            weight = clamp((np.abs(new - old) - limit) * (65536 // limit) >> 8, block, 256)
            weight = 24 + (232 * weight >> 8)
            out[where] = old + (((new - old) * weight + 128) >> 8)
    return out


def saturation_factor(level, noise, gain, saturation):
    """Factor of the colour differences in 1/256."""
    floor = 3 + (3 * noise + 64) // 128
    factor = 256 - (saturation * floor**2) // (level.astype(np.int64) ** 2 + floor**2)
    return factor * (256 - min(max((gain - 3072) >> 6, 0), 160)) >> 8


def cell_axis(size, counted):
    """Left cell and weight of the next one, for each pixel of an axis."""
    start = counted.start or 0
    length = (size if counted.stop is None else counted.stop) - start
    cells, weights = [], []
    for pixel in range(size):
        position = min(max((2 * (pixel - start) + 1) * 4096 - 256 * length, 0), 7680 * length)
        cell = min(position // (512 * length), 14)
        cells.append(cell)
        weights.append((position - 512 * length * cell + length) // (2 * length))
    return np.array(cells), np.array(weights)


def tile_axis(size, counted, tiles):
    """Both tiles and weights for each pixel of an axis."""
    start = counted.start or 0
    length = (size if counted.stop is None else counted.stop) - start
    position = (np.arange(size) - start + 0.5) * tiles / length - 0.5
    first = np.floor(position)
    weight = (position - first).astype(F)
    index = first.astype(int)
    return np.clip(index, 0, tiles - 1), np.clip(index + 1, 0, tiles - 1), F(1) - weight, weight
