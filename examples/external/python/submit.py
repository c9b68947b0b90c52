#!/usr/bin/env python3
"""Submits many tasks over one connection, and prints how each has ended, as they end (docs/stream.md). It needs the library websockets.

    submit.py --server http://127.0.0.1:7070 --behavior pin < params

Standard input has the params of one task on each line. At most 100 are submitted and not ended at a time.
"""

import argparse
import concurrent.futures
import json
import os
import sys
import time
import uuid

from streams import Streams
from worker import Refused, Token, Unreachable


def submit(cluster, behavior, params, give_up):
    """Submits a task and waits until it has ended. The ID makes the same submit safe to repeat: it joins the task that is there."""
    body = {"behavior": behavior, "params": params, "id": str(uuid.uuid4())}
    while True:
        task = cluster.post("/v1/tasks?wait=20s", body, give_up, patience=30)["task"]
        if task["final"]:
            return task


def main():
    parser = argparse.ArgumentParser(description="submits a task for each line of standard input, and waits for all")
    parser.add_argument("--server", default="http://127.0.0.1:7070", help="URLs of nodes, separated by commas")
    parser.add_argument("--ca", default=os.environ.get("TASKRT_CA"), metavar="FILE", help="certificates of whom to trust behind https; default: $TASKRT_CA")
    parser.add_argument("--token-file", default=os.environ.get("TASKRT_TOKEN_FILE"), metavar="FILE", help="default: $TASKRT_TOKEN_FILE")
    parser.add_argument("--behavior", required=True)
    parser.add_argument("--for", type=float, default=600, dest="seconds", metavar="SECONDS", help="how long to wait for all of them")
    args = parser.parse_args()
    try:
        cluster = Streams(args.server.split(","), args.ca or None, Token(args.token_file) if args.token_file else None)
    except (OSError, ValueError) as e:
        parser.error(str(e))
    give_up, failed = time.monotonic() + args.seconds, 0
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        asked = {pool.submit(submit, cluster, args.behavior, json.loads(line), give_up): line.strip() for line in sys.stdin}
        for done in concurrent.futures.as_completed(asked):
            try:
                task = done.result()
            except (Refused, Unreachable) as e:
                task = {"status": str(e)}
            failed += task["status"] != "SUCCESS"
            print(asked[done], task["status"], json.dumps(task.get("result", task.get("error"))), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
