"""An external scorer for tests that answers as a file says, which may change between two requests.

    told_scorer.py ANSWERS LOG

ANSWERS is a JSON object: first byte of an image -> answer; "test image" -> that to the trial; "else" -> all others. An
answer is a number (the value of every metric), null, "exit" (the process ends), another text (an error), or an object
that is sent as it is. Each request's first byte goes to LOG, a line each.
"""
import json
import os
import sys

print(json.dumps({"protocol": 1}), flush=True)
with open("scorer.json") as file:
    metrics = list(json.load(file)["metrics"])
for line in sys.stdin.buffer:
    request = json.loads(line)
    first = str(sys.stdin.buffer.read(request["bytes"])[0])
    if request["target"] == "TEST":
        first = "test image"
    else:
        with open(sys.argv[2], "a") as log:
            log.write(first + "\n")
    with open(sys.argv[1]) as file:
        answers = json.load(file)
    answer = answers.get(first, answers["else"])
    if answer == "exit":
        os._exit(3)
    if isinstance(answer, str):
        answer = {"error": answer}
    elif not isinstance(answer, dict):
        answer = {"values": {metric: answer for metric in metrics}}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
