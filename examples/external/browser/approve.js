// A page that submits tasks, and works on them: a person decides. The rules of a worker are in docs/external-workers.md.
import {Cluster, Refused, pause} from './stream.js'

const $ = (id) => document.getElementById(id)
const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
const me = 'page-' + newID().slice(0, 8)
const say = (text) => { $('state').textContent = text }
const failed = (e) => say('Trying again: ' + e.message)

$('begin').onsubmit = async (e) => {
  e.preventDefault()
  const cluster = new Cluster($('servers').value.split(',').map((s) => s.trim()), $('token').value.trim())
  const behavior = $('behavior').value
  $('begin').hidden = true
  say('Connecting…')
  try {
    await cluster.ask({method: 'GET', path: '/v1/behaviors/' + behavior}, {failed, signal: AbortSignal.timeout(10_000)})
  } catch (e) {
    cluster.close()
    $('begin').hidden = false
    say(e instanceof Refused ? `${e.code}: ${e.message}` : 'No node answers, or none takes this token, or the browser does not trust the certificate.')
    return
  }
  say('')
  $('work').hidden = false
  ask(cluster, behavior)
  watch(cluster, behavior)
  decide(cluster, behavior)
}

// ask submits what is asked. The ID makes the same submit safe to repeat.
function ask(cluster, behavior) {
  $('ask').onsubmit = async (e) => {
    e.preventDefault()
    const question = $('question').value
    $('ask').reset()
    try {
      await cluster.ask({method: 'POST', path: '/v1/tasks', body: {behavior, id: newID(), params: {question}}}, {failed})
      say('Asked.')
    } catch (e) {
      say(e.message)
    }
  }
}

// watch keeps a row for each task.
async function watch(cluster, behavior) {
  const rows = new Map()
  await cluster.watch('/v1/events?behavior=' + behavior, (type, data) => {
    if (type === 'reset') { // what is known of them is void
      rows.clear()
      $('tasks').replaceChildren()
    } else if (type === 'removed') {
      rows.get(data.id)?.remove()
      rows.delete(data.id)
    } else if (type === 'task') {
      const t = data.task
      let row = rows.get(t.id)
      if (!row) {
        rows.set(t.id, row = document.createElement('tr'))
        $('tasks').prepend(row)
      }
      const cells = [t.params?.question ?? t.id, t.status, t.result ? (t.result.approved ? 'approved' : 'declined') : t.error?.message ?? '']
      row.replaceChildren(...cells.map((text) => Object.assign(document.createElement('td'), {textContent: text})))
    }
  }, {failed}).catch((e) => say(e.message))
}

// decide accepts one task after the other, and shows it until the person has decided, or the task is somebody else's.
async function decide(cluster, behavior) {
  for (;;) {
    let tasks = []
    try {
      ({tasks} = await cluster.ask({method: 'POST', path: `/v1/behaviors/${behavior}/accept`, body: {worker: me, wait: '60s', request_id: newID()}}, {failed}))
    } catch (e) {
      say(e.message)
      return
    }
    for (const task of tasks) say(await handle(cluster, task))
  }
}

// handle returns what became of a task.
async function handle(cluster, task) {
  const report = (what, body, signal) => cluster.ask({
    method: 'POST', path: `/v1/tasks/${encodeURIComponent(task.id)}/${what}`, prefer: 'return=minimal', body: {token: task.lease.token, ...body},
  }, {failed, signal})
  const accepted = performance.now()
  const over = new AbortController() // the person has decided, or nobody is asked any more
  let end = null // what to report, and what to say then; without a report the lease is gone, or may be
  const ends = (how) => { end ??= how; over.abort() }

  $('asked').textContent = task.params?.question ?? JSON.stringify(task.params)
  $('yes').onclick = () => ends({what: 'finish', body: {result: {approved: true, by: me}}, say: 'Decided.'})
  $('no').onclick = () => ends({what: 'finish', body: {result: {approved: false, by: me}}, say: 'Decided.'})
  $('later').onclick = () => { // by the cluster's clock
    const now = Date.parse(task.started_at) + performance.now() - accepted
    ends({what: 'snooze', body: {again_at: new Date(now + 60_000).toISOString()}, say: 'Left to somebody else, in a minute.'})
  }
  $('decision').hidden = !($('nothing').hidden = true)
  await keep(task.lease.lease_ms, report, ends, over.signal)
  $('decision').hidden = !($('nothing').hidden = false)
  if (!end.what) return end.say
  try {
    await report(end.what, end.body)
    return end.say
  } catch (e) {
    return e.code === 'halt' ? 'Somebody else has the question by now.' : e.message
  }
}

// keep renews the lease, three times in its length, until signal is aborted. A lease lives from before the heartbeat was sent: the cluster counts
// from later.
async function keep(lease, report, ends, signal) {
  for (let from = performance.now(); !signal.aborted;) {
    const dead = setTimeout(() => ends({say: 'The lease could not be renewed in time. Somebody else will be asked.'}), from + lease - performance.now())
    await pause(lease / 3, signal)
    from = performance.now()
    try {
      const answer = await report('heartbeat', {}, signal)
      lease = answer.lease_ms
      if (answer.cancel) ends({what: 'finish', body: {error: {code: 'cancelled', message: 'nobody decides any more'}}, say: 'Somebody has cancelled the question.'})
    } catch (e) {
      ends({say: e.message}) // nothing, if it has ended already
    }
    clearTimeout(dead)
  }
}
