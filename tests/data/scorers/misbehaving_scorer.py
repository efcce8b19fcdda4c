"""An external scorer for tests: gives `level`, the mean of an image's bytes, and fails in the way it is told.

    misbehaving_scorer.py WAY [ARGUMENT]

A way with ":every=N" behind it concerns every N-th image by its first byte (first byte % N == 0), else all.
"""
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib

way, _, every = (sys.argv[1] if len(sys.argv) > 1 else "good").partition(":every=")
every = int(every or 1)
argument = sys.argv[2] if len(sys.argv) > 2 else ""


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def say(value):
    write(json.dumps(value) + "\n")


def sleeper(**options):
    """A process that would outlive us by ten minutes; its pid goes to the file that the test named."""
    child = subprocess.Popen(["sleep", "600"], **options)
    with open(argument, "a") as file:
        file.write(f"{child.pid}\n")


def daemonize(pid_file):
    """A process with a session of its own, and without parent, streams and environment. It is there when this
    returns."""
    started, starting = os.pipe()  # closed by its start
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(pid_file, "a") as file:
                file.write(f"{os.getpid()}\n")
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            os.execve("/bin/sleep", ["sleep", "600"], {})
        os._exit(0)
    os.close(starting)
    os.read(started, 1)
    os.close(started)
    os.wait()


def flood_messages():
    line = b"still loading, please wait ... " * 100 + b"\n"
    while True:
        os.write(2, line)


def read_png(path):
    """The bytes of an 8-bit RGB image whose rows are alike: no filter but Sub and Up is of use to those."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG file"
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2), "not 8-bit RGB"
    at, packed = 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    raw, stride = zlib.decompress(packed), width * 3
    above, out = bytes(stride), b""
    for y in range(height):
        filtered, row = raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)], bytearray()
        for i, value in enumerate(filtered):
            guess = [0, row[i - 3] if i >= 3 else 0, above[i]]
            row.append((value + guess[raw[y * (stride + 1)]]) % 256)
        above, out = bytes(row), out + row
    return out


def pixels_of(request):
    return read_png(request["path"]) if "path" in request else sys.stdin.buffer.read(request["bytes"])


if way == "exits at start":
    print("ModuleNotFoundError: No module named 'torch'", file=sys.stderr)
    sys.exit(1)
if way == "refuses":
    say({"protocol": 1, "error": "weights.bin: missing"})
    sys.exit(0)
if way == "other version":
    say({"protocol": 1, "name": os.path.basename(os.getcwd()), "version": "2"})
else:
    say({"protocol": 1})
if way == "floods messages":
    threading.Thread(target=flood_messages, daemon=True).start()
if way.startswith("daemonizes"):
    daemonize(argument)
if way == "guesses":
    for guess in range(1000):
        say({"id": guess, "values": {"level": 9}})
if way == "never reads":
    time.sleep(600)
if way == "leaves grandchildren":
    sleeper()
    sleeper(start_new_session=True)
    sleeper(start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

for line in sys.stdin.buffer:
    request = json.loads(line)
    id = request["id"]
    pixels = pixels_of(request)
    level = sum(pixels) / len(pixels)
    answer = {"id": id, "values": {"level": level}}
    if way == "always huge":
        answer["values"]["level"] = float(argument)
    elif pixels[0] % every != 0 or request["width"] == 96:  # 96: the test image
        say(answer)
        continue
    if way == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif way == "exits":
        print("Traceback ...\nRuntimeError: CUDA out of memory", file=sys.stderr)
        sys.exit(3)
    elif way == "hangs":
        time.sleep(600)
    elif way == "hangs once":
        if not os.path.exists(argument):
            daemonize(argument + ".daemon")
            with open(argument, "w") as file:
                file.write(f"{os.getpid()} {os.getppid()}\n")
            time.sleep(600)
        say(answer)
    elif way == "late":  # the answer is on its way when the deadline passes
        time.sleep(float(argument))
        say(answer)
    elif way == "garbage":
        write("level = 0.5\n")
    elif way in ("NaN", "Infinity", "-Infinity"):
        write('{"id": %d, "values": {"level": %s}}\n' % (id, way))
    elif way == "text":
        say({"id": id, "values": {"level": "0.5"}})
    elif way == "null":
        say({"id": id, "values": {"level": None}})
    elif way == "nothing":
        say({"id": id, "values": {"levle": level}})
    elif way == "error":
        say({"id": id, "error": "the image is\nempty\x1b[2J"})
    elif way == "huge line":
        write('{"id": %d, "values": {"level": 1}, "x": "%s"}\n' % (id, "x" * (2 << 20)))
    elif way == "endless line":
        while True:
            write("x" * 65536)
    elif way == "next id":
        say({**answer, "id": id + 1})
    elif way == "no id":
        say({"values": {"level": level}})
    elif way == "twice":
        say(answer)
        say({"id": id, "values": {"level": -1}})
    elif way == "ahead":
        say(answer)
        say({"id": id + 1, "values": {"level": 9}})
    elif way == "huge":
        say({"id": id, "values": {"level": float(argument)}})
    elif way == "daemonizes and crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif way == "leaves grandchildren":
        sleeper(start_new_session=True)
        os._exit(1)
    else:  # good
        say(answer)
