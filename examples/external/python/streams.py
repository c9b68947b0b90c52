#!/usr/bin/env python3
"""The worker of worker.py over one connection: a WebSocket carries all that it asks (docs/stream.md). It needs the library websockets, 10 or
later (Debian: python3-websockets).

    streams.py --server http://127.0.0.1:7070 --behavior pin --worker-slots 100

Each task at a time has a thread, which asks as if it were alone: accept, heartbeat, finish. Streams, below, brings the requests of all threads
to one node, and to the next one when that node stops or its connection breaks. It may be copied, for programs that submit, too: submit.py.
"""

import asyncio
import concurrent.futures
import json
import ssl
import threading
import time

import websockets

from worker import Cluster, Refused, Unreachable, find_pin, main

# What a request meets on a connection that ends, or that cannot be opened.
LOST = (OSError, EOFError, asyncio.TimeoutError, concurrent.futures.TimeoutError, websockets.WebSocketException)

HEADERS = "additional_headers" if int(websockets.__version__.split(".")[0]) >= 14 else "extra_headers"


class Stream:
    """One connection: requests have numbers, and answers come in any order."""

    def __init__(self, socket):
        self.socket, self.last, self.waiting = socket, 0, {}
        self.reader = asyncio.ensure_future(self.read())

    @classmethod
    async def open(cls, server, token, tls):
        headers = {"Authorization": "Bearer " + token} if token else {}
        url = server.replace("http", "ws", 1) + "/v1/stream"  # https becomes wss
        return cls(await websockets.connect(url, ssl=tls, subprotocols=["taskrt.v1+json"], compression=None, max_size=None, **{HEADERS: headers}))

    async def send(self, **request):
        await self.socket.send(json.dumps({"requests": [request]}))

    async def ask(self, **request):
        self.last += 1
        n, answer = self.last, asyncio.get_running_loop().create_future()
        self.waiting[n] = answer
        if self.reader.done():
            raise ConnectionError("the stream has ended")
        try:
            await self.send(n=n, **request)
            return await answer
        except asyncio.CancelledError:
            # The server is to know: it gives back the tasks of an accept whose answer nobody takes. Its answer comes all the same.
            await self.send(n=n, cancel=True)
            raise

    async def read(self):
        try:
            async for message in self.socket:
                for answer in json.loads(message)["answers"]:
                    asked = self.waiting.pop(answer["n"])
                    if not asked.done():
                        asked.set_result(answer)
        except websockets.WebSocketException:
            pass  # those who wait hear of it below
        finally:
            for asked in self.waiting.values():
                if not asked.done():
                    asked.set_exception(ConnectionError(f"the stream has ended: {self.socket.close_code}"))
            await self.socket.close()


class Streams(Cluster):
    """A Cluster whose requests go over a stream to one node. Like those of a Cluster, all of them may be sent twice."""

    def __init__(self, servers, ca=None, token=None):
        super().__init__(servers, ca, token)  # which refuses what is not safe
        self.tls = ssl.create_default_context(cafile=ca) if any(s.startswith("https:") for s in servers) else None
        self.loop, self.stream = asyncio.new_event_loop(), None
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def current(self):
        """Returns the stream, as a task that all who need it wait for."""
        if self.stream is None:
            server = self.servers[self.at % len(self.servers)]
            tls = self.tls if server.startswith("https:") else None
            self.stream = asyncio.ensure_future(Stream.open(server, self.token() if self.token else None, tls))
        return self.stream

    async def ask(self, request, patience):
        """Asks one node, at most for so many seconds."""
        opening = await self.current()
        try:
            stream = await asyncio.wait_for(asyncio.shield(opening), patience)
            answer = await asyncio.wait_for(stream.ask(**request), patience)
            if answer["status"] in (401, 429) or answer["status"] >= 500:
                raise ConnectionError(answer["body"].get("detail", answer["status"]))
            return answer
        except LOST:
            if self.stream is opening:  # the next one goes to another node, with the token of then
                self.stream, self.at = None, self.at + 1
                opening.add_done_callback(lambda o: o.cancelled() or o.exception() or asyncio.ensure_future(o.result().socket.close()))
            raise

    def post(self, path, body, until, patience=10):
        pause = 0.05
        request = {"method": "POST", "path": path, "body": body}
        if path.endswith("/finish"):
            request["prefer"] = "return=minimal"  # the task need not come back
        while True:
            left = max(0.1, min(patience, until - time.monotonic()))
            try:
                answer = asyncio.run_coroutine_threadsafe(self.ask(request, left), self.loop).result()
            except LOST as e:
                error = e
            else:
                problem = answer["body"]
                if answer["status"] < 400:
                    return problem
                raise Refused(answer["status"], problem["code"], problem.get("detail", ""))
            if time.monotonic() + pause > until:
                raise Unreachable(str(error))
            time.sleep(pause)
            pause = min(2 * pause, 2)


if __name__ == "__main__":
    main(find_pin, Streams)
