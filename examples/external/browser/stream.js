// One connection to a cluster for all that a page asks: a WebSocket carries requests and their answers (docs/stream.md). Copy this file.
//
//     const cluster = new Cluster(['https://127.0.0.1:7070'], token)
//     const {task} = await cluster.ask({method: 'GET', path: '/v1/tasks/abc'})
//
// When a node goes away, what has no answer is asked again at the next one. So ask only what is safe to ask twice: reads, a submit with an ID, an
// accept with a request_id, a report with its lease's token, anything with a key (Idempotency-Key).

// Refused is the answer of a cluster that says no: code is the stable code of the error, status that of HTTP.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? problem?.title ?? String(status))
    this.status = status
    this.code = problem?.code ?? ''
  }
}

// pause waits so long, or until signal is aborted.
export const pause = (ms, signal) => new Promise((done) => {
  if (signal?.aborted) return done()
  const end = () => { clearTimeout(timer); signal?.removeEventListener('abort', end); done() }
  const timer = setTimeout(end, ms)
  signal?.addEventListener('abort', end)
})

// Stream is one connection. A browser does not say why a handshake fails: the node may be away, or may not take the token.
class Stream {
  #socket
  #last = 0
  #open = new Map() // what has no whole answer, by number: {part, fail}

  constructor(server, token) {
    const offers = ['taskrt.v1+json']
    if (token) offers.push('taskrt.bearer.' + token) // a page cannot send a header
    this.#socket = new WebSocket(server.replace(/^http/, 'ws').replace(/\/*$/, '/v1/stream'), offers)
    this.ready = new Promise((done, fail) => {
      this.#socket.onopen = done
      this.#socket.onclose = (e) => {
        const lost = new Error(e.reason || 'no connection to ' + server)
        fail(lost)
        for (const one of this.#open.values()) one.fail(lost)
        this.#open.clear()
      }
    })
    this.ready.catch(() => {}) // whoever asks hears of it
    this.#socket.onmessage = (e) => {
      for (const answer of JSON.parse(e.data).answers) {
        const one = this.#open.get(answer.n)
        if (!answer.more) this.#open.delete(answer.n)
        one?.part(answer)
      }
    }
  }

  get ended() { return this.#socket.readyState >= WebSocket.CLOSING }

  // ask returns the answer. Each part of a watch goes to part; the answer is its end.
  async ask(request, signal, part) {
    await this.ready
    signal?.throwIfAborted()
    if (this.ended) throw new Error('the connection has ended')
    const n = ++this.#last
    const send = (q) => { if (!this.ended) this.#socket.send(JSON.stringify({requests: [q]})) }
    const cancel = () => send({n, cancel: true}) // of an accept: its tasks are given back. The answer comes all the same
    try {
      const answer = await new Promise((done, fail) => {
        this.#open.set(n, {fail, part: (answer) => answer.more ? part?.(answer) : done(answer)})
        signal?.addEventListener('abort', cancel, {once: true})
        send({...request, n})
      })
      if (!part) signal?.throwIfAborted() // nobody works on tasks of an accept that was cancelled
      return answer
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  close() { this.#socket.close() }
}

export class Cluster {
  #servers
  #token
  #at = 0
  #stream = null
  #closed = false

  constructor(servers, token) {
    this.#servers = servers
    this.#token = token
  }

  // ask returns the body of the answer, or throws Refused, or the reason of signal. It asks until there is an answer: give it a signal if that may
  // take too long (AbortSignal.timeout). failed is told of each attempt that did not come through.
  async ask(request, {signal, failed} = {}) {
    for (let wait = 50; ; wait = Math.min(2 * wait, 2000)) {
      signal?.throwIfAborted()
      const stream = this.#current()
      let answer
      try {
        answer = await stream.ask(request, signal)
      } catch (e) {
        signal?.throwIfAborted()
        failed?.(e)
        this.#leave(stream)
      }
      if (answer && answer.status < 400) return answer.body
      if (answer && answer.status < 500 && answer.status !== 429) throw new Refused(answer.status, answer.body)
      if (answer) failed?.(new Refused(answer.status, answer.body))
      if (answer?.status >= 500) this.#leave(stream)
      if (this.#closed) throw new Error('closed')
      await pause(wait, signal)
    }
  }

  // watch calls event for each event of a path, from the present states on, until signal is aborted. Nothing is missed or repeated when a node goes
  // away: the next one goes on behind the last place (docs/watch-tasks.md).
  async watch(path, event, {signal, failed} = {}) {
    let after = 0
    for (;;) {
      // One try at a time, because a further one begins behind another place.
      const stream = this.#current()
      try {
        const end = await stream.ask({method: 'GET', path, watch: true, after}, signal, (part) => {
          for (const e of part.events ?? []) {
            if (e.type) event(e.type, e.data)
            if (e.id !== undefined) after = e.id
          }
        })
        if (end.status >= 400 && end.status < 500 && end.status !== 429) throw new Refused(end.status, end.body)
        if (end.status >= 500) this.#leave(stream)
      } catch (e) {
        if (e instanceof Refused) throw e
        failed?.(e)
        this.#leave(stream)
      }
      if (signal?.aborted || this.#closed) return
      await pause(500, signal)
    }
  }

  close() {
    this.#closed = true
    this.#stream?.close()
  }

  #current() {
    if (!this.#stream || this.#stream.ended) this.#stream = new Stream(this.#servers[this.#at % this.#servers.length], this.#token)
    return this.#stream
  }

  // leave goes to the next node, unless somebody has done so.
  #leave(stream) {
    if (this.#stream !== stream) return
    this.#stream = null
    this.#at++
    stream.close()
  }
}
