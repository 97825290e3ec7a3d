"""A worker controlled by its requests: answers, fails, crashes, exits or hangs."""

import json
import os
import signal
import sys
import time

answers = os.fdopen(int(sys.argv[2]), "w", buffering=1)
print("noise on standard output", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if request["do"] == "leave":
        sys.exit(3)
    if request["do"] == "hang":
        time.sleep(60)
    if request["do"] == "fail":
        print(json.dumps({"error": "it cannot"}), file=answers)
    else:
        print(json.dumps({"mode": sys.argv[1], "pid": os.getpid()}), file=answers)
