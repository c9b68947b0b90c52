package guard

import (
	"io"
	"net"
	"testing"
)

// FuzzGreet: who dials raft's transport names whom it wants. Every other name, and half a name, is refused; nothing behind it is read.
func FuzzGreet(f *testing.F) {
	const self = "n1/0123456789abcdef"
	whole := append([]byte{byte(len(self))}, self...)
	f.Add(whole)
	f.Add(append(whole, "and more"...))
	f.Add(whole[:9])
	f.Add([]byte{0})
	f.Add([]byte{255, 'n'})
	f.Fuzz(func(t *testing.T, said []byte) {
		near, far := net.Pipe()
		defer near.Close()
		meant := len(said) >= len(whole) && string(said[:len(whole)]) == string(whole)
		sent, greeted := make(chan int), make(chan struct{})
		go func() {
			n, _ := far.Write(said)
			if meant { // a pipe of which one end is closed takes no deadline
				<-greeted
			}
			far.Close()
			sent <- n
		}()
		l := &streamLayer{self: self, conns: map[net.Conn]with{}, holders: newHolders(&Config{Identity: self})}
		c, _ := l.track(near, with{})
		err := l.greet(c)
		close(greeted)
		if (err == nil) != meant {
			t.Errorf("%q: %v", said, err)
		}
		if rest, _ := io.ReadAll(near); meant && string(rest) != string(said[len(whole):]) {
			t.Errorf("%q is left of %q", rest, said)
		}
		<-sent
	})
}
