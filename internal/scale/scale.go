// Package scale predicts what a cluster does on other machines: how many tasks a second, how fast, and what is the limit. It is a model of
// queues, fed with costs that were measured (costs.json). docs/scale.md says how it works, and how far it is from what was measured.
package scale

import (
	"fmt"
	"math"
	"time"
)

// Cluster is what a cluster stands on.
type Cluster struct {
	Nodes int // 3 or 5
	Hosts []Host

	Write time.Duration // one durable write of a log. With the default format of logs that is two syncs, with wal it is one
	RTT   time.Duration // a round trip between two nodes, and between a worker and a node
	Near  time.Duration // a round trip between a caller and its node
	Mbit  float64       // what a node can send, in megabits per second; 0: no limit

	Workers int // processes that run guests
	Slots   int // of each of them

	Speed float64 // of a core, as a part of that on which costs were measured; 0: 1
}

// Host is CPUs, and what shares them. Fractions of callers and guests are the part that is on this host.
type Host struct {
	Name      string
	Cores     float64
	Leader    bool
	Followers int
	Callers   float64
	Guests    float64
}

// Together puts everything on one host, as `taskrt bench` does.
func Together(nodes int, cores float64) []Host {
	return []Host{{Name: "CPU", Cores: cores, Leader: true, Followers: nodes - 1, Callers: 1, Guests: 1}}
}

// Apart gives each node a host of its own, which runs its part of the guests. Callers have as many cores as they need.
func Apart(nodes int, cores float64) []Host {
	part := 1 / float64(nodes)
	return []Host{
		{Name: "CPU of the leader", Cores: cores, Leader: true, Guests: part},
		{Name: "CPU of a follower", Cores: cores, Followers: 1, Guests: part}, // the others are as busy
		{Name: "CPU of the callers", Cores: 64, Callers: 1},
	}
}

// Beside gives each node a host of its own that runs no guests. Workers have hosts of their own, with cores for each.
func Beside(nodes int, cores float64, workers int, workerCores float64) []Host {
	hosts := Apart(nodes, cores)
	hosts[0].Guests, hosts[1].Guests = 0, 0
	return append(hosts, Host{Name: "CPU of the workers", Cores: float64(workers) * workerCores, Guests: 1})
}

// Kind is what is asked of a cluster.
type Kind string

// These are the kinds of work.
const (
	Submit Kind = "submit" // callers submit tasks, which do not run
	Run    Kind = "e2e"    // each caller submits a task and waits for its result
	Drain  Kind = "drain"  // queued tasks run until all are done
)

// Work is what a cluster is asked to do.
type Work struct {
	Kind    Kind
	Callers int           // each has one request under way; not for Drain
	Batch   int           // tasks of a request; 0: 1
	Params  int           // bytes
	Guest   time.Duration // how long a guest waits or computes elsewhere, besides what an echo costs
	HTTP    bool          // each request goes by itself, not over a stream
}

// Prediction is what a cluster does.
type Prediction struct {
	Rate  float64       // tasks a second
	P50   time.Duration // of a request; 0 for Drain
	Limit string        // what keeps Rate from being higher
	Use   []Use         // of all that has a limit
	Group float64       // commands of a durable write
	CPU   float64       // seconds of CPU time for a task, of all that takes part
}

// Use is how busy something is: 1 is its limit.
type Use struct {
	Name string
	Part float64
}

// These say how the parts of the product work that the model goes by; raftstore's DESIGN.md has the rules.
const (
	enough    = 256       // commands: so many do not wait for the group before them
	inFlight  = 4         // groups under way at a time
	most      = 1024      // commands of a group
	mostBytes = 512 << 10 // bytes of a group
	ahead     = 4 * time.Millisecond
	overhead  = 110 // bytes of a task in the log, besides its params
)

// busy is the part of a limit that work without callers reaches.
const busy = 0.9

// Predict says what c does when it is asked for w.
func (k *Costs) Predict(c Cluster, w Work) (Prediction, error) {
	if err := check(c, w); err != nil {
		return Prediction{}, err
	}
	w.Batch = max(1, w.Batch)
	if c.Speed == 0 {
		c.Speed = 1
	}
	m := &model{Cluster: c, Work: w, part: k.of(w)}
	m.share = k.Share
	if w.Kind == Drain {
		return m.drain(), nil
	}
	return m.closed(), nil
}

func check(c Cluster, w Work) error {
	switch {
	case c.Nodes < 1 || len(c.Hosts) == 0:
		return fmt.Errorf("a cluster of %d nodes on %d hosts", c.Nodes, len(c.Hosts))
	case w.Kind != Submit && w.Kind != Run && w.Kind != Drain:
		return fmt.Errorf("no kind of work is %q", w.Kind)
	case w.Kind != Drain && w.Callers < 1:
		return fmt.Errorf("%d callers", w.Callers)
	case w.Kind != Submit && (c.Workers < 1 || c.Slots < 1):
		return fmt.Errorf("%d workers of %d slots run nothing", c.Workers, c.Slots)
	case c.Write < 0 || c.RTT < 0 || c.Near < 0 || c.Mbit < 0 || w.Guest < 0 || w.Params < 0 || w.Batch < 0 || c.Speed < 0:
		return fmt.Errorf("less than nothing: %+v, %+v", c, w)
	}
	for _, h := range c.Hosts {
		if h.Cores <= 0 {
			return fmt.Errorf("%s has %v cores", h.Name, h.Cores)
		}
	}
	return nil
}

// model is one question. Times inside are in seconds.
type model struct {
	Cluster
	Work

	part  Roles
	share float64
}

// rounds is how often a task waits for a group of the log.
func (m *model) rounds() float64 {
	if m.Kind == Run {
		return 2 // with its assignment; with its end
	}
	return 1
}

// state is a model at a rate.
type state struct {
	rate  float64   // calls a second
	group float64   // members of a group
	round float64   // from a group's sending to its answers
	next  float64   // how many come meanwhile, and the first
	used  []float64 // of each host
	time  float64   // of a call
}

// demand is the CPU time of a call on a host, in seconds: all of it, and what a caller waits for.
func (m *model) demand(h Host, group float64) (load, path float64) {
	n, tasks := float64(m.Nodes), float64(m.Batch)
	joins := tasks * m.rounds() / group
	waits := m.rounds()
	kib := float64(m.Params) / 1024
	at := func(c Cost, number, requests, joins float64) float64 {
		work := tasks*(c.Task+c.KiB*kib) + c.Request*requests
		load += number * (work + joins*(c.Entry+c.Send*(n-1)))
		return work + waits*(c.Entry+c.Send*(n-1))
	}
	if h.Leader {
		path += at(m.part.Leader, 1, 1/n, joins)
	}
	if h.Followers > 0 {
		path += at(m.part.Follower, float64(h.Followers), 1/n, joins)
	}
	if h.Callers > 0 {
		path += at(m.part.Callers, h.Callers, 1, joins) * h.Callers
	}
	if h.Guests > 0 && m.Kind != Submit {
		path += at(m.part.Guests, h.Guests, 0, joins*min(float64(m.Workers), group)) * h.Guests // each worker has a part of a group, and wakes up for it
	}
	micro := 1e-6 / m.Speed
	return load * micro, path * micro * m.share
}

// stretch is by how much longer work takes on cores of which the given part is in use (Sakasegawa's approximation of M/M/c).
func stretch(used, cores float64) float64 {
	used = min(used, 1-1e-9)
	return 1 + math.Pow(used, math.Sqrt(2*(cores+1))-1)/(cores*(1-used))
}

// at is the model at a rate of calls. Larger groups cost less, so they are over sooner, and then fewer commands have come for the next one: there is
// one size at which as many come as there are in a group.
func (m *model) at(rate float64) state {
	low := float64(m.Batch)
	// A caller in a group cannot wait for the next one. So at most half of the callers are in a group, and half wait.
	high := min(low*max(1, float64(m.Callers)/2), max(enough, low))
	for range 24 {
		group := (low + high) / 2
		if m.with(rate, group).next > group {
			low = group
		} else {
			high = group
		}
	}
	s := m.with(rate, (low+high)/2)
	others := m.others(rate)
	for _, l := range m.limits() {
		if l.work > 0 {
			s.time += l.work * stretch(others*l.each/l.servers, l.servers)
		}
	}
	s.time += m.ways()
	// Callers that were answered together come back together: the first begins a group, the others come while it is under way, and wait for its
	// end, unless they were elsewhere for as long.
	taken := others * float64(m.Batch) * m.rounds() / s.group * s.round // the part of the time in which a group of others is under way
	wait := min(1, taken) * s.round
	if elsewhere := s.time / m.rounds(); wait > 0 {
		wait *= s.round / (s.round + elsewhere)
	}
	if s.group >= enough {
		wait = 0
	}
	s.time += m.rounds() * (m.Write.Seconds() + m.RTT.Seconds() + wait)
	return s
}

// others is how many calls a second arrive beside a call.
func (m *model) others(rate float64) float64 {
	return rate * float64(m.Callers-1) / float64(max(1, m.Callers))
}

// with is the CPU time of calls at a rate and with groups of a size, and how many commands come while such a group is under way.
func (m *model) with(rate, group float64) state {
	s := state{rate: rate, group: group, round: m.Write.Seconds() + m.RTT.Seconds()}
	others := m.others(rate)
	for _, h := range m.Hosts {
		load, path := m.demand(h, group)
		s.used = append(s.used, rate*load/h.Cores)
		slow := stretch(others*load/h.Cores, h.Cores)
		s.time += max(path*slow, load/h.Cores) // what is done beside it needs cores, too
		s.round += m.inRound(h) * slow
	}
	s.next = float64(m.Batch) * (1 + others*m.rounds()*s.round)
	return s
}

// inRound is the CPU time of a group on a host between its sending and its answers.
func (m *model) inRound(h Host) (sum float64) {
	if h.Leader {
		sum += m.part.Leader.Entry + m.part.Leader.Send*float64(m.Nodes-1)
	}
	if h.Followers > 0 {
		sum += m.part.Follower.Entry
	}
	return sum * 1e-6 / m.Speed * m.share
}

// behind is how many round trips later a caller has a result if its node does not lead: half of one for the way to the leader, half of one for the
// news of the commit (TestWays of internal/clustertest counts them).
const behind = 1

// ways is how long a call is on the network, besides the rounds of the log.
func (m *model) ways() float64 {
	far := float64(m.Nodes-1) / float64(m.Nodes) // the part of the callers whose node does not lead
	if m.Kind == Submit {
		return m.Near.Seconds() + far*m.RTT.Seconds()
	}
	away := far // the part of the workers that are not beside the leader
	if m.Workers > m.Nodes {
		away = 1
	}
	return m.Near.Seconds() + (far*behind+away)*m.RTT.Seconds()
}

// limit is something other than CPUs that is bounded.
type limit struct {
	name    string
	servers float64
	each    float64 // of one server's time for a call, in seconds
	work    float64 // the part of it for which a caller waits
}

// limits are the limits of this question.
func (m *model) limits() (list []limit) {
	tasks := float64(m.Batch)
	if m.Mbit > 0 {
		bytes := tasks * (float64(m.Params) + m.part.Bytes)
		send := bytes * float64(m.Nodes-1) * 8 / (m.Mbit * 1e6)
		list = append(list, limit{"the leader's network", 1, send, send})
	}
	if m.Kind != Submit {
		guest := m.Guest.Seconds()
		lag := 0.0
		if m.Guest > ahead { // a slot is empty while its next assignment is on its way
			lag = m.Write.Seconds() + 2*m.RTT.Seconds()
		}
		list = append(list, limit{"slots of workers", float64(m.Workers * m.Slots), guest + lag, guest})
	}
	commands := tasks * 2
	if m.Kind == Submit {
		commands = tasks
	}
	list = append(list, limit{"the state machine, which is one thread", 1, tasks * m.part.Serial * 1e-6 / m.Speed, 0})
	group := min(most, mostBytes/float64(m.Params+overhead))
	list = append(list, limit{"groups under way", inFlight, commands / group * (m.Write.Seconds() + m.RTT.Seconds()), 0})
	return list
}

// closed is callers that each wait for an answer before they ask again: rate times time is their number.
func (m *model) closed() Prediction {
	low, high := 0.0, m.ceiling()
	for range 40 {
		mid := (low + high) / 2
		if s := m.at(mid); mid*s.time < float64(m.Callers) {
			low = mid
		} else {
			high = mid
		}
	}
	s := m.at(low)
	p := m.prediction(s)
	p.P50 = time.Duration(float64(m.Callers) / low * float64(time.Second))
	if m.Callers == 1 || !full(p.Use) {
		p.Limit = m.patience(s)
	}
	return p
}

// full says whether anything is near its limit.
func full(uses []Use) bool {
	for _, u := range uses {
		if u.Part > 0.7 {
			return true
		}
	}
	return false
}

// patience is what callers mostly wait for where nothing is at its limit.
func (m *model) patience(s state) string {
	best, what := m.rounds()*m.Write.Seconds(), "callers: they wait for durable writes"
	for _, o := range []struct {
		time float64
		what string
	}{
		{m.rounds()*m.RTT.Seconds() + m.ways(), "callers: they wait for the network"},
		{m.Guest.Seconds(), "callers: they wait for guests"},
	} {
		if o.time > best {
			best, what = o.time, o.what
		}
	}
	if s.time > 2*best {
		return "callers: they wait for CPUs, one after the other"
	}
	return what
}

// ceiling is a rate of calls that something bounds.
func (m *model) ceiling() float64 {
	top := math.Inf(1)
	for _, h := range m.Hosts {
		if load, _ := m.demand(h, max(enough, float64(m.Batch))); load > 0 {
			top = min(top, h.Cores/load)
		}
	}
	for _, l := range m.limits() {
		if l.each > 0 {
			top = min(top, l.servers/l.each)
		}
	}
	return top
}

// drain is work that nobody waits for: it takes all of what is scarce.
func (m *model) drain() Prediction {
	m.Callers, m.Batch = 1, 1
	s := state{rate: busy * m.ceiling(), group: enough}
	for _, h := range m.Hosts {
		load, _ := m.demand(h, s.group)
		s.used = append(s.used, s.rate*load/h.Cores)
	}
	return m.prediction(s)
}

func (m *model) prediction(s state) Prediction {
	p := Prediction{Rate: s.rate * float64(m.Batch), Group: s.group}
	for i, h := range m.Hosts {
		p.Use = append(p.Use, Use{h.Name, s.used[i]})
		p.CPU += s.used[i] * h.Cores / p.Rate
	}
	for _, l := range m.limits() {
		p.Use = append(p.Use, Use{l.name, s.rate * l.each / l.servers})
	}
	highest := 0.0
	for _, u := range p.Use {
		if u.Part > highest {
			highest, p.Limit = u.Part, u.Name
		}
	}
	return p
}
