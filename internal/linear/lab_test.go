package linear

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// hosts is the number of machines of a lab. One node runs on each.
const hosts = 3

// lab is three hosts on one wire. They are network namespaces that are joined by a bridge, and the test stands on the
// bridge, too. The routes of a host can be cut one by one, in one direction, without cutting off the test
// (docs/architecture.md#faults-for-tests). Where namespaces are not possible (no root, or no ip command) the hosts are
// three ports of loopback, and cut does nothing.
type lab struct {
	t    *testing.T
	name string // "" without namespaces
	net  string // "10.x.y."
	port [hosts][2]int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t}
	if err := l.build(); err != nil {
		l.demolish()
		t.Logf("NO PARTITIONS in this run: network namespaces cannot be had here: %v", err)
		l.name = ""
		for i := range l.port {
			l.port[i] = [2]int{freePort(t), freePort(t)}
		}
		return l
	}
	t.Cleanup(l.demolish)
	return l
}

func (l *lab) build() error {
	if os.Getuid() != 0 {
		return fmt.Errorf("not root")
	}
	n := rand.IntN(1 << 16)
	l.name = fmt.Sprintf("trl%04x", n)
	l.net = fmt.Sprintf("10.%d.%d.", 128+n>>10, n>>2&255)
	commands := []string{
		"link add NAME type bridge",
		"addr add NET254/24 dev NAME",
		"link set NAME up",
	}
	for i := 1; i <= hosts; i++ {
		for _, c := range []string{
			"netns add NAMEhI",
			"link add NAMEvI type veth peer name eth0 netns NAMEhI",
			"link set NAMEvI master NAME up",
			"-n NAMEhI addr add NETI/24 dev eth0",
			"-n NAMEhI link set eth0 up",
			"-n NAMEhI link set lo up",
		} {
			commands = append(commands, strings.ReplaceAll(c, "I", fmt.Sprint(i)))
		}
	}
	for _, c := range commands {
		if err := l.ip(c); err != nil {
			return err
		}
	}
	return nil
}

// demolish removes all that build has made so far.
func (l *lab) demolish() {
	if l.name == "" {
		return
	}
	for i := range hosts {
		_ = l.ip(fmt.Sprintf("netns del NAMEh%d", i+1))
		_ = l.ip(fmt.Sprintf("link del NAMEv%d", i+1))
	}
	_ = l.ip("link del NAME")
}

// ip runs one ip command. NAME and NET stand for the lab's own.
func (l *lab) ip(command string) error {
	command = strings.NewReplacer("NAME", l.name, "NET", l.net).Replace(command)
	out, err := leash.Command("ip", strings.Fields(command)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (l *lab) partitions() bool { return l.name != "" }

// addr returns where host i listens. Service 0 is HTTP, and service 1 is node to node.
func (l *lab) addr(i, service int) string {
	if l.name == "" {
		return fmt.Sprintf("127.0.0.1:%d", l.port[i][service])
	}
	return fmt.Sprintf("%s%d:%d", l.net, i+1, 7070+service)
}

// command returns the command line that runs args on host i.
func (l *lab) command(i int, args ...string) *exec.Cmd {
	if l.name != "" {
		args = append([]string{"nsenter", fmt.Sprintf("--net=/run/netns/%sh%d", l.name, i+1)}, args...)
	}
	return leash.Command(args[0], args[1:]...)
}

// cut drops every packet that host from sends to host to, until heal.
func (l *lab) cut(from, to int) { l.route("add", from, to) }

// heal ends a cut.
func (l *lab) heal(from, to int) { l.route("del", from, to) }

func (l *lab) route(verb string, from, to int) {
	if l.name == "" {
		return
	}
	if err := l.ip(fmt.Sprintf("-n NAMEh%d route %s blackhole NET%d/32", from+1, verb, to+1)); err != nil {
		l.t.Error(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	for range 200 {
		port := 21_000 + rand.IntN(11_000) // outside the ports of outgoing connections and of internal/e2e
		if ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
