"""An external scorer: mean brightness and contrast of an image. Python's standard library is all it needs.

It speaks the protocol of evaluators/PROTOCOL.md: one JSON line a request on standard input with the pixels
behind it, one JSON line an answer on standard output. Standard error is free for messages.
"""
import json
import statistics
import sys


def say(message):
    print(json.dumps(message), flush=True)  # without the flush it would wait in a buffer


def read_pixels(count):
    pixels = sys.stdin.buffer.read(count)
    if len(pixels) != count:
        sys.exit(0)  # standard input ended: the run is over
    return pixels


def luma(pixels):
    """Y of ITU-R 601 of each pixel; three bytes a pixel: red, green, blue."""
    return [0.299 * r + 0.587 * g + 0.114 * b
            for r, g, b in zip(pixels[0::3], pixels[1::3], pixels[2::3])]


def score(pixels):
    return {"brightness": statistics.fmean(pixels) / 255,
            "contrast": statistics.pstdev(luma(pixels)) / 255}


def main():
    say({"protocol": 1})  # load weights before this line: the deadline of an image starts after it
    for line in sys.stdin.buffer:
        request = json.loads(line)
        pixels = read_pixels(request["bytes"])
        try:
            say({"id": request["id"], "values": score(pixels)})
        except Exception as error:  # this image has no value; the next one may have
            say({"id": request["id"], "error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
