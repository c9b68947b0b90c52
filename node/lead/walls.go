package lead

import (
	"github.com/taskrt/taskrt/worker/stream"
)

// maxWallParts bounds what a Hello may say of a wall.
const maxWallParts = 16

// boundedWall returns the wall of a Hello, if it can be shown.
func boundedWall(w *stream.Wall) *stream.Wall {
	if w == nil || len(w.InForce) > maxWallParts || len(w.Missing) > maxWallParts {
		return nil
	}
	for _, texts := range [][]string{w.InForce, w.Missing} {
		for _, text := range texts {
			if len(text) > maxHelloText {
				return nil
			}
		}
	}
	return w
}

// Walls says what stands around the guests of the workers that are connected to this node, by session, while this node leads (SPEC A10).
func (h *Hub) Walls() map[uint64]stream.Wall {
	t := h.current()
	if t == nil {
		return nil
	}
	walls := map[uint64]stream.Wall{}
	t.loop.do(func() {
		for session, w := range t.loop.streams { // order-free: a map again
			if w.wall != nil {
				walls[session] = *w.wall
			}
		}
	})
	return walls
}
