"""A scorer for tests. Its arguments say how it starts, an image's first byte says what happens to that image.

    fake_scorer.py [die | silent | garbage | protocol | refuse | changing FILE]
"""
import json
import os
import signal
import sys
import time

start = sys.argv[1] if len(sys.argv) > 1 else ""
settings = {"omp": os.environ.get("OMP_THREAD_LIMIT")}
if start == "die":
    sys.exit(7)
if start == "silent":
    time.sleep(600)
if start == "changing":  # describes itself differently from the second start on
    settings["changed"] = os.path.exists(sys.argv[2])
    open(sys.argv[2], "w").close()


def say(value):
    print(value if isinstance(value, str) else json.dumps(value), flush=True)


if start == "garbage":
    say("Starting up...")
elif start == "protocol":
    say({"protocol": 99, "name": "fake", "version": "1", "settings": {}, "data": []})
elif start == "refuse":
    say({"protocol": 1, "error": "the weights are missing"})
else:
    say({"protocol": 1, "name": "fake", "version": "1", "settings": settings,
         "data": [{"file": "fake.bin", "sha256": "00"}]})

for line in sys.stdin.buffer:
    request = json.loads(line)
    pixels = sys.stdin.buffer.read(request["bytes"])
    kind = pixels[0]
    answer = {"id": request["id"], "transcript_raw": f"{request['width']}x{request['height']}:{sum(pixels)}"}
    if kind == 1:
        os._exit(3)
    if kind == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == 3:
        time.sleep(600)
    if kind == 4:
        say("not json")
        continue
    if kind == 5:
        time.sleep(0.2)
    if kind == 6:
        answer["id"] += 1
    if kind == 7:
        sys.stdout.write("x" * (2 << 20))
    if kind == 8:
        answer = {"id": request["id"], "error": "too blurred"}
    if kind == 9:
        links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
        leaked = [link for link in links if not link.startswith("/proc/")]
        answer = {"id": request["id"], "values": {"leaked": len(leaked)}}
    if kind == 12:
        answer = {"id": request["id"], "values": {"id": request["id"]}}
    if kind == 13:
        answer = {"id": request["id"], "error": f"image {request['id']}: {request['id']}1 bytes are missing"}
    say(answer)
    if kind == 10:
        say("and another thing")
    if kind == 11:
        sys.exit(0)
