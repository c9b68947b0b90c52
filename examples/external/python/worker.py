#!/usr/bin/env python3
"""A worker for tasks of a taskrt cluster: Python 3.8 or later, the standard library alone.

    worker.py --server http://127.0.0.1:7070 --behavior pin

A cluster with a secret wants to know who comes. Its workers need a token with the role work, and whom to trust, which is what
`taskrt secret ca --pem` prints:

    worker.py --server https://10.0.0.1:7070 --ca ca.pem --token-file pin.token --behavior pin

What a task does is the function at the end of this file, find_pin. Everything above it is what any worker needs, and may
be copied: accept, keep the lease, stop when told to, report. The rules are in docs/external-workers.md.
"""

import argparse
import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import stat
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Refused(Exception):
    """The cluster answered no: code is the stable code of its error, wrong says that the same would be refused again."""

    def __init__(self, status, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code, self.wrong = code, status in (400, 413, 422)


class Unreachable(Exception):
    """No node answered in time."""


class Ended(Exception):
    """Why an attempt has to end before it has a result."""


class Halted(Ended):
    """The lease is gone, or may be: another worker may have the task, and nothing that this one says counts."""


class Cancelled(Ended):
    """Somebody cancelled the task."""


class Stopping(Ended):
    """This process stops: the task goes on elsewhere, from its checkpoint."""


class Failure(Exception):
    """The attempt failed. With retryable, the behavior's policy says whether and when it is tried again."""

    def __init__(self, code, message, retryable=True):
        super().__init__(message)
        self.code, self.retryable = code, retryable


class Token:
    """The text of a file, which is read again for each request: it may be replaced at any time."""

    def __init__(self, file):
        self.file, self.text = file, ""
        mode = os.stat(file).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            raise ValueError(f"others can read {file}: chmod 600 {file}")
        self.again = stat.S_ISREG(mode)  # a pipe can be read once
        self.read()
        if not self.text:
            raise ValueError(f"{file} holds no token")

    def read(self):
        try:
            with open(self.file, encoding="ascii", errors="replace") as f:
                text = f.read(1000).strip()
        except OSError:
            return  # gone for a moment: what was read before counts
        if text.startswith("trt_") and len(text.split()) == 1:
            self.text = text

    def __call__(self):
        if self.again:
            self.read()
        return self.text


class Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another server must not get the token."""

    def redirect_request(self, *_):
        return None


class Cluster:
    """Asks one node, and the next one if that does not answer. All that a worker asks may be asked twice: an accept has
    a request_id, a report its lease's token. ca is a file of certificates, and token a function; both may be None."""

    def __init__(self, servers, ca=None, token=None):
        self.servers, self.at, self.token = servers, 0, token
        handlers = [Stay]
        for server in servers:
            to = urllib.parse.urlsplit(server)
            if to.scheme == "https" and len(handlers) == 1:
                if ca and ca.startswith("sha256:"):
                    raise ValueError("Python takes no fingerprint: give a file, as taskrt secret ca --pem prints it")
                handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)))
            elif to.scheme != "https" and token and to.hostname not in ("localhost", "127.0.0.1", "::1"):
                raise ValueError(f"{server} is not https: everybody on the way there could read the token")
        self.opener = urllib.request.build_opener(*handlers)

    def post(self, path, body, until, patience=10):
        """Posts JSON; until is the time.monotonic() at which to give up, patience how many seconds one node gets."""
        data, pause = json.dumps(body).encode(), 0.05
        while True:
            at = self.at
            headers = {"Content-Type": "application/json"}
            if self.token:
                headers["Authorization"] = "Bearer " + self.token()
            request = urllib.request.Request(self.servers[at % len(self.servers)] + path, data, headers)
            try:
                with self.opener.open(request, timeout=max(0.1, min(patience, until - time.monotonic()))) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as e:
                # 401: the token does not hold. Somebody may be about to replace it, and until then nothing is done.
                if e.code < 500 and e.code not in (401, 429):
                    try:
                        problem = json.load(e)
                    except ValueError:
                        problem = {}
                    raise Refused(e.code, problem.get("code", str(e.code)), problem.get("detail", e.reason)) from None
                error = e
            except (OSError, http.client.HTTPException, ValueError) as e:
                error = e
            self.at = at + 1  # threads may do so at once: it does not matter which node is next
            if time.monotonic() + pause > until:
                raise Unreachable(str(error))
            time.sleep(pause)
            pause = min(2 * pause, 2)


class Attempt:
    """One lease of one task. It is kept until the function that does the work has returned."""

    def __init__(self, cluster, task, stopping):
        self.cluster, self.stopping = cluster, stopping
        self.id, self.number = task["id"], task["attempt"]
        self.params, self.checkpoint = task.get("params"), task.get("checkpoint")
        self.path = f"/v1/tasks/{task['id']}/"
        self.started_at = task["started_at"]
        self.token, self.seq = task["lease"]["token"], 0
        self.news = {}  # what reached() told since the last heartbeat
        self.lock = threading.Lock()
        self.why = None  # an Ended
        self.over = threading.Event()
        self.lease = task["lease"]["lease_ms"] / 1000
        self.dead_at = time.monotonic() + self.lease

    def reached(self, progress=None, checkpoint=None):
        """Tells how far the work is, often: it travels with the next heartbeat. Raises Ended if the work has to end."""
        with self.lock:
            if progress is not None:
                self.news["progress"] = progress
            if checkpoint is not None:
                self.news["checkpoint"] = self.checkpoint = checkpoint
        if self.why is None and time.monotonic() > self.dead_at:
            self.why = Halted("the lease could not be renewed in time")
        if self.why is None and self.stopping.is_set():
            self.why = Stopping("this worker stops")
        if self.why is not None:
            raise self.why

    def keep(self):
        """Renews the lease, three times in its length."""
        while not self.over.wait(self.lease / 3):
            with self.lock:
                body, self.news = self.say(self.news), {}
            sent = time.monotonic()
            try:
                answer = self.cluster.post(self.path + "heartbeat", body, self.dead_at, patience=self.lease / 3)
            except (Refused, Unreachable) as e:
                self.why = Halted(str(e))
                return
            self.lease = answer["lease_ms"] / 1000
            self.dead_at = sent + self.lease  # from before it was sent: the cluster counts from later
            if answer["cancel"] and self.why is None:
                self.why = Cancelled("somebody cancelled it")

    def run(self, work):
        """Does the work and reports what came out; returns that for people to read."""
        keeper = threading.Thread(target=self.keep, daemon=True)
        keeper.start()
        said, action = None, "finish"
        try:
            result = work(self)
            body, said = {"result": result}, "SUCCESS"
        except Stopping as e:
            # Due at once: since a time of the cluster's own clock that has passed.
            action, body, said = "snooze", {"again_at": self.started_at}, str(e)
            if self.checkpoint is not None:
                body["checkpoint"] = self.checkpoint
        except Halted as e:
            body, said = None, str(e)
        except Cancelled as e:
            body, said = {"error": {"code": "cancelled", "message": str(e)}}, str(e)
        except Failure as e:
            body, said = {"error": {"code": e.code, "message": str(e), "retryable": e.retryable}}, f"{e.code}: {e}"
        except Exception as e:  # a mistake of the program: as if it had failed
            traceback.print_exc()
            body, said = {"error": {"message": repr(e)}}, repr(e)
        self.over.set()
        keeper.join()
        if body is None:
            return f"halted: {said}"
        if "progress" in self.news:  # what no heartbeat has told
            body["progress"] = self.news["progress"]
        try:
            self.send(action, body)
        except Refused as e:
            if e.code == "halt":
                return f"halted: {e}"
            self.send(action, self.instead(body, e))
            return str(e)
        return said

    @staticmethod
    def instead(body, refused):
        """What is reported instead of what was refused. Only a result that the behavior does not take is final: it would
        be refused again. A failure stays as retryable as it was, and a task that was given back is due all the same."""
        if "again_at" in body:
            return {"again_at": body["again_at"]}  # from the last checkpoint that was stored
        if "error" in body:
            was = body["error"]
            return {"error": {"message": f"{was['message'][:1000]} (its report was refused: {refused})",
                              "retryable": was.get("retryable", True)}}
        return {"error": {"message": f"the result was refused: {refused}", "retryable": not refused.wrong}}

    def say(self, news):
        """A report. What says something new is numbered, so that one that arrives late changes nothing."""
        if not news:
            return {"token": self.token}
        self.seq += 1
        return {"token": self.token, "seq": self.seq, **news}

    def send(self, action, news):
        """Reports the end, as long as it takes: should the lease run out meanwhile, the answer is halt."""
        self.cluster.post(self.path + action, self.say(news), time.monotonic() + self.lease + 60)


def serve(cluster, behavior, name, work, stopping, busy):
    """Accepts one task after the other and does it."""
    while not stopping.is_set():
        request = {"worker": name, "wait": "20s", "request_id": str(uuid.uuid4())}
        try:
            tasks = cluster.post(f"/v1/behaviors/{behavior}/accept", request, time.monotonic() + 60, patience=30)["tasks"]
        except (Refused, Unreachable) as e:
            print("nothing accepted:", e, flush=True)
            stopping.wait(2)
            continue
        with busy:
            for task in tasks:
                attempt = Attempt(cluster, task, stopping)
                print(f"begin {attempt.id} attempt {attempt.number}", flush=True)
                try:
                    print(f"end {attempt.id}: {attempt.run(work)}", flush=True)
                except (Refused, Unreachable) as e:
                    print(f"end {attempt.id}: not reported: {e}", flush=True)


def main(work, connect=Cluster):
    parser = argparse.ArgumentParser(description="runs tasks of an external behavior of a taskrt cluster")
    parser.add_argument("--server", default="http://127.0.0.1:7070", help="URLs of nodes, separated by commas")
    parser.add_argument("--ca", default=os.environ.get("TASKRT_CA"), metavar="FILE",
                        help="certificates of whom to trust behind https, as taskrt secret ca --pem prints them; default: $TASKRT_CA")
    parser.add_argument("--token-file", default=os.environ.get("TASKRT_TOKEN_FILE"), metavar="FILE",
                        help="with the token of this worker; default: $TASKRT_TOKEN_FILE, or the token itself in $TASKRT_TOKEN")
    parser.add_argument("--behavior", required=True)
    parser.add_argument("--name", default=f"{socket.gethostname()}-{os.getpid()}", help="of this worker, for people")
    parser.add_argument("--worker-slots", type=int, default=1, help="tasks at a time")
    parser.add_argument("--rest", type=float, default=0, help="seconds to rest after each 10,000 PINs, to watch it work")
    args = parser.parse_args()
    # A handler would run amid what this thread does, and hang if that, or another handler, holds a lock that it needs.
    signals = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # before there are other threads
    stopping, text = threading.Event(), os.environ.get("TASKRT_TOKEN")
    try:
        token = Token(args.token_file) if args.token_file else (lambda: text) if text else None
        cluster = connect(args.server.split(","), args.ca or None, token)
    except (OSError, ValueError) as e:
        parser.error(str(e))
    slots = [threading.Lock() for _ in range(args.worker_slots)]
    for busy in slots:
        threading.Thread(target=serve, daemon=True, args=(
            cluster, args.behavior, args.name, lambda a: work(a, args.rest), stopping, busy)).start()
    signal.sigwait(signals)
    stopping.set()
    for busy in slots:  # until what runs is reported; an accept that waits ends with the process, and gets nothing more
        busy.acquire()


def find_pin(attempt, rest):
    """Finds the PIN of so many digits with this SHA-256, by trying all: params {"sha256": hex, "digits": 1..9}."""
    try:
        wanted, digits = bytes.fromhex(attempt.params["sha256"]), int(attempt.params["digits"])
        if not 1 <= digits <= 9:
            raise ValueError("digits must be 1 to 9")
    except (KeyError, TypeError, ValueError) as e:
        raise Failure("bad_params", repr(e), retryable=False) from None
    first = (attempt.checkpoint or {"next": 0})["next"]
    for block in range(first, 10**digits, 10_000):
        attempt.reached(progress={"tried": block}, checkpoint={"next": block})
        for n in range(block, min(block + 10_000, 10**digits)):
            pin = b"%0*d" % (digits, n)
            if hashlib.sha256(pin).digest() == wanted:
                return {"pin": pin.decode(), "from": first}
        time.sleep(rest)
    raise Failure("not_found", f"no PIN of {digits} digits has this hash", retryable=False)


if __name__ == "__main__":
    main(find_pin)
