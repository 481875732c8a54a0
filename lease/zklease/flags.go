package zklease

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
)

// flags has the paths whose readings are to set watches. The library has calls for that, but then it
// sets watches again when it connects, even for the first time if its goroutine is late, from a
// number that another goroutine of its own writes meanwhile. So it is asked to read only, and the
// watch is added to the request on its way. What fires comes as an event either way.
type flags struct {
	mu    sync.Mutex
	paths map[string]int // how many such readings are under way
}

// raise has readings of a path set a watch until lower is called. Others of the same path do, too: a
// session has each watch once.
func (f *flags) raise(path string) (lower func()) {
	f.add(path, 1)
	return func() { f.add(path, -1) }
}

func (f *flags) add(path string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paths == nil {
		f.paths = make(map[string]int)
	}
	if f.paths[path] += n; f.paths[path] == 0 {
		delete(f.paths, path)
	}
}

func (f *flags) has(path []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paths[string(path)] > 0
}

// flagged is a connection that adds the watches. The library writes each request at once.
type flagged struct {
	net.Conn
	flags *flags
}

// Operations that may set a watch.
const (
	opExists      = 3
	opGet         = 4
	opGetChildren = 12
)

// Write implements [net.Conn]. The request to read a path is made of numbers of four bytes, which
// are its length, its id, the operation, and the length of the path; the path; and a byte that says
// whether to watch.
func (c flagged) Write(p []byte) (int, error) {
	const path = 16
	if len(p) > path+1 && int(binary.BigEndian.Uint32(p[path-4:])) == len(p)-path-1 {
		switch last := len(p) - 1; binary.BigEndian.Uint32(p[8:]) {
		case opExists, opGet, opGetChildren:
			if c.flags.has(p[path:last]) {
				p = bytes.Clone(p)
				p[last] = 1
			}
		}
	}
	return c.Conn.Write(p)
}
